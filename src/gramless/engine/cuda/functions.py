"""The scalar functions inside the Triton kernels, to a relative 2e-6 in float32 wherever the result is not tiny.

The hardware has 2^x and division; the rest is made of them. Signs, zeros and infinities come out as they should.
"""

from __future__ import annotations

import triton
import triton.language as tl

from gramless.engine.program import Function
from gramless.kernels import Operation

IDENTITY = tl.constexpr(int(Function.IDENTITY))
TANH = tl.constexpr(int(Function.TANH))
SINH = tl.constexpr(int(Function.SINH))
EXP = tl.constexpr(int(Function.EXP))
POLYNOMIAL = tl.constexpr(int(Function.POLYNOMIAL))
POWER = tl.constexpr(int(Operation.POWER))
EXPONENTIAL = tl.constexpr(int(Operation.EXPONENTIAL))
NONPOSITIVE = tl.constexpr(int(Operation.NONPOSITIVE))
INVERSE_POWER = tl.constexpr(int(Operation.INVERSE_POWER))
ARC_COSINE_0 = tl.constexpr(int(Operation.ARC_COSINE_0))
ARC_COSINE_1 = tl.constexpr(int(Operation.ARC_COSINE_1))

LOG2_E = tl.constexpr(1.4426950408889634)
LN_2_HIGH = tl.constexpr(0.693359375)  # few bits: its product with a whole number is exact
LN_2_LOW = tl.constexpr(-2.1219444005469057e-4)
LN_2 = tl.constexpr(0.6931471805599453)
ROOT_OF_HALF = tl.constexpr(0x3F3504F3)  # the bits of sqrt(1/2)
MANTISSA = tl.constexpr((1 << 23) - 1)
PI = tl.constexpr(3.141592653589793)


@triton.jit
def exponential(x):  # type: ignore[no-untyped-def]
    """exp(x) = 2^k exp(x - k log 2): rounding does not grow with |x|."""
    x = tl.maximum(x, -104.0)  # exp is 0 below
    k = tl.minimum(tl.floor(x * LOG2_E + 0.5), 127.0)
    return tl.exp2(((x - k * LN_2_HIGH) - k * LN_2_LOW) * LOG2_E) * tl.exp2(k)


@triton.jit
def log_plus_one(x):  # type: ignore[no-untyped-def]
    """log(1 + x) of x >= 0: with u = 2^n m the rounded sum, n log 2 + 2 artanh s, and what was rounded off over u."""
    x = tl.minimum(x, 3e38)
    u = 1.0 + x
    taken = u - 1.0  # of x
    lost = (x - taken) + (1.0 - (u - taken))
    bits = u.to(tl.int32, bitcast=True) - ROOT_OF_HALF
    n = (bits >> 23).to(tl.float32)
    m = ((bits & MANTISSA) + ROOT_OF_HALF).to(tl.float32, bitcast=True)
    s = (m - 1.0) / (m + 1.0)
    t = s * s
    series = 2.0 + t * (0.66666667 + t * (0.4 + t * (0.28571429 + t * 0.22222222)))
    return n * LN_2 + (s * series + lost / u)


@triton.jit
def tanh(x):  # type: ignore[no-untyped-def]
    """1 - 2 / (1 + exp(2 x)), and the power series where that cancels."""
    s = x * x
    series = x + x * s * (-0.33333333 + s * (0.13333333 + s * (-0.053968254 + s * 0.021869489)))
    return tl.where(s < 0.09, series, 1.0 - 2.0 / (1.0 + tl.exp2(x * (2 * LOG2_E))))


@triton.jit
def sinh(x):  # type: ignore[no-untyped-def]
    """(exp(|x|) - exp(-|x|)) / 2 with the sign of x, and the power series where that cancels."""
    s = x * x
    series = x + x * s * (0.16666667 + s * (0.0083333333 + s * (1.9841270e-4 + s * 2.7557319e-6)))
    half = 0.5 * exponential(0.5 * tl.abs(x))  # exp(|x|) = 4 half^2 may overflow where sinh does not
    large = 2.0 * half * half - 0.125 / (half * half)
    return tl.where(s < 1.0, series, tl.where(x < 0, -large, large))


