"""Worker processes for pictures, and what Ctrl-C is to them.

A terminal sends Ctrl-C to all processes, and it is for the one that asks alone. A worker that died of it in the middle
of an answer would leave that one waiting for the rest for ever, and an exception between two lines of joblib's leaves
its threads in disorder. So workers never hear it, and the process that asks hears it between two answers.
"""

from __future__ import annotations

import multiprocessing.resource_tracker
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import takewhile
from threading import Event, current_thread, main_thread
from typing import Any, TypeVar

import joblib
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.backend import resource_tracker
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


def in_order(function: Callable[[Item], Result], items: Sequence[Item], workers: int) -> Generator[Result]:
    """function(item) of every item, in order, as soon as each is known; close it where the rest is not wanted.

    After Ctrl-C no item is begun any more; those that were come out, and KeyboardInterrupt then.
    """
    if workers == 1:
        threads = ThreadpoolController()
        for item in items:
            with threads.limit(limits=1):  # a picture is too little work for threads to wait for each other
                result = function(item)
            yield result
        return
    pool = joblib.Parallel(
        n_jobs=workers,
        backend="loky",
        return_as="generator",
        max_nbytes=None,
        inner_max_num_threads=1,
        initializer=_begin_worker,
    )
    with _noted_interrupt() as interrupted:
        with _deaf_from_birth():
            wanted = takewhile(lambda item: not interrupted(), items)
            results = pool(joblib.delayed(function)(item) for item in wanted)
        try:
            for result in results:
                yield result
        except GeneratorExit:
            with suppress(KeyboardInterrupt):  # ends the workers at once, as closing does, and without a warning
                results.throw(KeyboardInterrupt)
            raise
        if interrupted():
            raise KeyboardInterrupt


def end_workers() -> None:
    """End all worker processes at once, in the middle of what they are at: who waits for them gets an error."""
    get_reusable_executor(reuse=True).shutdown(wait=False, kill_workers=True)


def _begin_worker() -> None:
    """In each worker process: one thread of OpenCV, as the cores are taken already, and no Ctrl-C."""
    import cv2

    cv2.setNumThreads(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _deaf_from_birth() -> Iterator[None]:
    """Processes that are started in here do not hear Ctrl-C while they start: they inherit what this thread blocks."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    for tracker in (resource_tracker, multiprocessing.resource_tracker):
        tracker.ensure_running()  # starting them would end the blocking
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _noted_interrupt() -> Iterator[Callable[[], bool]]:
    """Whether there was a Ctrl-C in here; a second one is an exception at once, for who cannot wait.

    Only the main thread hears it, and only where nobody else has a use for it.
    """
    heard = Event()
    if current_thread() is not main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield heard.is_set
        return

    def note(number: int, frame: Any) -> None:
        if heard.is_set():
            raise KeyboardInterrupt
        heard.set()

    signal.signal(signal.SIGINT, note)
    try:
        yield heard.is_set
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
