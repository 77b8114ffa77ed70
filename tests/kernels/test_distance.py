"""Distance kernels under every scaling and root: fitted to the samples, against the formula, conditionally p.s.d."""

import numpy as np
import pytest
import torch
from hypothesis import given

from gramless.errors import DataError
from gramless.kernels import NAMED, Distance, Domain, Hellinger, column_distances, make_kernel
from tests.contracts.samples import generator, sample_sets
from tests.oracles import kernels as oracle

KINDS = [(scaling, root) for scaling in ("columns", "rows", "none") for root in (1, 2, 4)]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind[0]}-{kind[1]}")
every_scaling = pytest.mark.parametrize("kind", [("columns", 1), ("rows", 1), ("none", 1)], ids=lambda kind: kind[0])
EPS = {torch.float32: 2.0**-23, torch.float64: 2.0**-52}


def fitted(samples, kind=("columns", 1)):
    return Distance(*kind).fit(torch.from_numpy(samples), generator())


def values(kernel, X, Z, dtype=torch.float64):
    return kernel.pairwise(*(torch.from_numpy(samples).to(dtype) for samples in (X, Z))).double().numpy()


def allowed_signs(kind, *sets):
    """Roots are of non-negative numbers."""
    return [np.abs(samples) if kind[1] > 1 else samples for samples in sets]


def rounding(kind, samples, *sets):
    """At most, of a squared distance in float64: of numbers as large as the scaled samples, also in their mean."""
    scale = oracle.scaled(samples, *kind)
    size = max(float((scale(x) ** 2).sum()) for X in (samples, *sets) for x in X)
    return 32 * (samples.shape[1] + 2) * EPS[torch.float64] * (size + size**1.5)


def check(kind, samples, X, Z, dtype=torch.float64):
    expected = oracle.matrix(oracle.distance(samples, *kind), X, Z)
    found = values(fitted(samples, kind), X, Z, dtype)
    assert found.max() <= 0
    allowed = rounding(kind, samples, X, Z) + EPS[dtype] * np.abs(expected)
    assert (np.abs(found - expected) <= allowed + 1e-300).all()


@every_kind
@given(sets=sample_sets(3))
def test_agrees_with_the_formula_pair_by_pair(kind, sets):
    check(kind, *allowed_signs(kind, *sets))


@every_kind
def test_float32_is_close_to_the_formula_and_types_and_inputs_are_kept(kind, rng):
    sets = [rng.normal(size=(n, 4)).astype(np.float32).astype(float) for n in (20, 9, 6)]
    samples, X, Z = allowed_signs(kind, *sets)
    kept = samples.copy(), X.copy(), Z.copy()
    check(kind, samples, X, Z, torch.float32)
    for array, before in zip((samples, X, Z), kept, strict=True):
        np.testing.assert_array_equal(array, before)
    kernel = fitted(samples, kind)
    for dtype in EPS:
        x = torch.from_numpy(X).to(dtype)
        assert kernel.pairwise(x, x[:4]).dtype == kernel.diagonal(x).dtype == dtype
        assert kernel.diagonal(x).tolist() == [0.0] * 9


@every_kind
@given(sets=sample_sets(1, max_rows=7))
def test_the_mean_between_different_samples_is_minus_one(kind, sets):
    (samples,) = allowed_signs(kind, *sets)
    gram = values(fitted(samples, kind), samples, samples)
    different = gram[~np.eye(len(gram), dtype=bool)]
    allowed = rounding(kind, samples)
    if len(different):
        assert min(abs(different.mean() + 1), abs(different.mean())) <= allowed
    if np.ptp(samples, axis=0).any() and kind[0] != "rows":
        assert different.mean() == pytest.approx(-1.0, abs=allowed)


