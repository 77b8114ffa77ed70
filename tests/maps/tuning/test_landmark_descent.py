"""Moving landmarks without labels: what only this way of tuning does (the rest is in the contract)."""

import warnings

import numpy as np
import pytest
import torch

import gramless as gl
from gramless.kernels import Gaussian, Intersection, Linear
from gramless.maps.tuning import landmark_descent
from tests.contracts.samples import generator
from tests.maps.tuning.kernels import compiled, error, heavy_tail, moved, one_unit, three_layers


def cloud(n=200, seed=0):
    """A cloud, and landmarks that lie close together in its middle: better places are easily found."""
    points = np.random.default_rng(seed).normal(size=(n, 2))
    points[:20] *= 0.3
    views = gl.Views(points.astype(np.float32))
    return one_unit([Gaussian(scale=1.0)], [1.0], (0.2, 1.0), views), views


def test_lowers_the_error_of_samples_it_has_not_seen():
    kernel, views = heavy_tail(n=260)
    plain = compiled(kernel, views, 20)
    result = moved(plain, views[:180], generator(), n_steps=60)
    deflated = result.curve[1][1]  # before a step is made
    assert result.error_after < 0.7 * deflated < 0.7 * result.error_before
    assert error(result.map, views[180:]) < 0.7 * error(plain, views[180:])


def test_a_nearly_flat_kernel_gains_as_well():
    """Landmarks of such a kernel part, and a fixed share of the smallest eigenvalue grows to too much of it."""
    views = gl.Views(np.random.default_rng(0).random((400, 30)))
    kernel = one_unit([Intersection(), Linear()], [0.02, 0.01], "exp", views)
    result = moved(compiled(kernel, views, 40), views[:300], generator(), n_steps=100)
    deflated = result.curve[1][1]
    assert result.error_after < 0.8 * deflated


def test_the_same_seed_gives_the_same_bits():
    kernel, views = three_layers(n=60)
    plain = compiled(kernel, views, 8)
    first, second = (moved(plain, views, generator(5), n_steps=8) for _ in range(2))
    assert first.curve == second.curve
    for name in views.names:
        np.testing.assert_array_equal(first.map.landmarks[name], second.map.landmarks[name])
    assert torch.equal(first.map.projection.matrix, second.map.projection.matrix)


@pytest.mark.parametrize("n_steps", [0, 1, 7, 50, 53])
def test_the_last_step_is_judged_too(n_steps):
    kernel, views = heavy_tail(n=40)
    curve = moved(compiled(kernel, views, 6), views, generator(), n_steps=n_steps).curve
    assert curve[-1][0] == n_steps


class Interrupted:
    """A kernel's values that Ctrl-C stops after so many calls."""

    def __init__(self, compute, n_calls):
        self.compute, self.left = compute, n_calls

    def __call__(self, *args, **kwargs):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return self.compute(*args, **kwargs)


def test_ctrl_c_keeps_the_best_so_far(monkeypatch):
    kernel, views = cloud()
    plain = compiled(kernel, views, 6)
    monkeypatch.setattr(landmark_descent, "CHECK_EVERY", 5)
    whole = moved(plain, views, generator(), n_steps=20)
    monkeypatch.setattr(landmark_descent, "error_gradient", Interrupted(landmark_descent.error_gradient, 12))
    stopped = moved(plain, views, generator(), n_steps=20)
    assert stopped.curve == whole.curve[: len(stopped.curve)]
    assert stopped.curve[-1][0] == 10
    assert stopped.error_after == pytest.approx(min(e for _, e in stopped.curve), rel=1e-3)
    assert stopped.error_after < stopped.error_before


def test_ctrl_c_before_anything_was_found_stops(monkeypatch):
    kernel, views = cloud()
    monkeypatch.setattr(landmark_descent, "error_gradient", Interrupted(landmark_descent.error_gradient, 0))
    monkeypatch.setattr(landmark_descent.BestSoFar, "offer", lambda *_: False)
    with pytest.raises(KeyboardInterrupt):
        moved(compiled(kernel, views, 6), views, generator(), n_steps=20)


def test_where_nothing_better_is_found_the_map_is_the_very_one(monkeypatch):
    kernel, views = cloud()
    plain = compiled(kernel, views, 6)
    monkeypatch.setattr(landmark_descent, "STEP_SIZE", 1e6)
    monkeypatch.setattr(landmark_descent.BestSoFar, "offer", lambda *_: False)
    result = moved(plain, views, generator(), n_steps=3)
    assert result.map is plain
    assert result.error_after == result.error_before


@pytest.mark.parametrize("budget", ["120 KB", "1 GB"])
def test_a_budget_cuts_batches_and_judges(budget, monkeypatch):
    kernel, views = cloud(n=700)
    sizes = []
    slopes = landmark_descent.error_gradient
    monkeypatch.setattr(landmark_descent, "error_gradient", lambda phi, k: sizes.append(len(phi)) or slopes(phi, k))
    with gl.config_context(memory_budget=budget), warnings.catch_warnings(record=True) as told:
        moved(compiled(kernel, views, 6), views, generator(), n_steps=2)
    assert ["moving landmarks takes 30 samples instead of 256" in str(each.message) for each in told] == (
        [] if budget == "1 GB" else [True]
    )
    assert set(sizes) == ({256} if budget == "1 GB" else {30})


def test_a_constant_kernel_has_nothing_to_move():
    views = gl.Views(np.random.default_rng(0).random((30, 2)))
    plain = compiled(one_unit([Gaussian(scale=1.0)], [1.0], (0.7,), views), views, 5)
    result = moved(plain, views, generator(), n_steps=3)
    np.testing.assert_allclose(result.map.transform(views).square().sum(1), 0.7, rtol=1e-5)


def test_constant_views_stay_and_nothing_is_nan(rng):
    views = gl.Views({"c": np.full((40, 3), 2.0), "z": np.zeros((40, 2)), "v": rng.random((40, 3))})
    kernel = (
        gl.DeepKernelNetwork(
            ("linear", "gaussian", "arccos1"), (), learning=None, output_activation="exp", random_state=0
        )
        .fit(views)
        .kernel_
    )
    result = moved(compiled(kernel, views, 8), views, generator(), n_steps=10)
    assert result.error_after <= result.error_before
    assert result.map.transform(views).isfinite().all()
    assert all(np.isfinite(result.map.landmarks[name]).all() for name in views.names)
