"""Learning by the leave-one-out error: against really leaving samples out, against slopes, and on hostile data."""

import warnings

import numpy as np
import pytest
import torch
from scipy import sparse

import gramless as gl
from gramless.learning import (
    ElementaryValues,
    LeaveOneOut,
    leave_one_out_residuals,
    make_learning,
    ridge_trainer,
    without_idle_parts,
)
from gramless.learning.leave_one_out import leave_one_out_error
from gramless.network import Layer
from gramless.support.progress import ProgressBar
from tests.networks import random_kernel, random_views

BUDGET = 1 << 30


def psd(rng, n, rank=None):
    factors = rng.normal(size=(n, rank or n))
    return factors @ factors.T / factors.shape[1]


def indefinite(rng, n):
    symmetric = rng.normal(size=(n, n))
    return symmetric + symmetric.T


def left_out_in_turn(gram, targets, ridge):
    """Fit ridge regression on the others and miss the sample: naive, n solves."""
    missed = np.empty_like(targets)
    for i in range(len(gram)):
        others = np.delete(np.arange(len(gram)), i)
        alpha = np.linalg.solve(gram[np.ix_(others, others)] + ridge * np.eye(len(others)), targets[others])
        missed[i] = targets[i] - gram[i, others] @ alpha
    return missed


def naive_error(gram, targets, ridge):
    return float(np.mean(left_out_in_turn(gram, targets, ridge) ** 2))


@pytest.mark.parametrize("ridge", [1e-4, 0.3, 50.0])
@pytest.mark.parametrize(("n", "n_targets", "rank"), [(2, 1, None), (9, 3, None), (25, 2, 3), (12, 20, None)])
def test_residuals_are_those_of_samples_that_are_really_left_out(rng, n, n_targets, rank, ridge):
    gram, targets = psd(rng, n, rank), rng.normal(size=(n, n_targets))
    found = leave_one_out_residuals(torch.from_numpy(gram), torch.from_numpy(targets), ridge).numpy()
    expected = left_out_in_turn(gram, targets, ridge)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())
    error = leave_one_out_error(torch.from_numpy(gram), torch.from_numpy(targets), ridge)
    assert error.value == pytest.approx(np.mean(expected**2), rel=1e-8)


def test_a_kernel_that_is_not_psd_is_no_obstacle(rng):
    gram, targets = indefinite(rng, 11), rng.normal(size=(11, 2))
    assert np.linalg.eigvalsh(gram + 0.1 * np.eye(11))[0] < 0
    found = leave_one_out_residuals(torch.from_numpy(gram), torch.from_numpy(targets), 0.1).numpy()
    expected = left_out_in_turn(gram, targets, 0.1)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("make", [psd, indefinite], ids=["psd", "indefinite"])
