"""Balanced ensembles: which samples each classifier sees, and that one head stands for all of them."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC

from gramless.heads import Head, SquaredHinge, fit_all_labels
from reproduction.ensembles import KernelOnSubset, LinearOnSubset, fit_balanced_ensemble
from tests.contracts.samples import generator


@dataclass
class Recorder:
    """Another fit, and the rows it was shown."""

    fit: object
    seen: list = field(default_factory=list)

    @property
    def n_features(self):
        return self.fit.n_features

    def __call__(self, rows, sign):
        self.seen.append((rows, sign))
        return self.fit(rows, sign)


@dataclass
class MeanRow:
    """Coefficients are the mean row number of each side, in two columns; the intercept is how many rows there are."""

    n_features = 2

    def __call__(self, rows, sign):
        return np.array([rows[sign > 0].mean(), rows[sign < 0].mean()]), float(len(rows)), 7


@pytest.fixture
def samples(rng):
    X = rng.normal(size=(80, 6))
    F = X[:, :4] + 0.5 * rng.normal(size=(80, 4))
    lowest = np.quantile(F, [0.9, 0.7, 0.3, 1 - 1 / 80], axis=0).diagonal()
    return X, np.where(lowest < F, 1.0, -1.0)


def test_every_round_shows_all_positives_and_as_many_other_negatives(samples):
    _, signs = samples
    recorder = Recorder(MeanRow())
    fit_balanced_ensemble(recorder, signs[:, [0, 1, 3]], 5, generator())
    assert len(recorder.seen) == 15
    for i, (rows, sign) in enumerate(recorder.seen):
        whole = signs[:, (0, 1, 3)[i // 5]]
        assert len(set(rows.tolist())) == len(rows)
        np.testing.assert_array_equal(rows, np.sort(rows))
        np.testing.assert_array_equal(sign, whole[rows])
        assert set(np.flatnonzero(whole > 0)) <= set(rows.tolist())
        assert (sign > 0).sum() == (sign < 0).sum() == (whole > 0).sum()
    assert len({tuple(rows) for rows, _ in recorder.seen[:5]}) == 5


def test_negatives_are_drawn_evenly():
    signs = np.where(np.arange(12) < 2, 1.0, -1.0)[:, None]
    recorder = Recorder(MeanRow())
    fit_balanced_ensemble(recorder, signs, 2000, generator())
    counts = np.bincount(np.concatenate([rows for rows, _ in recorder.seen]), minlength=12)
    assert (counts[:2] == 2000).all()
    np.testing.assert_allclose(counts[2:], 400, atol=5 * np.sqrt(400))


def test_the_head_is_the_mean_over_rounds(samples):
    _, signs = samples
    recorder = Recorder(MeanRow())
    head = fit_balanced_ensemble(recorder, signs[:, :1], 4, generator())
    answers = [MeanRow()(rows, sign) for rows, sign in recorder.seen]
    np.testing.assert_allclose(head.coefficients[0], np.mean([a[0] for a in answers], axis=0))
    assert head.intercepts[0] == pytest.approx(2 * (signs[:, 0] > 0).sum())
    assert head.n_iter == 7


def test_where_negatives_are_the_fewer_all_samples_are_seen_once(samples):
    _, signs = samples
    assert (signs[:, 2] > 0).mean() > 0.5
    recorder = Recorder(MeanRow())
    fit_balanced_ensemble(recorder, signs[:, 2:3], 5, generator())
    assert len(recorder.seen) == 1
    np.testing.assert_array_equal(recorder.seen[0][0], np.arange(80))


def test_scores_of_a_linear_ensemble_are_mean_scores_of_its_machines(samples):
    X, signs = samples
    recorder = Recorder(LinearOnSubset(X, 0.7, 100_000, 0))
    scores = fit_balanced_ensemble(recorder, signs[:, :1], 3, generator()).margins(X)[:, 0]
    machine = LinearSVC(C=0.7, loss="squared_hinge", dual="auto", max_iter=100_000, random_state=0)
    apart = [machine.fit(X[rows], signs[rows, 0]).decision_function(X) for rows, _ in recorder.seen]
    np.testing.assert_allclose(scores, np.mean(apart, axis=0), atol=1e-9)


def test_scores_of_a_kernel_ensemble_are_mean_scores_of_its_machines(samples):
    X, signs = samples
    gram = (1.0 + X @ X.T) ** 2
    recorder = Recorder(KernelOnSubset(gram, 0.3))
    head = fit_balanced_ensemble(recorder, signs, 3, generator())
    assert head.coefficients.shape == (4, 80)
    new = gram[:11]
    scores = []
    for rows, sign in recorder.seen[:3]:
        machine = SVC(kernel="poly", degree=2, gamma=1.0, coef0=1.0, C=0.3).fit(X[rows], sign)
        scores.append(machine.decision_function(X[:11]))
    expected = np.mean(scores, axis=0)
    np.testing.assert_allclose(head.margins(new)[:, 0], expected, atol=5e-3 * np.abs(expected).max())


def test_any_solver_will_do(samples):
    X, signs = samples

    @dataclass
    class Batched:
        n_features = 6

        def __call__(self, rows, sign):
            head = fit_all_labels(X[rows], sign[:, None], SquaredHinge(), 1.0, [(1.0, 1.0)], budget=2**30)
            return head.coefficients[0], float(head.intercepts[0]), head.n_iter

    ours = fit_balanced_ensemble(Batched(), signs, 2, generator())
    theirs = fit_balanced_ensemble(LinearOnSubset(X, 1.0, 100_000, 0), signs, 2, generator())
    np.testing.assert_allclose(ours.margins(X), theirs.margins(X), atol=0.05)


def test_labels_of_one_kind_get_their_constant_answer(samples):
    X, signs = samples
    signs = np.column_stack([np.full(80, -1.0), signs[:, 0], np.full(80, 1.0)])
    for fit, features in (
        (LinearOnSubset(X, 1.0, 10_000, 0), X),
        (KernelOnSubset(X @ X.T, 1.0), X @ X.T),
    ):
        scores = fit_balanced_ensemble(fit, signs, 2, generator()).margins(features)
        assert (scores[:, 0] == -1.0).all()
        assert (scores[:, 2] == 1.0).all()
        assert np.ptp(scores[:, 1]) > 0


def test_one_positive_makes_pairs(samples):
    X, signs = samples
    assert (signs[:, 3] > 0).sum() == 1
    recorder = Recorder(LinearOnSubset(X, 1.0, 10_000, 0))
    head = fit_balanced_ensemble(recorder, signs[:, 3:], 10, generator())
    assert {len(rows) for rows, _ in recorder.seen} == {2}
    assert isinstance(head, Head)
    assert head.margins(X)[signs[:, 3] > 0, 0].item() > 0.5


def test_the_generator_decides(samples):
    X, signs = samples
    fit = LinearOnSubset(X, 1.0, 10_000, 0)
    first, second, other = (fit_balanced_ensemble(fit, signs, 2, generator(s)).coefficients for s in (0, 0, 1))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


def test_no_round_is_refused(samples):
    with pytest.raises(ValueError, match="at least one round, got n_rounds=0"):
        fit_balanced_ensemble(MeanRow(), samples[1], 0, generator())


@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_processes_change_nothing(samples, monkeypatch, kind):
    X, signs = samples
    fit = LinearOnSubset(X, 1.0, 1000, 0) if kind == "linear" else KernelOnSubset(X @ X.T, 1.0)
    here = fit_balanced_ensemble(fit, signs, 3, generator())
    monkeypatch.setattr("reproduction.ensembles.WORTH_PROCESSES", 0)
    monkeypatch.setattr("joblib.cpu_count", lambda: 2)
    elsewhere = fit_balanced_ensemble(fit, signs, 3, generator())
    np.testing.assert_array_equal(elsewhere.coefficients, here.coefficients)
    np.testing.assert_array_equal(elsewhere.intercepts, here.intercepts)
