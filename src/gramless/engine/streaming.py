"""Blocks of rows to where they are computed on and back, on their way while other blocks are worked on.

From host memory to a GPU every byte is moved twice: by processors into page-locked memory, then over the link. Filling
block k + 1, sending it, computing block k and putting the answers of block k - 1 where they belong go on at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor

from gramless.views import Views

IN_FLIGHT = 2  # blocks of answers on their way at a time


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
    with ThreadPoolExecutor(1) as sender:
        coming: Future[tuple[slice, Views, Any]] | None = None
        for rows in blocks:
            before, coming = coming, sender.submit(upload, rows)
            if before is not None:
                yield _arrived(*before.result())
        if coming is not None:
            yield _arrived(*coming.result())


def on_device(X: Views, dtype: torch.dtype, device: torch.device) -> Views:
    """All samples, on the device."""
    (whole,) = stream_rows(X, iter([slice(0, len(X))]), dtype, device)
    return whole[1]


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
        moved = {}
        with torch.cuda.device(self._device), torch.cuda.stream(self._stream):
            for name, width in block.layout.items():
                if name not in buffers or len(buffers[name]) < len(block):
                    buffers[name] = torch.empty(len(block), width, dtype=self._dtype, pin_memory=True)
                staged = buffers[name][: len(block)]
                staged.copy_(block.tensor(name, self._dtype))  # by all of PyTorch's threads
                moved[name] = staged.to(self._device, non_blocking=True)
            sent.record(self._stream)
        return rows, block.replaced(moved), sent


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
        self._lander: ThreadPoolExecutor | None = None
        self._travelling: deque[Future[None]] = deque()

    def __enter__(self) -> RowSink:
        return self

    def put(self, rows: slice, values: Tensor) -> None:
        if not values.is_cuda or self._output.is_cuda:
            self._output[rows] = values
            return
        if self._lander is None:
            self._lander = ThreadPoolExecutor(1)
        if len(self._travelling) == IN_FLIGHT:
            self._travelling.popleft().result()
        staged = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
        staged.copy_(values, non_blocking=True)
        arrived = torch.cuda.Event()
        arrived.record()
        self._travelling.append(self._lander.submit(self._land, rows, staged, arrived))

    def __exit__(self, *error: object) -> None:
        """All that was put is there."""
        try:
            while self._travelling:
                self._travelling.popleft().result()
        finally:
            if self._lander is not None:
                self._lander.shutdown()

    def _land(self, rows: slice, staged: Tensor, arrived: Any) -> None:
        arrived.synchronize()
        self._output[rows] = staged  # by all of PyTorch's threads: the system finds memory for it only now
