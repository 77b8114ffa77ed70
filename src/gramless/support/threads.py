"""Threads: one for a while, few samples on one, and as many as before in a forked child.

GNU OpenMP's threads do not live on in a forked child, but its notes of them do: the next parallel loop of PyTorch or
scikit-learn there waits for them for ever. So the forking thread lets its threads go before a fork, and waits for those
of threads that have ended; both sides start new ones when they need them. What other threads of the parent compute goes
on undisturbed.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from threading import Lock, get_ident
from threading import enumerate as enumerate_threads
from typing import Any

from threadpoolctl import ThreadpoolController

OMP_PAUSE_SOFT = 1
TASKS, RUNNING = Path("/proc/self/task"), {"R", "D"}  # of Linux: threads, and the states of those that do something
QUIET_LOOKS = 3
SECONDS_TO_LEAVE = 0.5  # other threads' products may run for longer, and are not waited for
FEW_SAMPLES = 1_500

_lock = Lock()
_inside: Counter[int] = Counter()  # how often each thread has entered
_before = 1
_blas: Any = None


def threads_for(n_samples: int) -> AbstractContextManager[None]:
    """Fit to so many samples on one thread if they are few, and on as many as there are otherwise.

    Few samples are hundreds of pieces of a millisecond each, and threads spend more time waiting for each other at the
    end of every piece than they save: on two cores that others use, 63 samples took up to 7 s of the processors on two
    threads and 0.2 s on one, 400 samples 16 s and 0.6 s. Work on more samples is dominated by large products.
    """
    return one_thread() if n_samples <= FEW_SAMPLES else nullcontext()


@contextmanager
def one_thread() -> Iterator[None]:
    """Run the body on one thread of PyTorch, the engine and BLAS, and leave the numbers as they were found.

    Two threads are up to twice as fast on an idle machine, but on one that others use as well they wait for each other
    at the end of every short piece, and can be many times slower: a demo must not depend on what else is running.

    PyTorch's number is partly the thread's and partly the process's: a thread that comes while another is inside finds
    that one's. So the number to go back to is what the first one found. BLAS's is the process's; the
    engine's follows PyTorch's (`engine.cpu.threads`).
    """
    import torch  # not above: `import gramless` takes this file, and PyTorch seconds

    global _before, _blas
    me = get_ident()
    with _lock:
        if not _inside:
            _before = torch.get_num_threads()
            _blas = _ours().limit(limits=1, user_api="blas")
        _inside[me] += 1
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _lock:
            _inside[me] -= 1
            if not _inside[me]:
                del _inside[me]
                torch.set_num_threads(_before)
            if not _inside:
                _ours()
                _blas.restore_original_limits()
                _ours()


def _ours() -> ThreadpoolController:
    """The libraries, whose numbers the caller may set, and then whoever comes next; with the lock held.

    In threadpoolctl 3.8 the thread that first set OpenBLAS's number is the only one that can, as long as it lives,
    and others are not told: a fit in another thread had all of them, and the last to leave could not give them back.
    """
    libraries = _libraries()
    for library in libraries.lib_controllers:
        if hasattr(library, "clear_controlling_thread"):  # OpenBLAS
            library.clear_controlling_thread(force=True)
    return libraries


@cache
def _libraries() -> ThreadpoolController:
    """Those that `import gramless` brings are there by now; looking for them takes longer than many a small answer."""
    import scipy.linalg  # noqa: F401  # which has a BLAS of its own

    return ThreadpoolController()


def survive_forks() -> None:
    """From now on, in this process and those forked from it, where the system has forks."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_before_fork, after_in_parent=_lock.release, after_in_child=_begin_anew)


def _before_fork() -> None:
    """Nobody is setting numbers of threads when the fork comes: the libraries have locks of their own for that."""
    _let_threads_go()
    _wait_for_leaving()
    _lock.acquire()


def _let_threads_go() -> None:
    """Of every copy of GNU OpenMP: packages bring their own."""
    for library in ThreadpoolController().select(prefix="libgomp").lib_controllers:
        pause = getattr(library.dynlib, "omp_pause_resource_all", None)  # as of GCC 9
        if pause is not None:
            pause(OMP_PAUSE_SOFT)


def _wait_for_leaving() -> None:
    """Until no thread is running that Python does not know, and none has left for some looks.

    When Python has joined a thread, it and those that computed for it are still on their way out, on a busy machine for
    tens of milliseconds, and may hold a lock of MKL's memory: a child that is forked then waits for it for ever in its
    first product.
    """
    if not TASKS.is_dir():
        return
    end, quiet, before = time.monotonic() + SECONDS_TO_LEAVE, 0, -1
    while quiet < QUIET_LOOKS and time.monotonic() < end:
        there, running = _tasks()
        quiet = 0 if running or there != before else quiet + 1
        before = there
        time.sleep(0.0005)


def _tasks() -> tuple[int, bool]:
    """How many threads there are, and whether one is running that is not Python's."""
    known = {thread.native_id for thread in enumerate_threads()}
    states = []
    for task in TASKS.iterdir():
        with suppress(OSError):  # it has left
            state = (task / "stat").read_text().rpartition(")")[2].split()[0]
            states.append(int(task.name) not in known and state in RUNNING)
    return len(states), any(states)


def _begin_anew() -> None:
    """In a forked child, whose one thread is the one that forked: no other is inside."""
    _lock.release()
    for thread in {*_inside} - {get_ident()}:
        del _inside[thread]