@pytest.mark.parametrize("ridge", [1e-3, 0.3, 50.0])
def test_the_gradient_is_the_slope_and_autograds(rng, make, ridge):
    gram, targets = make(rng, 10), rng.normal(size=(10, 3))
    found = leave_one_out_error(torch.from_numpy(gram), torch.from_numpy(targets), ridge)

    K = torch.from_numpy(gram).requires_grad_()
    strength = torch.tensor(ridge, dtype=torch.float64, requires_grad=True)
    inverse = torch.linalg.inv(K + strength * torch.eye(10, dtype=torch.float64))
    missed = (inverse @ torch.from_numpy(targets)) / inverse.diagonal()[:, None]
    by_gram, by_ridge = torch.autograd.grad(missed.square().mean(), [K, strength])
    by_gram = (by_gram + by_gram.T) / 2
    torch.testing.assert_close(found.gradient, by_gram, rtol=1e-6, atol=1e-8 * by_gram.abs().max().item())
    assert found.ridge_gradient == pytest.approx(by_ridge.item(), rel=1e-6, abs=1e-10)

    change = psd(rng, 10)
    step = 1e-6 * ridge if make is psd else 1e-7
    slope = naive_error(gram + step * change, targets, ridge) - naive_error(gram - step * change, targets, ridge)
    along = float((found.gradient.numpy() * change).sum())
    assert along == pytest.approx(slope / (2 * step), rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("make", [psd, indefinite], ids=["psd", "indefinite"])
@pytest.mark.parametrize("n", [2, 200, 301])
def test_of_a_kernel_in_float32_the_error_is_exact_and_the_gradient_in_float32(rng, make, n):
    """More samples than are mirrored at once, and no multiple of that."""
    gram, targets = torch.from_numpy(make(rng, n)).float(), torch.from_numpy(rng.normal(size=(n, 4)))
    before = gram.clone()
    found, exact = leave_one_out_error(gram, targets, 0.1), leave_one_out_error(gram.double(), targets, 0.1)
    assert (found.value, found.ridge_gradient) == pytest.approx((exact.value, exact.ridge_gradient), rel=1e-12)
    assert found.gradient.dtype == torch.float32
    size = exact.gradient.abs().max().item()
    torch.testing.assert_close(found.gradient.double(), exact.gradient, rtol=1e-5, atol=1e-6 * size)
    torch.testing.assert_close(found.gradient, found.gradient.T, rtol=0, atol=1e-6 * size)
    inverse = torch.linalg.inv(gram.double() + 0.1 * torch.eye(n, dtype=torch.float64))
    expected = (inverse @ targets) / inverse.diagonal()[:, None]
    found = leave_one_out_residuals(gram, targets, 0.1)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-8 * expected.abs().max().item())
    torch.testing.assert_close(gram, before, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("hidden", "activations"),
    [((), ["exp"]), ((), ["identity"]), ((4,), ["tanh", "exp"]), ((3,), ["exp", "identity"])],
    ids=str,
)
def test_the_gradient_of_learning_is_the_slope_of_the_naive_error(rng, monkeypatch, hidden, activations):
    """By the logarithms of weights and ridge, of the kernel over its mean diagonal; elementary values in float32."""
    monkeypatch.setattr("gramless.learning.elementary.TILE_SIDE", 7)
    views = random_views(rng, 20)
    kernel = random_kernel(rng, views, hidden, activations, gain=1.5)
    views = kernel.views(views)
    targets = rng.normal(size=(20, 2))
    elementary = ElementaryValues(kernel, views, None, BUDGET)
    values = kernel.elementary(views, views, torch.float64, torch.device("cpu"))
    sizes = [layer.weights.numel() for layer in kernel.layers]
    start = np.concatenate([*(np.log(layer.weights.numpy()).ravel() for layer in kernel.layers), [np.log(0.05)]])

    def objective(parameters):
        out, used = values.flatten(1), 0
        for layer, size in zip(kernel.layers, sizes, strict=True):
            weights = np.exp(parameters[used : used + size]).reshape(layer.weights.shape)
            out = layer.activation(torch.from_numpy(weights) @ out)
            used += size
        gram = out[0].reshape(20, 20).numpy()
        return naive_error(gram / np.trace(gram) * 20, targets, np.exp(parameters[-1]))

    value, gradient = ridge_trainer.evaluate(kernel.layers, elementary, torch.from_numpy(targets), start[-1])
    assert value == pytest.approx(objective(start), rel=1e-4)
    slopes = np.empty_like(start)
    for i in range(len(start)):
        by = 1e-5 * np.eye(len(start))[i]
        slopes[i] = (objective(start + by) - objective(start - by)) / 2e-5
    np.testing.assert_allclose(gradient, slopes, rtol=2e-3, atol=2e-3 * np.abs(slopes).max())


def problem(rng, n=60, noise_views=2):
    """Two classes on a ring and inside it, in one view; the others are noise."""
    X = {"ring": rng.normal(size=(n, 2))}
    X |= {f"noise {i}": rng.normal(size=(n, 3)) for i in range(noise_views)}
    return X, (np.linalg.norm(X["ring"], axis=1) > 1.2).astype(int)


def learned(X, y, **parameters):
    return gl.DeepKernelNetwork(**({"hidden": (), "random_state": 0} | parameters)).fit(X, y)


def weight_of(network, view):
    kernel = network.kernel_
    return sum(
        w for entry, w in zip(kernel.inputs, kernel.layers[0].weights[0].tolist(), strict=True) if entry.view == view
    )


def test_learning_lowers_the_error_and_finds_the_view_that_tells(rng):
    X, y = problem(rng, 200)
    network = learned(X, y)
    errors = [point.objective for point in network.learning_curve_]
    assert min(errors) < 0.7 * errors[0]
    assert weight_of(network, "ring") > 5 * max(weight_of(network, "noise 0"), weight_of(network, "noise 1"))


def test_kernels_of_no_weight_are_left_out_and_the_rest_says_the_same(rng):
    X, y = problem(rng, 400, noise_views=3)
    network = learned(X, y)
    assert 1 <= len(network.kernel_.inputs) < 8
    assert network.kernel_.layers[0].weights.shape == (1, len(network.kernel_.inputs))
    assert np.isfinite(network.kernel_(X)).all()


