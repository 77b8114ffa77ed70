"""Every named kernel, and variants of them, under one contract; scikit-learn as a second oracle."""

import re
from dataclasses import replace
from math import cos, inf, nan, pi, sin

import numpy as np
import pytest
import torch
from sklearn.metrics import pairwise as sklearn_kernels

from gramless.kernels import (
    NAMED,
    ArcCosine,
    ChiSquare,
    Custom,
    Distance,
    Domain,
    Gaussian,
    Hellinger,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    make_kernel,
)
from tests import tolerances
from tests.contracts.kernels import (
    KernelCase,
    KernelContract,
    NonNegativeKernelContract,
    NormalisedKernelContract,
)
from tests.contracts.samples import MOST_FEATURES
from tests.oracles import kernels as oracle

ANGLE_ACCURACY = tolerances.of_angle(MOST_FEATURES, np.float64)


def tapered_product(X, Z):
    distances = ((X[:, None, :] - Z[None, :, :]) ** 2).sum(2)
    return (X @ Z.T) / (1 + distances)


def known_gram():
    """Of twelve samples, the first without content."""
    factors = np.random.default_rng(5).normal(size=(12, 4))
    factors[0] = 0
    return factors @ factors.T


def settled(kernel):
    return replace(kernel, scale=oracle.SCALE) if hasattr(kernel, "scale") else kernel


def cases():
    for name, pair in oracle.NAMED.items():
        accuracy = ANGLE_ACCURACY if name == "arccos0" else 1e-10
        yield KernelCase(name, settled(NAMED[name]), pair, accuracy)
    for degree, offset in ((1, 0.5), (2, 1.0), (3, 0.25), (4, 0.0), (5, 2.0)):
        kernel = Polynomial(degree=degree, offset=offset)
        yield KernelCase(f"polynomial-{degree}-{offset:g}", kernel, oracle.polynomial(degree, offset))
    for alpha in (0.1, 3.5, 1e5):
        kernel = RationalQuadratic(scale=oracle.SCALE, alpha=alpha)
        yield KernelCase(f"rational-quadratic-{alpha:g}", kernel, oracle.rational_quadratic(oracle.SCALE, alpha))
    yield KernelCase("custom", Custom(tapered_product), oracle.tapered_product)
    own = Custom(tapered_product, diagonal_function=lambda X: (X**2).sum(1))
    yield KernelCase("custom-with-diagonal", own, oracle.tapered_product)
    yield KernelCase("precomputed", Precomputed(known_gram()), oracle.looked_up(known_gram()), n_known=12)


PLAIN = list(cases())
NORMALISED = [replace(case, kernel=replace(case.kernel, normalize=True)) for case in PLAIN]
NONNEGATIVE = [case for case in PLAIN + NORMALISED if case.kernel.domain is Domain.NONNEGATIVE]


@pytest.mark.parametrize("case", PLAIN + NORMALISED, ids=str)
class TestEveryKernel(KernelContract):
    pass


@pytest.mark.parametrize("case", NORMALISED, ids=str)
class TestEveryNormalisedKernel(NormalisedKernelContract):
    pass


@pytest.mark.parametrize("case", NONNEGATIVE, ids=str)
class TestEveryNonNegativeKernel(NonNegativeKernelContract):
    pass


def test_every_named_kernel_has_an_oracle():
    assert set(oracle.NAMED) == {name for name, kernel in NAMED.items() if not kernel.conditional}
    assert {case.name for case in NONNEGATIVE} == {"intersection", "chi2", "hellinger", "hellinger4"}


SKLEARN = {
    "linear": (Linear(), sklearn_kernels.linear_kernel, {}),
    "linear-normalised": (Linear(normalize=True), sklearn_kernels.cosine_similarity, {}),
    "polynomial": (Polynomial(degree=3, offset=0.5), sklearn_kernels.polynomial_kernel, {"gamma": 1, "coef0": 0.5}),
    "gaussian": (Gaussian(scale=oracle.SCALE), sklearn_kernels.rbf_kernel, {"gamma": 1 / (2 * oracle.SCALE**2)}),
    "laplacian": (Laplacian(scale=oracle.SCALE), sklearn_kernels.laplacian_kernel, {"gamma": 1 / oracle.SCALE}),
    "chi2": (ChiSquare(scale=oracle.SCALE), sklearn_kernels.chi2_kernel, {"gamma": 1 / oracle.SCALE}),
}


@pytest.mark.parametrize(("kernel", "function", "options"), SKLEARN.values(), ids=SKLEARN)
def test_agrees_with_scikit_learn(kernel, function, options, rng):
    X, Z = rng.random((70, 12)), rng.random((45, 12))
    values = kernel.pairwise(torch.from_numpy(X), torch.from_numpy(Z))
    np.testing.assert_allclose(values, function(X, Z, **options), rtol=1e-10)


