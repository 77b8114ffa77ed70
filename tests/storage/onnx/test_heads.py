"""Exported classifiers: scores, probabilities and decisions as the package gives them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import gramless as gl
from gramless.heads import Calibration, Head, Labels, Threshold, TopGains, TopK
from tests.storage.onnx.exported import ACCURACY, answers

NETWORK = gl.DeepKernelNetwork(hidden=(4,), learning=None)
SMALL = {"kernel": NETWORK, "n_landmarks": 20, "random_state": 0}
N, N_LABELS = 90, 6


@pytest.fixture
def X(rng):
    return {"a": rng.random((N, 5)).astype(np.float32), "b": rng.random((N, 3)).astype(np.float32)}


def check_scores(found, expected):
    assert (found.dtype, found.shape) == (np.float32, expected.shape)
    np.testing.assert_allclose(found, expected, rtol=0, atol=ACCURACY * np.abs(expected).max())


@pytest.mark.parametrize("tuning", ["auto", None])
@pytest.mark.parametrize(
    "names",
    [
        np.array([3, 7]),
        np.array([-1, 4, 9]),
        np.array([False, True]),
        np.array([-1.0, 2.0, 3.0]),
        np.array(["cat", "dog", "émeu"]),
        np.array(["no", "yes"], dtype=object),
    ],
    ids=lambda names: f"{len(names)} of {names.dtype}",
)
def test_classes_come_out_as_themselves(names, tuning, X, rng, tmp_path):
    y = names[(X["a"].sum(1) * 7).astype(int) % len(names)]
    classifier = gl.DeepMapClassifier(tuning=tuning, **SMALL).fit(X, y)
    found = answers(classifier, X, tmp_path)
    assert list(found) == ["scores", "probabilities", "classes"]
    check_scores(found["scores"], classifier.decision_function(X))
    np.testing.assert_allclose(found["probabilities"], classifier.predict_proba(X), atol=1e-3)
    expected = classifier.predict(X)
    assert found["classes"].dtype.kind == ("O" if names.dtype.kind in "UO" else expected.dtype.kind)
    assert (found["classes"] == expected).mean() > 0.95
    clear = (
        np.abs(found["scores"]) > 1e-3 if len(names) == 2 else np.ptp(np.sort(found["scores"])[:, -2:], axis=1) > 1e-3
    )
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(found["classes"][clear], expected[clear])


def indicator(X):
    """Labels from frequent to rare, one that nobody has and one that all have."""
    score = np.hstack([X["a"], X["b"]])
    y = (score[:, :N_LABELS] > np.linspace(0.3, 0.9, N_LABELS)).astype(int)
    y[:, 1], y[:, 2] = 0, 1
    return y


@pytest.mark.parametrize(
    "choice",
    [
        {},
        {"threshold": "f1"},
        {"top_k": 2, "recall_weight": None},
        {"top_k": 3},
        {"top_k": 2, "recall_weight": 2.0},
        {"top_k": 50},
    ],
    ids=str,
)
def test_labels_as_predicted(choice, X, tmp_path):
    classifier = gl.DeepMapClassifier(**SMALL, **choice).fit(X, indicator(X))
    found = answers(classifier, X, tmp_path)
    assert list(found) == ["scores", "probabilities", "labels"]
    margins = classifier.decision_function(X)
    check_scores(found["scores"], margins)
    check_scores(found["probabilities"], classifier.calibration_.probabilities(margins))
    assert (found["probabilities"][:, 1] == 0).all()
    assert (found["probabilities"][:, 2] == 1).all()
    expected = classifier.predict(X)
    assert (found["labels"].dtype, found["labels"].shape) == (np.int64, (N, N_LABELS))
    assert (found["labels"] == expected).mean() > 0.99
    assert (answers(classifier, {name: block[:0] for name, block in X.items()}, tmp_path)["labels"]).shape == (0, 6)


def with_scores(X, scores_from, **decided):
    """A classifier that gives chosen scores, by ways of its intercepts: the same for every sample."""
    classifier = gl.DeepMapClassifier(**SMALL).fit(X, indicator(X))
    zeros = np.zeros_like(classifier.head_.coefficients)
    classifier.head_ = replace(classifier.head_, coefficients=zeros, intercepts=np.asarray(scores_from, dtype=float))
    for name, value in decided.items():
        setattr(classifier, name, value)
    return classifier


CALIBRATION = Calibration(
    shift=np.array([0.0, 1.0, -1.0, 0.0, 0.0, 1e30]),
    scale=np.array([1.0, 1e-30, 2.0, 1e-3, 1.0, 1e-3]),
    offset=np.array([-1.0, 0.0, np.inf, -np.inf, -40.0, -3.0]),
    slope=1.7,
    least=np.array([0.1, 0.0, 0.0, 0.0, 1e-6, 0.0]),
    most=np.array([0.9, 1.0, 1.0, 1.0, 2 / 3, 0.5]),
)


@pytest.mark.parametrize("scores", [[0.3, 2.0, -1.0, 0.0, -5.0, 1.0], [0.0] * 6, [1e30, -1e30, 1e-30, 7.0, 0.0, 2.0]])
@pytest.mark.parametrize(
    ("calibration", "decision"),
    [
        (CALIBRATION, TopK(2)),
        (CALIBRATION, TopK(6)),
        (CALIBRATION, Threshold(0.3)),
        (CALIBRATION, Threshold(np.array([0.3, 1.9, -2.0, 0.0, 0.0, 5.0]))),
        (CALIBRATION, TopGains(2, np.array([1, 2, 3, 1, 1e3, 1.0]), np.array([0, 0, -np.inf, 0, 0, -0.1]))),
        (CALIBRATION, TopGains(6, np.ones(6), np.full(6, -np.inf))),
    ],
    ids=["top 2", "top 6", "one threshold", "thresholds", "gains", "nothing to give"],
)
def test_decisions_on_hostile_scores(scores, calibration, decision, X, tmp_path):
    """Ties, infinite offsets, tiny and huge scales: the decision is the same to the last label."""
    classifier = with_scores(X, scores, calibration_=calibration, decision_=decision)
    found = answers(classifier, X, tmp_path)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(found["labels"], classifier.predict(X))
        expected = calibration.probabilities(classifier.decision_function(X))
        np.testing.assert_allclose(found["probabilities"], expected, rtol=1e-6, atol=1e-37)


def test_classes_that_tie_are_the_first(X, tmp_path):
    classifier = gl.DeepMapClassifier(**SMALL).fit(X, np.arange(N) % 3)
    classifier.head_ = Head(np.zeros_like(classifier.head_.coefficients), np.array([0.0, 2.0, 2.0]), 1)
    assert (answers(classifier, X, tmp_path)["classes"] == 1).all()


def test_classes_that_no_file_can_hold_are_refused(X, tmp_path):
    with pytest.raises(gl.GramlessError, match="classes must be numbers or texts"):
        Labels(np.array([(1, 2), None], dtype=object), False)
    for largest in (2**63 - 1, 2**63):
        classifier = gl.DeepMapClassifier(**SMALL).fit(X, np.array([1, largest], dtype=np.uint64)[np.arange(N) % 2])
        if largest == 2**63 - 1:
            np.testing.assert_array_equal(answers(classifier, X, tmp_path)["classes"], classifier.predict(X))
        else:
            with pytest.raises(gl.GramlessError, match=f"the class {largest} cannot be exported"):
                answers(classifier, X, tmp_path)


def test_float64_and_sparse_training_data(X, rng, tmp_path):
    wide = {"a": X["a"].astype(np.float64), "b": sparse.csr_array(X["b"].astype(np.float64))}
    smooth = {"activation": "sinh", "hidden_gain": 0.5, "output_gain": 1.0}
    network = gl.DeepKernelNetwork(("gaussian", "arccos0", "arccos1"), (4,), learning=None, **smooth)
    with gl.config_context(precision="float64"):
        classifier = gl.DeepMapClassifier(network, 20, random_state=0).fit(wide, np.arange(N) % 3)
    found = answers(classifier, X, tmp_path)["scores"]
    np.testing.assert_allclose(found, classifier.decision_function(X), rtol=1e-5, atol=1e-5)
