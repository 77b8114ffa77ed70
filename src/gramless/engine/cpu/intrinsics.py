"""Turn a Python function that writes vector code into one that Numba code can call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from numba import extending, types

from gramless.engine.cpu.vectors import VectorCode, element_of, integer

intrinsic: Any = extending.intrinsic


@intrinsic
def size_of(typing: Any, number: Any) -> Any:
    """Bytes of a number of this floating type."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return integer(number.bitwidth // 8)

    return types.int64(number), generate


@intrinsic
def one_like(typing: Any, number: Any) -> Any:
    """1 in this floating type: Numba makes float64 of a float32 and an integer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.get_constant(number, 1.0)

    return number(number), generate


def vector_function(write: Callable[..., None]) -> Any:
    """An intrinsic without a result, from write(code, ...), which gets the arguments as LLVM values.

    The last argument is a float, and its type, float32 or float64, is the one that the code works in. Others that are
    annotated as float arrive in that type too, the rest (addresses, counts) as 64-bit integers.
    """
    parameters = list(inspect.signature(write).parameters.values())
    assert parameters[-1].annotation in (float, "float")

    def define(typing: Any, *given: Any) -> Any:
        kinds = [given[-1] if p.annotation in (float, "float") else types.intp for p in parameters[1:]]

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            write(VectorCode(builder, element_of(given[-1])), *arguments)
            return context.get_dummy_value()

        return types.void(*kinds), generate

    define.__name__, define.__doc__ = write.__name__, write.__doc__
    define.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return intrinsic(define)
