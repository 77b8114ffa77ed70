"""The deep kernel as a value: against a naive oracle, in every kind of input, within a budget."""

import copy

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.svm import SVC

import gramless as gl
from gramless.kernels import Distance, Gaussian, Intersection, Linear
from gramless.network import Layer, ViewKernel, make_activation
from tests.networks import random_kernel, random_views, seeds
from tests.oracles import networks as oracle


def elementary(kernel, X, Z):
    """Elementary values one kernel at a time; the kernels have oracles of their own."""
    return [
        entry.kernel.pairwise(X.tensor(entry.view, torch.float64), Z.tensor(entry.view, torch.float64)).numpy()
        for entry in kernel.inputs
    ]


@given(
    seed=seeds,
    hidden=st.sampled_from([(), (1,), (7,), (3, 2), (4, 3, 2)]),
    name=st.sampled_from(["tanh", "sinh", "exp", "identity"]),
    n=st.integers(1, 9),
    m=st.integers(1, 9),
)
def test_equals_the_naive_recursion(seed, hidden, name, n, m):
    rng = np.random.default_rng(seed)
    views = random_views(rng, n + m)
    names = [name] * len(hidden) + ["exp"]
    kernel = random_kernel(rng, views, hidden, names)
    X, Z = kernel.views(views[:n]), kernel.views(views[n:])
    weights = [layer.weights.numpy() for layer in kernel.layers]
    expected = kernel.scale * oracle.deep_kernel(elementary(kernel, X, Z), weights, names)
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(kernel(X)), rtol=1e-7)
    np.testing.assert_array_equal(kernel(X), kernel(X).T)


@pytest.fixture
def small(rng):
    views = random_views(rng, 12)
    inputs = (ViewKernel("v0", Linear()), ViewKernel("v0", Gaussian(scale=1.0)), ViewKernel("v1", Intersection()))
    layers = (
        Layer(rng.random((5, 3)), make_activation("tanh")),
        Layer(rng.random((1, 5)), make_activation("exp")),
    )
    return gl.DeepKernel(inputs, layers, views.layout, scale=0.5), views


def test_every_kind_of_input_gives_the_same_values(small):
    kernel, views = small
    a, b = views["v0"], views["v1"]
    side = np.hstack([a, b])
    frame = pd.DataFrame(side, columns=[f"c{i}" for i in range(side.shape[1])])
    expected = kernel(views)
    for given_as in (
        {"v0": a, "v1": b},
        {"v1": b, "v0": a, "other": a},
        {"v0": sparse.csr_matrix(a), "v1": sparse.csc_array(b)},
        {"v0": np.asfortranarray(a), "v1": b[::-1][::-1]},
        {"v0": pd.DataFrame(a), "v1": b},
        side,
        sparse.csr_array(side),
        frame,
        side.tolist(),
    ):
        np.testing.assert_allclose(kernel(given_as), expected, rtol=1e-12)


def test_tensors_give_tensors_and_float32_stays_float32(small):
    kernel, views = small
    tensors = {name: torch.from_numpy(views[name]).float() for name in views.names}
    values = kernel(tensors)
    assert isinstance(values, torch.Tensor)
    assert values.dtype == torch.float32
    np.testing.assert_allclose(values.numpy(), kernel(views), rtol=1e-5)
    halves = {name: views[name].astype(np.float32) for name in views.names}
    assert kernel(halves).dtype == np.float32
    assert kernel.diagonal(halves).dtype == np.float32


def test_tiles_within_a_small_budget_give_the_same_values(small, rng):
    kernel, _ = small
    views = random_views(rng, 70)
    with gl.config_context(memory_budget=70 * 70 * 8):
        square, wide = kernel(views), kernel(views[:31], views)
    np.testing.assert_allclose(square, kernel(views), rtol=1e-12)
    np.testing.assert_allclose(wide, kernel(views)[:31], rtol=1e-12)


def test_a_matrix_over_the_budget_is_refused_before_it_is_computed(small, rng):
    kernel, _ = small
    refused = pytest.raises(gl.MemoryBudgetError, match=r"70 x 70 kernel matrix itself needs 38\.3 KiB")
    with gl.config_context(memory_budget="1 KB"), refused:
        kernel(random_views(rng, 70))


def test_an_svm_takes_it_and_clone_keeps_it(small, rng):
    kernel, views = small
    X, y = np.asarray(views), np.arange(len(views)) % 2
    machine = clone(SVC(kernel=kernel)).fit(X, y)
    precomputed = SVC(kernel="precomputed").fit(kernel(X), y)
    np.testing.assert_allclose(machine.decision_function(X), precomputed.decision_function(kernel(X)), rtol=1e-6)
    assert copy.deepcopy(kernel) is kernel


