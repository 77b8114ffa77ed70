"""One number of threads for PyTorch and Numba, and one parallel region at a time where Numba can do no more.

Numba sets OpenMP's number of threads when it enters a parallel region, and where both use the same OpenMP, PyTorch's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from threading import RLock

import numba
import torch

# Numba's workqueue ends the process when two threads enter regions at once. A fork waits for the region to end.
_turn = RLock()
os.register_at_fork(before=_turn.acquire, after_in_parent=_turn.release, after_in_child=_turn.release)


@contextmanager
def threads_of_torch() -> Iterator[int]:
    """Run Numba's parallel regions on as many threads as PyTorch uses, and leave PyTorch's number as it was.

    At most as many as Numba was launched with (NUMBA_NUM_THREADS). Yields the number.
    """
    wanted, before = torch.get_num_threads(), numba.get_num_threads()
    launched: int = vars(numba.config)["NUMBA_NUM_THREADS"]
    number = max(1, min(wanted, launched))
    with _turn if numba.threading_layer() == "workqueue" else nullcontext():
        if number != before:
            numba.set_num_threads(number)
        try:
            yield number
        finally:
            if number != before:
                numba.set_num_threads(before)
            if torch.get_num_threads() != wanted:  # setting it is for the whole process
                torch.set_num_threads(wanted)
