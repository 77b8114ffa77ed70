"""Heads that see every block once: as good as the batch solution on samples that neither has seen."""

import dataclasses
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC

from gramless.errors import DataError, MemoryBudgetError
from gramless.heads import FitSummary, Head, LeastSquares, OnlineHead
from gramless.storage import load, save

AMPLE = 1 << 30
EPS = np.finfo(np.float64).eps


def problem(rng, n=600, d=8, n_labels=2, noise=1.0, rate=0.3, dtype=np.float64):
    X = 2.0 * rng.normal(size=(n, d)) * np.linspace(2.0, 0.1, d) / np.sqrt(d)
    F = X @ rng.normal(size=(d, n_labels)) + noise * rng.normal(size=(n, n_labels))
    return X.astype(dtype), np.where(np.quantile(F, 1 - rate, axis=0) < F, 1.0, -1.0)


def waves(rng, n):
    """Classes that are no linear function of the samples, on random Fourier features of theirs."""
    Z = rng.normal(size=(n, 6))
    X = np.cos(0.6 * Z @ rng.normal(size=(6, 60)) + rng.uniform(0.0, 2 * np.pi, 60)) * np.sqrt(2 / 60)
    F = np.stack([np.sin(2 * Z[:, 0]) * Z[:, 1] + 0.3 * rng.normal(size=n), (Z**2).sum(1) - 8 + rng.normal(size=n)], 1)
    return X, np.where(F > 0, 1.0, -1.0)


def started(X, signs, C=1.0, weights=None):
    return OnlineHead.start(signs.shape[1], X.shape[1], C, weights or [(1.0, 1.0)] * signs.shape[1], budget=AMPLE)


def seen(X, signs, n_blocks, **options):
    online = started(X, signs, **options)
    for rows in np.array_split(np.arange(len(X)), n_blocks):
        online = online.update(X[rows], signs[rows])
    return online


def batch(X, sign, C=1.0, weight=(1.0, 1.0)):
    machine = LinearSVC(C=C, dual=False, tol=1e-6, max_iter=100_000, class_weight={-1: weight[0], 1: weight[1]})
    return machine.fit(X, sign)


def parts(online):
    """The arrays that it is made of."""
    return {field.name: getattr(online, field.name) for field in dataclasses.fields(online) if field.name != "loss"}


def assert_same(a, b, atol=0.0):
    for name, value in parts(a).items():
        np.testing.assert_allclose(getattr(b, name), value, rtol=atol, atol=atol, err_msg=name)


@pytest.mark.parametrize("make", ["linear", "noisy", "rare", "waves"])
def test_one_pass_is_as_accurate_as_the_batch_solution_on_unseen_samples(rng, make):
    n = 20_000
    if make == "waves":
        X, signs = waves(rng, n + 10_000)
    else:
        noise, rate = {"linear": (1.0, 0.2), "noisy": (4.0, 0.3), "rare": (1.0, 0.02)}[make]
        X, signs = problem(rng, n + 10_000, 60, noise=noise, rate=rate)
    right = np.where(seen(X[:n], signs[:n], 20).head.margins(X[n:]) > 0, 1.0, -1.0) == signs[n:]
    for label in range(2):
        theirs = batch(X[:n], signs[:n, label]).score(X[n:], signs[n:, label])
        assert right[:, label].mean() >= theirs - 0.01
        if make != "rare":
            assert right[:, label].mean() >= theirs - 0.003


def test_blocks_sorted_by_a_label_cost_some_accuracy_and_not_all(rng):
    X, signs = waves(rng, 8_000)
    order = np.argsort(signs[:6_000, 0], kind="stable")
    head = seen(X[order], signs[order], 20).head
    right = (np.where(head.margins(X[6_000:]) > 0, 1.0, -1.0) == signs[6_000:])[:, 0].mean()
    assert right >= batch(X[:6_000], signs[:6_000, 0]).score(X[6_000:], signs[6_000:, 0]) - 0.1


@pytest.mark.parametrize("C", [1e-6, 0.1, 10.0])
@pytest.mark.parametrize("weight", [(1.0, 1.0), (0.5, 4.0)])
def test_one_block_is_the_batch_solution(rng, C, weight):
    X, signs = problem(rng)
    head = started(X, signs, C, [weight] * 2).update(X, signs).head
    for label in range(2):
        machine = batch(X, signs[:, label], C, weight)
        np.testing.assert_allclose(head.margins(X)[:, label], machine.decision_function(X), atol=1e-3)


