"""Random programs for the evaluators."""

import numpy as np
import torch

from gramless.engine.program import DenseLayer, Elementary, Function
from gramless.kernels import Operation

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def tensor(array):
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32)).to(DEVICE)


def sides(rng, n_kernels, n):
    """With slopes up to 0.6, statistics stay below 0.903: at 1 the condition of an angle is infinite."""
    limits = ((-0.2, 0.2), (0.5, 0.95), (0.5, 1))  # of shift, gain, factor
    return tensor([rng.uniform(low, high, (n_kernels, n)) for low, high in limits])


def pairs(rng, n_kernels, n, m, operations=tuple(Operation)):
    """planes, Elementary, rows, columns."""
    n_planes = int(rng.integers(1, n_kernels + 1))
    elementary = Elementary(
        rng.choice([int(operation) for operation in operations], n_kernels).astype(np.int32),
        rng.integers(0, n_planes, n_kernels).astype(np.int32),
        rng.integers(1, 5, n_kernels).astype(np.float32),
        rng.uniform(-0.6, 0.6, n_kernels).astype(np.float32),
    )
    planes = tensor(rng.uniform(0, 1, (n_planes, n, m)))
    return planes, elementary, sides(rng, n_kernels, n), sides(rng, n_kernels, m)


def layers(rng, n_inputs, n_units, functions, coefficients=(0.3, 0.0, 0.5, 0.1)):
    """Non-negative layers with these numbers of units, then an output unit: a function for each.

    Weights of a unit sum to at most 1: of kernel values up to 1, no function is given more than 1.5, and the condition
    of none, t g'(t) / g(t), is above 2. (sinh of sinh of 5 would magnify rounding by 74.)
    """
    made = []
    for units, function in zip((*n_units, 1), functions, strict=True):
        weights = tensor(rng.uniform(0, 1 / n_inputs, (units, n_inputs)))
        made.append(DenseLayer(weights, function, coefficients if function == Function.POLYNOMIAL else ()))
        n_inputs = units
    return made
