"""One torch thread for work that is cut into short pieces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Run the body on one torch thread.

    Two threads are up to twice as fast on an idle machine, but on one that others use as well they wait for each other
    at the end of every short piece, and can be many times slower: a demo must not depend on what else is running.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