@every_kind
@given(sets=sample_sets(2))
def test_is_conditionally_psd_and_its_exponentials_are_psd(kind, sets):
    """Also together with a kernel that is p.s.d., whatever the weights (Schoenberg)."""
    samples, X = allowed_signs(kind, *sets)
    gram = values(fitted(samples, kind), X, X)
    allowed = rounding(kind, samples, X)
    centring = np.eye(len(X)) - 1 / len(X)
    assert np.abs(gram - gram.T).max() <= allowed
    assert np.linalg.eigvalsh(centring @ gram @ centring)[0] >= -len(X) * allowed
    for weight in (0.1, 3.0):
        combined = np.exp(weight * gram + 0.02 * oracle.matrix(oracle.linear, X, X))
        eigenvalues = np.linalg.eigvalsh(combined)
        assert eigenvalues[0] >= -(1e-13 + weight * allowed) * len(X) * eigenvalues[-1]


@pytest.mark.parametrize("root", [1, 2, 4])
def test_columns_of_zero_spread_are_left_out(root, rng):
    samples = rng.random(size=(12, 3))
    samples[:, 1] = 0.1  # whose mean is not 0.1 to the last bit
    X = rng.random(size=(5, 3))
    without = fitted(samples[:, [0, 2]], ("columns", root))
    expected = values(without, X[:, [0, 2]], X[:, [0, 2]])
    np.testing.assert_allclose(values(fitted(samples, ("columns", root)), X, X), expected, rtol=0, atol=1e-13)


def test_columns_alone_are_compared_as_if_there_were_no_others(rng):
    X = rng.normal(size=(30, 4)) * [1.0, 1e-3, 0.0, 50.0] + 7.0
    alone = column_distances(torch.from_numpy(X))
    assert [kernel.name for kernel in alone] == [f"distance of column {i}" for i in (0, 1, 3)]
    for i, kernel in zip((0, 1, 3), alone, strict=True):
        expected = values(fitted(X[:, [i]], ("columns", 1)), X[:, [i]], X[:, [i]])
        np.testing.assert_allclose(values(kernel, X, X), expected, rtol=1e-9, atol=1e-12)
    assert column_distances(torch.ones(5, 2)) == ()


@every_kind
@pytest.mark.parametrize("n", [1, 4])
def test_samples_that_coincide(kind, n):
    scaling, root = kind
    samples = np.tile([[0.1, 0.0]], (n, 1))
    kernel = fitted(samples, kind)
    assert (values(kernel, samples, samples) == 0).all()
    other = np.array([[1.1, 0.0], [0.1, 16.0]])
    expected = {"columns": [[0.0, 0.0]], "rows": [[0.0, -2.0]], "none": [[-1.0, -256.0]]}[scaling]  # the mean is 1
    if root == 1 and scaling != "rows":
        np.testing.assert_allclose(values(kernel, samples[:1], other), expected, rtol=1e-12)
    assert (values(kernel, samples, other)[0] < 0).tolist() == [each < 0 for each in expected[0]]


@pytest.mark.parametrize("root", [1, 2, 4])
def test_only_angles_count_where_rows_are_scaled_and_a_row_of_zeros_stays_one(root, rng):
    samples = rng.random(size=(9, 4))
    samples[3] = 0.0
    kernel = fitted(samples, ("rows", root))
    lengths = np.array([1e-300, 1e-150, 1e-5, 1.0, 3.0, 1e5, 1e100, 1e200, 1e300])[:, None]
    plain = values(kernel, samples, samples)
    np.testing.assert_allclose(values(kernel, lengths * samples, samples), plain, rtol=0, atol=1e-12)
    others = np.delete(np.arange(9), 3)
    angles = -plain[np.ix_(others, others)] / -plain[3, others].mean()  # |a|^2 of unit rows is their distance to zero
    np.testing.assert_allclose(plain[3, others], plain[3, others].mean(), rtol=1e-12)
    roots = samples[others] ** (1 / root)
    unit = roots / np.linalg.norm(roots, axis=1, keepdims=True)
    np.testing.assert_allclose(angles, 2 - 2 * unit @ unit.T, atol=1e-12)


def test_nothing_but_rows_of_zeros():
    samples = np.zeros((4, 3))
    for kind in KINDS:
        assert (values(fitted(samples, kind), samples, samples) == 0).all()


