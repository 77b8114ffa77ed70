"""A forked child computes like any other process, on as many threads.

GNU OpenMP's threads do not live on in a forked child, but its notes of them do: the next parallel loop of PyTorch or
scikit-learn there waits for them for ever, and Numba ends the child. So the forking thread lets its threads go before a
fork, and both sides start new ones when they need them. What other threads of the parent compute goes on undisturbed.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from threadpoolctl import ThreadpoolController

OMP_PAUSE_SOFT = 1


def survive_forks() -> None:
    """From now on, in this process and those forked from it."""
    os.register_at_fork(before=_let_threads_go, after_in_child=_forget_numbas_threads)


def _let_threads_go() -> None:
    """Of every copy of GNU OpenMP: packages bring their own."""
    for library in ThreadpoolController().select(prefix="libgomp").lib_controllers:
        pause = getattr(library.dynlib, "omp_pause_resource_all", None)  # as of GCC 9
        if pause is not None:
            pause(OMP_PAUSE_SOFT)


def _forget_numbas_threads() -> None:
    """Numba starts its threads once and remembers in which process; it has no public way to start them anew.

    It does so under a lock that a child shares with its parent. A child that was killed in between would keep it for
    ever, so each makes its own.
    """
    parallel: Any = sys.modules.get("numba.np.ufunc.parallel")
    if parallel is not None:
        parallel._is_initialized = False
        parallel._backend_init_process_lock = None
