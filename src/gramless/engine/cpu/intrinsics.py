"""Turn a Python function that writes vector code into one that Numba code can call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import intrinsic

from gramless.engine.cpu.vectors import VectorCode


def vector_function(write: Callable[..., None]) -> Any:
    """An intrinsic without a result, from write(code, ...), which gets the arguments as LLVM values.

    Arguments annotated as float arrive as float32, the others (addresses, counts) as 64-bit integers.
    """
    parameters = list(inspect.signature(write).parameters.values())
    kinds = [types.float32 if p.annotation in (float, "float") else types.intp for p in parameters[1:]]

    def define(typing: Any, *given: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            write(VectorCode(builder), *arguments)
            return context.get_dummy_value()

        return types.void(*kinds), generate

    define.__name__, define.__doc__ = write.__name__, write.__doc__
    define.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return intrinsic(define)
