"""Elementary kernels, networks and their gradients in plain NumPy and float64, one kernel and one layer at a time."""

import numpy as np

from gramless.engine.program import Function
from gramless.kernels import Operation


def double(tensor):
    return tensor.cpu().numpy().astype(np.float64)


def elementary_values(planes, elementary, rows, columns):
    planes = double(planes)
    found = []
    for q in range(len(elementary)):
        row_shift, row_gain, row_factor = (part[q][:, None] for part in double(rows))
        shift, gain, factor = (part[q][None, :] for part in double(columns))
        v = (float(elementary.slope[q]) * planes[elementary.plane[q]] + row_shift + shift) * row_gain * gain
        found.append(operation(v, elementary.operation[q], elementary.exponent[q]) * row_factor * factor)
    return np.stack(found)


def operation(v, which, exponent=1):
    if which == Operation.POWER:
        return v ** int(exponent)
    if which == Operation.EXPONENTIAL:
        return np.exp(np.minimum(v, 0))
    if which == Operation.NONPOSITIVE:
        return np.minimum(v, 0)
    if which == Operation.INVERSE_POWER:
        return np.exp(-float(exponent) * np.log1p(np.maximum(v, 0)))
    cosine = np.clip(v, -1, 1)
    angle, sine = np.arccos(cosine), np.sqrt(1 - cosine**2)
    if which == Operation.ARC_COSINE_0:
        return 1 - angle / np.pi
    if which == Operation.ARC_COSINE_1:
        return (sine + (np.pi - angle) * cosine) / np.pi
    return (3 * sine * cosine + (np.pi - angle) * (1 + 2 * cosine**2)) / np.pi


def function(x, layer):
    """g(x) and g'(x)."""
    if layer.function == Function.TANH:
        return np.tanh(x), 1 / np.cosh(x) ** 2
    if layer.function == Function.SINH:
        return np.sinh(x), np.cosh(x)
    if layer.function == Function.EXP:
        return np.exp(x), np.exp(x)
    if layer.function == Function.POLYNOMIAL:
        series = np.polynomial.Polynomial(layer.coefficients)
        return series(x), series.deriv()(x)
    return x, np.ones_like(x)


def network(values, layers):
    """(n_pairs,) from (n_kernels, n_pairs)."""
    for layer in layers:
        values = function(double(layer.weights) @ values, layer)[0]
    return values[0]


def gradients(values, slopes, layers):
    """Of sum_p slopes_p network(values[:, p]) by every layer's weights."""
    inputs, derivatives = [values], []
    for layer in layers:
        value, derivative = function(double(layer.weights) @ inputs[-1], layer)
        inputs.append(value)
        derivatives.append(derivative)
    found = []
    back = slopes[None, :]
    for layer, value, derivative in zip(reversed(layers), reversed(inputs[:-1]), reversed(derivatives), strict=True):
        back = back * derivative
        found.append(back @ value.T)
        back = double(layer.weights).T @ back
    return found[::-1]
