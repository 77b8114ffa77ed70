"""Networks and total effects in plain Python floats: pair by pair, unit by unit, over all combinations of rows."""

import math
from itertools import product

FUNCTIONS = {"identity": lambda t: t, "tanh": math.tanh, "exp": math.exp, "sinh": math.sinh}


def output(layers, inputs):
    """Of a network given as [(weights, activation), ...] on the elementary values of one pair."""
    for weights, activation in layers:
        inputs = [FUNCTIONS[activation](sum(w * k for w, k in zip(row, inputs, strict=True))) for row in weights]
    return inputs[0]


def decision(layers, values, coefficients, rows):
    """sum_j a_j kappa(x, z_j) of the x that kernel q sees as row rows[q]; values[q][i][j]."""
    n_points = len(values[0][0])
    pairs = ([values[q][row][j] for q, row in enumerate(rows)] for j in range(n_points))
    return sum(a * output(layers, pair) for a, pair in zip(coefficients, pairs, strict=True))


def total_effect(layers, values, coefficients, views, part):
    """E (f(x) - f(x'))^2 / 2 over all rows of every view, and all rows that the kernels of a part may have instead.

    views[q] : the number of the view of kernel q
    """
    n_rows, n_views = len(values[0]), max(views) + 1
    total = 0.0
    for rows in product(range(n_rows), repeat=n_views):
        of_kernels = [rows[view] for view in views]
        before = decision(layers, values, coefficients, of_kernels)
        for other in range(n_rows):
            changed = [other if q in part else row for q, row in enumerate(of_kernels)]
            total += (before - decision(layers, values, coefficients, changed)) ** 2
    return total / 2 / n_rows ** (n_views + 1)


def shares(layers, values, coefficients, views):
    """coefficients[l][j]: shares[l][q]."""
    found = []
    for weights in coefficients:
        groups = [[q for q, of in enumerate(views) if of == view] for view in range(max(views) + 1)]
        of_views = [total_effect(layers, values, weights, views, group) for group in groups]
        of_kernels = [total_effect(layers, values, weights, views, [q]) for q in range(len(views))]
        within = [sum(of_kernels[q] for q in group) for group in groups]
        shares_of_views = [effect / sum(of_views) for effect in of_views]
        found.append([shares_of_views[view] * of_kernels[q] / within[view] for q, view in enumerate(views)])
    return found