def test_deep_networks_are_learned_too(rng):
    X, y = problem(rng)
    for choice in ({"activation": "tanh"}, {"activation": "exp", "output_activation": "identity"}):
        network = learned(X, y, hidden=(5,), **choice)
        errors = [point.objective for point in network.learning_curve_]
        assert min(errors) < 0.95 * errors[0]
        assert network.kernel_.layers[0].n_units == 5


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("output_gain", [6.0, 86.0])
def test_a_step_that_overflows_is_taken_back(seed, output_gain):
    """exp of 89 is no number in float32: several of these try such weights on their way, some with their first step."""
    X, y = problem(np.random.default_rng(seed))
    network = learned(X, y, hidden=(5,), output_gain=output_gain)
    errors = [point.objective for point in network.learning_curve_]
    assert min(errors) < 0.95 * errors[0]
    assert np.isfinite(network.kernel_(X)).all()


def test_a_network_that_overflows_from_the_start_is_refused(rng):
    X, y = problem(rng)
    with pytest.raises(gl.DataError, match="first weights"):
        learned(X, y, hidden=(5,), output_gain=1e3)


def test_a_seed_is_a_network_whatever_the_budget(rng):
    X, y = problem(rng)
    first = learned(X, y).kernel_(X)
    with gl.config_context(memory_budget="1MiB"):
        second = learned(X, y).kernel_(X)
    np.testing.assert_array_equal(first, learned(X, y).kernel_(X))
    np.testing.assert_allclose(first, second, rtol=1e-5)


def test_several_tiles_are_learned_from_after_the_first(rng, monkeypatch):
    X, y = problem(rng, 161)
    whole = learned(X, y)
    monkeypatch.setattr("gramless.learning.elementary.TILE_SIDE", 160)
    seen = []
    error = ridge_trainer.leave_one_out_error
    monkeypatch.setattr(
        ridge_trainer, "leave_one_out_error", lambda gram, *rest: seen.append(len(gram)) or error(gram, *rest)
    )
    tiled = learned(X, y)
    assert seen[0] < 161
    assert seen[-1] == 161
    assert len(tiled.learning_curve_) == seen.count(161)
    smallest = [min(point.objective for point in network.learning_curve_) for network in (whole, tiled)]
    assert smallest[1] == pytest.approx(smallest[0], rel=0.05)


def test_a_descent_ends_when_several_steps_lowered_the_error_by_little_and_not_after_the_first(rng):
    views = random_views(rng, 40)
    kernel = random_kernel(rng, views, (3,), ["tanh", "exp"])
    elementary = ElementaryValues(kernel, kernel.views(views), None, BUDGET)
    targets = torch.from_numpy(rng.normal(size=(40, 2)))

    def descended(least):
        with ProgressBar("learning", 80) as progress:
            curve = ridge_trainer.descend(kernel.layers, elementary, targets, 0.1, 80, progress, least=least).curve
        return [point.objective for point in curve]

    far, near = descended(ridge_trainer.CONVERGED), descended(1.0)
    assert ridge_trainer.SEVERAL < len(near) < len(far)
    assert near == far[: len(near)]
    assert min(near) < near[0]


@pytest.mark.parametrize(
    ("parameters", "budget", "n"), [({"learning": LeaveOneOut(max_samples=17)}, None, 17), ({}, 40 * 30**2, 30)]
)
def test_no_more_samples_are_learned_from_than_asked_or_than_memory_holds(rng, monkeypatch, parameters, budget, n):
    X, y = problem(rng)
    y[:3] = 2  # a rare class is among them
    seen = []
    error = ridge_trainer.leave_one_out_error

    def watch(gram, targets, ridge):
        seen.append((len(gram), (targets > 0).sum(0).min().item()))
        return error(gram, targets, ridge)

    monkeypatch.setattr(ridge_trainer, "leave_one_out_error", watch)
    with gl.config_context(memory_budget=budget), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        learned(X, y, **parameters)
    words = f"learning the kernel takes {n} samples instead of {len(y)}: the memory budget"
    assert [str(warning.message).startswith(words) for warning in told] == ([] if budget is None else [True])
    assert {size for size, _ in seen} == {n}
    assert min(positives for _, positives in seen) >= 1


