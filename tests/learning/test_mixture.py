"""Sums of exponentials learned by leave-one-out: where they start, their mean with others, what is left out."""

import numpy as np
import pytest
import torch

import gramless as gl
from gramless.estimators.network_learning import without_those_behind
from gramless.learning import ElementaryValues, LeaveOneOut, learn_mixture, without_idle_parts
from gramless.learning.mixture import FAINT, WIDTHS, first_units, mean_kernel
from gramless.learning.network_gradient import gram_matrix
from gramless.learning.ridge_trainer import FIRST_SPREAD, SMALLEST, kernel_spreads
from gramless.network import Layer, make_activation

BUDGET = 1 << 28
EXP, SUM = make_activation("exp"), make_activation("identity")


def rings(rng, n=80, n_noise=2):
    """Two classes that only all of "x" and "y" together tell apart, and views of noise."""
    X = {"x": rng.normal(size=(n, 2)), "y": rng.normal(size=(n, 2))}
    X |= {f"noise {i}": rng.normal(size=(n, 3)) for i in range(n_noise)}
    return X, (X["x"][:, 0] * X["y"][:, 0] > 0).astype(int)


def distances_of(X):
    kernel = gl.DeepKernelNetwork(hidden=(), learning=None, random_state=0).fit(X).kernel_
    return kernel, ElementaryValues(kernel, kernel.views(X), None, BUDGET)


def leave_one_out(gram, y):
    """By n fits: the mean squared error of ridge regression, of the best ridge."""
    gram, targets = gram / np.trace(gram) * len(gram), 2.0 * y - 1.0
    targets = targets - targets.mean()
    errors = []
    for ridge in np.geomspace(1e-3, 10, 9):
        missed = []
        for i in range(len(y)):
            others = np.delete(np.arange(len(y)), i)
            system = gram[np.ix_(others, others)] + ridge * np.eye(len(others))
            missed.append(targets[i] - gram[i, others] @ np.linalg.solve(system, targets[others]))
        errors.append(np.mean(np.square(missed)))
    return min(errors)


def test_a_unit_over_all_views_and_one_over_each():
    spreads = torch.tensor([0.5, 1.0, 2.0, 0.0], dtype=torch.float64)
    units = first_units(spreads, [[0, 1], [2], [3]])
    assert units.shape == (3, 4)  # a view whose only kernel is constant has no unit
    np.testing.assert_allclose((units * spreads)[0], np.array([1, 1, 1, 0]) * FIRST_SPREAD / 3)
    np.testing.assert_allclose((units * spreads)[1], [FIRST_SPREAD / 2, FIRST_SPREAD / 2, FAINT, 0])
    np.testing.assert_allclose((units * spreads)[2], [FAINT, FAINT, FIRST_SPREAD, 0])
    assert (units[:, 3] == SMALLEST).all()


def test_one_view_has_units_of_several_widths():
    spreads = torch.tensor([1.0, 4.0], dtype=torch.float64)
    units = first_units(spreads, [[0, 1]])
    torch.testing.assert_close((units * spreads).sum(1), FIRST_SPREAD * torch.tensor(WIDTHS, dtype=torch.float64))


def test_the_mean_kernel_is_the_mean_of_the_kernels(rng):
    X, _ = rings(rng, 20)
    kernel, elementary = distances_of(X)
    n_inputs = len(kernel.inputs)
    one = (Layer(rng.random((1, n_inputs)), EXP),)
    two = (Layer(rng.random((3, n_inputs)), EXP), Layer(rng.random((1, 3)), SUM))
    values = kernel.elementary(kernel.views(X), kernel.views(X), torch.float64, torch.device("cpu")).numpy()
    first = np.exp(np.tensordot(one[0].weights[0].numpy(), values, 1))
    exps = np.exp(np.tensordot(two[0].weights.numpy(), values, 1))
    second = np.tensordot(two[1].weights[0].numpy(), exps, 1)
    expected = (first / np.diag(first).mean() + second / np.diag(second).mean()) / 2
    np.testing.assert_allclose(gram_matrix(mean_kernel([one, two], elementary), elementary), expected, rtol=1e-4)


def test_a_learned_mixture_has_a_lower_error_than_equal_shares(rng):
    X, y = rings(rng)
    equal, elementary = distances_of(X)
    before = leave_one_out(gram_matrix(equal.layers, elementary).numpy().astype(float), y)
    learned = gl.DeepKernelNetwork(random_state=0).fit(X, y).kernel_
    assert len(learned.layers) == 2
    assert learned.layers[1].activation == SUM
    assert leave_one_out(np.asarray(learned(X), dtype=float), y) < 0.8 * before


