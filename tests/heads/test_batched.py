"""The solver of all labels at once: LIBLINEAR's optima, the dual's optima, and data that is out to hurt."""

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from gramless.errors import DataError
from gramless.heads import SquaredHinge, fit_all_labels
from tests.heads import problems
from tests.heads.huberized import HuberizedHinge
from tests.oracles import heads as oracle

AMPLE = 2**30
WEIGHTS = [(1.0, 1.0), (1.0, 6.0), (0.5, 2.0), (1.0, 1.0)]


def problem(rng, n=90, d=12, rates=(0.5, 0.1, 0.3, 1 / 90)):
    X = rng.normal(size=(n, d)) * np.linspace(2.0, 0.1, d)
    F = X @ rng.normal(size=(d, len(rates))) + rng.normal(size=(n, len(rates)))
    counts = [max(1, round(rate * n)) for rate in rates]
    thresholds = [np.sort(f)[-count] for f, count in zip(F.T, counts, strict=True)]
    return X, np.where(thresholds <= F, 1.0, -1.0)


def fit(X, signs, loss=None, C=1.0, weights=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        weights = [(1.0, 1.0)] * signs.shape[1] if weights is None else weights
        return fit_all_labels(X, signs, loss or SquaredHinge(), C, weights, **({"budget": AMPLE} | options))


def squared_hinge_objective(w, bias, X, sign, C, weight):
    losses = [lambda m, c=c: oracle.squared_hinge(m, c) for c in oracle.boxes(sign, C, weight)]
    return oracle.objective(np.asarray(w, float), float(bias), np.asarray(X, float), sign, losses)


def huberized_objective(w, bias, X, sign, box, width):
    losses = [lambda m, c=c, d=d: oracle.huberized_hinge(m, c, d) for c, d in zip(box, width, strict=True)]
    return oracle.objective(np.asarray(w, float), float(bias), np.asarray(X, float), sign, losses)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("C", [1e-4, 0.1, 1.0, 100.0])
def test_the_objective_is_liblinears(rng, C, dtype):
    X, signs = problem(rng)
    X = X.astype(dtype)
    head = fit(X, signs, C=C, weights=WEIGHTS)
    assert head.coefficients.dtype == head.intercepts.dtype == dtype
    for label, weight in enumerate(WEIGHTS):
        sign = signs[:, label]
        machine = LinearSVC(C=C, dual=False, tol=1e-9, max_iter=100_000, class_weight={-1: weight[0], 1: weight[1]})
        machine.fit(X.astype(float), sign)
        theirs = squared_hinge_objective(machine.coef_[0], machine.intercept_[0], X, sign, C, weight)
        ours = squared_hinge_objective(head.coefficients[label], head.intercepts[label], X, sign, C, weight)
        assert theirs * (1 - 1e-6) <= ours <= theirs * (1 + 1e-4)
        scores = machine.decision_function(X)
        np.testing.assert_allclose(head.margins(X)[:, label], scores, atol=0.02 * np.abs(scores).max())


@pytest.mark.parametrize("width", [0.02, 1.0, 30.0, "per sample"])
@pytest.mark.parametrize("C", [0.05, 1.0, 50.0])
def test_the_huberized_hinge_reaches_the_optimum_of_its_dual(rng, C, width):
    X, signs = problem(rng, n=50, d=8, rates=(0.5, 0.1, 0.02))
    widths = np.geomspace(0.05, 20.0, 50) if width == "per sample" else np.full(50, width)
    head = fit(X, signs, HuberizedHinge(widths if width == "per sample" else width), C, WEIGHTS[:3])
    for label, weight in enumerate(WEIGHTS[:3]):
        sign = signs[:, label]
        box = oracle.boxes(sign, C, weight)
        w, optimum = oracle.dual_optimum(X, sign, box, widths)
        ours = huberized_objective(head.coefficients[label], head.intercepts[label], X, sign, box, widths)
        assert optimum * (1 - 1e-6) <= ours <= optimum * (1 + 1e-4)
        scores = X @ w[:-1] + w[-1]
        np.testing.assert_allclose(head.margins(X)[:, label], scores, atol=0.03 * np.abs(scores).max())


@given(
    **problems.ANY,
    scale=st.sampled_from([1e-3, 1.0, 30.0]),
)
def test_the_duality_gap_is_as_small_as_promised(seed, n, d, C, width, scale):
    """|w - sum a_i y_i x_i|^2 / 2, from the definition, for data of every shape and size."""
    rng = np.random.default_rng(seed)
    X = (scale * rng.normal(size=(n, d))).astype(np.float32)
    sign = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    A = np.column_stack([X, np.ones(n)]).astype(float) * sign[:, None]

    def objective_and_gap(dtype):
        head = fit(X.astype(dtype), sign[:, None], SquaredHinge() if width is None else HuberizedHinge(width), C)
        w = np.append(head.coefficients[0], head.intercepts[0]).astype(float)
        excess = np.maximum(0.0, 1.0 - A @ w)
        a = 2 * C * excess if width is None else np.minimum(excess / width, C)
        losses = C * excess**2 if width is None else a * excess - width * a * a / 2
        return 0.5 * w @ w + losses.sum(), 0.5 * np.sum((w - a @ A) ** 2)

    objective, gap = objective_and_gap(np.float64)
    assert gap <= 1.01e-4 * objective
    assert objective_and_gap(np.float32)[0] <= (1 + 3e-4) * objective  # its weights are rounded on the way out


def test_more_labels_than_the_budget_holds_are_solved_in_turns(rng):
    X, signs = problem(rng)
    together, apart = fit(X, signs), fit(X, signs, budget=1)
    np.testing.assert_allclose(apart.coefficients, together.coefficients, atol=1e-8)
    np.testing.assert_allclose(apart.intercepts, together.intercepts, atol=1e-8)


def test_the_same_input_gives_the_same_bits_and_stays_as_it_was(rng):
    X, signs = problem(rng)
    X = torch.from_numpy(X).float()
    before = X.clone(), signs.copy()
    first, second = fit(X, signs), fit(X, signs)
    np.testing.assert_array_equal(first.coefficients, second.coefficients)
    np.testing.assert_array_equal(first.intercepts, second.intercepts)
    assert torch.equal(X, before[0])
    np.testing.assert_array_equal(signs, before[1])


def test_rows_apart_in_memory_and_integer_signs_are_fine(rng):
    X, signs = problem(rng)
    spaced = torch.from_numpy(np.repeat(X, 2, axis=1))[:, ::2]
    np.testing.assert_allclose(fit(spaced, signs.astype(int)).coefficients, fit(X, signs).coefficients, atol=1e-10)


def test_a_label_without_positives_or_without_negatives_gets_its_constant_answer(rng):
    X, signs = problem(rng)
    alone = fit(X, signs[:, :1])
    head = fit(X, np.column_stack([signs[:, 0], np.full(90, -1.0), np.full(90, 1.0)]))
    assert not head.coefficients[1:].any()
    np.testing.assert_array_equal(head.intercepts[1:], [-1.0, 1.0])
    np.testing.assert_allclose(head.coefficients[0], alone.coefficients[0], atol=1e-10)


def test_one_sample_has_its_own_sign_as_constant_answer():
    head = fit(np.ones((1, 3)), np.array([[1.0, -1.0]]))
    np.testing.assert_array_equal(head.margins(np.zeros((2, 3))), [[1.0, -1.0]] * 2)


@pytest.mark.parametrize("loss", [SquaredHinge(), HuberizedHinge(0.5)])
def test_samples_that_contradict_each_other_cancel(loss):
    X = np.array([[1.0, 2.0], [1.0, 2.0], [-3.0, 0.1], [-3.0, 0.1]])
    head = fit(X, np.array([[1.0], [-1.0], [1.0], [-1.0]]), loss, 5.0)
    np.testing.assert_allclose(head.margins(X), 0.0, atol=1e-2)


def test_contradictory_samples_beside_others_meet_liblinears_optimum(rng):
    X, signs = problem(rng, n=40, d=5, rates=(0.4,))
    X, signs = np.concatenate([X, X[:15]]), np.concatenate([signs, -signs[:15]])
    head = fit(X, signs, C=100.0)
    machine = LinearSVC(C=100.0, dual=False, tol=1e-9, max_iter=100_000).fit(X, signs[:, 0])
    ours = squared_hinge_objective(head.coefficients[0], head.intercepts[0], X, signs[:, 0], 100.0, (1.0, 1.0))
    theirs = squared_hinge_objective(machine.coef_[0], machine.intercept_[0], X, signs[:, 0], 100.0, (1.0, 1.0))
    assert ours <= theirs * (1 + 1e-4)


@pytest.mark.parametrize("value", [0.0, 1.0, 1e-20, 1e4])
def test_constant_features_leave_a_constant_score(value):
    signs = np.where(np.arange(20) < 5, 1.0, -1.0)[:, None]
    scores = fit(np.full((20, 3), value), signs).margins(np.full((20, 3), value))
    assert np.ptp(scores) == 0.0
    assert -1.0 < scores[0, 0] < 0.0  # three in four are negative


def test_a_tiny_C_still_points_where_the_gradient_does(rng):
    X, signs = problem(rng)
    C = 1e-12
    head = fit(X.astype(np.float32), signs, C=C)
    np.testing.assert_allclose(head.coefficients, 2 * C * (signs.T @ X), rtol=1e-3, atol=1e-15)


def test_a_huge_C_finds_the_widest_margin():
    X = np.array([[2.0, 0.3], [3.0, -1.0], [-2.0, 0.4], [-5.0, 2.0]], dtype=np.float32)
    head = fit(X, np.array([[1.0], [1.0], [-1.0], [-1.0]]), C=1e9)
    sign = np.array([1.0, 1.0, -1.0, -1.0])
    w, _ = oracle.dual_optimum(X.astype(float), sign, np.full(4, 1e9), np.zeros(4))
    np.testing.assert_allclose(np.append(head.coefficients[0], head.intercepts[0]), w, atol=1e-2)


def test_a_huge_C_on_data_that_no_line_separates_converges(rng):
    X, signs = problem(rng, n=200, d=10, rates=(0.5, 0.1))
    X = (10.0 * X).astype(np.float32)
    head = fit(X, signs, C=1e5)
    for label in range(2):
        sign = signs[:, label]
        machine = LinearSVC(C=1e5, dual=False, tol=1e-9, max_iter=100_000).fit(X.astype(float), sign)
        theirs = squared_hinge_objective(machine.coef_[0], machine.intercept_[0], X, sign, 1e5, (1.0, 1.0))
        ours = squared_hinge_objective(head.coefficients[label], head.intercepts[label], X, sign, 1e5, (1.0, 1.0))
        assert ours <= theirs * (1 + 1e-4)


def test_features_of_very_different_sizes_converge(rng):
    X, signs = problem(rng)
    X = (X * np.geomspace(1e-3, 1e3, 12)).astype(np.float32)
    head = fit(X, signs)
    for label in range(4):
        machine = LinearSVC(dual=False, tol=1e-12, max_iter=1_000_000).fit(X.astype(float), signs[:, label])
        theirs = squared_hinge_objective(machine.coef_[0], machine.intercept_[0], X, signs[:, label], 1.0, (1, 1))
        ours = squared_hinge_objective(
            head.coefficients[label], head.intercepts[label], X, signs[:, label], 1.0, (1, 1)
        )
        assert ours <= theirs * (1 + 1e-4)


def test_a_side_that_weighs_nothing_is_not_seen(rng):
    X, signs = problem(rng, rates=(0.4,))
    head = fit(X, signs, weights=[(0.0, 1.0)])
    assert (head.margins(X)[signs[:, 0] > 0] > 0.5).all()


def test_too_few_steps_are_said_to_be_too_few(rng):
    X, signs = problem(rng)
    with pytest.warns(ConvergenceWarning, match="of 4 classifiers have not converged in 1 Newton steps"):
        fit_all_labels(X, signs, SquaredHinge(), 100.0, WEIGHTS, budget=AMPLE, max_iter=1)


@pytest.mark.parametrize("C", [0.0, -1.0, float("nan"), float("inf")])
def test_C_must_be_positive(rng, C):
    with pytest.raises(ValueError, match="C must be positive and finite"):
        fit(*problem(rng), C=C)


def test_what_cannot_be_says_what_came(rng):
    X, signs = problem(rng)
    with pytest.raises(DataError, match=r"90 samples have signs, but the vectors have shape \(80, 12\)"):
        fit(X[:80], signs)
    with pytest.raises(TypeError, match=r"float32 or float64, got torch\.int64"):
        fit(X.astype(int), signs)
    with pytest.raises(ValueError, match="each of the 4 labels needs two finite weights"):
        fit(X, signs, weights=WEIGHTS[:3])
    with pytest.raises(ValueError, match="each of the 4 labels needs two finite weights"):
        fit(X, signs, weights=[(1.0, -1.0)] * 4)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("loss", [SquaredHinge(), HuberizedHinge(np.linspace(0.5, 2.0, 90))])
def test_the_gpu_agrees_with_the_cpu(rng, loss):
    X, signs = problem(rng)
    X = torch.from_numpy(X).float()
    cpu, gpu = fit(X, signs, loss, tolerance=1e-8), fit(X.cuda(), signs, loss, tolerance=1e-8)
    np.testing.assert_allclose(gpu.margins(X.numpy()), cpu.margins(X.numpy()), atol=1e-4)
