"""Shares of views and kernels: against products of weights, finite differences and the network's own output."""

from io import BytesIO, StringIO
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from matplotlib import rc_context
from PIL import Image
from rich.console import Console

import gramless as gl
from gramless.errors import DataError
from gramless.figures.drawing import STYLE, draw_weights, save_weights_figure
from gramless.figures.learned_weights import input_shares, shares_by, weights_table
from gramless.kernels import NAMED, ArcCosine, ChiSquare, Custom, Distance, Gaussian, Linear, Polynomial, kernel_name
from gramless.network import Layer, ViewKernel, make_activation
from tests.networks import random_kernel, random_views, seeds

FUNCTIONS = {"identity": lambda t: t, "tanh": np.tanh, "exp": np.exp, "sinh": np.sinh}


def network(inputs, *layers):
    views = dict.fromkeys((view for view, _ in inputs), 3)
    return gl.DeepKernel(
        tuple(ViewKernel(view, kernel) for view, kernel in inputs),
        tuple(Layer(weights, make_activation(activation)) for weights, activation in layers),
        views,
    )


def output(kernel, values):
    """The network in plain NumPy, on elementary kernel values (n_inputs,)."""
    for layer in kernel.layers:
        values = FUNCTIONS[layer.activation.name](layer.weights.numpy() @ values)
    return values[0]


def shares_by_differences(kernel, n_steps=2000, h=1e-5):
    """What each input adds on the way from 0 to 1, by differences at the middle of many steps."""
    n_inputs = len(kernel.inputs)
    added = np.zeros(n_inputs)
    for t in (np.arange(n_steps) + 0.5) / n_steps:
        for q, unit in enumerate(np.eye(n_inputs)):
            added[q] += (output(kernel, t + h * unit) - output(kernel, t - h * unit)) / (2 * h)
    added /= n_steps
    np.testing.assert_allclose(
        added.sum(), output(kernel, np.ones(n_inputs)) - output(kernel, np.zeros(n_inputs)), 1e-4
    )
    return added / added.sum()


def test_without_activations_shares_are_products_of_weights(rng):
    first, second = rng.random((3, 4)), rng.random((1, 3))
    kernel = network(
        [("a", Linear()), ("a", Gaussian()), ("b", Linear()), ("b", Gaussian())],
        (first, "identity"),
        (second, "identity"),
    )
    products = [sum(second[0, p] * first[p, q] for p in range(3)) for q in range(4)]
    np.testing.assert_allclose(input_shares(kernel), np.array(products) / np.sum(products), rtol=1e-12)


@pytest.mark.parametrize("activations", [("tanh", "exp"), ("sinh", "tanh"), ("exp", "identity")])
def test_shares_are_integrated_gradients(rng, activations):
    kernel = random_kernel(rng, random_views(rng, 4), (6,), activations, n_kernels=4, gain=2.0)
    np.testing.assert_allclose(input_shares(kernel), shares_by_differences(kernel), atol=1e-6)


@given(seeds)
def test_shares_are_never_negative_and_sum_to_one(seed):
    rng = np.random.default_rng(seed)
    kernel = random_kernel(rng, random_views(rng, 4), (5, 3), ("tanh", "tanh", "exp"), gain=3.0)
    shares = input_shares(kernel)
    assert shares.min() >= 0
    assert shares.sum() == pytest.approx(1.0)
    assert np.nansum(shares_by(kernel).shares) == pytest.approx(1.0)


def test_a_saturated_unit_counts_little_whatever_its_weights():
    first, second = [[0.5, 0.0], [0.0, 500.0]], [[1.0, 1.0]]
    kernel = network([("a", Linear()), ("b", Linear())], (first, "tanh"), (second, "identity"))
    calm, wild = input_shares(kernel)
    assert calm == pytest.approx(np.tanh(0.5) / (np.tanh(0.5) + 1), rel=0.2)  # the product of weights would say 0.001
    assert wild < 0.75


