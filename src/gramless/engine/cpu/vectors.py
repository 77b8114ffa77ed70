"""Write LLVM code that works on vectors, from inside a Numba intrinsic, and make one of what writes it.

Numba's loops become vector instructions only now and then, and never the register tiles that reach the processor's
peak. The code here is portable LLVM: for a target without vectors this long, LLVM splits them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NewType

import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.core import cgutils
from numba.core.errors import RequireLiteralValue

from gramless.engine.cpu.target import LANES, LONG_VECTORS

I8, I32, I64, F32, F64 = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.FloatType(), ir.DoubleType()


def element_of(kind: Any) -> ir.Type:
    """LLVM's type of one of Numba's two floating types."""
    return {types.float32: F32, types.float64: F64}[kind]


def integer(value: int) -> ir.Constant:
    return ir.Constant(I64, value)


class VectorCode:
    """Code on vectors of one type, added where the builder stands. Addresses and counts are 64-bit integers."""

    def __init__(self, builder: ir.IRBuilder, element: ir.Type = F32, lanes: int | None = None) -> None:
        self.builder, self.element = builder, element
        self.floating = element in (F32, F64)
        self.size = {F32: 4, F64: 8}[element] if self.floating else element.width // 8
        self.lanes = lanes or 4 * LANES // self.size
        self.type = ir.VectorType(element, self.lanes)
        self._short = f"v{self.lanes}{'f' if self.floating else 'i'}{8 * self.size}"

    @property
    def integers(self) -> VectorCode:
        """As many integers of the same size."""
        return VectorCode(self.builder, I32 if self.size == 4 else I64, self.lanes)

    def constant(self, value: float) -> ir.Constant:
        """The same number in all lanes."""
        exact: float | int = int(value)
        if self.floating:
            exact = float(np.float32(value)) if self.element is F32 else float(value)
        return ir.Constant(self.type, [exact] * self.lanes)

    def splat(self, scalar: Any) -> Any:
        undefined = ir.Constant(self.type, ir.Undefined)
        first = self.builder.insert_element(undefined, scalar, ir.Constant(I32, 0))
        return self.builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(I32, self.lanes), None))

    def pointer(self, base: Any, index: Any, kind: ir.Type) -> Any:
        offset = self.builder.mul(index, integer(self.size))
        return self.builder.inttoptr(self.builder.add(base, offset), kind.as_pointer())

    def load(self, base: Any, index: Any, mask: Any = None) -> Any:
        """The vector at base[index], with zeros where the mask is off."""
        pointer = self.pointer(base, index, self.type)
        if mask is None:
            return self.builder.load(pointer, align=self.size)
        name = f"llvm.masked.load.{self._short}.p0"
        zeros = ir.Constant(self.type, None)
        return self.call(name, self.type, pointer, ir.Constant(I32, self.size), mask, zeros)

    def store(self, vector: Any, base: Any, index: Any, mask: Any = None) -> None:
        pointer = self.pointer(base, index, self.type)
        if mask is None:
            self.builder.store(vector, pointer, align=self.size)
        else:
            name = f"llvm.masked.store.{self._short}.p0"
            self.call(name, ir.VoidType(), vector, pointer, ir.Constant(I32, self.size), mask)

    def load_scalar(self, base: Any, index: Any) -> Any:
        return self.builder.load(self.pointer(base, index, self.element), align=self.size)

    def first(self, count: Any) -> Any:
        """The mask whose first `count` lanes are on."""
        wide = VectorCode(self.builder, I32, self.lanes)
        position = ir.Constant(wide.type, list(range(self.lanes)))
        return self.builder.icmp_signed("<", position, wide.splat(self.builder.trunc(count, I32)))

    @contextmanager
    def vectors(self, count: Any) -> Iterator[Any]:
        """Loop over the positions of the full vectors among `count` numbers."""
        with cgutils.for_range(self.builder, self.builder.udiv(count, integer(self.lanes))) as loop:
            yield self.builder.mul(loop.index, integer(self.lanes))

    @contextmanager
    def rest(self, count: Any) -> Iterator[tuple[Any, Any]]:
        """If `count` leaves some numbers after the full vectors: their position and their mask."""
        left = self.builder.urem(count, integer(self.lanes))
        with self.builder.if_then(self.builder.icmp_unsigned(">", left, integer(0)), likely=False):
            yield self.builder.sub(count, left), self.first(left)

    def call(self, name: str, kind: ir.Type, *arguments: Any, fastmath: Sequence[str] = ()) -> Any:
        signature = ir.FunctionType(kind, [argument.type for argument in arguments])
        function = cgutils.get_or_insert_function(self.builder.module, signature, name)
        return self.builder.call(function, arguments, fastmath=fastmath)

    def sums(self, vectors: Sequence[Any]) -> Any:
        """A vector with the sum of each vector's lanes, by halving all at once: far fewer steps than one by one.

        First, pairs of vectors become one, in which each has half of the lanes; then the parts are halved to one lane.
        """
        n_parts = 1
        parts = list(vectors)
        while len(parts) > 1:
            parts += [ir.Constant(self.type, None)] * (len(parts) % 2)
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = [self.plus(*self._halves(first, second, self.lanes, 2 * n_parts)) for first, second in pairs]
            n_parts *= 2
        total, lanes = parts[0], self.lanes
        while lanes > n_parts:
            total = self.plus(*self._halves(total, total, lanes, n_parts))
            lanes //= 2
        return total

    def _halves(self, first: Any, second: Any, lanes: int, n_parts: int) -> list[Any]:
        """The front halves, and the rear halves, of the equal parts of two vectors, as many as wanted."""
        n_in_first = n_parts // 2 if first is not second else n_parts
        half = lanes // n_in_first // 2
        starts = [part * 2 * half for part in range(n_parts)]  # lanes of the second vector count on from the first's
        kind = ir.VectorType(I32, n_parts * half)
        return [
            self.builder.shuffle_vector(
                first, second, ir.Constant(kind, [start + rear + k for start in starts for k in range(half)])
            )
            for rear in (0, half)
        ]

    def plus(self, a: Any, b: Any) -> Any:
        return self.builder.fadd(a, b) if self.floating else self.builder.add(a, b)

    def multiply_add(self, a: Any, b: Any, c: Any) -> Any:
        """a b + c, with one rounding where the target has that: llvm.fma would be a call per lane elsewhere."""
        return self.call(f"llvm.fmuladd.{self._short}", self.type, a, b, c)

    def square_root(self, x: Any) -> Any:
        return self.call(f"llvm.sqrt.{self._short}", self.type, x)

    def absolute(self, x: Any) -> Any:
        return self.call(f"llvm.fabs.{self._short}", self.type, x)

    def reduced(self, how: str, x: Any) -> Any:
        """One number of all lanes: the least ("fmin") or the largest ("fmax")."""
        return self.call(f"llvm.vector.reduce.{how}.{self._short}", self.element, x)

    def minimum(self, a: Any, b: Any) -> Any:
        return self.builder.select(self.builder.fcmp_ordered("<", a, b), a, b)

    def maximum(self, a: Any, b: Any) -> Any:
        return self.builder.select(self.builder.fcmp_ordered(">", a, b), a, b)

    def clip(self, x: Any, low: float, high: float) -> Any:
        return self.maximum(self.minimum(x, self.constant(high)), self.constant(low))

    def quotient(self, a: Any, b: Any) -> Any:
        """a / b of b >= 0, which counts as the least normal number where it is less, so that 0 / 0 = 0.

        By an estimate of 1 / b to 14 bits and Newton's method, where the processor has one: each step r (2 - b r)
        doubles them.
        """
        single = self.element is F32
        b = self.maximum(b, self.constant(2.0**-126 if single else 2.0**-1022))
        if not LONG_VECTORS:
            return self.builder.fdiv(a, b)
        everywhere = ir.Constant(ir.IntType(max(8, self.lanes)), -1)
        name = f"llvm.x86.avx512.rcp14.{'ps' if single else 'pd'}.512"
        inverse = self.call(name, self.type, b, ir.Constant(self.type, None), everywhere)
        for _ in range(1 if single else 2):
            rest = self.multiply_add(self.builder.fneg(b), inverse, self.constant(2.0))
            inverse = self.builder.fmul(inverse, rest)
        return self.builder.fmul(a, inverse)

    def polynomial(self, x: Any, coefficients: Sequence[float]) -> Any:
        """c_0 + c_1 x + c_2 x^2 + ..."""
        value = self.constant(coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            value = self.multiply_add(value, x, self.constant(coefficient))
        return value


intrinsic: Any = extending.intrinsic
Constant = NewType("Constant", int)
"""A number that code is written for, such as how many rows a tile has: known when it is compiled."""


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
    annotated as float arrive in that type too, each `Constant` as a number of Python's, the rest (addresses, counts) as
    64-bit integers.
    """
    parameters = list(inspect.signature(write).parameters.values())
    names = [parameter.annotation for parameter in parameters[1:]]  # as texts: annotations are not evaluated
    assert names[-1] == "float", "the last argument says by its type what the code works in"

    def define(typing: Any, *given: Any) -> Any:
        kinds = []
        for name, kind in zip(names, given, strict=True):
            if name == "Constant" and not isinstance(kind, types.IntegerLiteral):
                raise RequireLiteralValue("constants choose the code")
            kinds.append(kind if name == "Constant" else given[-1] if name == "float" else types.intp)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            values = [
                kind.literal_value if isinstance(kind, types.IntegerLiteral) else value
                for kind, value in zip(kinds, arguments, strict=True)
            ]
            write(VectorCode(builder, element_of(given[-1])), *values)
            return context.get_dummy_value()

        return types.void(*kinds), generate

    define.__name__, define.__doc__ = write.__name__, write.__doc__
    define.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return intrinsic(prefer_literal=True)(define) if "Constant" in names else intrinsic(define)
