"""Saving and loading: everything comes back, nothing is run, and a bad file says what is wrong with it."""

import json

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import save_file
from scipy import sparse
from sklearn.frozen import FrozenEstimator

import gramless as gl
from gramless.kernels import Custom, Distance, Gaussian, Precomputed
from gramless.learning import SemiSupervised
from gramless.storage import FORM, FORM_VERSION
from gramless.support.array_file import write_array_file

pytestmark = pytest.mark.filterwarnings("ignore::gramless.ClippedSpectrumWarning")


def cosine(x, z):
    return (x @ z.T) / np.outer(np.linalg.norm(x, axis=1), np.linalg.norm(z, axis=1))


def softened(values):
    return torch.log1p(values)


@pytest.fixture
def data(rng):
    X = {"a": rng.random((40, 5)), "b": rng.random((40, 3))}
    return X, rng.integers(0, 3, 40)


NETWORK = {"hidden": (4,), "learning": None, "random_state": 0}
KERNEL = gl.DeepKernelNetwork(**NETWORK)
SMALL = {"kernel": KERNEL, "random_state": 0}

MODELS = {
    "kernel network": KERNEL,
    "two kernels by hand": gl.DeepKernelNetwork(
        {"a": ["chi2", Gaussian(scale=2.0)], "b": ["arccos0"]},
        (2,),
        weights=[np.ones((2, 3)), np.ones((1, 2))],
        learning=None,
    ),
    "distances under an exponential": gl.DeepKernelNetwork(
        (*(Distance(s, root) for s in ("columns", "rows", "none") for root in (1, 2, 4)), "hellinger", "hellinger4"),
        (),
        learning=None,
        random_state=0,
    ),
    "map of distances": gl.DeepMapNetwork(
        gl.DeepKernelNetwork(("distance", "hellinger"), activation="exp", **NETWORK), n_landmarks=12, random_state=0
    ),
    "polynomial activation": gl.DeepKernelNetwork(activation=(0.0, 1.0, 0.5), **NETWORK),
    "collapsed map": gl.DeepMapNetwork(KERNEL, n_landmarks=12, random_state=0),
    "map with moved landmarks": gl.DeepMapNetwork(KERNEL, n_landmarks=12, tuning="landmarks", random_state=0),
    "map tuned by the paper's algorithm": gl.DeepMapNetwork(
        KERNEL, n_landmarks=12, tuning="algorithm1", random_state=0
    ),
    "learned network": gl.DeepKernelNetwork(hidden=(3,), learning=SemiSupervised(n_steps=2), random_state=0),
    "kernel classifier": gl.DeepKernelClassifier(class_weight={0: 2.0}, C=float("inf"), **SMALL),
    "map classifier": gl.DeepMapClassifier(n_landmarks=12, **SMALL),
}


def answers(model, X):
    if hasattr(model, "predict"):
        return model.decision_function(X)
    return model.transform(X) if hasattr(model, "transform") else model.kernel_(X)


@pytest.mark.parametrize("name", MODELS)
def test_a_fitted_model_comes_back_with_every_parameter_and_the_same_answers(name, data, tmp_path):
    X, y = data
    model = MODELS[name].fit(X, y)
    path = tmp_path / "model.gramless"
    gl.save(model, path)
    loaded = gl.load(path)
    assert type(loaded) is type(model)
    assert repr(loaded) == repr(model)
    assert vars(loaded).keys() == vars(model).keys()
    np.testing.assert_array_equal(answers(loaded, X), answers(model, X))


def test_an_unfitted_model_comes_back_and_fits_the_same(data, tmp_path):
    X, y = data
    model = gl.DeepMapClassifier(n_landmarks=10, views={"a": slice(0, 5), "b": [5, 6, 7]}, **SMALL)
    gl.save(model, tmp_path / "m")
    loaded = gl.load(tmp_path / "m")
    assert not hasattr(loaded, "head_")
    joined = np.hstack([X["a"], X["b"]])
    np.testing.assert_array_equal(loaded.fit(joined, y).predict(joined), model.fit(joined, y).predict(joined))