def test_two_single_samples_give_a_number(small):
    kernel, views = small
    X = np.asarray(views)
    assert kernel(X[0], X[3]) == pytest.approx(kernel(X)[0, 3], rel=1e-12)


def test_says_which_view_is_missing_too_wide_or_outside_the_domain(small):
    kernel, views = small
    with pytest.raises(gl.DataError, match=r"views \['v1'\] are missing"):
        kernel({"v0": views["v0"]})
    with pytest.raises(gl.DataError, match="'v1' has 5 features, but this network was fitted on 6"):
        kernel({"v0": views["v0"], "v1": views["v1"][:, :5]})
    with pytest.raises(gl.DataError, match="9 features, but this network was fitted on 10"):
        kernel(np.ones((3, 9)))
    with pytest.raises(gl.DataError, match=r"view 'v1': Negative values .* intersection"):
        kernel({"v0": views["v0"], "v1": views["v1"] - 1.0})


def test_layers_must_fit_together_and_weights_be_non_negative(small):
    kernel, _ = small
    with pytest.raises(gl.DataError, match="do not fit together"):
        gl.DeepKernel(kernel.inputs[:2], kernel.layers, kernel.layout)
    with pytest.raises(gl.DataError, match="do not fit together"):
        gl.DeepKernel(kernel.inputs, kernel.layers[:1], kernel.layout)
    with pytest.raises(gl.DataError, match="non-negative"):
        Layer(np.array([[1.0, -0.1]]), make_activation("tanh"))
    with pytest.raises(gl.DataError, match="n_units, n_inputs"):
        Layer(np.ones(3), make_activation("tanh"))


@pytest.mark.parametrize("names", [("tanh", "exp"), ("identity",), ("sinh", "exp"), ((0.0, 1.0), "exp")], ids=str)
def test_a_conditional_kernel_is_refused_where_the_first_layer_is_not_exp(rng, names):
    views = random_views(rng, 12)
    kernel = Distance().fit(views.tensor("v1", torch.float64), torch.Generator())
    inputs = (ViewKernel("v0", Linear()), ViewKernel("v1", kernel))
    widths = (2, 3, 1) if len(names) == 2 else (2, 1)
    layers = tuple(
        Layer(rng.random((n_units, n_inputs)), make_activation(name))
        for n_inputs, n_units, name in zip(widths, widths[1:], names, strict=False)
    )
    with pytest.raises(gl.DataError, match=r"distance kernel on view 'v1' .*conditionally p\.s\.d\..*exp.*first layer"):
        gl.DeepKernel(inputs, layers, views.layout)
    under_exp = (Layer(layers[0].weights, make_activation("exp")), *layers[1:])
    gram = gl.DeepKernel(inputs, under_exp, views.layout)(views)
    eigenvalues = np.linalg.eigvalsh(gram)
    assert eigenvalues[0] >= -1e-12 * eigenvalues[-1]


def test_what_the_caller_passed_is_not_changed(small):
    kernel, views = small
    a, b = views["v0"].copy(), views["v1"].copy()
    weights = np.ones((1, 3))
    layer = Layer(weights, make_activation("exp"))
    layer.weights.mul_(2)
    kernel({"v0": a, "v1": b})
    np.testing.assert_array_equal(a, views["v0"])
    np.testing.assert_array_equal(b, views["v1"])
    np.testing.assert_array_equal(weights, np.ones((1, 3)))


def test_it_is_told_in_a_line():
    """Of thousands of fitted numbers, by a notebook or a debugger."""
    X = gl.Views({"words": np.eye(30, 700), "shape": np.arange(60.0).reshape(30, 2)})
    kernel = gl.DeepKernelNetwork(learning=None, random_state=0).fit(X).kernel_
    words = "words 700: distance, cosine-distance, hellinger-distance, hellinger4-distance"
    assert repr(kernel).startswith(f"DeepKernel({words}; shape 2: distance, ")
    assert repr(kernel).endswith(" exp)")
    assert len(repr(kernel)) < 200
    each = gl.DeepKernelNetwork(["linear"] * 7, (), output_activation="identity", learning=None)
    told = "DeepKernel(view0 3: linear, linear, linear, linear, 3 more; 1 identity)"
    assert repr(each.fit(np.eye(3)).kernel_) == told
