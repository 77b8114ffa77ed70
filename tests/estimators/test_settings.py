"""Settings that choose themselves, probabilities, weights of samples and memory: of both classifiers."""

import joblib
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import gramless as gl
from gramless.heads.ridge import Ridge, linear_head, spectrum_of_vectors

SMALL = {"kernel": gl.DeepKernelNetwork(hidden=(5,), learning=None), "random_state": 0}
CLASSIFIERS = {
    "kernel": gl.DeepKernelClassifier(**SMALL),
    "map": gl.DeepMapClassifier(n_landmarks=30, tuning=None, **SMALL),
}

pytestmark = pytest.mark.filterwarnings("ignore::gramless.ClippedSpectrumWarning")


@pytest.fixture(params=CLASSIFIERS)
def classifier(request):
    return clone(CLASSIFIERS[request.param])


def test_what_was_chosen_is_the_best_of_its_curve_and_can_be_given(classifier, iris):
    X, y = iris
    auto = classifier.fit(X, y)
    best = max((point for point in auto.settings_curve_ if point.head == auto.head_kind_), key=lambda p: p.score)
    assert best.C == auto.C_
    given = clone(classifier).set_params(C=auto.C_, head=auto.head_kind_).fit(X, y)
    assert given.settings_curve_ == ()
    np.testing.assert_allclose(given.decision_function(X), auto.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(given.predict_proba(X), auto.predict_proba(X), atol=1e-6)


def test_ridge_regression_on_a_map_is_ridge_regression_on_its_vectors(iris):
    X, y = iris
    clf = gl.DeepMapClassifier(n_landmarks=30, head="ridge", C=2.0, tuning=None, **SMALL).fit(X, y)
    phi, signs = clf.map_network_.transform(X), np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    expected = linear_head(Ridge.of(spectrum_of_vectors(phi, np.ones(150)), signs), phi, 2.0).margins(phi)
    np.testing.assert_allclose(clf.decision_function(X), expected, atol=1e-5)


@pytest.mark.parametrize("head", ["ridge", "squared_hinge"])
def test_with_every_sample_a_landmark_map_and_kernel_agree(iris, head):
    X, y = iris
    kernel = gl.DeepKernelNetwork(learning=None, random_state=0).fit(X).kernel_
    on_kernel = gl.DeepKernelClassifier(kernel, head=head, C=1.0, random_state=0).fit(X, y)
    on_map = gl.DeepMapClassifier(kernel, 150, head=head, C=1.0, tuning=None, random_state=0).fit(X, y)
    assert (on_kernel.predict(X) == on_map.predict(X)).mean() > 0.97
    if head == "ridge":  # the others' biases cost something on vectors
        np.testing.assert_allclose(on_kernel.decision_function(X), on_map.decision_function(X), atol=0.02)


@pytest.mark.parametrize("head", ["ridge", "squared_hinge"])
def test_probabilities_of_classes_sum_to_one_and_agree_with_predictions(classifier, iris, head):
    X, y = iris
    classifier.set_params(head=head).fit(X, y)
    p = classifier.predict_proba(X)
    assert p.shape == (150, 3)
    np.testing.assert_allclose(p.sum(1), 1.0)
    np.testing.assert_array_equal(classifier.classes_[p.argmax(1)], classifier.predict(X))
    assert -np.log(p[np.arange(150), y]).mean() < 0.3
    two = clone(classifier).fit(X[y > 0], y[y > 0])
    q = two.predict_proba(X)
    assert q.shape == (150, 2)
    np.testing.assert_array_equal(q[:, 1] > 0.5, two.decision_function(X) > 0)


def test_probabilities_are_calibrated_out_of_fold(classifier):
    """Of labels that are noise: a classifier that learns them by heart must not be sure of new samples."""
    rng = np.random.default_rng(0)
    X, y = rng.random((120, 5)), rng.integers(2, size=120)
    p = classifier.set_params(views=None).fit(X[:60], y[:60]).predict_proba(X[60:])
    assert np.abs(p - 0.5).max() < 0.35


def test_probabilities_of_labels(classifier, tagged):
    X, Y = tagged
    p = classifier.fit(X[:80], Y[:80]).predict_proba(X[80:])
    assert p.shape == (40, 4)
    assert ((p >= 0) & (p <= 1)).all()
    assert np.abs(p.mean(0) - Y[:80].mean(0)).max() < 0.2
    assert (
        classifier.predict(X[80:]) == (classifier.decision_function(X[80:]) > classifier.decision_.thresholds)
    ).all()


def test_probabilities_in_blocks(classifier, iris):
    X, y = iris
    classifier.fit(X, y)
    blocks = gl.in_blocks({name: X[name] for name in X.names}, rows=40)
    np.testing.assert_allclose(np.asarray(classifier.predict_proba(blocks)), classifier.predict_proba(X), atol=1e-4)


def test_samples_of_weight_0_are_not_there(classifier, iris):
    X, y = iris
    keep = np.arange(150) % 3 > 0
    weighted = clone(classifier).fit(X, y, sample_weight=keep.astype(float))
    without = clone(classifier).fit(X[keep], y[keep])
    np.testing.assert_array_equal(weighted.decision_function(X), without.decision_function(X))


@pytest.mark.parametrize("head", ["ridge", "squared_hinge"])
def test_weights_of_samples_weigh(classifier, iris, head):
    X, y = iris
    classifier.set_params(head=head, C=1.0)
    ones, plain = (clone(classifier).fit(X, y, w) for w in (np.ones(150), None))
    np.testing.assert_allclose(ones.decision_function(X), plain.decision_function(X), atol=1e-6)
    lopsided = clone(classifier).fit(X, y, np.where(y == 1, 20.0, 1.0))
    assert (lopsided.predict(X) == 1).sum() > (plain.predict(X) == 1).sum()


def test_a_search_over_C_learns_the_network_once_per_fold(classifier, iris, tmp_path, monkeypatch):
    X, y = iris
    learned = []
    real = gl.DeepKernelNetwork.fit_views
    monkeypatch.setattr(gl.DeepKernelNetwork, "fit_views", lambda *given: learned.append(1) or real(*given))
    classifier.set_params(memory=joblib.Memory(tmp_path, verbose=0))
    GridSearchCV(classifier, {"C": [0.1, 1.0, 10.0]}, cv=2, refit=False).fit(X, y)
    assert len(learned) == 2
    plain = clone(classifier).set_params(memory=None).fit(X, y)
    kept, found = (clone(classifier).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(kept.decision_function(X), plain.decision_function(X))
    np.testing.assert_array_equal(found.decision_function(X), plain.decision_function(X))


def test_a_folder_that_cannot_be_made_is_refused(classifier, iris):
    with pytest.raises(gl.DataError, match=r"memory='9+' cannot be used as a folder: .*File name too long"):
        classifier.set_params(memory="9" * 400).fit(*iris)


def test_float64_goes_through_the_fast_engine_unless_blurred_or_insisted_on(classifier, iris, monkeypatch):
    X, y = iris

    def dtype(fitted):
        return (fitted.map_network_.landmarks_ if hasattr(fitted, "map_network_") else fitted.support_).dtype

    assert dtype(clone(classifier).fit(X, y)) == torch.float64  # few samples stay as they are
    monkeypatch.setattr("gramless.estimators.inputs.FEW_SAMPLES", 100)
    assert dtype(classifier.fit(X, y)) == torch.float32
    far = gl.Views({"sepal": X["sepal"] + 1e8, "petal": X["petal"]})
    assert dtype(clone(classifier).fit(far, y)) == torch.float64
    with gl.config_context(precision="float64"):
        exact = clone(classifier).fit(X, y)
    assert dtype(exact) == torch.float64
    assert (exact.predict(X) == classifier.predict(X)).mean() > 0.97


def test_views_can_be_cross_validated(classifier, iris):
    X, y = iris
    assert cross_val_score(classifier, gl.Views({"a": X["sepal"], "b": X["petal"]}), y, cv=2).mean() > 0.9


class TestBadInput:
    @pytest.mark.parametrize("n_classes", [27, 31])
    def test_few_samples_of_many_classes(self, classifier, n_classes):
        """Some have one sample."""
        rng = np.random.default_rng(0)
        y = np.arange(62) % n_classes
        y[:5] = np.arange(5) + n_classes
        X = rng.random((62, 9)) + np.eye(n_classes + 5)[y][:, :9]
        p = classifier.fit(X, y).predict_proba(X)
        np.testing.assert_allclose(p.sum(1), 1.0)
        assert p.shape == (62, n_classes + 5)

    @pytest.mark.parametrize("weights", [np.full(150, -1.0), np.ones(149), np.full(150, np.nan), np.ones((150, 2))])
    def test_weights_that_cannot_be(self, classifier, iris, weights):
        with pytest.raises(ValueError, match=r"[Ww]eight|sample_weight"):
            classifier.fit(*iris, sample_weight=weights)

    def test_weights_that_are_all_0(self, classifier, iris):
        with pytest.raises(ValueError, match="at least one non-zero"):
            classifier.fit(*iris, sample_weight=np.zeros(150))

    def test_weights_and_blocks(self, iris):
        X, y = iris
        clf = gl.DeepMapClassifier(n_landmarks=30, **SMALL)
        with pytest.raises(ValueError, match="sample_weight is not for data in blocks"):
            clf.fit(gl.in_blocks({name: X[name] for name in X.names}, y), sample_weight=np.ones(150))

    @pytest.mark.parametrize("wrong", [{"C": "best"}, {"C": -1.0}, {"head": "logistic"}, {"threshold": "best"}])
    def test_settings_that_cannot_be(self, classifier, iris, wrong):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            classifier.set_params(**wrong).fit(*iris)