@every_scaling
@pytest.mark.parametrize(
    ("dtype", "magnitude"),
    [(torch.float32, 2.0**125), (torch.float32, 2.0**-120), (torch.float64, 2.0**1000), (torch.float64, 2.0**-950)],
    ids=str,
)
def test_does_not_depend_on_units(kind, dtype, magnitude, rng):
    samples = rng.normal(size=(15, 4)).astype(np.float32).astype(float)
    expected = oracle.matrix(oracle.distance(samples, *kind), samples, samples)
    found = values(fitted(magnitude * samples, kind), magnitude * samples, magnitude * samples, dtype)
    np.testing.assert_allclose(found, expected, rtol=0, atol=100 * EPS[dtype])


@every_kind
def test_a_common_offset_costs_no_accuracy(kind, rng):
    samples = (1e4 + rng.normal(size=(15, 5))).astype(np.float32).astype(float)
    expected = oracle.matrix(oracle.distance(samples, *kind), samples, samples)
    found = values(fitted(samples, kind), samples, samples, torch.float32)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_samples_far_out_are_finite_in_float32_and_refused_where_squares_are_no_numbers(rng):
    samples = 1e-30 * rng.normal(size=(15, 3))
    kernel = fitted(samples)
    far = np.array([[3e38, 0.0, -3e38], [0.0, 0.0, 1e20]])
    found = values(kernel, far, samples, torch.float32)
    assert np.isfinite(found).all()
    assert found.max() < -1e38
    with pytest.raises(DataError, match="times the mean distance"):
        values(kernel, np.array([[1e140, 0.0, 0.0]]), samples)


def test_what_is_fitted_stays_and_what_is_not_says_so(rng):
    samples = torch.from_numpy(rng.normal(size=(9, 3)))
    with pytest.raises(RuntimeError, match=r"call kernel\.fit"):
        Distance().pairwise(samples, samples)
    kernel = Distance().fit(samples, generator())
    assert kernel.fit(2 * samples, generator()) is kernel
    again = Distance(centre=kernel.centre.numpy(), factors=kernel.factors)
    assert torch.equal(again.pairwise(samples, samples), kernel.pairwise(samples, samples))
    with pytest.raises(AttributeError):
        kernel.scaling = "none"
    with pytest.raises(DataError, match="fitted on 3 features, got 2"):
        kernel.pairwise(samples[:, :2], samples[:, :2])


@every_kind
def test_roots_are_of_non_negative_numbers(kind, rng):
    samples = rng.random((5, 3))
    kernel = fitted(samples, kind)
    signed = samples.copy()
    signed[2, 1] = -1e-3
    if kind[1] == 1:
        assert kernel.domain is Domain.REAL
        assert np.isfinite(values(kernel, signed, samples)).all()
        return
    assert kernel.domain is Domain.NONNEGATIVE
    for ask in (lambda: fitted(signed, kind), lambda: values(kernel, signed, samples)):
        with pytest.raises(DataError, match=f"the {kernel.name} kernel is defined for non-negative"):
            ask()


def test_every_kind_has_a_name_of_its_own_and_named_ones_are_what_they_say():
    assert len({Distance(*kind).name for kind in KINDS}) == len(KINDS)
    named = {"distance": Distance(), "cosine-distance": Distance("rows"), "hellinger-distance": Distance("rows", 2)}
    named |= {"hellinger4-distance": Distance("rows", 4), "hellinger": Hellinger(), "hellinger4": Hellinger(4)}
    for name, kernel in named.items():
        made = make_kernel(name, normalize=True)
        assert made.name == NAMED[name].name == kernel.name == name
        assert (made.root, getattr(made, "scaling", None)) == (kernel.root, getattr(kernel, "scaling", None))
        assert made.normalize is not made.conditional


@pytest.mark.parametrize(
    "parameters",
    [
        {"normalize": True},
        {"centre": [0.0]},
        {"centre": [0.0], "factors": [-1.0]},
        {"centre": [0.0, 1.0], "factors": [1.0]},
        {"centre": [[0.0]], "factors": [[1.0]]},
        {"centre": [np.nan], "factors": [1.0]},
    ],
    ids=str,
)
def test_parameters_that_give_no_kernel_are_refused(parameters):
    with pytest.raises(ValueError, match="distance kernel"):
        Distance(**parameters)
