"""Regressors in files: saved ones come back, exported ones say the same, damaged ones are refused."""

import json

import numpy as np
import pytest
from safetensors import safe_open

import gramless as gl
from gramless.learning import LeaveOneOut
from gramless.storage import FORM, FORM_VERSION
from gramless.support.array_file import write_array_file
from tests.storage.onnx.exported import ACCURACY, answers

SOON = gl.DeepKernelNetwork(learning=LeaveOneOut(max_evaluations=5))


@pytest.fixture
def data(rng):
    X = {"a": rng.random((60, 5)).astype(np.float32), "b": rng.random((60, 3)).astype(np.float32)}
    y = np.column_stack([X["a"][:, 0] * X["b"][:, 1], 1e6 * np.sin(3 * X["a"][:, 1])])
    return X, y + 0.05 * rng.normal(size=y.shape) * y.std(0)


@pytest.mark.parametrize("several", [True, False])
@pytest.mark.parametrize("make", [gl.DeepKernelRegressor, lambda *given, **g: gl.DeepMapRegressor(*given, 20, **g)])
def test_a_saved_regressor_comes_back(data, tmp_path, make, several):
    X, y = data
    model = make(SOON, random_state=0).fit(X, y if several else y[:, 0])
    gl.save(model, tmp_path / "m")
    again = gl.load(tmp_path / "m")
    for found, expected in zip(again.predict(X, return_std=True), model.predict(X, return_std=True), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert again.get_params()["alpha"] == "auto"


def test_one_array_cut_into_columns_comes_back(data, tmp_path):
    X, y = data
    model = gl.DeepKernelRegressor(SOON, random_state=0).fit(X["a"], y[:, 0])
    gl.save(model, tmp_path / "m")
    np.testing.assert_array_equal(gl.load(tmp_path / "m").predict(X["a"]), model.predict(X["a"]))


@pytest.mark.parametrize(
    ("name", "shape"), [("noise", (3,)), ("mean", (3,)), ("shrinkage", (1, 2)), ("alpha_", (1,)), ("spread", (1,))]
)
def test_parts_that_do_not_fit_together_are_refused(data, tmp_path, name, shape):
    X, y = data
    gl.save(gl.DeepMapRegressor(SOON, 20, random_state=0).fit(X, y), tmp_path / "m")
    with safe_open(tmp_path / "m", framework="numpy") as file:
        tree, arrays = json.loads(file.metadata()["model"]), {k: file.get_tensor(k) for k in file.keys()}  # noqa: SIM118
    (place,) = set(_places(tree, name))
    arrays[place] = np.ones(shape)
    write_array_file(tmp_path / "bad", FORM, FORM_VERSION, arrays, {"model": json.dumps(tree)})
    with pytest.raises(gl.FileFormatError):
        gl.load(tmp_path / "bad")


def _places(tree, name):
    """The names of arrays that stand under that name, once each; `spread` is that of the targets."""
    found = []
    if isinstance(tree, dict):
        for key, inner in tree.items():
            if key == name and not (name == "spread" and "noise" in tree):
                found += _strings(inner)
            found += _places(inner, name)
    elif isinstance(tree, list):
        for inner in tree:
            found += _places(inner, name)
    return found


def _strings(tree):
    if isinstance(tree, str):
        return [tree]
    inner = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else []
    return [text for part in inner for text in _strings(part)]


@pytest.mark.parametrize("several", [True, False])
def test_an_exported_regressor_says_the_same(data, tmp_path, several):
    X, y = data
    model = gl.DeepMapRegressor(SOON, 20, random_state=0).fit(X, y if several else y[:, 0])
    found = answers(model, X, tmp_path)
    assert set(found) == {"predictions", "std"}
    for name, expected in zip(("predictions", "std"), model.predict(X, return_std=True), strict=True):
        expected = expected.reshape(60, -1)
        assert (found[name].dtype, found[name].shape) == (np.float32, expected.shape)
        assert (np.abs(found[name] - expected) <= 10 * ACCURACY * np.abs(expected).max(0)).all()


def test_kernels_whose_diagonal_varies_are_exported_without_deviations(data, tmp_path):
    X, y = data
    network = gl.DeepKernelNetwork(("linear", "gaussian"), (3,), normalize=False, learning=None, output_gain=0.1)
    model = gl.DeepMapRegressor(network, 20, random_state=0).fit(X, y)
    found = answers(model, X, tmp_path)
    assert set(found) == {"predictions"}
    expected = model.predict(X)
    assert (np.abs(found["predictions"] - expected) <= 10 * ACCURACY * np.abs(expected).max(0)).all()


def test_a_kernel_regressor_is_not_exported(data, tmp_path):
    X, y = data
    with pytest.raises(gl.GramlessError, match="DeepMapRegressor"):
        gl.export_onnx(gl.DeepKernelRegressor(SOON, random_state=0).fit(X, y), tmp_path / "m.onnx")
