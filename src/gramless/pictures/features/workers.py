"""One function on many pictures: on all cores where they are many, at once where they are few."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import joblib
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")

FEW = 16  # pictures that are done before worker processes have started


def n_workers(n_pictures: int, n_jobs: int | None) -> int:
    """How many processes to use; 1 is this one. n_jobs : at most so many, or None for one per core."""
    if n_jobs is not None and n_jobs < 1:
        raise ValueError(f"n_jobs is a number of processes of at least 1, or None for one per core, got {n_jobs}.")
    if n_pictures < FEW:
        return 1
    return n_jobs or int(joblib.cpu_count())


def in_order(function: Callable[[Item], Result], items: Sequence[Item], workers: int) -> Iterator[Result]:
    """function(item) of every item, in order, as soon as each is known."""
    if workers == 1:
        threads = ThreadpoolController()
        for item in items:
            with threads.limit(limits=1):  # a picture is too little work for threads to wait for each other
                result = function(item)
            yield result
        return
    pool = joblib.Parallel(
        n_jobs=workers, backend="loky", return_as="generator", max_nbytes=None, inner_max_num_threads=1
    )
    yield from pool(joblib.delayed(_single_threaded)(function, item) for item in items)


def _single_threaded(function: Callable[[Item], Result], item: Item) -> Result:
    """One thread of OpenCV in each worker process: the cores are taken already."""
    import cv2

    cv2.setNumThreads(1)
    return function(item)
