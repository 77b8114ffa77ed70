"""What kernels add to decisions: pair by pair in plain Python floats, units in a loop."""

import math

FUNCTIONS = {
    "identity": (lambda t: t, lambda t: 1.0),
    "tanh": (math.tanh, lambda t: 1.0 - math.tanh(t) ** 2),
    "exp": (math.exp, math.exp),
    "sinh": (math.sinh, math.cosh),
}


def output(layers, inputs):
    """Of a network given as [(weights, activation), ...] on the elementary values of one pair."""
    for weights, activation in layers:
        function = FUNCTIONS[activation][0]
        inputs = [function(sum(w * k for w, k in zip(row, inputs, strict=True))) for row in weights]
    return inputs[0]


def parts(layers, values, start):
    """By how much each input moves the output of one pair from start to values, by slopes of units between both."""
    ends, starts, slopes = list(values), list(start), []
    for weights, activation in layers:
        function, derivative = FUNCTIONS[activation]
        s1 = [sum(w * k for w, k in zip(row, ends, strict=True)) for row in weights]
        s0 = [sum(w * k for w, k in zip(row, starts, strict=True)) for row in weights]
        slopes.append(
            [(function(b) - function(a)) / (b - a) if abs(b - a) > 1e-7 else derivative(a) for a, b in zip(s0, s1)]
        )
        ends, starts = [function(s) for s in s1], [function(s) for s in s0]
    multipliers = slopes[-1]
    for depth in range(len(layers) - 1, -1, -1):
        weights = layers[depth][0]
        multipliers = [sum(weights[p][q] * multipliers[p] for p in range(len(weights))) for q in range(len(weights[0]))]
        if depth > 0:
            multipliers = [m * s for m, s in zip(multipliers, slopes[depth - 1], strict=True)]
    return [m * (k - k0) for m, k, k0 in zip(multipliers, values, start, strict=True)]


def shares(layers, values, coefficients):
    """values[q][i][j] of all points with all points, coefficients[l][j]: shares[l][q], nobody compared with itself."""
    n_kernels, n = len(values), len(values[0])
    means = [[sum(values[q][i][j] for i in range(n) if i != j) / (n - 1) for j in range(n)] for q in range(n_kernels)]
    found = []
    for weights in coefficients:
        sizes = [0.0] * n_kernels
        for i in range(n):
            added = [0.0] * n_kernels
            for j in range(n):
                if i != j:
                    pair = parts(layers, [values[q][i][j] for q in range(n_kernels)], [m[j] for m in means])
                    added = [a + weights[j] * part for a, part in zip(added, pair, strict=True)]
            sizes = [size + abs(a) for size, a in zip(sizes, added, strict=True)]
        found.append([size / sum(sizes) for size in sizes])
    return found
