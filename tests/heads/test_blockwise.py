"""Newton's method over blocks: LIBLINEAR's optima, however the rows are cut, in few passes."""

import pickle
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gramless.heads import Head, SquaredHinge, fit_all_labels, fit_over_blocks, newton_totals
from tests import tolerances
from tests.heads import problems
from tests.heads.huberized import HuberizedHinge
from tests.heads.passes import (
    AMPLE,
    TOLERANCE,
    WEIGHTS,
    Passes,
    fit,
    liblinear,
    objective,
    problem,
    solved,
    stacked,
    zeros,
)
from tests.oracles import heads as oracle


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
def test_the_optimum_is_liblinears(rng, C, dtype):
    X, signs = problem(rng, dtype=dtype)
    head = fit(X, signs, C=C, weights=WEIGHTS)
    for label, weight in enumerate(WEIGHTS):
        np.testing.assert_allclose(stacked(head)[label], liblinear(X, signs[:, label], C, weight), atol=1e-5)


@pytest.mark.parametrize("loss", [SquaredHinge(), HuberizedHinge(2.0), HuberizedHinge(0.1)])
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
def test_the_optimum_is_that_of_all_samples_at_once(rng, C, loss):
    X, signs = problem(rng)
    together = fit_all_labels(X, signs, loss, C, WEIGHTS, budget=AMPLE, tolerance=1e-10)
    np.testing.assert_allclose(stacked(fit(X, signs, loss, C, WEIGHTS)), stacked(together), atol=1e-5)


@pytest.mark.parametrize("width", [0.01, 0.3, 30.0])
def test_the_huberized_hinge_reaches_the_optimum_of_its_dual(rng, width):
    X, signs = problem(rng, n=60, d=6, rates=(0.3,))
    w, optimum = oracle.dual_optimum(X, signs[:, 0], np.full(60, 2.0), np.full(60, width))
    found = stacked(fit(X, signs, HuberizedHinge(width), 2.0))[0]
    assert objective(found, X, signs[:, 0], 2.0, width) == pytest.approx(optimum, rel=1e-7)
    np.testing.assert_allclose(found, w, atol=1e-4)


@given(data=st.data(), seed=st.integers(0, 10**6), width=st.none() | st.sampled_from([0.05, 1.0]))
def test_how_rows_are_cut_into_blocks_does_not_matter(data, seed, width):
    rng = np.random.default_rng(seed)
    X, signs = problem(rng, n=80, d=5)
    loss = SquaredHinge() if width is None else HuberizedHinge(width)
    cuts = sorted(data.draw(st.lists(st.integers(0, 80), max_size=12)))  # a cut twice is an empty block
    blocks = [block.tolist() for block in np.split(rng.permutation(80), cuts)]
    cut = fit(X, signs, loss, blocks=data.draw(st.permutations(blocks)))
    whole = fit(X, signs, loss, blocks=[list(range(80))])
    least = max(objective(w, X, sign, width=width) for w, sign in zip(stacked(whole), signs.T, strict=True))
    apart = tolerances.of_convex_minimum(TOLERANCE * least, n_minima=2)
    np.testing.assert_allclose(stacked(cut), stacked(whole), rtol=0, atol=apart)


