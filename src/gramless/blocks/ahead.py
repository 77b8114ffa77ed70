"""Blocks that are read, and on a GPU computed on, before they are asked for: in order, and only so many at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import torch

from gramless.support.config import computes_on_gpu, with_config

MOST_READERS = 8
GPU_WORKERS = 3  # one fills page-locked memory, one computes, one takes its answers away

Given = TypeVar("Given")
Result = TypeVar("Result")


def readers_at_once() -> int:
    """Threads that read: with a GPU most processors are idle; without, one reads while the others compute."""
    return max(1, min(MOST_READERS, torch.get_num_threads() // 2)) if computes_on_gpu() else 1


def each(function: Callable[[Given], Result], items: Iterable[Given]) -> Iterator[Result]:
    """function(item) of every item, in order; on a GPU several at once, so that one computes while others travel."""
    if not computes_on_gpu():
        return map(function, items)
    return in_order((partial(function, item) for item in items), GPU_WORKERS)


def in_order(tasks: Iterable[Callable[[], Result]], n_threads: int) -> Generator[Result]:
    """What tasks return, in their order; at most n_threads of them are done, or under way, ahead of the last one asked.

    Tasks run under the settings of the thread that asks. What one raises is raised where its result would have come.
    """
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            for task in tasks:
                waiting.append(pool.submit(with_config(task)))
                if len(waiting) > n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
