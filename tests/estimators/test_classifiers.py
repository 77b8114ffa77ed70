"""The two classifiers: against the pieces they are made of, for one label and several, and on bad input."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import check_random_state

import gramless as gl
from gramless.heads import Calibration, TopGains, TopK, stratified_folds

SMALL = {"kernel": gl.DeepKernelNetwork(hidden=(5,), learning=None), "random_state": 0}
COLUMNS = {"sepal": slice(0, 2), "petal": slice(2, 4)}
CLASSIFIERS = {
    "kernel": gl.DeepKernelClassifier(**SMALL),
    "map": gl.DeepMapClassifier(n_landmarks=30, **SMALL),
}

pytestmark = pytest.mark.filterwarnings("ignore::gramless.ClippedSpectrumWarning")


@pytest.fixture(params=CLASSIFIERS)
def classifier(request):
    return clone(CLASSIFIERS[request.param])


def test_classes_by_cross_validation(classifier, iris):
    X, y = iris
    assert cross_val_score(classifier, X, y, cv=4).mean() > 0.93
    assert cross_val_score(classifier, X, np.array(["a", "b", "c"])[y], cv=4).mean() > 0.93


def test_the_kernel_classifier_is_one_svm_per_class_on_its_kernel(iris):
    without_copies = np.delete(np.arange(150), 142)  # which is 101 again; the solvers stop in other places on copies
    X, y = (each[without_copies] for each in iris)
    with gl.config_context(precision="float64"):
        clf = gl.DeepKernelClassifier(C=3.0, head="hinge", **SMALL).fit(X, y)
    gram = clf.kernel_(X)
    for c in range(3):
        expected = SVC(kernel="precomputed", C=3.0).fit(gram, y == c).decision_function(gram)
        np.testing.assert_allclose(clf.decision_function(X)[:, c], expected, atol=1e-6)
    assert len(clf.support_) < len(X)


def test_the_map_classifier_is_a_linear_svm_on_its_map(iris):
    X, y = iris
    clf = gl.DeepMapClassifier(n_landmarks=30, head="squared_hinge", C=2.0, **SMALL).fit(X, y)
    phi = clf.map_network_.transform(X)
    machine = LinearSVC(C=2.0, dual=False, tol=1e-8, max_iter=100_000)
    expected = OneVsRestClassifier(machine).fit(phi, y).decision_function(phi)
    # our solver stops where the gradient has fallen to 1e-4 of what it was
    np.testing.assert_allclose(clf.decision_function(X), expected, atol=2e-3 * np.abs(expected).max())
    assert clf.n_iter_ >= 1


def test_with_every_sample_a_landmark_the_map_classifies_as_the_kernel_does(iris):
    X, y = iris
    kernel = gl.DeepKernelClassifier(**SMALL).fit(X, y)
    everything = gl.DeepMapClassifier(n_landmarks=len(X), **SMALL).fit(X, y)
    assert (kernel.predict(X) == everything.predict(X)).mean() > 0.97


def test_answers_with_several_labels_are_not_behind_logistic_regression_by_more_than_chance(classifier):
    def quality(answers):
        f1 = [f1_score(Y[80:], answers, average=kind, zero_division=0.0) for kind in ("micro", "macro")]
        return np.mean([*f1, (answers == Y[80:]).mean()])

    ahead = []
    for seed in range(8):
        X, Y = make_multilabel_classification(280, 12, n_classes=4, random_state=seed)
        parts = gl.Views(X, {"first": slice(0, 6), "second": slice(6, 12)})
        rival = OneVsRestClassifier(make_pipeline(StandardScaler(), LogisticRegression())).fit(X[:80], Y[:80])
        ahead.append(quality(classifier.fit(parts[:80], Y[:80]).predict(parts[80:])) - quality(rival.predict(X[80:])))
    assert np.mean(ahead) > -2.0 * np.std(ahead, ddof=1) / np.sqrt(len(ahead))


@pytest.fixture(scope="module")
def rarely_tagged(tagged):
    """With a rare label that the first view shows, if faintly."""
    X, Y = tagged
    rare = np.arange(120) % 10 == 0
    first = X["first"] + 3.0 * rare[:, None] * (np.arange(6) == 0)
    return gl.Views({"first": first, "second": X["second"]}), np.column_stack([Y, rare])


def test_top_k_predicts_k_labels_and_gains_find_rare_ones(rarely_tagged):
    X, Y = rarely_tagged
    clf = gl.DeepMapClassifier(n_landmarks=40, top_k=2, **SMALL).fit(X[:80], Y[:80])
    predicted = clf.predict(X[80:])
    assert (predicted.sum(1) == 2).all()
    raw = clone(clf).set_params(recall_weight=None).fit(X[:80], Y[:80])
    assert isinstance(raw.decision_, TopK)
    assert not hasattr(raw, "operating_points_")
    np.testing.assert_array_equal(raw.decision_function(X), clf.decision_function(X))
    assert (raw.predict(X[80:]).sum(1) == 2).all()
    assert predicted[:, -1].sum() > raw.predict(X[80:])[:, -1].sum()


def test_labels_are_given_by_probabilities_learned_on_scores_of_unseen_samples(rarely_tagged):
    """The pieces by hand: folds, out-of-fold margins of the same SVMs, probabilities, gains."""
    X, Y = rarely_tagged
    settings = {"C": 1.0, "head": "squared_hinge", "top_k": 2, "recall_weight": 1.5}
    clf = gl.DeepMapClassifier(n_landmarks=40, **settings, **SMALL).fit(X[:80], Y[:80])
    phi, signs = clf.map_network_.transform(X[:80]), 2.0 * Y[:80] - 1.0
    unseen = np.full(signs.shape, np.nan)
    seed = check_random_state(0).randint(np.iinfo(np.int32).max, size=3)[2]
    folds = stratified_folds(signs, 5, torch.Generator().manual_seed(int(seed)))
    for fold in range(5):
        head = OneVsRestClassifier(LinearSVC(max_iter=10_000)).fit(phi[folds != fold], Y[:80][folds != fold])
        unseen[folds == fold] = head.decision_function(phi[folds == fold])
    calibration = Calibration.learn(unseen, signs)
    np.testing.assert_allclose(clf.calibration_.shift, calibration.shift, atol=1e-3)
    np.testing.assert_allclose(clf.calibration_.scale, calibration.scale, atol=1e-3)
    np.testing.assert_allclose(clf.calibration_.offset, calibration.offset, atol=2e-2)
    gains = TopGains.learn(calibration.probabilities(unseen), signs, 2, 1.5)
    np.testing.assert_allclose(clf.decision_.slope, gains.slope, rtol=0.1)
    p = clf.calibration_.probabilities(clf.decision_function(X))
    np.testing.assert_array_equal(clf.predict(X), clf.decision_.decide(p))


def test_the_weight_of_recall_is_the_best_of_those_tried_unless_given(rarely_tagged):
    X, Y = rarely_tagged
    auto = gl.DeepMapClassifier(n_landmarks=40, top_k=2, **SMALL).fit(X, Y)
    tried = [point.recall_weight for point in auto.operating_points_]
    assert tried == sorted(set(tried))
    best = max(point.f1 for point in auto.operating_points_)
    weight = max(point.recall_weight for point in auto.operating_points_ if point.f1 > 0.99 * best)
    given = clone(auto).set_params(recall_weight=weight).fit(X, Y)
    np.testing.assert_array_equal(given.decision_.slope, auto.decision_.slope)
    np.testing.assert_array_equal(given.predict(X), auto.predict(X))
    other = clone(auto).set_params(recall_weight=20.0).fit(X, Y)
    assert not np.allclose(other.decision_.slope, auto.decision_.slope)


def test_a_label_that_nobody_has_is_not_predicted(tagged):
    X, Y = tagged
    clf = gl.DeepMapClassifier(n_landmarks=40, top_k=5, **SMALL).fit(X, np.column_stack([Y, np.zeros(120, int)]))
    assert (clf.predict(X) == [1, 1, 1, 1, 0]).all()


def test_without_any_label_there_is_no_weight_to_choose(tagged):
    X, Y = tagged
    with pytest.raises(gl.DataError, match="none of the 120 samples has a label"):
        gl.DeepMapClassifier(n_landmarks=40, top_k=2, **SMALL).fit(X, np.zeros_like(Y))


def test_thresholds_are_learned_on_scores_of_unseen_samples(tagged):
    X, Y = tagged
    clf = gl.DeepMapClassifier(n_landmarks=40, threshold="f1", **SMALL).fit(X[:80], Y[:80])
    np.testing.assert_array_equal(clf.predict(X), clf.decision_function(X) > clf.decision_.thresholds)
    assert (clf.decision_.thresholds != 0).any()


def test_choices_of_head_and_decision_that_cannot_be(iris, tagged):
    for wrong, data in (
        ({"threshold": "best"}, iris),
        ({"top_k": 2}, iris),
        ({"C": 0.0}, iris),
        ({"top_k": 0}, tagged),
        ({"top_k": 2, "recall_weight": -1.5}, tagged),
        ({"top_k": 2, "recall_weight": "best"}, tagged),
    ):
        with pytest.raises(ValueError, match=r"head|threshold|top_k|'C'|recall_weight"):
            gl.DeepMapClassifier(n_landmarks=10, **SMALL, **wrong).fit(*data)


def test_several_labels(classifier, tagged):
    X, Y = tagged
    classifier.fit(X[:80], Y[:80])
    predicted = classifier.predict(X[80:])
    assert predicted.shape == (40, 4)
    assert set(np.unique(predicted)) <= {0, 1}
    assert classifier.decision_function(X[80:]).shape == (40, 4)
    np.testing.assert_array_equal(clone(classifier).fit(X[:80], sparse.csr_array(Y[:80])).predict(X[80:]), predicted)
    np.testing.assert_array_equal(clone(classifier).fit(X[:80], torch.from_numpy(Y[:80])).predict(X[80:]), predicted)


@pytest.mark.parametrize("values", [[0, 1, 2], [1, 2], [0, 5], [-1, 0, 1], ["a", "b"]])
def test_several_columns_that_are_no_indicator_are_refused(classifier, tagged, values):
    X, Y = tagged
    y = np.resize(np.array(values), Y.shape)
    with pytest.raises(ValueError, match=rf"several columns, of the values {values[0]}, {values[1]}.*MultiOutputClass"):
        classifier.fit(X, y)


def test_an_indicator_may_say_minus_one_for_the_labels_that_a_sample_lacks(classifier, tagged):
    X, Y = tagged
    predicted = clone(classifier).fit(X, Y).predict(X)
    np.testing.assert_array_equal(classifier.fit(X, 2 * Y - 1).predict(X), predicted)


def test_two_classes_have_one_column_of_scores(classifier, iris):
    X, y = iris
    classifier.fit(X[y < 2], y[y < 2])
    assert classifier.decision_function(X[:7]).shape == (7,)
    assert classifier.score(X[y < 2], y[y < 2]) == 1.0


def test_in_a_pipeline_after_a_scaler_and_in_a_grid_search(classifier, iris):
    X, y = iris
    pipeline = make_pipeline(MinMaxScaler(clip=True), classifier.set_params(views=COLUMNS))
    name = pipeline.steps[-1][0]
    grid = {f"{name}__C": [0.1, 10.0], f"{name}__kernel__kernels": [("linear",), ("gaussian",)]}
    search = GridSearchCV(pipeline, grid, cv=3)
    assert search.fit(np.asarray(X), y).best_score_ > 0.9


def test_the_same_seed_gives_the_same_bits(classifier, iris):
    X, y = iris
    first, second = (clone(classifier).fit(X, y).decision_function(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_a_gram_matrix_over_the_budget_is_refused_before_anything_is_computed(iris):
    X, y = iris
    words = r"149 x 149 kernel matrix needs 693.8 KiB.*DeepMapClassifier"  # one sample is there twice
    with gl.config_context(memory_budget="100 KiB"), pytest.raises(gl.MemoryBudgetError, match=words):
        gl.DeepKernelClassifier(**SMALL).fit(X, y)


class TestBadInput:
    """Each either works, or raises an error that says what came, why it cannot be, and what to do."""

    def test_nan(self, classifier, iris):
        X, y = iris
        sepal = X["sepal"].copy()
        sepal[4, 1] = np.nan
        with pytest.raises(gl.DataError, match="'sepal' contains NaN or infinity, first at row 4, column 1"):
            classifier.fit({"sepal": sepal, "petal": X["petal"]}, y)

    def test_views_of_different_lengths(self, classifier, iris):
        X, y = iris
        with pytest.raises(gl.DataError, match="row counts differ"):
            classifier.fit({"sepal": X["sepal"], "petal": X["petal"][:9]}, y)

    def test_labels_of_another_length(self, classifier, iris):
        X, y = iris
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            classifier.fit(X, y[:-1])

    def test_an_empty_view(self, classifier, iris):
        X, y = iris
        with pytest.raises(gl.DataError, match="'petal' is empty"):
            classifier.fit({"sepal": X["sepal"], "petal": X["petal"][:, :0]}, y)

    def test_one_sample(self, classifier, iris):
        X, y = iris
        with pytest.raises(gl.DataError, match="one class"):
            classifier.fit(X[:1], y[:1])
        phi = gl.DeepMapNetwork(n_landmarks=1, **SMALL).fit_transform(X[:1])
        assert phi.shape == (1, 1)

    def test_one_class(self, classifier, iris):
        X, y = iris
        with pytest.raises(gl.DataError, match=r"one class only, 0, among the labels of all samples \(50\)"):
            classifier.fit(X[:50], y[:50])

    def test_constant_features(self, classifier, iris):
        X, y = iris
        constant = gl.Views({"sepal": np.ones((150, 3)), "petal": X["petal"], "zero": np.zeros((150, 2))})
        assert classifier.fit(constant, y).score(constant, y) > 0.9
        flat = gl.DeepMapNetwork(**SMALL).fit(np.ones((8, 2)))
        np.testing.assert_allclose(flat.transform(np.ones((1, 2))) ** 2, flat.kernel_(np.ones((1, 2))))

    def test_duplicate_samples(self, classifier, iris):
        X, y = iris
        twice = np.r_[0:150, 0:150]
        classifier.set_params(**({"n_landmarks": 300} if "n_landmarks" in classifier.get_params() else {}))
        assert classifier.fit(X[twice], y[twice]).score(X, y) > 0.93

    def test_a_view_missing_or_of_another_width_at_prediction(self, classifier, iris):
        X, y = iris
        classifier.fit(X, y)
        with pytest.raises(gl.DataError, match=r"views \['petal'\] are missing"):
            classifier.predict({"sepal": X["sepal"]})
        with pytest.raises(gl.DataError, match="'petal' has 1 features, but this network was fitted on 2"):
            classifier.predict({"sepal": X["sepal"], "petal": X["petal"][:, :1]})

    def test_negative_values_where_a_kernel_forbids_them(self, classifier, iris):
        X, y = iris
        classifier.set_params(kernel__kernels=("linear", "intersection"))
        with pytest.raises(gl.DataError, match="view 'petal': Negative values in data: the intersection kernel"):
            classifier.fit({"sepal": X["sepal"], "petal": X["petal"] - 5.0}, y)

    def test_what_was_passed_is_not_changed(self, classifier, iris):
        X, y = iris
        sepal, petal, labels = X["sepal"].copy(), X["petal"].copy(), y.copy()
        classifier.fit({"sepal": sepal, "petal": petal}, labels).predict({"sepal": sepal, "petal": petal})
        np.testing.assert_array_equal(sepal, X["sepal"])
        np.testing.assert_array_equal(petal, X["petal"])
        np.testing.assert_array_equal(labels, y)

    def test_nonsense_parameters(self, classifier, iris):
        X, y = iris
        for name, value, words in (
            ("kernel__kernels", ("cosine",), "cosine"),
            ("kernel__activation", "relu", "relu"),
            ("kernel__weights", "glorot", "glorot"),
            ("kernel__hidden", (0,), "'hidden' parameter of DeepKernelNetwork"),
            ("class_weight", "fair", "fair"),
        ):
            with pytest.raises(ValueError, match=words):
                clone(classifier).set_params(**{name: value}).fit(X, y)
        for kernels in ((), {"sepal": ["linear"]}):
            with pytest.raises(ValueError, match=r"at least one elementary kernel|Give every view its kernels"):
                clone(classifier).set_params(kernel__kernels=kernels).fit(X, y)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([("cat",), ("cat", "dog")] * 6, "MultiLabelBinarizer"),
        ([{"cat"}, {"cat", "dog"}] * 6, "MultiLabelBinarizer"),
        (pd.Series([["cat"], ["cat", "dog"]] * 6), "MultiLabelBinarizer"),
        (pd.Series(["cat", "dog"] * 5 + ["cat", np.nan]), r"nan.*place 11 \(1 in all\)"),
        (pd.Series(["cat", "dog"] * 5 + ["cat", None], dtype="string"), r"<NA>.*place 11 \(1 in all\)"),
        (pd.Series(["cat", None] * 6, dtype="category"), r"nan.*place 1 \(6 in all\)"),
        (["cat", None] * 6, r"None.*place 1 \(6 in all\)"),
    ],
)
def test_labels_in_lists_and_missing_ones_are_told_as_such(labels, said):
    with pytest.raises(gl.DataError, match=said):
        gl.DeepMapClassifier().fit(np.arange(12.0)[:, None], labels)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"length": np.arange(12.0), "colour": ["red", "1"] * 6}),
        pd.DataFrame({"length": np.arange(12.0), "colour": pd.Categorical(["red", "blue"] * 6)}),
        pd.DataFrame({"length": np.arange(12.0), "colour": pd.Series(["red", "blue"] * 6, dtype="string")}),
    ],
    ids=["objects", "categories", "strings"],
)
@pytest.mark.parametrize("kind", [gl.DeepMapClassifier, gl.DeepKernelRegressor])
def test_columns_of_texts_are_refused_by_their_names(kind, table):
    with pytest.raises(gl.DataError, match=r"column 'colour' holds texts, such as '(red|blue)'.*OneHotEncoder"):
        kind().fit(table, np.arange(12) % 2)
    with pytest.raises(gl.DataError, match=r"column 1 holds texts, such as '(red|blue)'"):
        kind().fit(table.to_numpy(dtype=object), np.arange(12) % 2)


@pytest.mark.parametrize("texts", ["a text", ["a", "b"] * 6, np.full((12, 2, 2), "a")], ids=["one", "each", "cube"])
def test_texts_are_no_samples(texts):
    with pytest.raises(gl.DataError, match=r"X holds texts, .*'a.*TfidfVectorizer"):
        gl.DeepMapClassifier().fit(texts, np.arange(12) % 2)


def test_texts_are_no_targets():
    with pytest.raises(gl.DataError, match=r"y holds texts, .*'a'.*classifier"):
        gl.DeepMapRegressor().fit(np.arange(12.0)[:, None], ["a", "b"] * 6)