@triton.jit
def polynomial(x, COEFFICIENTS: tl.constexpr):  # type: ignore[no-untyped-def]
    """c_0 + c_1 x + ... by Horner's rule."""
    value = tl.zeros_like(x) + COEFFICIENTS[len(COEFFICIENTS) - 1]
    for k in tl.static_range(len(COEFFICIENTS) - 1):
        value = value * x + COEFFICIENTS[len(COEFFICIENTS) - 2 - k]
    return value


@triton.jit
def activate(x, FUNCTION: tl.constexpr, COEFFICIENTS: tl.constexpr):  # type: ignore[no-untyped-def]
    """g(x) of a layer."""
    if FUNCTION == TANH:
        return tanh(x)
    elif FUNCTION == SINH:  # noqa: RET505
        return sinh(x)
    elif FUNCTION == EXP:
        return exponential(x)
    elif FUNCTION == POLYNOMIAL:
        return polynomial(x, COEFFICIENTS)
    else:
        return x


@triton.jit
def derivative(x, value, FUNCTION: tl.constexpr, COEFFICIENTS: tl.constexpr):  # type: ignore[no-untyped-def]
    """g'(x) of a layer whose g(x) is `value`."""
    if FUNCTION == TANH:
        return 1.0 - value * value
    elif FUNCTION == SINH:  # noqa: RET505
        return tl.sqrt(1.0 + value * value)
    elif FUNCTION == EXP:
        return value
    elif FUNCTION == POLYNOMIAL:
        slope = tl.zeros_like(x)
        for k in tl.static_range(len(COEFFICIENTS) - 1):
            slope = slope * x + COEFFICIENTS[len(COEFFICIENTS) - 1 - k] * (len(COEFFICIENTS) - 1 - k)
        return slope
    else:
        return tl.zeros_like(x) + 1.0


@triton.jit
def arc_cosine(c):  # type: ignore[no-untyped-def]
    """The angle whose cosine is c in [-1, 1], to 2e-7 (Abramowitz and Stegun 4.4.46)."""
    a = tl.abs(c)
    series = 0.0308918810 + a * (-0.0170881256 + a * (0.0066700901 - a * 0.0012624911))
    series = 1.5707963050 + a * (-0.2145988016 + a * (0.0889789874 + a * (-0.0501743046 + a * series)))
    angle = tl.sqrt(1.0 - a) * series
    return tl.where(c < 0, PI - angle, angle)


@triton.jit
def operate(v, exponent, OPERATION: tl.constexpr, MAX_DEGREE: tl.constexpr):  # type: ignore[no-untyped-def]
    """f(v) of an elementary kernel; powers of several exponents side by side."""
    if OPERATION == POWER:
        value, power = v, v
        for k in tl.static_range(2, MAX_DEGREE + 1):
            power = power * v
            value = tl.where(exponent >= k, power, value)
        return value
    elif OPERATION == EXPONENTIAL:  # noqa: RET505
        return exponential(tl.minimum(v, 0.0))
    elif OPERATION == NONPOSITIVE:
        return tl.minimum(v, 0.0)
    elif OPERATION == INVERSE_POWER:
        return exponential(-exponent * log_plus_one(tl.maximum(v, 0.0)))
    else:
        cosine = tl.minimum(tl.maximum(v, -1.0), 1.0)
        behind = PI - arc_cosine(cosine)
        sine = tl.sqrt(tl.maximum((1.0 - cosine) * (1.0 + cosine), 0.0))
        if OPERATION == ARC_COSINE_0:
            return behind * (1 / PI)
        if OPERATION == ARC_COSINE_1:
            return (sine + behind * cosine) * (1 / PI)
        return (3.0 * sine * cosine + behind * (1.0 + 2.0 * cosine * cosine)) * (1 / PI)
