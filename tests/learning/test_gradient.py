"""The gradient of the learning objective, and its parts, against finite differences and autograd."""

import numpy as np
import pytest
import torch

import gramless as gl
from gramless.learning import (
    ElementaryValues,
    LaplacianObjective,
    SupervisedObjective,
    box,
    kernel_distances,
    neighbour_laplacian,
)
from gramless.learning.elementary import Tile
from gramless.learning.network_gradient import cross_matrix, gram_matrix, weight_gradients
from gramless.learning.objectives import spread
from gramless.learning.trainer import logit_gradient, objective_gradients, to_logits, to_weights
from gramless.network import Layer, make_activation
from tests.networks import random_kernel, random_views
from tests.oracles import learning as oracle

BUDGET = 1 << 30


@pytest.fixture
def network(rng):
    views = random_views(rng, 40)
    kernel = random_kernel(rng, views, (4,), ["tanh", "exp"], gain=2.0)
    views = kernel.views(views)
    signs = np.where(rng.random((2, 30)) < 0.4, 1.0, -1.0)
    return kernel, views, signs


def test_tiles_hold_the_kernel_of_all_pairs(network, monkeypatch):
    kernel, views, _ = network
    monkeypatch.setattr("gramless.learning.elementary.TILE_SIDE", 7)
    for budget in (BUDGET, 100):  # in memory, and in a file
        elementary = ElementaryValues(kernel, views[:30], views[30:], budget)
        np.testing.assert_allclose(gram_matrix(kernel.layers, elementary) * kernel.scale, kernel(views[:30]), rtol=1e-5)
        cross = cross_matrix(kernel.layers, elementary) * kernel.scale
        np.testing.assert_allclose(cross, kernel(views[30:], views[:30]), rtol=1e-5)


@pytest.mark.parametrize("name", ["tanh", "sinh", "exp", "identity", (0.0, 1.0, 0.3)], ids=str)
def test_weight_gradients_are_autograds(network, monkeypatch, name):
    """Of sum G o kappa for a fixed symmetric G, in one piece and in float64."""
    kernel, views, _ = network
    monkeypatch.setattr("gramless.learning.elementary.TILE_SIDE", 11)
    layers = (Layer(kernel.layers[0].weights, make_activation(name)), kernel.layers[1])
    G = torch.randn(40, 40, generator=torch.Generator().manual_seed(0))
    G = G + G.T
    elementary = ElementaryValues(kernel, views, None, BUDGET)
    found = weight_gradients(layers, elementary, lambda tile: G[tile.rows, tile.columns])
    values = kernel.elementary(views, views, torch.float64, torch.device("cpu"))
    weights = [layer.weights.clone().requires_grad_() for layer in layers]
    hidden = values.flatten(1)
    for layer, weight in zip(layers, weights, strict=True):
        hidden = layer.activation(weight @ hidden)
    expected = torch.autograd.grad((hidden[0] * G.double().flatten()).sum(), weights)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4 * b.abs().max())


def test_the_gradient_of_learning_is_the_slope_of_libsvms_objective(network):
    kernel, views, signs = network
    C, step = 1.0, 1e-4
    elementary = ElementaryValues(kernel, views[:30], None, BUDGET)
    train = torch.from_numpy(signs.astype(np.float32))
    gram = gram_matrix(kernel.layers, elementary)
    optimum = SupervisedObjective(train, box(train, C), 1e-6).optimum((gram / spread(gram)).contiguous(), None)
    assert optimum.value == pytest.approx(oracle.learning_objective(gram.double().numpy(), signs, C), rel=1e-4)
    found = objective_gradients(kernel.layers, elementary, gram, spread(gram), optimum)

    def objective(layers):
        deep = gl.DeepKernel(kernel.inputs, layers, kernel.layout)
        return oracle.learning_objective(deep(views[:30]), signs, C)

    for index, (unit, entry) in [(0, (1, 2)), (0, (3, 0)), (1, (0, 1)), (1, (0, 3))]:

        def moved(by, index=index, unit=unit, entry=entry):
            layers = list(kernel.layers)
            weights = layers[index].weights.clone()
            weights[unit, entry] += by
            layers[index] = Layer(weights, layers[index].activation)
            return objective(tuple(layers))

        slope = (moved(step) - moved(-step)) / (2 * step)
        assert found[index][unit, entry].item() == pytest.approx(slope, rel=0.02, abs=0.02)


def test_simplex_rows_and_their_gradient():
    weights = torch.tensor([[0.5, 1.5, 1.0], [0.2, 0.2, 0.1]], dtype=torch.float64)
    logits, gains = to_logits(weights)
    torch.testing.assert_close(to_weights(logits, gains), weights)
    theta = logits.clone().requires_grad_()
    G = torch.randn(2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    (expected,) = torch.autograd.grad((to_weights(theta, gains) * G).sum(), theta)
    torch.testing.assert_close(logit_gradient(G, weights, gains), expected)


def test_the_laplacian_svm_is_optimal_and_its_gradient_the_slope(network):
    kernel, views, signs = network
    gram = torch.from_numpy(kernel(views)).float()
    laplacian = neighbour_laplacian(kernel_distances(gram), 5)
    train = torch.from_numpy(signs.astype(np.float32))
    objective = LaplacianObjective(train, box(train, 1.0), 1e-6, laplacian, 0.5)
    optimum = objective.optimum(gram, None)
    K, L = gram.double().numpy(), laplacian.double().numpy()
    primal = sum(
        oracle.laplacian_svm_primal(K, y, 1.0, L, 0.5, v.double().numpy(), b.item())
        for y, v, b in zip(signs, optimum.expansions, optimum.bias, strict=True)
    )
    assert optimum.value == pytest.approx(primal, rel=1e-3)  # strong duality: nothing is better
    change = torch.randn(40, 3, generator=torch.Generator().manual_seed(1))
    change = change @ change.T
    step = 1e-3
    slope = (
        objective.optimum(gram + step * change, None).value - objective.optimum(gram - step * change, None).value
    ) / (2 * step)
    v = optimum.expansions
    assert -0.5 * (v * (v @ change)).sum().item() == pytest.approx(slope, rel=0.02)


def test_the_graph_is_the_naive_one(rng):
    x = rng.random((15, 3))
    squared = ((x[:, None] - x[None]) ** 2).sum(2)
    found = neighbour_laplacian(torch.from_numpy(squared), 4)
    np.testing.assert_allclose(found, oracle.neighbour_laplacian(squared, 4), atol=1e-10)
    assert np.linalg.eigvalsh(found.numpy()).min() > -1e-10
    torch.testing.assert_close(
        kernel_distances(torch.from_numpy(x @ x.T)), torch.from_numpy(squared), atol=1e-12, rtol=1e-9
    )


def test_a_tile_on_the_diagonal_holds_every_pair_once_and_counts_it_twice():
    matrix = torch.arange(9.0).view(3, 3)
    symmetric = matrix + matrix.T
    upper = torch.tensor([symmetric[i, j] for i in range(3) for j in range(i, 3)])
    tile = Tile(slice(3, 6), slice(3, 6), upper[None])
    torch.testing.assert_close(tile.block(upper), symmetric)
    assert (tile.folded(symmetric) @ upper).item() == symmetric.square().sum().item()
    beside = Tile(slice(0, 3), slice(3, 6), matrix[None])
    torch.testing.assert_close(beside.block(matrix), matrix)
    torch.testing.assert_close(beside.folded(matrix), 2 * matrix)
