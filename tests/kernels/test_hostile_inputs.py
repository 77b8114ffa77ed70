"""Samples that trip formulas up: tiny, huge, far from the origin, far from each other."""

import numpy as np
import pytest
import torch

from gramless.kernels import (
    ArcCosine,
    ChiSquare,
    Gaussian,
    Hellinger,
    Intersection,
    Laplacian,
    Linear,
    Polynomial,
    RationalQuadratic,
)
from tests.oracles import kernels as oracle

HOMOGENEOUS = {  # kernel, formula, degree in the size of the samples
    "linear": (Linear, {}, oracle.linear, 2),
    "poly2": (Polynomial, {"degree": 2}, oracle.polynomial(2), 4),
    "poly3": (Polynomial, {"degree": 3}, oracle.polynomial(3), 6),
    "intersection": (Intersection, {}, oracle.intersection, 1),
    "hellinger": (Hellinger, {}, oracle.hellinger, 1),
    "arccos0": (ArcCosine, {"order": 0}, oracle.arc_cosine(0), 0),
    "arccos1": (ArcCosine, {"order": 1}, oracle.arc_cosine(1), 2),
    "arccos2": (ArcCosine, {"order": 2}, oracle.arc_cosine(2), 4),
}
DISTANCE = {
    "gaussian": (Gaussian, oracle.gaussian),
    "rational-quadratic": (RationalQuadratic, oracle.rational_quadratic),
    "laplacian": (Laplacian, oracle.laplacian),
    "chi2": (ChiSquare, oracle.chi_square),
}
MAGNITUDES = [  # powers of two, so that the samples themselves do not change
    pytest.param(torch.float32, 2.0**26, id="float32-1e8"),
    pytest.param(torch.float32, 2.0**-26, id="float32-1e-8"),
    pytest.param(torch.float64, 2.0**130, id="float64-1e39"),
    pytest.param(torch.float64, 2.0**-130, id="float64-1e-39"),
]
TOLERANCE = {torch.float32: 1e-3, torch.float64: 1e-7}  # what arccos allows


def samples(rng, n=6, d=4):
    """Non-negative, and the same numbers in float32."""
    return rng.random((n, d)).astype(np.float32).astype(float)


def values(kernel, X, dtype, Z=None):
    return kernel.pairwise(*(torch.from_numpy(A).to(dtype) for A in (X, X if Z is None else Z))).double().numpy()


@pytest.mark.parametrize(("dtype", "magnitude"), MAGNITUDES)
@pytest.mark.parametrize(("kind", "parameters", "formula", "_degree"), HOMOGENEOUS.values(), ids=HOMOGENEOUS)
def test_normalised_kernels_do_not_depend_on_units(kind, parameters, formula, _degree, dtype, magnitude, rng):
    X = samples(rng)
    expected = oracle.matrix(oracle.normalised(formula), X, X)
    kernel = kind(**parameters, normalize=True)
    np.testing.assert_allclose(values(kernel, magnitude * X, dtype), expected, rtol=0, atol=TOLERANCE[dtype])


@pytest.mark.parametrize(("kind", "parameters", "formula", "_degree"), HOMOGENEOUS.values(), ids=HOMOGENEOUS)
def test_normalised_kernels_compare_small_samples_with_large_ones(kind, parameters, formula, _degree, rng):
    sizes = 10.0 ** np.arange(-4, 8, 2)[:, None]
    X = samples(rng) * sizes
    expected = oracle.matrix(oracle.normalised(formula), X, X)
    np.testing.assert_allclose(
        values(kind(**parameters, normalize=True), X, torch.float64), expected, rtol=0, atol=1e-7
    )


@pytest.mark.parametrize("magnitude", [2.0**40, 2.0**-40], ids=["1e12", "1e-12"])
@pytest.mark.parametrize(("kind", "parameters", "formula", "degree"), HOMOGENEOUS.values(), ids=HOMOGENEOUS)
def test_plain_kernels_grow_by_their_degree(kind, parameters, formula, degree, magnitude, rng):
    X = samples(rng)
    expected = magnitude**degree * oracle.matrix(formula, X, X)
    np.testing.assert_allclose(values(kind(**parameters), magnitude * X, torch.float64), expected, rtol=1e-7)


@pytest.mark.parametrize(("dtype", "magnitude"), MAGNITUDES)
@pytest.mark.parametrize(("kind", "formula"), DISTANCE.values(), ids=DISTANCE)
def test_distance_kernels_do_not_depend_on_units(kind, formula, dtype, magnitude, rng):
    X = samples(rng)
    expected = oracle.matrix(formula(0.75), X, X)
    kernel = kind(scale=0.75 * magnitude)
    np.testing.assert_allclose(values(kernel, magnitude * X, dtype), expected, rtol=0, atol=TOLERANCE[dtype])


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-11)], ids=str)
@pytest.mark.parametrize(("kind", "formula"), DISTANCE.values(), ids=DISTANCE)
def test_a_common_offset_costs_distance_kernels_no_accuracy(kind, formula, dtype, tolerance, rng):
    """|x|^2 + |z|^2 - 2 <x, z> around 1e8 would lose distances of 1 in float32."""
    X, Z = (torch.from_numpy(1e4 + rng.normal(size=(n, 5))).to(dtype).double().numpy() for n in (12, 7))
    width = 1e-3 if kind is ChiSquare else 2.0  # the chi-square distance is about |x - z|^2 / 2e4
    np.testing.assert_allclose(
        values(kind(scale=width), X, dtype, Z), oracle.matrix(formula(width), X, Z), rtol=0, atol=tolerance
    )


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-2), (torch.float64, 1e-8)], ids=str)
@pytest.mark.parametrize(("kind", "formula"), DISTANCE.values(), ids=DISTANCE)
def test_clusters_far_apart_cost_distance_kernels_little_accuracy(kind, formula, dtype, tolerance, rng):
    """No common offset can be taken away here, yet the diagonal is 1 and neighbours are near."""
    centres = np.repeat([[100.0], [2100.0]], 6, axis=0)
    X = torch.from_numpy(centres + rng.normal(size=(12, 5))).to(dtype).double().numpy()
    width = 0.02 if kind is ChiSquare else 2.0
    found = values(kind(scale=width), X, dtype)
    np.testing.assert_allclose(found, oracle.matrix(formula(width), X, X), rtol=0, atol=tolerance)
    np.testing.assert_allclose(np.diag(found), 1.0, rtol=0, atol=tolerance)


def test_chi_square_takes_0_over_0_as_0():
    X = np.array([[0.0, 0.0, 1.0], [0.0, 2.0, 0.0]])
    assert values(ChiSquare(scale=1.0), X, torch.float64) == pytest.approx(oracle.matrix(oracle.chi_square(1.0), X, X))