def test_samples_that_never_leave_the_loss_are_remembered_exactly(rng):
    """With a C so small that all margins stay near 0, the kept parabolas are the losses themselves."""
    X, signs = problem(rng)
    whole, cut = started(X, signs, 1e-5).update(X, signs), seen(X, signs, 7, C=1e-5)
    np.testing.assert_allclose(cut.head.coefficients, whole.head.coefficients, atol=1e-9)
    np.testing.assert_allclose(cut.head.intercepts, whole.head.intercepts, atol=1e-9)
    np.testing.assert_allclose(cut.constant, 1e-5 * 600, rtol=1e-9)  # the losses at w = 0


@given(seed=st.integers(0, 10**6), n_blocks=st.integers(1, 6))
def test_the_order_of_rows_in_a_block_and_empty_blocks_do_not_matter(seed, n_blocks):
    rng = np.random.default_rng(seed)
    X, signs = problem(rng, n=60, d=4)
    plain, mixed = started(X, signs), started(X, signs)
    for rows in np.array_split(np.arange(60), n_blocks):
        plain = plain.update(X[rows], signs[rows])
        rows = rng.permutation(rows)
        mixed = mixed.update(X[:0], signs[:0]).update(X[rows], signs[rows])
    assert_same(mixed, plain, atol=1e-6)


def test_labels_do_not_see_each_other(rng):
    X, signs = problem(rng, n_labels=3)
    together = seen(X, signs, 4)
    for label in range(3):
        alone = seen(X, signs[:, label : label + 1], 4)
        np.testing.assert_allclose(together.head.coefficients[label], alone.head.coefficients[0], atol=1e-8)


def test_turning_all_signs_turns_the_answers(rng):
    X, signs = problem(rng)
    np.testing.assert_allclose(seen(X, -signs, 4).head.margins(X), -seen(X, signs, 4).head.margins(X), atol=1e-8)


def test_an_update_makes_a_new_value_and_changes_no_other(rng):
    X, signs = problem(rng)
    before = started(X, signs).update(X[:300], signs[:300])
    kept = {name: value.copy() for name, value in parts(before).items()}
    given_X, given_signs = X.copy(), signs.copy()
    after = before.update(X[300:], signs[300:])
    again = before.update(X[300:], signs[300:])
    for name, value in kept.items():
        np.testing.assert_array_equal(getattr(before, name), value)
    np.testing.assert_array_equal(X, given_X)
    np.testing.assert_array_equal(signs, given_signs)
    assert_same(after, again)
    assert not np.array_equal(after.w, before.w)


def test_a_label_answers_with_the_one_sign_it_has_shown(rng):
    X, signs = problem(rng, n_labels=3)
    signs[:300, 0], signs[:300, 1] = -1.0, 1.0
    online = started(X, signs)
    np.testing.assert_array_equal(online.head.margins(X), np.zeros((600, 3)))
    online = online.update(X[:300], signs[:300])
    np.testing.assert_array_equal(online.head.margins(X)[:, :2], [[-1.0, 1.0]] * 600)
    assert online.head.coefficients[2].any()
    head = online.update(X[300:], signs[300:]).head
    assert head.coefficients.any(1).all()
    assert (np.where(head.margins(X[300:]) > 0, 1.0, -1.0) == signs[300:]).mean() > 0.7


def test_a_file_keeps_it_and_learning_goes_on_as_if_it_had_not_been_away(rng, tmp_path):
    X, signs = problem(rng)
    online = started(X, signs).update(X[:300], signs[:300])
    save(online, tmp_path / "online.gramless")
    for again in (load(tmp_path / "online.gramless"), pickle.loads(pickle.dumps(online))):
        assert_same(again, online)
        assert_same(again.update(X[300:], signs[300:]), online.update(X[300:], signs[300:]))


