"""Sums over d of a function of two numbers, for a few rows and columns at once, kept in registers.

A tile of R x C pairs loads R + C vectors for R C vectors of work, so that arithmetic and not memory sets the pace.
Numbers are taken LANES at a time, the last ones under a mask that reads zeros: every function here is zero for two
zeros. A lane adds at most SPAN / LANES numbers before its total joins the others', which keeps the rounding error of a
sum of d non-negative numbers below (SPAN / LANES + d / SPAN + 5) 2^-24 of it, 9e-6 for d = 20,000 with sixteen lanes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import IntEnum
from typing import Any

from llvmlite import ir
from numba import literally, njit, types
from numba.core import cgutils
from numba.core.errors import RequireLiteralValue
from numba.extending import intrinsic

from gramless.engine.cpu.target import BYTE_LANES, BYTE_PRODUCTS, BYTE_SUMS, INTEGER_MINIMA, LANES, LONG_VECTORS
from gramless.engine.cpu.vectors import I8, I32, I64, VectorCode, element_of, integer, size_of

ROWS, COLUMNS = (6, 4) if LONG_VECTORS else (3, 3)  # totals in 32 or in 16 vector registers
SPAN = 128 * LANES
_intrinsic_of_constants: Any = intrinsic(prefer_literal=True)


class Term(IntEnum):
    """What is summed over d."""

    PRODUCT = 0
    MINIMUM = 1
    CITY_BLOCK = 2
    CHI_SQUARE = 3
    MINIMUM_OF_CODES = 4
    GIVEN = 5  # nothing: values that are there already


PRODUCT, MINIMUM, CITY_BLOCK, CHI_SQUARE, MINIMUM_OF_CODES, GIVEN = (int(term) for term in Term)


@njit
def add_block(
    term: Any, x: Any, z: Any, out: Any, n_rows: Any, n_columns: Any, d: Any, out_stride: Any, zero: Any
) -> Any:
    """out[i, j] = sum_d term(x[i, d], z[j, d]) of so many rows i and columns j, from these addresses on.

    x and z are C-contiguous, rows of out are `out_stride` numbers apart. Rows that fill no tile are taken one by one.
    zero : of the type of the numbers, which are bytes where they are codes
    """
    size, out_size = (1, 4) if term == MINIMUM_OF_CODES else (size_of(zero), size_of(zero))
    for k in range(0, d, SPAN):
        length, go_on = min(SPAN, d - k), min(k, 1)
        i = 0
        while i < n_rows:
            full = i + ROWS <= n_rows
            row = x + (i * d + k) * size
            for j in range(0, n_columns, COLUMNS):
                column = z + (j * d + k) * size
                pair = out + (i * out_stride + j) * out_size
                last = n_columns - 1 - j
                if full:
                    _add_tile(literally(term), ROWS, zero, row, column, pair, length, d, last, out_stride, go_on)
                else:
                    _add_tile(literally(term), 1, zero, row, column, pair, length, d, last, out_stride, go_on)
            i += ROWS if full else 1


@_intrinsic_of_constants
def _add_tile(
    typing: Any,
    term: Any,
    rows: Any,
    zero: Any,
    x: Any,
    z: Any,
    out: Any,
    length: Any,
    stride: Any,
    last_column: Any,
    out_stride: Any,
    go_on: Any,
) -> Any:
    """out[r, c] = sum_k term(x[r, k], z[c, k]) for k < length, r < rows, c < COLUMNS.

    x, z, out : addresses; rows of x and z are `stride` numbers apart, those of out `out_stride`
    term, rows : constants
    zero : of the type of x and z, unless they are codes
    last_column : columns beyond are computed as this one, so that no tile of columns needs to be full
    go_on : 1 to add to what is in out, 0 to begin
    """
    if not isinstance(term, types.IntegerLiteral) or not isinstance(rows, types.IntegerLiteral):
        raise RequireLiteralValue("term and rows choose the code")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        sums: _Sums
        if term.literal_value == Term.MINIMUM_OF_CODES:
            sums = _CodeSums(builder, rows.literal_value)
        else:
            sums = _FloatSums(builder, Term(term.literal_value), rows.literal_value, element_of(zero))
        sums.write(*arguments[3:])
        return context.get_dummy_value()

    return types.void(term, rows, zero, *[types.intp] * 8), generate


class _Sums(ABC):
    """The code of a tile; the arithmetic is a subclass's."""

    code: VectorCode
    totals: VectorCode
    result: ir.Type
    result_size: int

    def __init__(self, builder: ir.IRBuilder, rows: int) -> None:
        self.builder, self.rows = builder, rows

    @abstractmethod
    def step(self, total: Any, x: Any, z: Any) -> Any:
        """Totals of the lanes with the terms of two vectors added."""

    @abstractmethod
    def result_of(self, sum_: Any) -> Any:
        """A sum of totals as the type of `out`."""

    @abstractmethod
    def include(self, total: Any, before: Any) -> Any:
        """Totals with what is in `out` added."""

    def write(
        self, x: Any, z: Any, out: Any, length: Any, stride: Any, last_column: Any, out_stride: Any, go_on: Any
    ) -> None:
        builder, code = self.builder, self.code
        columns = [self._smaller(integer(c), last_column) for c in range(COLUMNS)]
        x_rows = [builder.mul(stride, integer(r)) for r in range(self.rows)]
        z_rows = [builder.mul(stride, column) for column in columns]
        zero = ir.Constant(self.totals.type, None)
        totals = [[cgutils.alloca_once_value(builder, zero) for _ in z_rows] for _ in x_rows]
        for row in totals:
            for total in row:
                builder.store(zero, total)  # again: an alloca's own value is set once per call of the function

        def accumulate(position: Any, mask: Any = None) -> None:
            zs = [code.load(z, builder.add(row, position), mask) for row in z_rows]
            for row, row_totals in zip(x_rows, totals, strict=True):
                one = code.load(x, builder.add(row, position), mask)
                for other, total in zip(zs, row_totals, strict=True):
                    builder.store(self.step(builder.load(total), one, other), total)

        with code.vectors(length) as position:
            accumulate(position)
        with code.rest(length) as (position, mask):
            accumulate(position, mask)
        pairs = [
            (total, self._place(out, builder.add(builder.mul(out_stride, integer(r)), column)))
            for r, row_totals in enumerate(totals)
            for column, total in zip(columns, row_totals, strict=True)
        ]
        # A branch, since what is only written is never waited for.
        with builder.if_then(builder.icmp_signed("!=", go_on, integer(0)), likely=False):
            for total, place in pairs:
                builder.store(self.include(builder.load(total), builder.load(place, align=self.result_size)), total)
        for r in range(self.rows):
            row = pairs[r * COLUMNS : (r + 1) * COLUMNS]
            sums = self.totals.sums([builder.load(total) for total, _ in row])
            for c, (_, place) in enumerate(row):
                builder.store(
                    self.result_of(builder.extract_element(sums, ir.Constant(I32, c))), place, align=self.result_size
                )

    def _place(self, out: Any, index: Any) -> Any:
        address = self.builder.add(out, self.builder.mul(index, integer(self.result_size)))
        return self.builder.inttoptr(address, self.result.as_pointer())

    def _smaller(self, a: Any, b: Any) -> Any:
        return self.builder.select(self.builder.icmp_signed("<", a, b), a, b)


