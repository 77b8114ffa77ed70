"""Compile with Numba, and keep the machine code on disk until any source of it, or the processor, changes.

Numba's cache compares the file of the function only; what it calls lies in other files here, down to the vector code,
and numbers of `engine/program.py` and `kernels/operations.py` are compiled in. But the cache's key has the contents of
a function's closure: a digest of the sources is put there, and of what of the processor is used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from types import CellType, FunctionType
from typing import Any

from numba import njit

from gramless.engine import program
from gramless.engine.cpu.target import FEATURES  # chosen before anything is compiled
from gramless.kernels import operations
from gramless.support.progress import Waiting


def _digest() -> str:
    digest = hashlib.sha256(",".join(sorted(FEATURES)).encode())
    for file in (*sorted(Path(__file__).parent.glob("*.py")), Path(program.__file__), Path(operations.__file__)):
        digest.update(file.read_bytes())
    return digest.hexdigest()


_SOURCES = CellType(_digest())


class Compiled:
    """Machine code that Python calls; the first call may have to make it."""

    def __init__(self, dispatcher: Any) -> None:
        self.dispatcher = dispatcher

    def __call__(self, *arguments: Any) -> Any:
        if self.dispatcher.overloads:
            return self.dispatcher(*arguments)
        with Waiting("compiling for this processor, the first time only"):
            return self.dispatcher(*arguments)


def compiled(function: Callable[..., Any]) -> Compiled:
    """The function as machine code, cached on disk; for the functions that Python calls, on any number of threads."""
    assert isinstance(function, FunctionType)
    code = function.__code__
    keyed = FunctionType(
        code.replace(co_freevars=(*code.co_freevars, "digest_of_sources")),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        (*(function.__closure__ or ()), _SOURCES),
    )
    keyed.__qualname__, keyed.__doc__ = function.__qualname__, function.__doc__
    keyed.__module__ = function.__module__
    return Compiled(njit(nogil=True, cache=True)(keyed))
