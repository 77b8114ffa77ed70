"""Exported maps of every kind against the package, on random networks of every shape."""

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gramless as gl
from gramless.kernels import Intersection
from gramless.maps.tuning import RepresenterMap
from gramless.network import Layer, ViewKernel, make_activation
from tests.networks import random_kernel, random_views, seeds
from tests.storage.onnx.exported import answers, check_vectors

pytestmark = pytest.mark.filterwarnings("ignore::gramless.ClippedSpectrumWarning")
ACTIVATIONS = st.sampled_from(["tanh", "sinh", "exp", "identity", (0.1, 0.5, 0.3), (0.7,)])
SHAPES = pytest.mark.parametrize("hidden", [(), (5,), (5, 4)], ids=["2 layers", "3 layers", "4 layers"])
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
N_LANDMARKS, N_OTHERS = 14, 9
MAPS = {
    "collapsed": {},
    "fewer components": {"n_components": 5},
    "moved landmarks": {"tuning": "landmarks"},
}


def float32_views(rng, n_rows, dtype, **shape):
    """Numbers of float32, which is what a file is given, in the type that the map is to work in."""
    views = random_views(rng, n_rows, dtype=np.float32, **shape)
    return {name: views[name].astype(dtype) for name in views.names}


def fitted(kernel, X, **settings_):
    return gl.DeepMapNetwork(kernel, landmarks=np.arange(N_LANDMARKS), random_state=0, **settings_).fit(X)


@DTYPES
@SHAPES
@pytest.mark.parametrize("kind", MAPS)
@settings(max_examples=2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=seeds, activation=ACTIVATIONS, output=ACTIVATIONS)
def test_random_networks(kind, hidden, dtype, seed, activation, output, tmp_path):
    rng = np.random.default_rng(seed)
    X = float32_views(rng, N_LANDMARKS + N_OTHERS, dtype)
    kernel = random_kernel(rng, gl.Views(X), hidden, [activation] * len(hidden) + [output])
    check_vectors(fitted(kernel, X, **MAPS[kind]), X, tmp_path)


def representer(network, X, rng):
    """What Algorithm 1 makes, with arbitrary numbers: it takes thousands of steps to find its own."""
    kernel, r = network.kernel_, 5
    points = gl.Views(X).match(kernel.layout)[: N_LANDMARKS + 4]
    shapes = [layer.weights.shape for layer in kernel.layers]

    def small(*shape):
        return torch.from_numpy(0.1 * rng.normal(size=shape))

    return RepresenterMap(
        kernel,
        points.dense(points.dtype),
        torch.eye(len(points), N_LANDMARKS, dtype=torch.float64) + small(shapes[0][0], len(points), N_LANDMARKS),
        [small(n_units, N_LANDMARKS, r) for n_units, _ in shapes],
        [small(n_units, n_inputs, N_LANDMARKS, r) for n_units, n_inputs in shapes[1:]],
        [],
        points.dtype,
    )


@DTYPES
@SHAPES
@settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=seeds, activation=ACTIVATIONS, output=ACTIVATIONS)
def test_maps_of_algorithm_1(hidden, dtype, seed, activation, output, tmp_path):
    rng = np.random.default_rng(seed)
    X = float32_views(rng, N_LANDMARKS + N_OTHERS, dtype)
    network = fitted(random_kernel(rng, gl.Views(X), hidden, [activation] * len(hidden) + [output]), X)
    network.map_ = representer(network, X, rng)
    check_vectors(network, X, tmp_path)


def small_network(rng, X):
    kernel = random_kernel(rng, gl.Views(X), (3,), ["tanh", "exp"])
    return gl.DeepMapNetwork(kernel, landmarks=np.arange(9), n_components=6).fit(X)


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 8, 23])
def test_batches_of_any_size(n, rng, tmp_path):
    X = float32_views(rng, 23, np.float32)
    network = small_network(rng, X)
    whole = answers(network, X, tmp_path)["vectors"]
    some = answers(network, {view: block[:n] for view, block in X.items()}, tmp_path)["vectors"]
    assert some.shape == (n, 6)
    np.testing.assert_allclose(some, whole[:n], rtol=0, atol=1e-5 * np.abs(whole).max())


@pytest.mark.parametrize("rows_at_once", [1, 2, 100])
def test_rows_at_once_change_nothing(rows_at_once, rng, tmp_path):
    X = float32_views(rng, 23, np.float32)
    check_vectors(small_network(rng, X), X, tmp_path, rows_at_once=rows_at_once)


@DTYPES
@pytest.mark.parametrize("tuning", [None, "landmarks"])
def test_one_landmark_one_feature_and_landmarks_that_are_the_same(tuning, dtype, rng, tmp_path):
    X = {"v": rng.random((80, 1)).astype(np.float32).astype(dtype)}
    kernel = gl.DeepKernelNetwork(("linear", "gaussian", "chi2", "arccos1"), hidden=(2,), learning=None, random_state=0)
    for landmarks in (np.array([3]), np.array([3, 3, 4, 4, 4])):
        network = gl.DeepMapNetwork(kernel, landmarks=landmarks, tuning=tuning, random_state=0).fit(X)
        check_vectors(network, X, tmp_path)


def test_views_that_no_kernel_uses_are_not_asked_for(rng, tmp_path):
    X = float32_views(rng, 20, np.float32)
    inputs, layers = (ViewKernel("v1", Intersection()),), (Layer([[1.0]], make_activation("tanh")),)
    network = fitted(gl.DeepKernel(inputs, layers, {"v1": 6}), X)
    check_vectors(network, X, tmp_path)
    answers(network, {"v1": X["v1"]}, tmp_path)


def test_a_function_as_activation_is_refused(rng, tmp_path):
    X = float32_views(rng, 20, np.float32)
    kernel = gl.DeepKernelNetwork(activation=torch.log1p, hidden=(2,), learning=None, random_state=0)
    with pytest.raises(gl.GramlessError, match=r"type CustomActivation cannot be exported.*tanh"):
        answers(gl.DeepMapNetwork(kernel, 5).fit(X), X, tmp_path)
