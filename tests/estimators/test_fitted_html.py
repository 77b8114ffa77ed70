"""What notebooks show of models: everything that was fitted, nothing that a name could do."""

from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone

import gramless as gl
from gramless.estimators.fitted_html import scaling_of
from gramless.kernels import NAMED, Distance, Gaussian

HOSTILE = '<script>alert("x")</script><b>&amp;\'\x1b[31m\u202e'
EQUAL = gl.DeepKernelNetwork(weights="uniform", learning=None)
MODELS = {
    "map classifier": gl.DeepMapClassifier(EQUAL, 12, tuning=None, random_state=0),
    "kernel classifier": gl.DeepKernelClassifier(EQUAL, random_state=0),
    "map regressor": gl.DeepMapRegressor(EQUAL, 12, tuning=None, random_state=0),
    "kernel regressor": gl.DeepKernelRegressor(EQUAL, random_state=0),
}
VOID = {"br", "hr", "img", "input", "link", "meta"}


class Page(HTMLParser):
    """The part that this package adds: its tags, which must all be closed, and its texts."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.texts = [], set(), []
        self.feed(page[page.index("<style>\n.gramless-fitted") :])
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = {"signed": rng.normal(size=(80, 3)) + y[:, None], HOSTILE: rng.random((80, 1234)), "0": rng.random((80, 1))}
    return gl.Views({name: block.astype(np.float32) for name, block in X.items()}), y


@pytest.mark.parametrize("which", MODELS)
def test_everything_that_was_fitted_is_there_and_names_are_only_shown(which, data):
    X, y = data
    y = y if "regressor" in which else np.array(["no", "<i>yes</i>"])[y]
    model = clone(MODELS[which]).fit(X, y)
    page = model._repr_html_()
    assert page.startswith("<style>")  # scikit-learn's diagram comes first
    assert "sk-container" in page
    found = Page(page)
    assert found.tags <= {"style", "div", "table", "tr", "th", "td", "span", "details", "summary"}
    assert "<script>alert" not in page
    assert "<i>yes" not in page
    said = " ".join(found.texts)
    assert '<script>alert("x")</script><b>&amp;\'\\x1b[31m\\u202e' in found.texts
    assert "1,234" in found.texts
    for text in (
        "signed",
        "distance",
        "cosine-distance",
        "hellinger4-distance",
        "standardised columns",
        "rows of length 1",
    ):
        assert text in said
    for share in model.importances_.of_views.mean(0):
        assert f"{100 * share:.1f} %" in found.texts
    assert ("landmarks 12, uniform; 12 components" if which.startswith("map") else "support samples 80") in said
    if which.endswith("classifier"):
        chosen = next(p for p in model.settings_curve_ if (p.head, p.C) == (model.head_kind_, model.C_))
        assert f"left-out score {chosen.score:.1f} %" in said
        assert f"C = {model.C_:.3g}, the best of {len(model.settings_curve_)} settings" in said
        assert "2: <i>yes</i>, no" in said
        assert said.count("leave-one-out") == sum(p.by == "leave-one-out" for p in model.settings_curve_)
    else:
        assert f"left-out R2 {1 - model.alpha_curve_[:, 1].min():.3f}" in said
        assert f"alpha = {model.alpha_[0]:.3g}, the best of {len(model.alpha_curve_)} strengths" in said


def test_settings_that_were_given_many_labels_and_idle_views(data):
    X, y = data
    kernel = EQUAL.fit(gl.Views({"signed": X["signed"]})).kernel_
    indicator = np.eye(40, dtype=int)[np.arange(80) % 40]
    model = gl.DeepKernelClassifier(kernel, head="ridge", C=2.0).fit(X, indicator)
    said = " ".join(Page(model._repr_html_()).texts)
    assert "labels 40 head" in said
    assert "C = 2, as given" in said
    assert "left-out score none" in said
    assert said.count("none: not needed") == 2
    many = gl.DeepKernelRegressor(EQUAL, alpha=0.5).fit(X, np.tile(y[:, None], 30))
    said = " ".join(Page(many._repr_html_()).texts)
    assert "(30 in all)" in said
    assert "as given" in said


def test_how_landmarks_were_chosen_and_moved(data):
    model = clone(MODELS["map classifier"]).fit(*data)
    model.map_network_.landmark_curve_ = ((50, 25.04, 1e5), (2000, 4.5, 4e6))
    model.map_network_.tuning_errors_ = (20.12, 10.5)
    model.finishing_curve_ = ((0, 60.0), (5, 71.26), (10, 70.0))
    said = " ".join(Page(model._repr_html_()).texts)
    assert "held-out samples: 25 % with 50, 4.5 % with 2,000" in said
    assert "20.1 % before, 10.5 % after" in said
    assert "ranking of held-out samples 60.0, 71.3 at step 5" in said


@pytest.mark.parametrize("which", MODELS)
@pytest.mark.parametrize("kernels", ["auto", "typo", None])
def test_unfitted_models_have_scikit_learns_diagram_alone(which, kernels):
    model = clone(MODELS[which]).set_params(kernel=gl.DeepKernelNetwork(kernels))
    page = model._repr_html_()
    assert "sk-container" in page
    assert "gramless-fitted" not in page
    assert "text/html" in model._repr_mimebundle_()


def test_who_wants_text_gets_text(data):
    model = clone(MODELS["kernel classifier"]).fit(*data)
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert set(model._repr_mimebundle_()) == {"text/plain"}


def test_a_loaded_model_shows_the_same(data, tmp_path):
    model = clone(MODELS["map classifier"]).fit(*data)
    gl.save(model, tmp_path / "model")
    pages = [Page(each._repr_html_()).texts for each in (model, gl.load(tmp_path / "model"))]
    assert pages[0] == pages[1]


def test_every_kernel_has_a_scaling():
    assert all(scaling_of(kernel) for kernel in NAMED.values())
    assert scaling_of(Distance("rows", root=2)) == "square roots, rows of length 1"
    assert scaling_of(Gaussian(normalize=True)) == "unit diagonal"
    assert scaling_of(Gaussian()) == "as given"
