"""One number of threads for PyTorch and Numba.

Numba sets OpenMP's number of threads for everybody in the process when it enters a parallel region, PyTorch included.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numba
import torch


@contextmanager
def threads_of_torch() -> Iterator[int]:
    """Run Numba's parallel regions on as many threads as PyTorch uses, and leave PyTorch's number as it was.

    At most as many as Numba was launched with (NUMBA_NUM_THREADS). Yields the number.
    """
    wanted, before = torch.get_num_threads(), numba.get_num_threads()
    launched: int = vars(numba.config)["NUMBA_NUM_THREADS"]
    number = max(1, min(wanted, launched))
    numba.set_num_threads(number)
    try:
        yield number
    finally:
        numba.set_num_threads(before)
        torch.set_num_threads(wanted)