def test_a_kernel_and_a_map_of_a_frozen_network_come_back(data, tmp_path):
    X, _ = data
    network = gl.DeepKernelNetwork(**NETWORK).fit(X)
    gl.save(network.kernel_, tmp_path / "k")
    np.testing.assert_array_equal(gl.load(tmp_path / "k")(X), network.kernel_(X))
    dmn = gl.DeepMapNetwork(FrozenEstimator(network), n_landmarks=10, random_state=0).fit(X)
    gl.save(dmn, tmp_path / "m")
    np.testing.assert_array_equal(gl.load(tmp_path / "m").transform(X), dmn.transform(X))


def test_text_classes_given_landmarks_tensors_and_sparse_views_come_back(data, tmp_path):
    X, y = data
    names = np.array(["cat", "dog", "émeu"])[y]
    clf = gl.DeepMapClassifier(n_landmarks=10, **SMALL).fit({"a": sparse.csr_matrix(X["a"]), "b": X["b"]}, names)
    gl.save(clf, tmp_path / "m")
    np.testing.assert_array_equal(gl.load(tmp_path / "m").predict(X), clf.predict(X))
    objects = gl.DeepMapClassifier(n_landmarks=10, **SMALL).fit(X, names.astype(object))
    gl.save(objects, tmp_path / "m")
    assert gl.load(tmp_path / "m").predict(X).dtype == object
    tensors = {name: torch.from_numpy(block) for name, block in X.items()}
    given = gl.Views({"a": sparse.csr_array(X["a"][:9]), "b": tensors["b"][:9]})
    dmn = gl.DeepMapNetwork(gl.DeepKernelNetwork(**NETWORK), landmarks=given).fit(tensors)
    gl.save(dmn, tmp_path / "m")
    np.testing.assert_array_equal(gl.load(tmp_path / "m").transform(X), dmn.transform(X))


def test_a_calibrated_classifier_comes_back(data, tmp_path):
    X, y = data
    Y = np.eye(3, dtype=int)[y]
    for choice in ({"top_k": 2}, {"top_k": 2, "recall_weight": 1.5}, {"top_k": 2, "recall_weight": None}):
        clf = gl.DeepMapClassifier(n_landmarks=10, **SMALL, **choice).fit(X, Y)
        gl.save(clf, tmp_path / "m")
        loaded = gl.load(tmp_path / "m")
        assert vars(loaded).keys() == vars(clf).keys()
        np.testing.assert_array_equal(loaded.predict(X), clf.predict(X))
        if choice.get("recall_weight", "auto") is not None:
            margins = clf.decision_function(X)
            expected = clf.decision_.gains(clf.calibration_.probabilities(margins))
            np.testing.assert_array_equal(loaded.decision_.gains(loaded.calibration_.probabilities(margins)), expected)
        if choice == {"top_k": 2}:
            assert loaded.operating_points_ == clf.operating_points_


def test_learned_thresholds_come_back(data, tmp_path):
    X, y = data
    clf = gl.DeepMapClassifier(n_landmarks=10, threshold="f1", **SMALL).fit(X, np.eye(3, dtype=int)[y])
    gl.save(clf, tmp_path / "m")
    np.testing.assert_array_equal(gl.load(tmp_path / "m").decision_.thresholds, clf.decision_.thresholds)


def test_functions_are_named_in_the_file_and_come_from_the_caller(data, tmp_path):
    X, _ = data
    gram = cosine(X["a"], X["a"])
    views = {"a": X["a"], "number": np.arange(40)[:, None]}
    kernels = {"a": [Custom(cosine), "linear"], "number": [Precomputed(gram)]}
    network = gl.DeepKernelNetwork(kernels, activation=softened, **NETWORK).fit(views)
    gl.save(network, tmp_path / "m")
    with pytest.raises(gl.FileFormatError, match=r"uses the function '(softened|cosine)'"):
        gl.load(tmp_path / "m")
    loaded = gl.load(tmp_path / "m", functions={"cosine": cosine, "softened": softened})
    np.testing.assert_array_equal(loaded.kernel_(views), network.kernel_(views))


