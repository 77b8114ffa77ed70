"""exp, log, tanh, sinh and the arc cosine of vectors, as LLVM code: no branches, no tables, relative error below 1e-6.

What makes them fast is what the C library cannot do: sixteen numbers at a time, with polynomials in float32 only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gramless.engine.cpu.vectors import I32, VectorCode

_LOG2_E = 1.0 / math.log(2.0)
_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4  # of nine bits, so that its products are exact, and the rest of ln 2
_TO_INTEGER = 1.5 * 2.0**23  # added to a float, leaves it rounded, as an integer in the lowest bits
_EXP = [1.0 / math.factorial(k) for k in range(8)]
_SINH = [1.0 / math.factorial(k) for k in range(1, 12, 2)]

# tanh x = x P(x^2) / Q(x^2), minimax for |x| <= 7.905, beyond which it is 1 in float32 (Eigen's, scaled to Q(0) = 1)
_TANH_END = 7.90531110763549805
_TANH_Q0 = 4.89352518554385e-03
_TANH_P = [
    c / _TANH_Q0
    for c in (
        4.89352455891786e-03,
        6.37261928875436e-04,
        1.48572235717979e-05,
        5.12229709037114e-08,
        -8.60467152213735e-11,
        2.00018790482477e-13,
        -2.76076847742355e-16,
    )
]
_TANH_Q = [c / _TANH_Q0 for c in (_TANH_Q0, 2.26843463243900e-03, 1.18534705686654e-04, 1.19825839466702e-06)]

# log m = 2 artanh s = 2 (s + s^3 / 3 + ...), s = (m - 1) / (m + 1), to 2e-9 for sqrt(1/2) <= m < sqrt(2)
_LOG = [2.0 / k for k in range(1, 11, 2)]
_ROOT_OF_HALF = 0x3F3504F3  # the bits of sqrt(1/2)
_MANTISSA = (1 << 23) - 1

# arccos x = sqrt(1 - x) P(x) for 0 <= x <= 1, to 2e-8 (Abramowitz and Stegun, 4.4.46)
_ARC_COSINE = [
    1.5707963050,
    -0.2145988016,
    0.0889789874,
    -0.0501743046,
    0.0308918810,
    -0.0170881256,
    0.0066700901,
    -0.0012624911,
]


def exp(code: VectorCode, x: Any, halvings: int = 0) -> Any:
    """exp(x) / 2^halvings: 2^n e^f with n whole and |f| <= ln(2) / 2. Infinite or zero where float32 ends."""
    builder = code.builder
    x = code.clip(x, -105.0, 90.0)
    shifted = code.multiply_add(x, code.constant(_LOG2_E), code.constant(_TO_INTEGER))
    n = builder.fsub(shifted, code.constant(_TO_INTEGER))
    f = code.multiply_add(n, code.constant(-_LN2_HIGH), x)
    f = code.multiply_add(n, code.constant(-_LN2_LOW), f)
    whole = VectorCode(builder, I32, code.lanes)
    exponent = builder.fptosi(n, whole.type)
    half = builder.ashr(exponent, whole.constant(1))  # 2^n in two factors: n may leave a float's range, halves do not
    other = builder.sub(builder.sub(exponent, half), whole.constant(halvings))
    value = builder.fmul(code.polynomial(f, _EXP), _power_of_two(code, half))
    return builder.fmul(value, _power_of_two(code, other))


def _power_of_two(code: VectorCode, exponent: Any) -> Any:
    builder, whole = code.builder, VectorCode(code.builder, I32, code.lanes)
    biased = builder.add(exponent, whole.constant(127))
    return builder.bitcast(builder.shl(biased, whole.constant(23)), code.type)


def log_plus_one(code: VectorCode, x: Any) -> Any:
    """log(1 + x) of x >= 0: with u = 2^n m the rounded sum, n log 2 + log m, and what was rounded off over u."""
    builder, whole = code.builder, VectorCode(code.builder, I32, code.lanes)
    x = code.minimum(x, code.constant(3e38))
    one = code.constant(1.0)
    u = builder.fadd(one, x)
    taken = builder.fsub(u, one)  # of x
    lost = builder.fadd(builder.fsub(x, taken), builder.fsub(one, builder.fsub(u, taken)))
    start = whole.constant(_ROOT_OF_HALF)
    bits = builder.sub(builder.bitcast(u, whole.type), start)
    n = builder.sitofp(builder.ashr(bits, whole.constant(23)), code.type)
    m = builder.bitcast(builder.add(builder.and_(bits, whole.constant(_MANTISSA)), start), code.type)
    s = builder.fdiv(builder.fsub(m, one), builder.fadd(m, one))
    logarithm = builder.fmul(s, code.polynomial(builder.fmul(s, s), _LOG))
    logarithm = builder.fadd(logarithm, builder.fdiv(lost, u))
    return code.multiply_add(n, code.constant(math.log(2.0)), logarithm)


def tanh(code: VectorCode, xs: Sequence[Any]) -> list[Any]:
    """tanh of four vectors, with one division: 1 / (a b) gives both 1 / a and 1 / b."""
    builder = code.builder
    numerators, denominators = [], []
    for x in xs:
        x = code.clip(x, -_TANH_END, _TANH_END)
        square = builder.fmul(x, x)
        numerators.append(builder.fmul(x, code.polynomial(square, _TANH_P)))
        denominators.append(code.polynomial(square, _TANH_Q))  # from 1 to 180: no product of four overflows
    a, b, c, d = denominators
    ab, cd = builder.fmul(a, b), builder.fmul(c, d)
    all_ = builder.fdiv(code.constant(1.0), builder.fmul(ab, cd))
    of_ab, of_cd = builder.fmul(all_, cd), builder.fmul(all_, ab)
    inverses = [builder.fmul(p, q) for p, q in ((of_ab, b), (of_ab, a), (of_cd, d), (of_cd, c))]
    return [builder.fmul(p, q) for p, q in zip(numerators, inverses, strict=True)]


def sinh(code: VectorCode, x: Any) -> Any:
    """x + x^3 / 6 + ... for |x| < 1, where e^x - e^-x would cancel, and (e^x - e^-x) / 2 beyond."""
    builder = code.builder
    size = code.absolute(x)
    square = builder.fmul(x, x)
    small = builder.fmul(x, code.polynomial(square, _SINH))
    half = exp(code, size, halvings=1)
    large = builder.fsub(half, builder.fdiv(code.constant(0.25), half))
    signed = builder.select(builder.fcmp_ordered("<", x, code.constant(0.0)), builder.fneg(large), large)
    return builder.select(builder.fcmp_ordered("<", size, code.constant(1.0)), small, signed)


def arc_cosine_kernel(code: VectorCode, cosine: Any, degree: int) -> Any:
    """The arc-cosine kernel of degree 0, 1 or 2 of two unit vectors at this cosine, clipped to [-1, 1]."""
    builder = code.builder
    x = code.clip(cosine, -1.0, 1.0)
    size = code.absolute(x)
    one, pi = code.constant(1.0), code.constant(math.pi)
    acute = builder.fmul(code.square_root(builder.fsub(one, size)), code.polynomial(size, _ARC_COSINE))
    negative = builder.fcmp_ordered("<", x, code.constant(0.0))
    left = builder.select(negative, acute, builder.fsub(pi, acute))  # pi - angle
    if degree == 0:
        return builder.fmul(left, code.constant(1.0 / math.pi))
    sine = code.square_root(builder.fmul(builder.fsub(one, x), builder.fadd(one, x)))
    if degree == 1:
        sum_ = code.multiply_add(left, x, sine)
    else:
        twice = builder.fadd(x, x)
        trebled = builder.fmul(builder.fmul(code.constant(3.0), sine), x)
        sum_ = code.multiply_add(left, code.multiply_add(twice, x, one), trebled)
    return builder.fmul(sum_, code.constant(1.0 / math.pi))
