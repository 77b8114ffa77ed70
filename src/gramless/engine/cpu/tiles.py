"""What is done to a tile of pairs: vector functions for Numba code.

A tile is a C-contiguous array (some rows, width) that stays in the nearest caches, with a width that is a
multiple of TILE. Arguments are addresses and counts, then numbers, of which the last says by its
type whether float32 or float64 is worked in; functions work in place unless they name an `out`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from llvmlite import ir
from numba.core import cgutils

from gramless.engine.cpu import functions
from gramless.engine.cpu.target import LONG_VECTORS
from gramless.engine.cpu.vectors import I32, Constant, VectorCode, integer, vector_function

TILE = 64  # pairs; a multiple of AT_ONCE vectors
AT_ONCE = 4  # vectors handled together: one alone would wait for its own results
UNITS = 4 if LONG_VECTORS else 2  # times AT_ONCE totals, in 32 or 16 registers


@vector_function
def affine(
    code: VectorCode,
    statistic: int,
    shift: int,
    gain: int,
    out: int,
    count: int,
    slope: float,
    own_shift: float,
    own_gain: float,
) -> None:
    """out = (slope statistic + own_shift + shift) own_gain gain, for `count` pairs of one sample with others."""
    builder = code.builder
    slopes, own_shifts, own_gains = code.splat(slope), code.splat(own_shift), code.splat(own_gain)

    def put(at: Any, mask: Any = None) -> None:
        shifts = builder.fadd(own_shifts, code.load(shift, at, mask))  # first: they are what cancels the statistic
        values = code.multiply_add(slopes, code.load(statistic, at, mask), shifts)
        values = builder.fmul(builder.fmul(values, own_gains), code.load(gain, at, mask))
        code.store(values, out, at, mask)

    _everywhere(code, count, put)


@vector_function
def rescale(code: VectorCode, factor: int, values: int, count: int, own_factor: float) -> None:
    """values = values own_factor factor, for `count` pairs of one sample with others."""
    own_factors = code.splat(own_factor)

    def put(at: Any, mask: Any = None) -> None:
        scaled = code.builder.fmul(code.load(values, at, mask), own_factors)
        code.store(code.builder.fmul(scaled, code.load(factor, at, mask)), values, at, mask)

    _everywhere(code, count, put)


@vector_function
def scale_to(code: VectorCode, values: int, out: int, count: int, factor: float) -> None:
    """out = factor values, for `count` numbers."""
    factors = code.splat(factor)

    def put(at: Any, mask: Any = None) -> None:
        code.store(code.builder.fmul(code.load(values, at, mask), factors), out, at, mask)

    _everywhere(code, count, put)


def _everywhere(code: VectorCode, count: Any, put: Any) -> None:
    with code.vectors(count) as at:
        put(at)
    with code.rest(count) as (at, mask):
        put(at, mask)


@vector_function
def power(code: VectorCode, values: int, count: int, degree: int, zero: float) -> None:
    """values^degree, by degree - 1 products."""
    with code.vectors(count) as at:
        value = code.load(values, at)
        product = cgutils.alloca_once(code.builder, code.type)
        code.builder.store(value, product)
        with cgutils.for_range(code.builder, code.builder.sub(degree, integer(1))):
            code.builder.store(code.builder.fmul(code.builder.load(product), value), product)
        code.store(code.builder.load(product), values, at)


@vector_function
def inverse_power(code: VectorCode, values: int, count: int, exponent: float) -> None:
    """(1 + max(values, 0))^-exponent."""
    exponents = code.splat(code.builder.fneg(exponent))
    with code.vectors(count) as at:
        logarithm = functions.log_plus_one(code, code.maximum(code.load(values, at), code.constant(0.0)))
        code.store(functions.exp(code, code.builder.fmul(exponents, logarithm)), values, at)


def _pointwise(function: Callable[[VectorCode, Any], Any]) -> Any:
    """values = function(values)."""

    def write(code: VectorCode, values: int, count: int, zero: float) -> None:
        with code.vectors(count) as at:
            code.store(function(code, code.load(values, at)), values, at)

    return vector_function(write)


def _nonpositive(code: VectorCode, values: Any) -> Any:
    return code.minimum(values, code.constant(0.0))


nonpositive = _pointwise(_nonpositive)
decaying_exp = _pointwise(lambda code, values: functions.exp(code, _nonpositive(code, values)))
arc_cosine_0, arc_cosine_1, arc_cosine_2 = (
    _pointwise(partial(functions.arc_cosine_kernel, degree=degree)) for degree in range(3)
)
tanh, sinh, exp = (_pointwise(function) for function in (functions.tanh, functions.sinh, functions.exp))


@vector_function
def polynomial(code: VectorCode, values: int, count: int, coefficients: int, n_coefficients: int, zero: float) -> None:
    """c_0 + c_1 values + c_2 values^2 + ..., by Horner's rule."""
    builder = code.builder
    with code.vectors(count) as at:
        value = code.load(values, at)
        sum_ = cgutils.alloca_once(builder, code.type)
        builder.store(code.constant(0.0), sum_)
        with cgutils.for_range(builder, n_coefficients) as loop:
            place = builder.sub(builder.sub(n_coefficients, integer(1)), loop.index)
            coefficient = code.splat(code.load_scalar(coefficients, place))
            builder.store(code.multiply_add(builder.load(sum_), value, coefficient), sum_)
        code.store(builder.load(sum_), values, at)


