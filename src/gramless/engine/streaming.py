"""Blocks of rows to where they are computed on and back, on their way while other blocks are worked on.

From host memory to a GPU every byte is moved twice: by processors into page-locked memory, then over the link. Filling
block k + 1, sending it, computing block k and putting the answers of block k - 1 where they belong go on at once.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import cycle, islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gramless.views import Views
from gramless.views.arrays import numpy_dtype

AHEAD = 2  # blocks that are filled or sent while one is worked on
IN_FLIGHT = 2  # blocks of answers on their way at a time


def stream_rows(
    X: Views, blocks: Iterator[slice], dtype: torch.dtype, device: torch.device
) -> Iterator[tuple[slice, Views]]:
    """(rows, samples) of every block, on the device.

    From host memory to a GPU through page-locked memory on a stream of its own: copying and computing overlap. What is
    done with a block until the next one is asked for is done on one of two streams, by turns, so that a block is looked
    at, and its work queued, while the block before is computed. Anywhere else the caller's memory is used as it is.
    """
    if device.type != "cuda" or (X.torch_device is not None and X.torch_device.type == "cuda"):
        yield from ((rows, X[rows]) for rows in blocks)
        return
    with ExitStack() as stack:
        streams = [stack.enter_context(_borrowed_stream(device)) for _ in range(3)]
        upload = _Upload(X, dtype, device, streams.pop())
        stack.callback(upload.finish)
        sender = stack.enter_context(ThreadPoolExecutor(1))
        turns = cycle(streams)
        coming = deque(sender.submit(upload, rows) for rows in islice(blocks, AHEAD))
        while coming:
            rows, moved, sent = coming.popleft().result()
            coming.extend(sender.submit(upload, following) for following in islice(blocks, 1))
            with torch.cuda.stream(next(turns)):
                stream = torch.cuda.current_stream()
                stream.wait_event(sent)
                for name in moved.names:
                    moved[name].record_stream(stream)  # its memory is not given away before this stream is done
                yield rows, moved


def on_device(X: Views, dtype: torch.dtype, device: torch.device) -> Views:
    """All samples, on the device."""
    (whole,) = (samples for _, samples in stream_rows(X, iter([slice(0, len(X))]), dtype, device))
    for name in whole.names:
        if isinstance(whole[name], Tensor) and whole[name].is_cuda:
            whole[name].record_stream(torch.cuda.current_stream(device))
    return whole


@contextmanager
def _borrowed_stream(device: torch.device) -> Iterator[Any]:
    """One of a few streams that are used again and again: PyTorch keeps the memory of each for itself.

    What was done on it is done before what the caller's stream does next.
    """
    free = _free_streams[device]
    try:
        stream = free.pop()
    except IndexError:
        stream = torch.cuda.Stream(device)
    try:
        yield stream
    finally:
        torch.cuda.current_stream(device).wait_stream(stream)
        free.append(stream)


_free_streams: defaultdict[torch.device, deque[Any]] = defaultdict(deque)


class _Upload:
    """Copies blocks of rows to the device, by turns through two sets of page-locked buffers, or from where they are,
    if that is page-locked."""

    def __init__(self, X: Views, dtype: torch.dtype, device: torch.device, stream: Any) -> None:
        self._x, self._dtype, self._device, self._stream = X, dtype, device, stream
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
            for name in block.names:
                staged = self._page_locked(name, block.tensor(name, self._dtype), buffers)
                moved[name] = staged.to(self._device, non_blocking=True)
            sent = self._sent[self._turn] = torch.cuda.Event()
            sent.record(self._stream)
        return rows, block.replaced(moved), sent

    def _page_locked(self, name: str, x: Tensor, buffers: dict[str, Tensor]) -> Tensor:
        if x.is_pinned() and x.is_contiguous():
            buffers[name] = x  # held until it has left
            return x
        if name not in buffers or len(buffers[name]) < len(x):
            buffers[name] = torch.empty(x.shape, dtype=self._dtype, pin_memory=True)
        return buffers[name][: len(x)].copy_(x)  # by all of PyTorch's threads

    def finish(self) -> None:
        """All that was sent has left."""
        for sent in self._sent:
            sent.synchronize()


def new_rows(n: int, width: int, dtype: torch.dtype, place: torch.device) -> Tensor:
    """Memory for results: NumPy's in host memory, which asks the system for large pages."""
    if place.type != "cpu":
        return torch.empty(n, width, dtype=dtype, device=place)
    return torch.from_numpy(np.empty((n, width), numpy_dtype(dtype)))


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