def test_the_file_says_its_format_version_package_and_parameters(data, tmp_path):
    X, _ = data
    gl.save(gl.DeepMapNetwork(KERNEL, n_landmarks=11, random_state=0).fit(X), tmp_path / "m")
    with safe_open(tmp_path / "m", framework="numpy") as file:
        metadata = file.metadata()
    assert metadata["format_version"] == "2"
    assert metadata["package_version"] == gl.__version__
    name, parameters, _ = json.loads(metadata["model"])["$estimator"]
    assert name == "DeepMapNetwork"
    assert parameters["n_landmarks"] == 11


def test_a_truncated_file_at_any_length_is_refused(data, tmp_path):
    X, _ = data
    path = tmp_path / "m"
    gl.save(gl.DeepKernelNetwork(**NETWORK).fit(X), path)
    content = path.read_bytes()
    for length in [0, 1, 7, 8, 100, len(content) // 2, len(content) - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(gl.FileFormatError, match="truncated"):
            gl.load(path)


def test_foreign_newer_and_damaged_files_are_refused(tmp_path):
    def write(metadata):
        save_file({"x": np.ones(2)}, tmp_path / "m", metadata)
        return tmp_path / "m"

    with pytest.raises(gl.FileFormatError, match="no Gramless model"):
        gl.load(write({"format": "pt"}))
    with pytest.raises(
        gl.FileFormatError, match=r"format version '3'.*gramless 9\.0;.*Install the gramless that wrote it"
    ):
        gl.load(write({"format": "gramless", "format_version": "3", "package_version": "9.0"}))
    with pytest.raises(gl.FileFormatError, match="digest"):
        gl.load(write({"format": "gramless", "format_version": "2", "model": "{"}))
    (tmp_path / "m").write_bytes(b"\x80\x04\x95 a pickle, say")
    with pytest.raises(gl.FileFormatError, match="no Gramless model"):
        gl.load(tmp_path / "m")
    with pytest.raises(FileNotFoundError, match="no model file"):
        gl.load(tmp_path / "nothing here")


@pytest.mark.parametrize(
    "tree",
    [
        {"$value": ["Popen", {"args": "true"}]},
        {"$estimator": ["os.system", {}, {}]},
        {"$import": "os"},
        {"$dtype": "__class__"},
        {"$function": "eval"},
    ],
    ids=str,
)
def test_a_file_can_name_none_but_the_known_classes(tree, tmp_path):
    write_array_file(tmp_path / "m", FORM, FORM_VERSION, {"x": np.ones(2)}, {"model": json.dumps(tree)})
    with pytest.raises(gl.FileFormatError):
        gl.load(tmp_path / "m")


def test_what_cannot_be_saved_says_so_and_leaves_the_old_file_whole(data, tmp_path):
    X, _ = data
    path = tmp_path / "m"
    gl.save(gl.DeepKernelNetwork(**NETWORK), path)
    before = path.read_bytes()
    with pytest.raises(TypeError, match=r"set_params\(random_state=0\)"):
        gl.save(gl.DeepKernelNetwork(learning=None, random_state=np.random.RandomState(0)).fit(X), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


@pytest.mark.parametrize("path", [0, 1, None, 2.5])
def test_a_number_is_no_path(path):
    """To Python's own open it would be a file that is open already, as the terminal."""
    with pytest.raises(TypeError, match="PathLike"):
        gl.save(gl.DeepKernelNetwork(), path)
    with pytest.raises(TypeError, match="PathLike"):
        gl.load(path)