@given(
    **problems.ANY,
    scale=st.sampled_from([1e-3, 1.0]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_no_lower_objective_is_known_for_data_of_every_shape_and_size(seed, n, d, C, width, scale, dtype):
    """Few samples in many dimensions are hard margins, for which the passes are allowed to be many."""
    X = (scale * np.random.default_rng(seed).normal(size=(n, d))).astype(dtype)
    signs = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)[:, None]
    loss = SquaredHinge() if width is None else HuberizedHinge(width)
    ours = stacked(fit(X, signs, loss, C, options={"max_iter": 500}))[0]
    theirs = stacked(fit_all_labels(X.astype(float), signs, loss, C, [(1.0, 1.0)], budget=AMPLE, tolerance=1e-8))[0]
    assert objective(ours, X, signs[:, 0], C, width) <= objective(theirs, X, signs[:, 0], C, width) * (1 + 1e-6)


def test_totals_are_value_gradient_and_curvature_of_the_losses(rng):
    X, signs = problem(rng, n=40, d=3, rates=(0.4,))
    w, sides = rng.normal(size=(1, 4)), np.array([[0.7, 3.0]])

    def losses(at):
        margins = signs[:, 0] * (X @ at[:-1] + at[-1])
        return sum(
            oracle.squared_hinge(m, c) for m, c in zip(margins, oracle.boxes(signs[:, 0], 1.0, sides[0]), strict=True)
        )

    totals = newton_totals(X, signs, w, np.array([1e-6]), SquaredHinge(), sides)
    steps = 1e-5 * np.eye(4)
    slopes = [(losses(w[0] + e) - losses(w[0] - e)) / 2e-5 for e in steps]
    bends = [
        (newton_totals(X, signs, w + e, np.ones(1), SquaredHinge(), sides).gradient[0] - totals.gradient[0]) / 1e-5
        for e in steps
    ]
    np.testing.assert_allclose(totals.losses, [losses(w[0])])
    np.testing.assert_allclose(totals.gradient[0], slopes, rtol=1e-5)
    np.testing.assert_allclose(totals.hessian[0], bends, rtol=1e-4, atol=1e-3)


def test_the_reach_makes_curvatures_of_the_kinks_within_it():
    """One sample at margin 0: the hinge's slope rises by C somewhere in between, so by C / 2 reach on average."""
    X, signs, nowhere = np.array([[2.0]]), np.ones((1, 1)), np.zeros((1, 2))
    loss, sides = HuberizedHinge(1e-6), np.array([[5.0, 5.0]])
    for reach, curvature in ((0.5, 0.0), (2.0, 5.0 / 4.0), (10.0, 5.0 / 20.0)):
        totals = newton_totals(X, signs, nowhere, np.array([reach]), loss, sides)
        np.testing.assert_allclose(totals.hessian[0], curvature * np.array([[4.0, 2.0], [2.0, 1.0]]), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", [SquaredHinge(), HuberizedHinge(0.4)])
def test_totals_of_blocks_add_up_to_those_of_all_rows(rng, loss, dtype):
    X, signs = problem(rng, dtype=dtype)
    w, reach, sides = rng.normal(size=(3, 13)), np.array([1e-6, 0.1, 1.0]), np.array(WEIGHTS)

    def of(rows):
        return newton_totals(X[rows], signs[rows], w, reach, loss, sides)

    a, b, nothing, whole = of(slice(0, 70)), of(slice(70, 300)), of(slice(0, 0)), of(slice(None))
    for total in (a + b, b + a + nothing, nothing + a + (b + nothing)):
        for name in ("losses", "gradient", "hessian"):
            rtol = 1e-5 if dtype is np.float32 and name == "hessian" else 1e-11
            np.testing.assert_allclose(getattr(total, name), getattr(whole, name), rtol=rtol, atol=rtol * 100)
            assert getattr(total, name).dtype == np.float64
    assert not nothing.hessian.any()
    assert np.array_equal(whole.hessian, whole.hessian.transpose(0, 2, 1))
    again = pickle.loads(pickle.dumps(whole))
    np.testing.assert_array_equal(again.hessian, whole.hessian)
    np.testing.assert_array_equal(again.losses, whole.losses)


def test_tensors_arrays_and_arrays_that_may_not_be_written_are_the_same(rng):
    X, signs = problem(rng)
    fixed, turned = X.copy(), np.asfortranarray(X)
    fixed.flags.writeable = False
    arguments = rng.normal(size=(3, 13)), np.ones(3), SquaredHinge(), np.array(WEIGHTS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [
            newton_totals(phi, signs, *arguments) for phi in (X, torch.from_numpy(X), fixed, turned, X[::-1][::-1])
        ]
    for totals in found[1:]:
        np.testing.assert_allclose(totals.hessian, found[0].hessian, rtol=1e-12, atol=1e-10)


def test_passes_are_few_and_fewer_from_the_head_of_a_sample(rng):
    X, signs = problem(rng, n=4_000, d=30)
    X /= 3.0
    for loss, most_cold, most_warm in ((SquaredHinge(), 10, 6), (HuberizedHinge(0.5), 12, 8)):
        options = {"tolerance": 1e-6}
        sample = fit_all_labels(X[:400], signs[:400], loss, 10.0, WEIGHTS, budget=AMPLE)
        cold = fit(X, signs, loss, options=options)
        warm = fit(X, signs, loss, start=sample, options=options)
        assert cold.n_iter <= most_cold
        assert warm.n_iter <= most_warm
        np.testing.assert_allclose(stacked(warm), stacked(cold), atol=1e-3)


def test_a_step_that_gains_next_to_nothing_is_not_taken_again_and_again():
    """Found by `make fuzz`: kinks beyond the reach shortened every step, 69 passes of the same."""
    X, signs = problem(np.random.default_rng(11470), n=80, d=5)
    assert fit(X, signs, HuberizedHinge(0.05)).n_iter < 40


def test_the_optimum_to_start_from_takes_one_pass(rng):
    X, signs = problem(rng)
    optimum = fit(X, signs)
    passes = Passes(X, signs)
    again = fit_over_blocks(passes, optimum, np.ones(3, dtype=bool), budget=AMPLE)
    assert len(passes.labels) == again.n_iter == 1
    np.testing.assert_allclose(stacked(again), stacked(optimum), atol=1e-9)


def test_labels_that_are_done_leave_and_more_than_the_budget_holds_take_turns(rng):
    X, signs = problem(rng)
    start = fit(X, signs)
    start.coefficients[1] = 5.0
    together, apart = Passes(X, signs), Passes(X, signs)
    a = solved(together, start, np.ones(3, dtype=bool), budget=AMPLE)
    b = solved(apart, start, np.ones(3, dtype=bool), budget=1)
    assert together.labels == [[0, 1, 2]] + [[1]] * (len(together.labels) - 1)
    assert apart.labels == [[0]] + [[1]] * len(together.labels) + [[2]]
    np.testing.assert_allclose(stacked(a), stacked(b), atol=1e-10)


def test_a_label_that_does_not_vary_keeps_what_the_start_says(rng):
    X, signs = problem(rng)
    signs[:, 1] = -1.0
    start = zeros(X, signs)
    start.intercepts[1] = -1.0
    passes = Passes(X, signs)
    head = solved(passes, start, np.array([True, False, True]), budget=AMPLE)
    assert not any(1 in labels for labels in passes.labels)
    assert not head.coefficients[1].any()
    assert head.intercepts[1] == -1.0
    np.testing.assert_allclose(stacked(head)[2], liblinear(X, signs[:, 2]), atol=1e-5)
    assert not start.coefficients.any()  # the caller's
    none = fit_over_blocks(passes, start, np.zeros(3, dtype=bool), budget=AMPLE)
    np.testing.assert_array_equal(stacked(none), stacked(start))


def test_a_label_that_does_vary_may_start_from_a_constant_answer(rng):
    X, signs = problem(rng, rates=(0.1,))
    start = Head(np.zeros((1, 12)), np.array([-1.0]), 1)
    np.testing.assert_allclose(stacked(fit(X, signs, start=start))[0], liblinear(X, signs[:, 0]), atol=1e-5)


def test_a_start_that_is_far_off_does_not_matter(rng):
    X, signs = problem(rng)
    for loss in (SquaredHinge(), HuberizedHinge(0.2)):
        far = Head(1e3 * rng.normal(size=(3, 12)), np.full(3, -500.0), 1)
        np.testing.assert_allclose(stacked(fit(X, signs, loss, start=far)), stacked(fit(X, signs, loss)), atol=1e-5)
