"""Sums over features of all pairs, and the gradients of their weighted sum with respect to the columns.

In float64, one row at a time, by the formulas as they are written down and PyTorch's autograd.
"""

import numpy as np
import torch


def chi_square(x, z):
    defined = x + z > 0
    return torch.where(defined, (x - z) ** 2 / torch.where(defined, x + z, 1.0), 0.0)


TERMS = {
    "minimum": torch.minimum,
    "city_block": lambda x, z: torch.abs(x - z),
    "chi_square": chi_square,
}
STEEPEST = {"minimum": 1.0, "city_block": 1.0, "chi_square": 3.0}


def sums_and_slopes(name, x, z, cotangent):
    """(n, m) and (m, d), as float64 arrays."""
    x, cotangent = (torch.from_numpy(np.array(array, np.float64)) for array in (x, cotangent))
    z = torch.from_numpy(np.array(z, np.float64)).requires_grad_()
    sums = torch.stack([TERMS[name](row, z).sum(1) for row in x])
    (slopes,) = torch.autograd.grad((sums * cotangent).sum(), z)
    return sums.detach().numpy(), slopes.numpy()


def largest_error(name, cotangent, run):
    """Of slopes in float32, (m, 1): totals of `run` rows at most, sums of these, and eight roundings per term."""
    n = len(cotangent)
    steps = min(n, run) + -(-n // run) + 8
    return steps * 2.0**-24 * STEEPEST[name] * np.abs(cotangent.astype(np.float64)).sum(0)[:, None]


def samples(rng, n, d, kind):
    """Non-negative rows; all kinds but the first are full of ties."""
    if kind == "any":
        return rng.exponential(size=(n, d)).astype(np.float32)
    if kind == "sparse":
        return (rng.exponential(size=(n, d)) * (rng.random((n, d)) < 0.3)).astype(np.float32)
    if kind == "grid":
        return rng.integers(0, 4, (n, d)).astype(np.float32) / 3
    if kind == "equal":
        return np.full((n, d), 0.1, np.float32)
    assert kind == "zeros"
    return np.zeros((n, d), np.float32)


KINDS = ("any", "sparse", "grid", "equal", "zeros")
EXAMPLE = {  # (x, z, slope of each statistic)
    "below": (2.0, 1.0, {"minimum": 1.0, "city_block": -1.0, "chi_square": -7 / 9}),
    "above": (1.0, 2.0, {"minimum": 0.0, "city_block": 1.0, "chi_square": 5 / 9}),
    "equal": (1.5, 1.5, {"minimum": 0.5, "city_block": 0.0, "chi_square": 0.0}),
    "both zero": (0.0, 0.0, {"minimum": 0.5, "city_block": 0.0, "chi_square": 0.0}),
    "from zero": (1.0, 0.0, {"minimum": 1.0, "city_block": -1.0, "chi_square": -3.0}),
    "to zero": (0.0, 1.0, {"minimum": 0.0, "city_block": 1.0, "chi_square": 1.0}),
}