@vector_function
def tanh_rate(code: VectorCode, outputs: int, out: int, count: int, zero: float) -> None:
    """out = tanh' where tanh is `outputs`: 1 - outputs^2."""
    one = code.constant(1.0)
    with code.vectors(count) as at:
        output = code.load(outputs, at)
        rate = code.builder.fmul(code.builder.fsub(one, output), code.builder.fadd(one, output))
        code.store(rate, out, at)


@vector_function
def sinh_rate(code: VectorCode, outputs: int, out: int, count: int, zero: float) -> None:
    """out = cosh where sinh is `outputs`: sqrt(1 + outputs^2), which is |outputs| long before that square overflows."""
    with code.vectors(count) as at:
        size = code.absolute(code.load(outputs, at))
        root = code.square_root(code.multiply_add(size, size, code.constant(1.0)))
        large = code.builder.fcmp_ordered(">", size, code.constant(1e9))
        code.store(code.builder.select(large, size, root), out, at)


@vector_function
def multiply_by(code: VectorCode, factors: int, values: int, count: int, zero: float) -> None:
    """values = factors values."""
    with code.vectors(count) as at:
        code.store(code.builder.fmul(code.load(factors, at), code.load(values, at)), values, at)


@vector_function
def products(
    code: VectorCode, n_units: Constant, weights: int, values: int, out: int, n_inputs: int, width: int, zero: float
) -> None:
    """out (n_units, width) = weights (n_units, n_inputs) values (n_inputs, width).

    All n_units AT_ONCE totals stay in registers, while an input's AT_ONCE vectors are loaded once for all units.
    """
    builder = code.builder
    with cgutils.for_range(builder, builder.udiv(width, integer(AT_ONCE * code.lanes))) as loop:
        at = _group(code, loop.index)
        totals = [[cgutils.alloca_once(builder, code.type) for _ in at] for _ in range(n_units)]
        for unit_totals in totals:
            for total in unit_totals:
                builder.store(ir.Constant(code.type, None), total)
        with cgutils.for_range(builder, n_inputs) as inputs:
            row = builder.mul(inputs.index, width)
            vectors = [code.load(values, builder.add(row, place)) for place in at]
            for unit, unit_totals in enumerate(totals):
                index = builder.add(builder.mul(n_inputs, integer(unit)), inputs.index)
                weight = code.splat(code.load_scalar(weights, index))
                for vector, total in zip(vectors, unit_totals, strict=True):
                    builder.store(code.multiply_add(weight, vector, builder.load(total)), total)
        for unit, unit_totals in enumerate(totals):
            row = builder.mul(width, integer(unit))
            for place, total in zip(at, unit_totals, strict=True):
                code.store(builder.load(total), out, builder.add(row, place))


def _group(code: VectorCode, number: Any) -> list[Any]:
    """Where the vectors of a group begin."""
    start = code.builder.mul(number, integer(AT_ONCE * code.lanes))
    return [code.builder.add(start, integer(v * code.lanes)) for v in range(AT_ONCE)]


@vector_function
def moments(code: VectorCode, x: int, count: int, out: int, stride: int, zero: float) -> None:
    """Sum, sum of squares, least and largest of `count` numbers, at `out` and so many numbers further each time."""
    builder = code.builder
    first = code.splat(code.load_scalar(x, integer(0)))
    totals, squares = ([cgutils.alloca_once(builder, code.type) for _ in range(AT_ONCE)] for _ in range(2))
    for total in (*totals, *squares):
        builder.store(code.constant(0.0), total)
    least, most = (cgutils.alloca_once(builder, code.type) for _ in range(2))
    builder.store(first, least)
    builder.store(first, most)

    def add(number: int, at: Any, mask: Any = None) -> None:
        value = code.load(x, at, mask)
        builder.store(builder.fadd(builder.load(totals[number]), value), totals[number])
        builder.store(code.multiply_add(value, value, builder.load(squares[number])), squares[number])
        value = value if mask is None else builder.select(mask, value, first)
        builder.store(code.minimum(value, builder.load(least)), least)
        builder.store(code.maximum(value, builder.load(most)), most)

    groups = builder.udiv(count, integer(AT_ONCE * code.lanes))
    with cgutils.for_range(builder, groups) as loop:
        for number, at in enumerate(_group(code, loop.index)):
            add(number, at)
    done = builder.mul(groups, integer(AT_ONCE * code.lanes))
    with code.vectors(builder.sub(count, done)) as at:
        add(0, builder.add(done, at))
    with code.rest(count) as (at, mask):
        add(1, at, mask)
    numbers = []
    for parts in (totals, squares):
        a, b, c, d = (builder.load(part) for part in parts)
        sums = code.sums([builder.fadd(builder.fadd(a, b), builder.fadd(c, d))])
        numbers.append(builder.extract_element(sums, ir.Constant(I32, 0)))
    numbers += [code.reduced("fmin", builder.load(least)), code.reduced("fmax", builder.load(most))]
    for k, number in enumerate(numbers):
        builder.store(number, code.pointer(out, builder.mul(stride, integer(k)), code.element), align=code.size)
