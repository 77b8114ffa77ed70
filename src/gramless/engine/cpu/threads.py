"""Work in many small tasks, which as many threads as PyTorch uses take one after the other until none is left.

Compiled code releases Python's lock, so that plain threads of Python run it at once. A thread takes the number of its
next task from a counter that all share: one that another process keeps from its core takes fewer tasks, and nobody
waits for it longer than a task lasts. Which thread takes a task changes no result. Work of one task starts no thread,
and takes no lock: several threads of the caller's run at full speed side by side.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from llvmlite import ir
from numba import njit, types

from gramless.engine.cpu.vectors import intrinsic

_helpers: ThreadPoolExecutor | None = None


def run(loop: Callable[..., Any], n_tasks: int, *arguments: Any) -> bool:
    """loop(counter, n_tasks, *arguments) on several threads; it takes its tasks by `tasks(counter, n_tasks)`.

    Whether all were done: none of them did `give_up(counter, n_tasks)`.
    """
    counter = np.zeros(2, np.int64)
    n_helpers = min(torch.get_num_threads(), n_tasks) - 1 if n_tasks > 1 else 0
    if n_helpers < 1:
        loop(counter, n_tasks, *arguments)
        return not counter[1]
    helpers = [_pool().submit(loop, counter, n_tasks, *arguments) for _ in range(n_helpers)]
    try:
        loop(counter, n_tasks, *arguments)
    finally:
        for helper in helpers:  # one that has not begun, because others keep the pool busy, is not needed any more
            if not helper.cancel():
                helper.result()
    return not counter[1]


def _pool() -> ThreadPoolExecutor:
    global _helpers
    if _helpers is None:
        _helpers = ThreadPoolExecutor(max_workers=max(1, os.cpu_count() or 1), thread_name_prefix="gramless")
    return _helpers


def _forget_helpers() -> None:
    """A forked child has none of its parent's threads."""
    global _helpers
    _helpers = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_helpers)


@intrinsic
def _take(typing: Any, counter: Any) -> Any:
    """The number at this address, which is one more afterwards."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        return builder.atomic_rmw("add", pointer, ir.Constant(ir.IntType(64), 1), "monotonic")

    return types.int64(types.intp), generate


@njit
def tasks(counter: Any, n_tasks: Any) -> Iterator[Any]:
    """Numbers of tasks, each of which no other thread gets."""
    task = _take(np.intp(counter.ctypes.data))
    while task < n_tasks:
        yield task
        task = _take(np.intp(counter.ctypes.data))


@njit
def give_up(counter: Any, n_tasks: Any) -> Any:
    """No thread begins another task."""
    counter[1] = 1
    counter[0] = n_tasks
