"""Blocks of rows to where they are computed on and back, on their way while other blocks are worked on.

From host memory to a GPU every byte is moved twice: by processors into page-locked memory, then over the link.
One processor copies some 5 GB/s, a link carries 50: so several threads fill a block, each some of its rows. Filling
block k + 1, sending it, computing block k and putting the answers of block k - 1 where they belong go on at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gramless.support.budget import row_blocks
from gramless.views import Views

MOST_THREADS = 8  # that fill a block: as many saturate the memory of most machines
LEAST_BYTES = 1 << 20  # that are worth a thread
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
    n_threads = max(1, min(MOST_THREADS, torch.get_num_threads() // 2))
    with ThreadPoolExecutor(n_threads) as fillers, ThreadPoolExecutor(1) as sender:
        upload = _Upload(X, dtype, device, fillers, n_threads)
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

    def __init__(
        self, X: Views, dtype: torch.dtype, device: torch.device, fillers: ThreadPoolExecutor, n_parts: int
    ) -> None:
        self._x, self._dtype, self._device, self._fillers, self._n_parts = X, dtype, device, fillers, n_parts
        self._stream = torch.cuda.Stream(device)
        self._buffers: list[dict[str, Tensor]] = [{}, {}]
        self._sent = [torch.cuda.Event(), torch.cuda.Event()]
        self._turn = 0

    def __call__(self, rows: slice) -> tuple[slice, Views, Any]:
        self._turn = 1 - self._turn
        buffers, sent = self._buffers[self._turn], self._sent[self._turn]
        sent.synchronize()  # what was in the buffers before has left them
        block = self._x[rows]
        staged = {name: self._page_locked(buffers, name, (len(block), width)) for name, width in block.layout.items()}
        self._fill(staged, block)
        with torch.cuda.device(self._device), torch.cuda.stream(self._stream):
            moved = {name: values.to(self._device, non_blocking=True) for name, values in staged.items()}
            sent.record(self._stream)
        return rows, block.replaced(moved), sent

    def _page_locked(self, buffers: dict[str, Tensor], name: str, shape: tuple[int, int]) -> Tensor:
        if name not in buffers or len(buffers[name]) < shape[0]:
            buffers[name] = torch.empty(shape, dtype=self._dtype, pin_memory=True)
        return buffers[name][: shape[0]]

    def _fill(self, staged: dict[str, Tensor], block: Views) -> None:
        """NumPy copies, which leaves the interpreter to other threads and starts none of its own, as PyTorch would."""

        def copy(rows: slice) -> None:
            some = block[rows]
            for name, values in staged.items():
                np.copyto(values[rows].numpy(), some.tensor(name, self._dtype).numpy())

        row_bytes = block.shape[1] * self._dtype.itemsize
        part = max(len(block) * row_bytes // self._n_parts + row_bytes, LEAST_BYTES)
        deque(self._fillers.map(copy, row_blocks(len(block), row_bytes, part)), maxlen=0)


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
        np.copyto(self._output[rows].numpy(), staged.numpy())