def test_tensors_and_both_types_give_the_same(rng):
    X, signs = problem(rng, dtype=np.float32)
    exact = seen(X.astype(np.float64), signs, 3).head.margins(X)
    np.testing.assert_allclose(seen(X, signs, 3).head.margins(X), exact, atol=1e-3)
    np.testing.assert_allclose(seen(torch.from_numpy(X), signs, 3).head.margins(X), exact, atol=1e-3)


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["duplicates", "constant", "scales", "separable", "contradictions"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # a hard margin may take many steps
def test_data_that_is_out_to_hurt_gives_finite_answers_about_as_good_as_the_batchs(rng, kind, dtype, C):
    X, signs = problem(rng, n=200, d=6, n_labels=1)
    if kind == "duplicates":
        X[:], signs[:] = X[np.arange(200) % 5], signs[np.arange(200) % 5]
        signs[np.arange(200) % 5 == 0] *= -1.0
    elif kind == "constant":
        X[:, :3] = [0.0, 1.0, 1e4]
    elif kind == "scales":
        X *= np.geomspace(1e-3, 1e3, 6)
    elif kind == "separable":
        X[:, 0] = 3.0 * signs[:, 0] + 0.1 * X[:, 0]
    else:
        X[100:], signs[100:] = X[:100], -signs[:100]
    head = seen(X.astype(dtype), signs, 5, C=C).head
    margins = head.margins(X)
    assert np.isfinite(margins).all()
    right = (np.where(margins > 0, 1.0, -1.0) == signs).mean()
    assert right >= batch(X, signs[:, 0], C).score(X, signs[:, 0]) - 0.1


def test_blocks_of_one_row_each_are_learned_from(rng):
    X, signs = problem(rng, n=150, d=3, n_labels=1, noise=0.1)
    head = seen(X, signs, 150).head
    assert (np.where(head.margins(X) > 0, 1.0, -1.0) == signs).mean() > 0.85


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_block_with_numbers_that_are_none_is_refused(rng, bad):
    X, signs = problem(rng)
    online = started(X, signs).update(X[:300], signs[:300])
    X[400, 2] = bad
    with pytest.raises(DataError, match="not finite"):
        online.update(X[300:], signs[300:])


def test_more_than_the_budget_is_refused_before_anything_is_remembered():
    with pytest.raises(MemoryBudgetError, match=r"remembering blocks of 100 labels .* needs 23\.3 MiB"):
        OnlineHead.start(100, 100, 1.0, [(1.0, 1.0)] * 100, budget=20 << 20)


def test_what_cannot_be_says_what_came(rng):
    X, signs = problem(rng)
    online = started(X, signs)
    for block in ((X[:, :7], signs), (X, signs[:, :1]), (X[:9], signs), (X, signs[:, 0]), (X[:0, :7], signs[:0])):
        with pytest.raises(DataError, match="these classifiers are of 2 labels on 8 features"):
            online.update(*block)
    for C in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="C must be positive and finite"):
            OnlineHead.start(2, 8, C, [(1.0, 1.0)] * 2, budget=AMPLE)
    for weights in ([(1.0, 1.0)], [(1.0, -1.0), (1.0, 1.0)]):
        with pytest.raises(ValueError, match="each of the 2 labels needs two finite weights"):
            OnlineHead.start(2, 8, 1.0, weights, budget=AMPLE)