HOSTILE = {
    "constant view": lambda X, y: (X | {"constant": np.full((len(y), 3), 0.1)}, y),
    "nothing but a constant view": lambda X, y: ({"constant": np.full((len(y), 3), 0.1)}, y),
    "zeros": lambda X, y: (X | {"zeros": np.zeros((len(y), 3))}, y),
    "nothing but zeros": lambda X, y: ({"zeros": np.zeros((len(y), 3))}, y),
    "duplicates": lambda X, y: ({k: np.repeat(v[:15], 4, axis=0) for k, v in X.items()}, np.repeat(y[:15], 4)),
    "duplicates of other classes": lambda X, y: ({k: np.repeat(v[:15], 4, axis=0) for k, v in X.items()}, y),
    "one sample of a class": lambda X, y: (X, np.where(np.arange(len(y)) == 5, 2, y)),
    "a label with one positive": lambda X, y: (X, np.stack([y, np.arange(len(y)) == 3], axis=1).astype(int)),
    "a label that nobody has": lambda X, y: (X, np.stack([y, 0 * y], axis=1)),
    "labels that all have": lambda X, y: (X, np.ones((len(y), 2), dtype=int)),
    "more labels than samples": lambda X, y: (X, (np.random.default_rng(0).random((len(y), 90)) < 0.3).astype(int)),
    "two samples": lambda X, y: ({k: v[:2] for k, v in X.items()}, np.array([0, 1])),
    "float32": lambda X, y: ({k: v.astype(np.float32) for k, v in X.items()}, y),
    "sparse": lambda X, y: ({k: sparse.csr_matrix(np.maximum(v, 0)) for k, v in X.items()}, y),
    "huge": lambda X, y: ({k: 1e15 * v for k, v in X.items()}, y),
    "an outlier": lambda X, y: ({k: np.where(np.arange(len(v))[:, None] == 0, 1e8, v) for k, v in X.items()}, y),
}


@pytest.mark.parametrize("hidden", [(), (3,), "auto"], ids=["one layer", "deep", "auto"])
@pytest.mark.parametrize("data", HOSTILE)
def test_learning_never_fails(rng, data, hidden):
    X, y = HOSTILE[data](*problem(rng, 60))
    network = learned(X, y, hidden=hidden, learning=LeaveOneOut(max_evaluations=8))
    assert np.isfinite([point.objective for point in network.learning_curve_]).all()
    assert all(bool((layer.weights > 0).all()) for layer in network.kernel_.layers)
    gram = network.kernel_(X)
    assert np.isfinite(gram).all()


def test_labels_that_are_all_alike_are_refused_as_elsewhere(rng):
    X, y = problem(rng, 20)
    for learning in ("leave-one-out", "supervised"):
        with pytest.raises(ValueError, match="class"):
            learned(X, 0 * y, learning=learning)


def test_rows_without_a_label_are_not_learned_from(rng):
    X, y = problem(rng)
    mask = np.arange(60) < 40
    wrong = np.where(mask, y, 1 - y)
    grams = [
        gl.DeepKernelNetwork(hidden=(), random_state=0).fit(X, labels, labelled=mask).kernel_(X)
        for labels in (y, wrong)
    ]
    np.testing.assert_array_equal(*grams)
    assert not np.array_equal(grams[0], learned(X, wrong).kernel_(X))


def test_minus_one_is_a_class_like_others_as_in_supervised_learning(rng):
    X, y = problem(rng)
    np.testing.assert_array_equal(learned(X, 2 * y - 1).kernel_(X), learned(X, y).kernel_(X))


def test_an_interruption_leaves_the_estimator_as_it_was(rng, monkeypatch):
    X, y = problem(rng)
    network = learned(X, y)
    before = network.kernel_

    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(ridge_trainer, "leave_one_out_error", interrupt)
    with pytest.raises(KeyboardInterrupt):
        network.fit(X, 1 - y)
    assert network.kernel_ is before


def test_started_layers_give_every_kernel_the_same_share_of_the_spread(rng):
    views = random_views(rng, 30)
    kernel = random_kernel(rng, views, (), ["exp"])
    elementary = ElementaryValues(kernel, kernel.views(views), None, BUDGET)
    spreads = ridge_trainer.kernel_spreads(elementary)
    (layer,) = ridge_trainer.started(kernel.layers, elementary)
    shares = layer.weights[0] * spreads
    torch.testing.assert_close(shares, torch.full_like(shares, ridge_trainer.FIRST_SPREAD / len(shares)))
    gram = kernel.elementary(kernel.views(views), kernel.views(views), torch.float64, torch.device("cpu"))
    expected = [g.diagonal().mean().item() - g.mean().item() for g in gram]
    np.testing.assert_allclose(spreads, expected, rtol=1e-4)
    quiet = Layer(layer.weights * torch.tensor([1.0, *[1e-5] * (len(shares) - 1)]), layer.activation)
    kept, busy = without_idle_parts([quiet], elementary)
    assert busy.tolist() == [0]
    torch.testing.assert_close(kept[0].weights, quiet.weights[:, :1])


def test_settings():
    assert make_learning("leave-one-out") == LeaveOneOut()
    for parameters in ({"max_evaluations": 0}, {"max_samples": 1}):
        with pytest.raises(ValueError, match=f"'{next(iter(parameters))}' parameter of LeaveOneOut"):
            LeaveOneOut(**parameters)