class _FloatSums(_Sums):
    def __init__(self, builder: ir.IRBuilder, term: Term, rows: int, element: ir.Type) -> None:
        super().__init__(builder, rows)
        self.code = self.totals = VectorCode(builder, element)
        self.result, self.result_size = element, self.code.size
        self._term = FLOAT_TERMS[term]

    def step(self, total: Any, x: Any, z: Any) -> Any:
        return self._term(self.code, total, x, z)

    def result_of(self, sum_: Any) -> Any:
        return sum_

    def include(self, total: Any, before: Any) -> Any:
        alone = self.builder.insert_element(self.totals.constant(0.0), before, ir.Constant(I32, 0))
        return self.builder.fadd(total, alone)


def _product(code: VectorCode, total: Any, x: Any, z: Any) -> Any:
    return code.multiply_add(x, z, total)


def _minimum(code: VectorCode, total: Any, x: Any, z: Any) -> Any:
    """Of non-negative numbers, whose bits are ordered as they are.

    Some processors (AMD's Zen 4) compare floats where they add them, and integers elsewhere, at the same time.
    """
    if not INTEGER_MINIMA[code.size]:
        return code.builder.fadd(total, code.minimum(x, z))
    a, b = (code.builder.bitcast(number, code.integers.type) for number in (x, z))
    least = code.builder.select(code.builder.icmp_signed("<", a, b), a, b)
    return code.builder.fadd(total, code.builder.bitcast(least, code.type))


def _city_block(code: VectorCode, total: Any, x: Any, z: Any) -> Any:
    return code.builder.fadd(total, code.absolute(code.builder.fsub(x, z)))


def _chi_square(code: VectorCode, total: Any, x: Any, z: Any) -> Any:
    difference = code.builder.fsub(x, z)
    ratio = code.quotient(difference, code.builder.fadd(x, z))  # first: the square of a difference may overflow
    return code.multiply_add(difference, ratio, total)


FLOAT_TERMS: dict[Term, Callable[[VectorCode, Any, Any, Any], Any]] = {
    Term.PRODUCT: _product,
    Term.MINIMUM: _minimum,
    Term.CITY_BLOCK: _city_block,
    Term.CHI_SQUARE: _chi_square,
}


class _CodeSums(_Sums):
    """Minima of bytes, added up into totals of a few bytes each: four of them, in 32 bits, or eight, in 64."""

    result, result_size = I32, 4

    def __init__(self, builder: ir.IRBuilder, rows: int) -> None:
        super().__init__(builder, rows)
        self.code = VectorCode(builder, I8, BYTE_LANES)
        self.totals = VectorCode(builder, I32, LANES) if BYTE_PRODUCTS else VectorCode(builder, I64, BYTE_LANES // 8)

    def step(self, total: Any, x: Any, z: Any) -> Any:
        builder = self.builder
        least = builder.select(builder.icmp_unsigned("<", x, z), x, z)
        if BYTE_PRODUCTS is not None:
            return self.code.call(BYTE_PRODUCTS, self.totals.type, total, least, self.code.constant(1))
        if BYTE_SUMS is not None:
            zero = ir.Constant(self.code.type, None)
            return builder.add(total, self.code.call(BYTE_SUMS, self.totals.type, least, zero))
        eight = builder.bitcast(least, self.totals.type)
        for shift in range(0, 64, 8):
            one = builder.lshr(eight, self.totals.constant(shift))
            total = builder.add(total, builder.and_(one, self.totals.constant(255)))
        return total

    def result_of(self, sum_: Any) -> Any:
        return sum_ if BYTE_PRODUCTS else self.builder.trunc(sum_, I32)

    def include(self, total: Any, before: Any) -> Any:
        wide = before if BYTE_PRODUCTS else self.builder.sext(before, I64)
        alone = self.builder.insert_element(self.totals.constant(0), wide, ir.Constant(I32, 0))
        return self.builder.add(total, alone)