def test_after_a_fit_whose_samples_all_count_it_is_as_after_a_block(rng):
    """With every margin below the kink a label's Hessian is the second moments times its curvature, exactly."""
    X, signs = problem(rng, n=80, noise=5.0)
    first, second = slice(0, 50), slice(50, 80)
    start = started(X, signs, C=1e-3, weights=[(1.0, 1.0), (0.5, 0.5)])
    block = start.update(X[first], signs[first])
    assert (signs[first] * block.head.margins(X[first])).max() < 0.7
    fitted = start.after_fit(FitSummary.of(X[first], signs[first], block.head, start.sides))
    np.testing.assert_array_equal(fitted.counts, block.counts)
    for each in ("w", "constant", "linear", "hessian"):  # the moments are kept in float32
        np.testing.assert_allclose(getattr(fitted, each), getattr(block, each), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(
        fitted.update(X[second], signs[second]).w, block.update(X[second], signs[second]).w, rtol=1e-4, atol=1e-6
    )


def test_after_a_fit_samples_that_lose_nothing_change_nothing(rng):
    X, signs = problem(rng, n=300)
    machines = [batch(X, sign) for sign in signs.T]
    head = Head(np.vstack([m.coef_ for m in machines]), np.concatenate([m.intercept_ for m in machines]), 1)
    online = started(X, signs).after_fit(FitSummary.of(X, signs, head, np.ones((2, 2))))
    settled = (signs * head.margins(X)).min(1) > 1.0
    assert settled.sum() > 10
    moved = online.update(X[settled], signs[settled])
    np.testing.assert_allclose(moved.head.coefficients, head.coefficients, rtol=0, atol=1e-8)
    whole = online.update(X[~settled], signs[~settled]).head
    assert np.abs(whole.coefficients - head.coefficients).max() > 1e-3


def regression(X, sign, C, weights):
    """Ridge regression with a bias that costs nothing, on all samples at once, as scikit-learn solves it."""
    return Ridge(alpha=0.5 / C, solver="cholesky").fit(X, sign, sample_weight=weights)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("sides", [[(1.0, 1.0)] * 2, [(1.0, 3.0), (0.5, 0.5)]], ids=["alike", "apart"])
@pytest.mark.parametrize("fitted", [0, 60, 300])
def test_ridge_regression_after_blocks_is_that_of_all_samples(rng, C, sides, fitted):
    """After a fit of the first samples, by weights, or after none. H is solved by its condition, 1 + 2 C |X|^2."""
    X, signs = problem(rng, 400)
    weights = np.where(np.arange(400) < fitted, rng.uniform(0.5, 2.0, 400), 1.0)
    of_signs = np.where(signs > 0, *np.array(sides).T[::-1, None])
    online = OnlineHead.start(2, 8, C, sides, budget=AMPLE, loss=LeastSquares())
    if fitted:
        first = [regression(X[:fitted], signs[:fitted, k], C, (weights * of_signs[:, k])[:fitted]) for k in range(2)]
        head = Head(np.stack([each.coef_ for each in first]), np.array([each.intercept_ for each in first]), 1)
        summary = FitSummary.of(X[:fitted], signs[:fitted], head, online.sides, LeastSquares(), weights[:fitted])
        online = online.after_fit(summary)
    for rows in np.array_split(np.arange(fitted, 400), 5):
        online = online.update(X[rows], signs[rows])
    condition = 1.0 + 2.0 * C * 3.0 * np.square(np.column_stack([X, np.ones(400)])).sum()
    for k in range(2):
        expected = regression(X, signs[:, k], C, weights * of_signs[:, k])
        found = np.append(online.head.coefficients[k], online.head.intercepts[k])
        answer = np.append(expected.coef_, expected.intercept_)
        np.testing.assert_allclose(found, answer, rtol=0, atol=100 * condition * EPS * np.abs(answer).max())


def test_ridge_regression_of_a_class_that_counts_nothing_has_finite_answers(rng):
    X, signs = problem(rng, 30)
    nothing = OnlineHead.start(2, 8, 1.0, [(0.0, 0.0), (0.0, 1.0)], budget=AMPLE, loss=LeastSquares())
    assert np.isfinite(nothing.update(X, signs).head.margins(X)).all()


def test_after_a_fit_each_label_keeps_its_own_hessian_where_all_are_small(rng, monkeypatch):
    X, signs = problem(rng, 300)
    head = seen(X, signs, 1).head
    own = FitSummary.of(X, signs, head, np.ones((2, 2)))
    monkeypatch.setattr("gramless.heads.online.MOMENT_BYTES", 2 * 9**2 * 8 - 1)
    shared = FitSummary.of(X, signs, head, np.ones((2, 2)))
    assert own.moment.shape == (2, 9, 9)
    assert shared.moment.shape == (1, 9, 9)
    x = np.column_stack([X, np.ones(300)])
    np.testing.assert_allclose(shared.moment[0], x.T @ x / 300, atol=1e-12)
    for k in range(2):  # the mean of the hinge's curvature over a margin moved by 0.3 either way: 2 before the kink
        share = np.clip((1.3 - signs[:, k] * head.margins(X)[:, k]) / 0.6, 0.0, 1.0)
        np.testing.assert_allclose(own.moment[k], (2 * share[:, None] * x).T @ x / own.curvature[k], atol=1e-9)


def test_a_summary_of_a_sample_becomes_that_of_all_samples_with_their_head(rng):
    X, signs = problem(rng, 300)
    some, whole = seen(X[:100], signs[:100], 1).head, seen(X, signs, 1).head
    counts = np.column_stack([(signs < 0).sum(0), (signs > 0).sum(0)])
    found = FitSummary.of(X[:100], signs[:100], some, np.ones((2, 2))).of_all(counts, whole)
    online = started(X, signs).after_fit(found)
    np.testing.assert_array_equal(online.counts, counts)
    np.testing.assert_allclose(online.head.coefficients, whole.coefficients, rtol=0, atol=1e-12)
    np.testing.assert_allclose(online.head.intercepts, whole.intercepts, rtol=0, atol=1e-12)
