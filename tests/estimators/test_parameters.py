"""Parameters that cannot be are refused by name, with what was given; those that can be said shorter, work."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.svm import SVC
from sklearn.utils import estimator_html_repr

import gramless as gl
from gramless.kernels import Gaussian

SMALL = {"hidden": (2,), "learning": None, "random_state": 0}
NETWORK = gl.DeepKernelNetwork("linear", **SMALL)
ESTIMATORS = {
    "kernel network": NETWORK,
    "map network": gl.DeepMapNetwork(NETWORK, 4, random_state=0),
    "kernel classifier": gl.DeepKernelClassifier(NETWORK, random_state=0),
    "map classifier": gl.DeepMapClassifier(NETWORK, 4, random_state=0),
}
EVERYWHERE = {
    "views": [5, "a", [1]],
    "random_state": ["seed", -1, 0.5],
}
NETWORKS = {
    "kernels": [None, 5, [None], {"view0": None}, float("nan")],
    "hidden": [5, None, (0,), (1.5,), "80", (None,)],
    "activation": [None, 5, (-1.0,), "relu"],
    "weights": [None, "ones", 5, ("x",), (np.ones((9, 9)),)],
    "learning": ["deep", 5, True],
    "hidden_gain": [0, -1.0, float("inf"), (2.0, 1.0), (1.0,), "low", None],
    "output_gain": [0, float("nan"), (1.0, 2.0), None, 10**400, "high"],
    "normalize": ["yes", None, 2],
}
KERNELS = {"kernel": [5, "linear", object(), SVC(), FrozenEstimator(SVC()), FrozenEstimator(NETWORK)]} | {
    f"kernel__{name}": values for name, values in NETWORKS.items()
}
MAPS = {
    "n_landmarks": [0, -3, 1.5, float("nan"), "many", None],
    "landmarks": ["best", 5, None, [0.5], [99], [-1]],
    "n_components": [0, 1.5, "all", float("nan")],
    "tuning": ["magic", 5],
}
HEADS = {
    "C": [0, -1.0, 1e-300, 1e300, float("nan"), -float("inf"), "1", None],
    "class_weight": ["fair", 5, {0: -1.0}, {0: 1e-300}, {0: float("nan")}, {0: "x"}],
}
OWN = {
    "kernel network": EVERYWHERE | NETWORKS,
    "map network": EVERYWHERE | MAPS | KERNELS,
    "kernel classifier": EVERYWHERE | KERNELS | HEADS,
    "map classifier": EVERYWHERE
    | KERNELS
    | MAPS
    | HEADS
    | {"top_k": [0, 1.5], "recall_weight": [0.0, "best"], "threshold": ["best", 0.5]}
    | {"scratch": [5]},
}
CASES = [
    pytest.param(which, name, value, id=f"{which}-{name}-{value!s:.12}")
    for which, parameters in OWN.items()
    for name, values in parameters.items()
    for value in values
]


@pytest.fixture
def data(rng):
    return rng.random((10, 3)), np.arange(10) % 2


@pytest.mark.parametrize(("which", "name", "value"), CASES)
def test_what_cannot_be_is_a_value_error_that_says_what_was_given(which, name, value, data):
    estimator = clone(ESTIMATORS[which]).set_params(**{name: value})
    with pytest.raises(ValueError, match=r"."):
        estimator.fit(*data)
    assert not hasattr(estimator, "kernel_")
    assert "<style>" in estimator_html_repr(estimator)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_components", 1.5),
        ("n_landmarks", float("nan")),
        ("views", 5),
        ("kernel__hidden", 5),
        ("kernel__kernels", None),
    ],
)
def test_the_message_names_the_parameter_the_estimator_and_the_value(name, value, data):
    nested, _, own = name.rpartition("__")
    kind = "DeepKernelNetwork" if nested else "DeepMapClassifier"
    with pytest.raises(ValueError, match=rf"'{own}' parameter of {kind} must be .* Got {value!r} instead"):
        clone(ESTIMATORS["map classifier"]).set_params(**{name: value}).fit(*data)


def test_a_gpu_that_is_not_there_is_missed_in_words(data, monkeypatch):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    for estimator in ESTIMATORS.values():
        words = r"device='cuda', but PyTorch finds no CUDA device here. Give 'cpu'"
        with gl.config_context(device="cuda"), pytest.raises(ValueError, match=words):
            clone(estimator).fit(*data)


@pytest.mark.parametrize("kernels", [Gaussian(), "gaussian", {"view0": Gaussian()}, {"view0": "gaussian"}], ids=str)
def test_one_kernel_needs_no_list(kernels, data):
    X, _ = data
    alone, listed = (clone(NETWORK).set_params(kernels=k, normalize=False).fit(X) for k in (kernels, [Gaussian()]))
    np.testing.assert_array_equal(alone.kernel_(X), listed.kernel_(X))


@pytest.mark.parametrize("kernels", ["typo", None, 5, ["typo"], {"a": "typo"}, object()])
def test_a_wrong_kernel_can_still_be_looked_at(kernels):
    network = gl.DeepKernelNetwork(kernels)
    for estimator in (network, gl.DeepMapClassifier(network), gl.DeepKernelClassifier(network)):
        assert "<style>" in estimator_html_repr(estimator)
        assert not estimator.__sklearn_tags__().input_tags.positive_only


def test_units_beyond_the_memory_budget_are_refused_before_they_are_made(data):
    with pytest.raises(gl.MemoryBudgetError, match=r"hidden=\(10000000000,\)"):
        clone(NETWORK).set_params(hidden=(10**10,)).fit(*data)


@pytest.mark.parametrize(
    "wrong",
    [
        {"C": float("nan")},
        {"step_size": 0.0},
        {"evaluate_every": 0},
        {"gap": -1.0},
        {"n_steps": 1.5},
        {"patience": None},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [gl.Supervised, gl.SemiSupervised])
def test_settings_of_learning_that_cannot_be(kind, wrong):
    with pytest.raises(ValueError, match=rf"'{next(iter(wrong))}' parameter of {kind.__name__}"):
        kind(**wrong)


@pytest.mark.parametrize("wrong", [{"n_neighbours": 0}, {"strength": -0.5}, {"strength": float("nan")}], ids=str)
def test_graphs_that_cannot_be(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        gl.SemiSupervised(**wrong)


@pytest.mark.parametrize(
    "y",
    [
        ["a", 1] * 5,
        ["a", None] * 5,
        np.array(["a", 1] * 5, dtype=object),
        np.zeros(10, dtype=[("p", "f8")]),
        np.ma.masked_array(np.arange(10) % 2, mask=np.arange(10) == 3),
        np.arange(10) * 1j,
    ],
    ids=["list", "None", "objects", "structured", "masked", "complex"],
)
@pytest.mark.parametrize("which", ["kernel classifier", "map classifier"])
def test_labels_of_no_one_kind_are_refused_in_words(which, y, data):
    with pytest.raises(gl.DataError, match=r"y (mixes|is|contains NaN or None)"):
        clone(ESTIMATORS[which]).fit(data[0], y)


@pytest.mark.parametrize(
    "in_blocks", [gl.in_blocks, lambda X, y: gl.in_blocks(lambda: iter([(X, y)]), True)], ids=["array", "iterator"]
)
def test_a_list_of_texts_and_numbers_is_refused_in_blocks_too(in_blocks, data):
    with pytest.raises(gl.DataError, match="y mixes texts and numbers"):
        clone(ESTIMATORS["map classifier"]).fit(in_blocks(data[0], ["a", 1] * 5))


def test_numbers_behind_a_mask_are_not_taken_for_weights_rows_or_labels(data):
    X, y = data
    ones, rows = (np.ma.masked_array(numbers, mask=np.arange(10) == 3) for numbers in (np.ones(10), np.arange(10)))
    network = clone(NETWORK).set_params(learning="semi-supervised")
    for what, use in (
        ("sample_weight", lambda: clone(ESTIMATORS["map classifier"]).fit(X, y, ones)),
        ("sample_weight", lambda: gl.DeepKernelRegressor(NETWORK).fit(X, y, ones)),
        ("the array of labels", lambda: clone(ESTIMATORS["map classifier"]).fit(gl.in_blocks(X, rows > 5))),
        ("landmarks", lambda: clone(ESTIMATORS["map network"]).set_params(landmarks=rows).fit(X)),
        ("labelled", lambda: network.fit(X, y, labelled=ones > 0)),
    ):
        with pytest.raises(gl.DataError, match=f"{what} is a masked array, and 1 of its entries are masked"):
            use()


@pytest.mark.parametrize("C", [1e50, float("inf")])
def test_a_hard_margin_ends_where_there_is_none(C, data, monkeypatch):
    """Two equal samples of different classes: LIBSVM goes on for ever unless it is told to stop."""
    X, y = data
    X[1] = X[0]
    monkeypatch.setattr("gramless.heads.svm.MOST_STEPS", 10_000)
    with pytest.warns(ConvergenceWarning):
        classifier = clone(ESTIMATORS["kernel classifier"]).set_params(C=C, head="hinge").fit(X, y)
    assert np.isfinite(classifier.decision_function(X)).all()