def test_distances_grow_from_minus_one_to_zero():
    """exp(a t + b (t - 1)) from t = 0 to 1: both terms add the same where their weights are the same."""
    inputs = [("a", Linear()), ("b", Distance(centre=[0.0] * 3, factors=[1.0] * 3))]
    np.testing.assert_allclose(input_shares(network(inputs, ([[2.0, 2.0]], "exp"))), [0.5, 0.5], rtol=1e-12)
    first, second = [[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]
    apart = input_shares(network(inputs, (first, "exp"), (second, "identity")))
    np.testing.assert_allclose(apart, np.array([np.e - 1, 1 - 1 / np.e]) / (np.e - 1 / np.e), rtol=1e-12)


def test_table_sums_views_and_kernels():
    inputs = [("b", Linear()), ("a", Gaussian(1.0)), ("b", Gaussian(1.0)), ("b", Gaussian(2.0))]
    found = shares_by(network(inputs, ([[1.0, 2.0, 3.0, 4.0]], "identity")))
    assert (found.views, found.kernels) == (("b", "a"), ("linear", "gaussian"))
    np.testing.assert_allclose(found.shares, [[0.1, 0.7], [np.nan, 0.2]])
    np.testing.assert_allclose(found.of_views, [0.8, 0.2])
    np.testing.assert_allclose(found.of_kernels, [0.1, 0.9])


def test_kernels_have_the_names_that_people_ask_for_them_by():
    assert all(kernel_name(kernel) == name for name, kernel in NAMED.items())
    assert kernel_name(Polynomial(degree=5)) == "polynomial 5"
    assert kernel_name(Gaussian(scale=3.0, normalize=True)) == "gaussian"
    assert kernel_name(ArcCosine(order=2)) == "arccos2"
    assert kernel_name(ChiSquare(scale=1.0)) == "chi2"
    assert kernel_name(Custom(np.dot)) == "custom"
    assert kernel_name(Distance("none", root=2)) == "plain-root-distance"


@pytest.mark.parametrize("weights", [[[0.0, 0.0]], [[1e200, 1e200]]])
def test_a_network_without_shares_is_refused(weights):
    with pytest.raises(DataError, match="no shares"):
        input_shares(network([("a", Linear()), ("b", Linear())], (weights, "exp")))


def test_terminal_table_is_sorted_and_takes_no_name_for_markup():
    inputs = [("[red]small", Linear()), ("large", Gaussian(1.0)), ("large", Linear())]
    console = Console(width=100, record=True, file=StringIO())
    console.print(weights_table(network(inputs, ([[1.0, 2.0, 5.0]], "identity"))))
    lines = [line.split() for line in console.export_text().splitlines()]
    rows = [line for line in lines if line and line[0] in ("view", "large", "[red]small", "all")]
    assert rows == [
        ["view", "linear", "gaussian", "all"],
        ["large", "62.5", "25.0", "87.5"],
        ["[red]small", "12.5", "12.5"],
        ["all", "75.0", "25.0", "100.0"],
    ]


def test_names_of_kernels_do_not_run_into_each_other_or_out_of_the_picture():
    kernels = [*NAMED.values(), Distance("none", root=4)]
    found = shares_by(network([("a", kernel) for kernel in kernels], (np.ones((1, len(kernels))), "exp")))
    with rc_context(STYLE):
        names = [label.get_window_extent() for label in draw_weights(found).axes[0].get_xticklabels()]
    assert all(one.x1 < next_one.x0 for one, next_one in pairwise(names))
    assert min(name.y0 for name in names) > 0


@pytest.mark.parametrize("n_views", [1, 16])
def test_picture_is_a_png_with_one_dark_cell_where_the_weight_is(n_views):
    inputs = [(f"view {i} $\\no{{TeX$", kernel) for i in range(n_views) for kernel in NAMED.values()]
    weights = np.full((1, len(inputs)), 1e-3)
    weights[0, -1] = 1.0
    file = BytesIO()
    save_weights_figure(network(inputs, (weights, "exp")), file)
    picture = Image.open(file)
    assert picture.format == "PNG"
    assert min(picture.size) > 300
    pixels = np.asarray(picture.convert("RGB")).astype(int)
    darkest_blue = (np.abs(pixels - [8, 48, 107]).sum(-1) < 12).sum()  # the end of Matplotlib's map "Blues"
    assert darkest_blue == pytest.approx(0.72 * 200 * 0.26 * 200, rel=0.3)
