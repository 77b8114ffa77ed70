"""Newton's method over blocks, on data that is out to hurt, and on what is no data."""

import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

from gramless.errors import DataError
from gramless.heads import Head, SquaredHinge, fit_over_blocks, newton_totals
from tests.heads.huberized import HuberizedHinge
from tests.heads.passes import AMPLE, WEIGHTS, Passes, fit, liblinear, objective, problem, solved, stacked, zeros
from tests.oracles import heads as oracle


def test_duplicated_rows_weigh_twice(rng):
    X, signs = problem(rng)
    twice = fit(np.concatenate([X, X]), np.concatenate([signs, signs]))
    np.testing.assert_allclose(stacked(twice), stacked(fit(X, signs, C=2.0)), atol=1e-7)


def test_one_row_is_fitted_by_hand():
    """1/2 w^2 (x^2 + 1) + C (1 - w (x^2 + 1))^2 along (x, 1) has its least at w = 2 C / (1 + 2 C (x^2 + 1))."""
    head = fit(np.array([[3.0]]), np.ones((1, 1)), C=0.5)
    np.testing.assert_allclose(stacked(head), [[3.0 / 11.0, 1.0 / 11.0]])


@pytest.mark.parametrize("value", [0.0, 1.0, 1e-20, 1e4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_constant_features_leave_a_constant_score(value, dtype):
    signs = np.where(np.arange(20) < 5, 1.0, -1.0)[:, None]
    scores = fit(np.full((20, 3), value, dtype=dtype), signs).margins(np.full((20, 3), value))
    assert np.ptp(scores) == 0.0
    assert -1.0 < scores[0, 0] < 0.0  # three in four are negative


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("C", [1e-8, 1e4])
def test_a_tiny_and_a_huge_C_meet_liblinears_optimum(rng, C, dtype):
    X, signs = problem(rng, rates=(0.5,), dtype=dtype)
    ours, theirs = stacked(fit(X, signs, C=C))[0], liblinear(X, signs[:, 0], C)
    assert objective(ours, X, signs[:, 0], C) <= objective(theirs, X, signs[:, 0], C) * (1 + 1e-9)
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4 * np.abs(theirs).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("C", [1.0, 1e4])
def test_separable_samples_meet_liblinears_optimum(rng, C, dtype):
    X = rng.normal(size=(200, 8))
    sign = np.where(X[:, 0] > 0, 1.0, -1.0)
    X[:, 0] += 0.5 * sign
    X = X.astype(dtype)
    w = stacked(fit(X, sign[:, None], C=C, options={"max_iter": 200}))[0]
    assert ((X @ w[:-1] + w[-1]) * sign > 0).all()
    assert objective(w, X, sign, C) <= objective(liblinear(X, sign, C), X, sign, C) * (1 + 1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_of_very_different_sizes_converge(rng, dtype):
    X, signs = problem(rng)
    X = (X * np.geomspace(1e-3, 1e3, 12)).astype(dtype)
    head = fit(X, signs)
    for label, w in enumerate(stacked(head)):
        theirs = liblinear(X, signs[:, label])
        assert objective(w, X, signs[:, label]) <= objective(theirs, X, signs[:, label]) * (1 + 1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_more_features_than_samples_and_equal_features_converge(rng, dtype):
    X, signs = problem(rng, n=30, d=50, rates=(0.4,), dtype=dtype)
    X = np.concatenate([X, X, np.zeros((30, 5), dtype=dtype)], axis=1)
    w = stacked(fit(X, signs, C=1e4, options={"max_iter": 200}))[0]
    np.testing.assert_allclose(w[:50], w[50:100], atol=1e-6)
    assert not w[100:105].any()
    _, optimum = oracle.dual_optimum(X.astype(float), signs[:, 0], np.full(30, np.inf), np.full(30, 0.5 / 1e4))
    assert objective(w, X, signs[:, 0], 1e4) == pytest.approx(optimum, rel=1e-6)


def test_a_hessian_that_rounding_has_made_indefinite_still_leads_to_the_optimum(rng):
    X, signs = problem(rng, rates=(0.4,))
    X[:, 1] = X[:, 0]
    passes = Passes(X, signs, C=1e4)

    def rounded(w, labels, reach):
        totals = passes(w, labels, reach)
        totals.hessian[:, [0, 1], [1, 0]] *= 1 + 1e-6
        assert np.linalg.eigvalsh(np.eye(13) + totals.hessian[0])[0] < 0
        return totals

    head = solved(rounded, zeros(X, signs), np.ones(1, dtype=bool), budget=AMPLE)
    ours, theirs = stacked(head)[0], liblinear(X, signs[:, 0], 1e4)
    assert objective(ours, X, signs[:, 0], 1e4) <= objective(theirs, X, signs[:, 0], 1e4) * (1 + 1e-8)


def test_samples_that_contradict_each_other_cancel():
    X = np.array([[1.0, 2.0], [1.0, 2.0], [-3.0, 0.1], [-3.0, 0.1]])
    for loss in (SquaredHinge(), HuberizedHinge(0.5)):
        head = fit(X, np.array([[1.0], [-1.0], [1.0], [-1.0]]), loss, 5.0)
        np.testing.assert_allclose(head.margins(X), 0.0, atol=1e-9)


def test_a_side_that_weighs_nothing_is_not_seen(rng):
    X, signs = problem(rng, rates=(0.4,))
    head = fit(X, signs, weights=[(0.0, 1.0)])
    assert (head.margins(X)[signs[:, 0] > 0] > 0.5).all()
    nothing = fit(X, signs, weights=[(0.0, 0.0)])
    assert not stacked(nothing).any()


def test_the_answer_is_of_the_starts_type(rng):
    X, signs = problem(rng, dtype=np.float32)
    start = Head(np.zeros((3, 12), dtype=np.float32), np.zeros(3, dtype=np.float32), 1)
    head = fit(X, signs, start=start)
    assert head.coefficients.dtype == head.intercepts.dtype == np.float32
    np.testing.assert_allclose(stacked(head), stacked(fit(X, signs)), atol=1e-6)


def test_too_few_passes_are_said_to_be_too_few_and_P_has_fallen(rng):
    X, signs = problem(rng)
    with pytest.warns(ConvergenceWarning, match="3 of 3 classifiers have not converged in 2 passes over the data"):
        head = fit_over_blocks(Passes(X, signs), zeros(X, signs), np.ones(3, dtype=bool), budget=AMPLE, max_iter=2)
    assert objective(stacked(head)[0], X, signs[:, 0]) < objective(np.zeros(13), X, signs[:, 0])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_numbers_that_are_none_are_refused(rng, bad):
    X, signs = problem(rng)
    X[5, 3] = bad
    with pytest.raises(DataError, match=r"not finite.*Clean or scale"):
        newton_totals(X, signs, np.zeros((3, 13)), np.ones(3), SquaredHinge(), np.array(WEIGHTS))
    with pytest.raises(DataError, match="not finite"):
        fit(X, signs, start=Head(np.ones((3, 12)), np.zeros(3), 1))


def test_what_cannot_be_says_what_came(rng):
    X, signs = problem(rng)
    w, reach, sides = np.zeros((3, 13)), np.ones(3), np.array(WEIGHTS)

    def totals(X=X, signs=signs, w=w, reach=reach, sides=sides):
        return newton_totals(X, signs, w, reach, SquaredHinge(), sides)

    with pytest.raises(DataError, match=r"signs of shape \(300, 3\) do not belong to vectors of shape \(80, 12\)"):
        totals(X[:80])
    with pytest.raises(TypeError, match=r"float32 or float64, got torch\.int64"):
        totals(X.astype(int))
    with pytest.raises(DataError, match=r"need weights of shape \(3, 13\).*got \(3, 12\)"):
        totals(w=w[:, :12])
    with pytest.raises(DataError, match=r"a reach of shape \(3,\)"):
        totals(reach=reach[:2])
    with pytest.raises(DataError, match=r"sides of shape \(3, 2\)"):
        totals(sides=sides[:1])
    with pytest.raises(DataError, match="3 labels and 12 features cannot be added to sums of 3 labels and 11 features"):
        totals() + totals(X[:, :11], w=w[:, :12])
    with pytest.raises(DataError, match=r"has 3 labels, varied shape \(2,\)"):
        fit(X, signs, varied=np.ones(2, dtype=bool))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_gpu_agrees_with_the_cpu(rng, dtype):
    X, signs = problem(rng, dtype=dtype)
    cpu, gpu = fit(torch.from_numpy(X), signs), fit(torch.from_numpy(X).cuda(), signs)
    np.testing.assert_allclose(stacked(gpu), stacked(cpu), atol=1e-6)
