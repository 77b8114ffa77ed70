"""One torch thread for work that is cut into short pieces, or whose cores are taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, get_ident

import torch

_lock = Lock()
_inside: Counter[int] = Counter()  # how often each thread has entered
_before = 1


@contextmanager
def one_thread() -> Iterator[None]:
    """Run the body on one torch thread, and leave the number as it was found.

    Two threads are up to twice as fast on an idle machine, but on one that others use as well they wait for each other
    at the end of every short piece, and can be many times slower: a demo must not depend on what else is running.

    PyTorch's number is partly the thread's and partly the process's: a thread that comes while another is inside finds
    that one's. So the number to go back to is what the first one found.
    """
    global _before
    me = get_ident()
    with _lock:
        if not _inside:
            _before = torch.get_num_threads()
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