def test_chi_square_does_not_depend_on_how_rows_are_tiled(monkeypatch, rng):
    X, Z = torch.from_numpy(rng.random((50, 6))), torch.from_numpy(rng.random((31, 6)))
    whole = ChiSquare(scale=oracle.SCALE).pairwise(X, Z)
    monkeypatch.setattr("gramless.kernels.statistics.TILE_ELEMENTS", 400)  # two rows at a time, and one left over
    torch.testing.assert_close(ChiSquare(scale=oracle.SCALE).pairwise(X, Z), whole, rtol=1e-14, atol=0)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_arc_cosine_is_the_mean_over_random_units(order, rng):
    """Cho and Saul's definition: twice the mean of (w.x)_+^n (w.z)_+^n over Gaussian w, by quadrature in the plane."""
    X = rng.normal(size=(6, 2))
    directions = np.linspace(0, 2 * pi, 200_001)[:-1]
    products = X @ np.array([np.cos(directions), np.sin(directions)])  # (n, n_directions)
    answers = (products > 0) * products**order
    radial = {0: 1, 1: 2, 2: 8}[order]  # the mean of |w|^(2n) in the plane
    expected = 2 * radial * answers @ answers.T / len(directions)
    samples = torch.from_numpy(X)
    np.testing.assert_allclose(ArcCosine(order=order).pairwise(samples, samples), expected, rtol=0, atol=2e-5 * radial)


@pytest.mark.parametrize("normalize", [False, True])
def test_arc_cosine_of_order_0_takes_a_right_angle_at_the_origin(normalize):
    samples = torch.tensor([[0.0, 0.0], [cos(1.0), sin(1.0)], [3.0, -4.0]], dtype=torch.float64)
    values = ArcCosine(order=0, normalize=normalize).pairwise(samples, samples)
    to_others, to_itself = (0.5**0.5, 1.0) if normalize else (0.5, 0.5)
    torch.testing.assert_close(values[0], values.new_tensor([to_itself, to_others, to_others]))
    assert torch.linalg.eigvalsh(values)[0] >= -1e-9


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        *((Polynomial, {"degree": degree}) for degree in (0, 1.5, None, 10**9)),
        *((Polynomial, {"offset": offset}) for offset in (-0.1, nan, inf)),
        *((ArcCosine, {"order": order}) for order in (3, 1.5)),
        *((RationalQuadratic, {"alpha": alpha}) for alpha in (0.0, nan)),
        *((Gaussian, {"scale": scale}) for scale in (1e200, 1e-200, None)),
        *((Distance, {"root": root}) for root in (0, 3)),
        (Distance, {"scaling": "column"}),
        (Hellinger, {"root": 1}),
        (Hellinger, {"normalize": 3}),
        (Laplacian, {"scale": inf}),
        (ChiSquare, {"n_neighbours": 1.5}),
        (Linear, {"normalize": "yes"}),
        (Custom, {"function": "linear"}),
    ],
    ids=str,
)
def test_parameters_that_give_no_kernel_are_refused_by_name(kind, wrong):
    ((name, value),) = wrong.items()
    said = f"'{name}' parameter of {kind.__name__} must be .*Got {re.escape(repr(value))} instead"
    with pytest.raises(ValueError, match=said):
        kind(**wrong)


def test_make_kernel_normalises_names_and_functions_and_keeps_kernels_as_they_are():
    assert make_kernel("poly2", normalize=True) == Polynomial(degree=2, normalize=True)
    assert make_kernel("poly2", normalize=False) == Polynomial(degree=2)
    assert make_kernel(tapered_product, normalize=True).normalize
    kernel = Gaussian(scale=2.0)
    assert make_kernel(kernel, normalize=True) is kernel
    assert make_kernel("hellinger", normalize=True).normalize
    assert not make_kernel("distance", normalize=True).normalize


def test_kernels_of_functions_and_arrays_equal_only_themselves():
    for make in (lambda: Custom(np.dot), lambda: Precomputed(np.eye(2)), Distance):
        one, other = make(), make()
        assert one == one
        assert one != other
        assert len({one, other}) == 2
    assert len({Gaussian(scale=2.0), Gaussian(scale=2.0), Gaussian(scale=3.0)}) == 2


def test_make_kernel_lists_the_names_it_knows():
    with pytest.raises(ValueError, match=", ".join(NAMED)):
        make_kernel("rbf", normalize=True)
    with pytest.raises(TypeError, match="int"):
        make_kernel(3, normalize=True)


def test_kernels_are_abstract_until_their_formula_is_written():
    with pytest.raises(TypeError):
        Kernel()
