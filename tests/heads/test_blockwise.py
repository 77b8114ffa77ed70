"""Newton's method over blocks: LIBLINEAR's optima, however the rows are cut, and data that is out to hurt."""

import operator
import pickle
import warnings
from functools import reduce

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from gramless.errors import DataError
from gramless.heads import Head, HuberizedHinge, SquaredHinge, fit_all_labels, fit_over_blocks, newton_totals
from tests.heads import problems
from tests.oracles import heads as oracle

AMPLE = 2**30
WEIGHTS = [(1.0, 1.0), (1.0, 6.0), (0.5, 2.0)]


def problem(rng, n=300, d=12, rates=(0.5, 0.1, 0.3), dtype=np.float64):
    X = rng.normal(size=(n, d)) * np.linspace(2.0, 0.1, d)
    F = X @ rng.normal(size=(d, len(rates))) + rng.normal(size=(n, len(rates)))
    thresholds = [np.quantile(f, 1 - rate) for f, rate in zip(F.T, rates, strict=True)]
    return X.astype(dtype), np.where(thresholds < F, 1.0, -1.0)


def zeros(X, signs):
    return Head(np.zeros((signs.shape[1], X.shape[1])), np.zeros(signs.shape[1]), 1)


class Passes:
    """All the data in blocks of rows, and which labels each pass over it was about."""

    def __init__(self, X, signs, loss=None, C=1.0, weights=None, blocks=None):
        self.sides = C * np.array(weights or [(1.0, 1.0)] * signs.shape[1])
        self.loss = loss or SquaredHinge()
        self.blocks = [(X[rows], signs[rows]) for rows in (blocks or np.array_split(np.arange(len(X)), 5))]
        self.labels = []

    def __call__(self, w, labels, reach):
        self.labels.append(labels.tolist())
        sides = self.sides[labels]
        return reduce(
            operator.add, (newton_totals(X, s[:, labels], w, reach, self.loss, sides) for X, s in self.blocks)
        )


def fit(X, signs, *args, start=None, varied=None, options=(), **data):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        varied = np.ones(signs.shape[1], dtype=bool) if varied is None else varied
        chosen = {"budget": AMPLE, "tolerance": 1e-10} | dict(options)
        return fit_over_blocks(Passes(X, signs, *args, **data), start or zeros(X, signs), varied, **chosen)


def liblinear(X, sign, C=1.0, weight=(1.0, 1.0)):
    """Weights with the bias last."""
    machine = LinearSVC(C=C, dual=False, tol=1e-10, max_iter=1_000_000, class_weight={-1: weight[0], 1: weight[1]})
    machine.fit(np.asarray(X, dtype=float), sign)
    return np.append(machine.coef_[0], machine.intercept_[0])


def stacked(head):
    return np.column_stack([head.coefficients, head.intercepts])


def objective(w, X, sign, C=1.0, width=None):
    if width is None:
        losses = [lambda m: oracle.squared_hinge(m, C)] * len(X)
    else:
        losses = [lambda m: oracle.huberized_hinge(m, C, width)] * len(X)
    return oracle.objective(np.asarray(w[:-1], float), float(w[-1]), np.asarray(X, float), sign, losses)


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
    np.testing.assert_allclose(stacked(cut), stacked(whole), atol=1e-6)


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
    a = fit_over_blocks(together, start, np.ones(3, dtype=bool), budget=AMPLE, tolerance=1e-10)
    b = fit_over_blocks(apart, start, np.ones(3, dtype=bool), budget=1, tolerance=1e-10)
    assert together.labels == [[0, 1, 2]] + [[1]] * (len(together.labels) - 1)
    assert apart.labels == [[0]] + [[1]] * len(together.labels) + [[2]]
    np.testing.assert_allclose(stacked(a), stacked(b), atol=1e-10)


def test_a_label_that_does_not_vary_keeps_what_the_start_says(rng):
    X, signs = problem(rng)
    signs[:, 1] = -1.0
    start = zeros(X, signs)
    start.intercepts[1] = -1.0
    passes = Passes(X, signs)
    head = fit_over_blocks(passes, start, np.array([True, False, True]), budget=AMPLE, tolerance=1e-10)
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

    head = fit_over_blocks(rounded, zeros(X, signs), np.ones(1, dtype=bool), budget=AMPLE, tolerance=1e-10)
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
