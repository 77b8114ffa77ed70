"""Blocks of rows to where they are computed on and back, on their way while other blocks are worked on."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor

from gramless.views import Views


def stream_rows(
    X: Views, blocks: Iterator[slice], dtype: torch.dtype, device: torch.device
) -> Iterator[tuple[slice, Views]]:
    """(rows, samples) of every block, on the device.

    From host memory to a GPU through page-locked memory on a stream of its own: copying and computing overlap, and two
    blocks are on the device at a time. Anywhere else the caller's memory is used as it is.
    """
    if device.type != "cuda" or (X.torch_device is not None and X.torch_device.type == "cuda"):
        yield from ((rows, X[rows]) for rows in blocks)
        return
    upload = _Upload(X, dtype, device)
    with ThreadPoolExecutor(max_workers=1) as reader:
        coming: Future[tuple[slice, Views, Any]] | None = None
        for rows in blocks:
            before, coming = coming, reader.submit(upload, rows)
            if before is not None:
                yield _arrived(*before.result())
        if coming is not None:
            yield _arrived(*coming.result())


class _Upload:
    """Copies blocks of rows to the device, by turns through two sets of page-locked buffers."""

    def __init__(self, X: Views, dtype: torch.dtype, device: torch.device) -> None:
        self._x, self._dtype, self._device = X, dtype, device
        self._stream = torch.cuda.Stream(device)
        self._buffers: list[dict[str, Tensor]] = [{}, {}]
        self._sent = [torch.cuda.Event(), torch.cuda.Event()]
        self._turn = 0

    def __call__(self, rows: slice) -> tuple[slice, Views, Any]:
        self._turn = 1 - self._turn
        buffers, sent = self._buffers[self._turn], self._sent[self._turn]
        sent.synchronize()  # what was in the buffers before has left them
        block = self._x[rows]
        blocks = {}
        with torch.cuda.device(self._device), torch.cuda.stream(self._stream):
            for name in block.names:
                values = block.tensor(name, self._dtype)
                if name not in buffers or len(buffers[name]) < len(values):
                    buffers[name] = torch.empty(values.shape, dtype=self._dtype, pin_memory=True)
                staged = buffers[name][: len(values)]
                staged.copy_(values)
                blocks[name] = staged.to(self._device, non_blocking=True)
            sent.record(self._stream)
        return rows, block.replaced(blocks), sent


def _arrived(rows: slice, moved: Views, sent: Any) -> tuple[slice, Views]:
    stream = torch.cuda.current_stream()
    stream.wait_event(sent)
    for name in moved.names:
        moved[name].record_stream(stream)  # its memory is not given away before this stream is done with it
    return rows, moved


class RowSink:
    """Takes results block by block into `output`, wherever that lies; the device works on while they travel."""

    def __init__(self, output: Tensor) -> None:
        self._output = output
        self._travelling: list[tuple[slice, Tensor, Any]] = []

    def put(self, rows: slice, values: Tensor) -> None:
        if not values.is_cuda or self._output.is_cuda:
            self._output[rows] = values
            return
        staged = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
        staged.copy_(values, non_blocking=True)
        arrived = torch.cuda.Event()
        arrived.record()
        self._travelling.append((rows, staged, arrived))
        if len(self._travelling) > 1:
            self._land()

    def flush(self) -> None:
        while self._travelling:
            self._land()

    def _land(self) -> None:
        rows, staged, arrived = self._travelling.pop(0)
        arrived.synchronize()
        self._output[rows] = staged
