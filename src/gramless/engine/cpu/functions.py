"""exp, log, tanh, sinh and the arc cosine of vectors, as LLVM code: no branches, no tables.

What makes them fast is what the C library cannot do: sixteen numbers at a time. In float32 with polynomials in float32
only, and a relative error below 1e-6; in float64 with longer ones, and one below 1e-14.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from gramless.engine.cpu.vectors import F32, VectorCode


@dataclass(frozen=True)
class Format:
    """What functions know of a floating type: its bits, where exp ends, ln 2 in two parts, and lengths of series."""

    mantissa: int  # bits
    bias: int  # of the exponent
    least: float  # exponent of exp, below which it is 0
    most: float  # and above which it is infinite
    ln2: tuple[float, float]  # of so few bits that products with exponents are exact, and the rest
    root_of_half: int  # the bits of sqrt(1/2)
    largest: float  # number that log takes
    n_exp: int
    n_sinh: int
    n_log: int


_SINGLE = Format(23, 127, -105.0, 90.0, (0.693359375, -2.12194440e-4), 0x3F3504F3, 3e38, 8, 6, 5)
_LN2_OF_DOUBLE = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_DOUBLE = Format(52, 1023, -747.0, 711.0, _LN2_OF_DOUBLE, 0x3FE6A09E667F3BCD, 1e308, 14, 11, 12)
_LOG2_E = 1.0 / math.log(2.0)

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

# arcsin x = x + x R(x^2) for 0 <= x <= 1/2, R(z) = z P(z) / Q(z), to 1e-17 (fdlibm, Sun Microsystems 1993)
_ARC_SINE_P = [
    1.66666666666666657415e-01,
    -3.25565818622400915405e-01,
    2.01212532134862925881e-01,
    -4.00555345006794114027e-02,
    7.91534994289814532176e-04,
    3.47933107596021167570e-05,
]
_ARC_SINE_Q = [
    1.0,
    -2.40339491173441421878e00,
    2.02094576023350569471e00,
    -6.88283971605453293030e-01,
    7.70381505559019352791e-02,
]


def _format(code: VectorCode) -> Format:
    return _SINGLE if code.element is F32 else _DOUBLE


def exp(code: VectorCode, x: Any, halvings: int = 0) -> Any:
    """exp(x) / 2^halvings: 2^n e^f with n whole and |f| <= ln(2) / 2. Infinite or zero where the type ends."""
    builder, form, whole = code.builder, _format(code), code.integers
    exponent, f = _reduced(code, code.clip(x, form.least, form.most))
    half = builder.ashr(exponent, whole.constant(1))  # 2^n in two factors: n may leave a float's range, halves do not
    other = builder.sub(builder.sub(exponent, half), whole.constant(halvings))
    value = builder.fmul(code.polynomial(f, _exp_series(form)), _power_of_two(code, half))
    return builder.fmul(value, _power_of_two(code, other))


def _exp_minus_one(code: VectorCode, x: Any) -> Any:
    """exp(x) - 1 of moderate x, as exact where it is small: 2^n (e^f - 1) + (2^n - 1)."""
    exponent, f = _reduced(code, x)
    power = _power_of_two(code, exponent)
    less_one = code.builder.fmul(f, code.polynomial(f, _exp_series(_format(code))[1:]))
    return code.multiply_add(power, less_one, code.builder.fsub(power, code.constant(1.0)))


def _exp_series(form: Format) -> list[float]:
    return [1.0 / math.factorial(k) for k in range(form.n_exp)]


def _reduced(code: VectorCode, x: Any) -> tuple[Any, Any]:
    """x = n ln 2 + f: n as integers, and f."""
    builder, form, whole = code.builder, _format(code), code.integers
    to_integer = code.constant(1.5 * 2.0**form.mantissa)  # added to a float, leaves it rounded, in the lowest bits
    shifted = code.multiply_add(x, code.constant(_LOG2_E), to_integer)
    n = builder.fsub(shifted, to_integer)
    f = code.multiply_add(n, code.constant(-form.ln2[0]), x)
    f = code.multiply_add(n, code.constant(-form.ln2[1]), f)
    return builder.sub(builder.bitcast(shifted, whole.type), builder.bitcast(to_integer, whole.type)), f


def _power_of_two(code: VectorCode, exponent: Any) -> Any:
    builder, form, whole = code.builder, _format(code), code.integers
    biased = builder.add(exponent, whole.constant(form.bias))
    return builder.bitcast(builder.shl(biased, whole.constant(form.mantissa)), code.type)


def log_plus_one(code: VectorCode, x: Any) -> Any:
    """log(1 + x) of x >= 0: with u = 2^n m the rounded sum, n log 2 + log m, and what was rounded off over u.

    log m = 2 artanh s = 2 (s + s^3 / 3 + ...), s = (m - 1) / (m + 1), for sqrt(1/2) <= m < sqrt(2).
    """
    builder, form, whole = code.builder, _format(code), code.integers
    x = code.minimum(x, code.constant(form.largest))
    one = code.constant(1.0)
    u = builder.fadd(one, x)
    taken = builder.fsub(u, one)  # of x
    lost = builder.fadd(builder.fsub(x, taken), builder.fsub(one, builder.fsub(u, taken)))
    start = whole.constant(form.root_of_half)
    bits = builder.sub(builder.bitcast(u, whole.type), start)
    n = builder.sitofp(builder.ashr(bits, whole.constant(form.mantissa)), code.type)
    mantissa = builder.and_(bits, whole.constant((1 << form.mantissa) - 1))
    m = builder.bitcast(builder.add(mantissa, start), code.type)
    s = builder.fdiv(builder.fsub(m, one), builder.fadd(m, one))
    series = [2.0 / k for k in range(1, 2 * form.n_log, 2)]
    logarithm = builder.fmul(s, code.polynomial(builder.fmul(s, s), series))
    logarithm = builder.fadd(logarithm, builder.fdiv(lost, u))
    return code.multiply_add(n, code.constant(math.log(2.0)), logarithm)


def tanh(code: VectorCode, x: Any) -> Any:
    """Every number for itself: a division that several share would round each by what the others are."""
    builder = code.builder
    if code.element is F32:
        x = code.clip(x, -_TANH_END, _TANH_END)
        square = builder.fmul(x, x)
        above = builder.fmul(x, code.polynomial(square, _TANH_P))
        return code.quotient(above, code.polynomial(square, _TANH_Q))  # the divisor is from 1 to 180
    x = code.clip(x, -20.0, 20.0)  # beyond, it is 1
    less_one = _exp_minus_one(code, builder.fadd(x, x))
    return code.quotient(less_one, builder.fadd(less_one, code.constant(2.0)))  # up to e^40


def sinh(code: VectorCode, x: Any) -> Any:
    """x + x^3 / 6 + ... for |x| < 1, where e^x - e^-x would cancel, and (e^x - e^-x) / 2 beyond."""
    builder = code.builder
    size = code.absolute(x)
    series = [1.0 / math.factorial(k) for k in range(1, 2 * _format(code).n_sinh, 2)]
    small = builder.fmul(x, code.polynomial(builder.fmul(x, x), series))
    half = exp(code, size, halvings=1)
    large = builder.fsub(half, builder.fdiv(code.constant(0.25), half))
    signed = builder.select(builder.fcmp_ordered("<", x, code.constant(0.0)), builder.fneg(large), large)
    return builder.select(builder.fcmp_ordered("<", size, code.constant(1.0)), small, signed)


def _acute_angle(code: VectorCode, cosine: Any) -> Any:
    """arccos of numbers in [0, 1]."""
    builder, one = code.builder, code.constant(1.0)
    if code.element is F32:
        root = code.square_root(builder.fsub(one, cosine))
        return builder.fmul(root, code.polynomial(cosine, _ARC_COSINE))
    wide = builder.fcmp_ordered("<", cosine, code.constant(0.5))
    halved = builder.fmul(builder.fsub(one, cosine), code.constant(0.5))  # the squared sine of half the angle
    square = builder.select(wide, builder.fmul(cosine, cosine), halved)
    sine = builder.select(wide, cosine, code.square_root(halved))
    ratio = builder.fdiv(code.polynomial(square, _ARC_SINE_P), code.polynomial(square, _ARC_SINE_Q))
    angle = code.multiply_add(sine, builder.fmul(square, ratio), sine)
    return builder.select(wide, builder.fsub(code.constant(math.pi / 2), angle), builder.fadd(angle, angle))


def arc_cosine_kernel(code: VectorCode, cosine: Any, degree: int) -> Any:
    """The arc-cosine kernel of degree 0, 1 or 2 of two unit vectors at this cosine, clipped to [-1, 1]."""
    builder = code.builder
    x = code.clip(cosine, -1.0, 1.0)
    one, pi = code.constant(1.0), code.constant(math.pi)
    acute = _acute_angle(code, code.absolute(x))
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
