"""Classes that lie between others are found by both classifiers, and by what follows a fit: files, ONNX, more data."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score

import gramless as gl

KERNEL = gl.DeepKernelNetwork(("distance",), hidden=(), learning=None)
CLASSIFIERS = {
    "kernel": gl.DeepKernelClassifier(KERNEL, random_state=0),
    "map": gl.DeepMapClassifier(KERNEL, 150, tuning=None, random_state=0),
}

pytestmark = pytest.mark.filterwarnings("ignore::gramless.ClippedSpectrumWarning")


def shells(n=300, seed=0):
    """Three shells of a Gaussian: where the one in the middle is, those inside and outside score as high."""
    X = np.random.default_rng(seed).normal(size=(n, 6))
    squares = (X**2).sum(1)
    return X, np.array(["inner", "middle", "outer"])[np.digitize(squares, np.quantile(squares, [1 / 3, 2 / 3]))]


@pytest.fixture(params=CLASSIFIERS)
def classifier(request):
    return clone(CLASSIFIERS[request.param])


def test_a_class_in_the_middle_is_found(classifier):
    X, y = shells()
    X_new, y_new = shells(seed=1)
    fitted = classifier.fit(X, y)
    assert fitted.head_kind_ == "discriminant"
    assert accuracy_score(y_new, fitted.predict(X_new)) > 0.85
    p = fitted.predict_proba(X_new)
    np.testing.assert_array_equal(fitted.classes_[p.argmax(1)], fitted.predict(X_new))
    assert -np.log(p[np.arange(300), np.searchsorted(fitted.classes_, y_new)]).mean() < 0.4


def test_a_head_that_was_asked_for_answers_by_itself_or_together(classifier):
    X, y = shells()
    X_new, y_new = shells(seed=1)
    alone = clone(classifier).set_params(head="ridge").fit(X, y)
    assert alone.discriminant_ is None
    together = clone(classifier).set_params(head="discriminant", C=alone.C_).fit(X, y)
    assert accuracy_score(y_new, together.predict(X_new)) > accuracy_score(y_new, alone.predict(X_new)) + 0.05
    assert together.settings_curve_[-1].head == "discriminant"


@pytest.mark.parametrize("labels", ["two classes", "several labels", "balanced"])
def test_it_is_for_three_classes_and_more_that_weigh_the_same(classifier, labels):
    X, y = shells()
    if labels == "two classes":
        y = y == "middle"
    elif labels == "several labels":
        y = (y[:, None] == np.unique(y)).astype(int)
    else:
        classifier.set_params(class_weight="balanced")
    assert classifier.fit(X, y).discriminant_ is None


def test_a_file_and_onnx_give_the_same_answers(classifier, tmp_path):
    X, y = shells()
    fitted = classifier.fit(X, y)
    gl.save(fitted, tmp_path / "model.gramless")
    loaded = gl.load(tmp_path / "model.gramless")
    np.testing.assert_array_equal(loaded.decision_function(X), fitted.decision_function(X))
    assert loaded.discriminant_ is not None
    if isinstance(fitted, gl.DeepMapClassifier):
        onnxruntime = pytest.importorskip("onnxruntime")
        gl.export_onnx(fitted, tmp_path / "model.onnx")
        session = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
        feed = {session.get_inputs()[0].name: X.astype(np.float32)}
        np.testing.assert_array_equal(session.run(["classes"], feed)[0].ravel(), fitted.predict(X))


def test_blocks_that_follow_a_fit_and_data_in_blocks_keep_it():
    X, y = shells(600)
    X_new, y_new = shells(seed=1)
    whole = clone(CLASSIFIERS["map"]).fit(X, y)
    in_turn = clone(CLASSIFIERS["map"]).fit(X[:300], y[:300]).partial_fit(X[300:], y[300:])
    in_blocks = clone(CLASSIFIERS["map"]).fit(gl.in_blocks({"features": X}, y))
    for fitted in (whole, in_turn, in_blocks):
        assert fitted.discriminant_ is not None
        views = gl.Views({"features": X_new}) if fitted is in_blocks else X_new
        assert accuracy_score(y_new, fitted.predict(views)) > 0.85
    again = in_turn.partial_fit(*shells(300, seed=2))
    assert accuracy_score(y_new, again.predict(X_new)) > 0.85


def test_the_page_of_a_fitted_model_says_so(classifier):
    assert "discriminant analysis" in classifier.fit(*shells())._repr_html_()