@pytest.mark.parametrize("n", [80, 1_100], ids=["few samples", "more than a tile"])
def test_the_mean_is_without_networks_that_left_out_samples_say_are_far_behind(rng, caplog, n):
    X, y = rings(rng, n)
    kernel, elementary = distances_of(X)
    signs = 2.0 * y[:, None] - 1.0
    told, blind = np.full((1, len(kernel.inputs)), 1e-6), np.full((1, len(kernel.inputs)), 1e-6)
    for q, entry in enumerate(kernel.inputs):
        (blind if entry.view.startswith("noise") else told)[0, q] = 2.0
    networks = {"told": (Layer(told, EXP),), "like it": (Layer(1.1 * told, EXP),), "blind": (Layer(blind, EXP),)}
    with caplog.at_level("INFO", "gramless"):
        assert [*without_those_behind(networks, elementary, signs, multilabel=False)] == ["told", "like it"]
    assert "(not used)" in caplog.text.partition("blind")[2]
    all_alike = without_those_behind(networks, elementary, np.ones_like(signs), multilabel=False)
    assert [*all_alike] == [*networks]  # nothing to judge by


def test_equal_shares_take_part_in_the_mean(rng):
    """Of many samples too: with a gain in common, every kernel adds the same to the spread of one unit's exponent."""
    X, y = rings(rng, 60)
    kernel, elementary = distances_of(X)
    groups = [[q for q, entry in enumerate(kernel.inputs) if entry.view == name] for name in X]
    signs = torch.from_numpy(2.0 * y[:, None] - 1.0)
    learned = learn_mixture(EXP, groups, elementary, signs - signs.mean(), LeaveOneOut(max_evaluations=8))
    assert [*learned.networks] == ["equal shares", "a product", "a sum over views"]
    parts = learned.networks["equal shares"][0].weights[0] * kernel_spreads(elementary)
    np.testing.assert_allclose(parts, np.full(len(parts), parts[0]), rtol=1e-6)


def test_a_constant_view_does_not_hold_the_gain_of_equal_shares(rng):
    X = {"x": rng.normal(size=(60, 4))}
    signs = torch.from_numpy(np.sign(X["x"].sum(1, keepdims=True)))  # a wide exponent, nearly linear, is best

    def gain(views):
        kernel, elementary = distances_of(views)
        groups = [[q] for q in range(len(kernel.inputs))]
        learned = learn_mixture(EXP, groups, elementary, signs - signs.mean(), LeaveOneOut(max_evaluations=20))
        return (learned.networks["equal shares"][0].weights[0] * kernel_spreads(elementary)).sum().item()

    alone = gain(X)
    assert alone < 0.8 * FIRST_SPREAD  # which is where it starts from
    np.testing.assert_allclose(gain(X | {"constant": np.ones((60, 2))}), alone, rtol=1e-3)


def test_idle_units_and_inputs_are_left_out_and_the_rest_says_the_same(rng):
    X, _ = rings(rng, 30)
    kernel, elementary = distances_of(X)
    weights = torch.zeros(3, len(kernel.inputs), dtype=torch.float64) + 1e-6
    weights[0, 0], weights[1, 3], weights[2, 5] = 1.0, 2.0, 1.0
    layers = (Layer(weights, EXP), Layer([[1.0, 2.0, 1e-5]], SUM))
    fewer, busy = without_idle_parts(layers, elementary)
    assert busy.tolist() == [0, 3]
    assert fewer[0].weights.shape == (2, 2)
    whole = gram_matrix(layers, elementary)
    found = gram_matrix(fewer, ElementaryValues(_some(kernel, busy, fewer), kernel.views(X), None, BUDGET))
    np.testing.assert_allclose(found, whole, rtol=1e-3)


def _some(kernel, busy, layers):
    return gl.DeepKernel(tuple(kernel.inputs[q] for q in busy), layers, kernel.layout)


def test_more_samples_than_a_tile_are_learned_from_after_the_first(rng, monkeypatch):
    X, y = rings(rng, 90)
    monkeypatch.setattr("gramless.learning.elementary.TILE_SIDE", 40)
    kernel = gl.DeepKernelNetwork(learning=LeaveOneOut(max_evaluations=15), random_state=0).fit(X, y).kernel_
    equal, elementary = distances_of(X)
    assert len(kernel.layers) == 2
    before = leave_one_out(gram_matrix(equal.layers, elementary).numpy().astype(float), y)
    assert leave_one_out(np.asarray(kernel(X), dtype=float), y) < before


@pytest.mark.parametrize("choice", [{"hidden": ()}, {"learning": None}, {"output_activation": "identity"}])
def test_nothing_is_mixed_where_another_network_was_asked_for(rng, choice):
    X, y = rings(rng, 30)
    kernels = ("gaussian",) if "output_activation" in choice else "auto"
    assert len(gl.DeepKernelNetwork(kernels, random_state=0, **choice).fit(X, y).kernel_.layers) == 1
