"""Algorithm 1: its representer form against explicit anchors."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import gramless as gl
from gramless.maps.tuning import RepresenterMap, tune_algorithm1
from gramless.maps.tuning.algorithm1 import ElementaryRows, descend_pairs, initial_network, stacked
from tests.contracts.samples import generator
from tests.maps.tuning.kernels import compiled, error, heavy_tail, three_layers
from tests.networks import random_kernel, random_views
from tests.oracles.tuning import ExplicitNetwork, explicit_maps

N_LANDMARKS, N_TUNING, N_OTHERS = 8, 12, 5
NETWORKS = {(): ["exp"], (3,): ["sinh", "exp"], (3, 2): ["sinh", "identity", "exp"]}
CPU = torch.device("cpu")


class Twins:
    """The same initial network twice: in representer form, and with explicit anchors on explicit input maps."""

    def __init__(self, hidden, seed=0):
        rng = np.random.default_rng(seed)
        views = random_views(rng, N_LANDMARKS + N_TUNING + N_OTHERS)
        self.kernel = random_kernel(rng, views, hidden, NETWORKS[hidden], gain=1.2)
        self.views = self.kernel.views(views)
        elementary = self.kernel.elementary(self.views, self.views, torch.float64, CPU)
        self.maps = [explicit_maps(gram) for gram in elementary]
        weights = [layer.weights for layer in self.kernel.layers]
        self.explicit = ExplicitNetwork(weights, NETWORKS[hidden], self.kernel.scale, self.of(slice(0, N_LANDMARKS)))
        self.landmarks, self.tuning = self.views[:N_LANDMARKS], self.views[N_LANDMARKS : N_LANDMARKS + N_TUNING]
        self.points = stacked(self.landmarks, self.tuning, torch.float64)
        deep_map = compiled(self.kernel, self.views, N_LANDMARKS)
        self.parameters, self.clipped_mass = initial_network(deep_map, len(self.points), CPU)

    def of(self, rows):
        """Explicit input maps of some samples."""
        return [phi[rows] for phi in self.maps]

    def elementary(self, samples):
        return self.kernel.elementary(samples, self.points, torch.float64, CPU)

    def representer_map(self):
        p = self.parameters
        return RepresenterMap(
            self.kernel, self.points, p.coefficients, p.projections, p.anchors, self.clipped_mass, torch.float64
        )

    def disagreement(self):
        """Largest difference between the two maps' inner products, relative to the kernel."""
        phi, psi = self.representer_map().transform(self.views), self.explicit.transform(self.maps)
        return ((phi @ phi.T - psi @ psi.T).abs().max() / self.kernel(self.views).max()).item()


@pytest.fixture(params=NETWORKS, ids=["no hidden layer", "one hidden layer", "two hidden layers"])
def twins(request):
    return Twins(request.param)


def test_starts_as_the_initial_network(twins):
    assert twins.disagreement() < 1e-10
    phi = twins.representer_map().transform(twins.landmarks)
    torch.testing.assert_close(phi @ phi.T, twins.kernel.tensor(twins.landmarks, twins.landmarks))


@pytest.mark.parametrize("seed", [0, 1])
def test_iterations_equal_those_of_explicit_anchors(twins, seed):
    rows = ElementaryRows(twins.kernel, twins.tuning, twins.points, torch.float64, CPU, room=1 << 30)
    gram = torch.from_numpy(twins.kernel(twins.views))
    before = twins.explicit.transform(twins.maps)
    for batch in torch.randint(N_TUNING, (8, 5, 2), generator=generator(seed)):
        descend_pairs(twins.kernel, twins.parameters, rows, batch, N_LANDMARKS, step=1e-3)
        left, right = N_LANDMARKS + batch.T
        twins.explicit.iterate(twins.of(left), twins.of(right), gram[left, right], step=1e-3)
    assert (twins.explicit.transform(twins.maps) - before).abs().max() > 1e-4  # it has moved
    assert twins.disagreement() < 1e-10


def test_elementary_rows_that_do_not_fit_are_computed_when_asked_for():
    kernel, views = three_layers(n=20)
    kept, fresh = (
        ElementaryRows(kernel, views[8:], views, torch.float64, CPU, room=room) for room in (1 << 20, 1 << 8)
    )
    rows = torch.tensor([3, 0, 3])
    torch.testing.assert_close(kept(rows), fresh(rows))


def test_keeps_only_the_points_that_moved_an_anchor():
    kernel, views = heavy_tail(n=100)
    settings = {"n_pairs": 10, "batch_size": 5, "step": 0.02, "max_iterations": 3}
    result = tune_algorithm1(compiled(kernel, views, 20), views, generator(), **settings)
    assert isinstance(result.map, RepresenterMap)
    assert 20 < len(result.map.points) <= 40
    assert result.map.coefficients.shape == (1, len(result.map.points), 20)


def test_the_paper_s_step_changes_next_to_nothing_and_a_larger_one_helps_unseen_samples():
    kernel, views = heavy_tail(n=260)
    plain = compiled(kernel, views, 30)
    after = {
        step: tune_algorithm1(
            plain, views[:200], generator(), n_pairs=2000, batch_size=50, step=step, max_iterations=150
        )
        for step in (1e-6, 2e-2)
    }
    assert after[1e-6].error_after == pytest.approx(after[1e-6].error_before, rel=1e-2)
    assert error(after[2e-2].map, views[200:]) < 0.85 * error(plain, views[200:])


def test_the_scale_of_the_output_kernel_changes_nothing_but_the_scale_of_the_map():
    kernel, views = heavy_tail(n=80)
    settings = {"n_pairs": 100, "batch_size": 10, "step": 0.01, "max_iterations": 25}
    results = [
        tune_algorithm1(compiled(replace(kernel, scale=scale), views, 12), views, generator(), **settings)
        for scale in (1.0, 0.05)
    ]
    assert all(isinstance(result.map, RepresenterMap) for result in results)
    np.testing.assert_allclose(*(result.curve for result in results))
    phi, scaled = (result.map.transform(views) for result in results)
    torch.testing.assert_close(0.05 * (phi @ phi.T), scaled @ scaled.T)


def test_a_step_that_is_too_large_returns_the_map_that_was_given():
    kernel, views = three_layers(n=60)
    plain = compiled(kernel, views, 12)
    result = tune_algorithm1(plain, views, generator(), step=1e6, max_iterations=30)
    assert result.map is plain
    assert result.error_after == result.error_before


@pytest.mark.filterwarnings("ignore::gramless.ClippedSpectrumWarning")
def test_tanh_networks_report_what_their_units_clip(rng):
    views = random_views(rng, 60)
    kernel = random_kernel(rng, views, (4,), ["tanh", "exp"], gain=3.0)
    views = kernel.views(views)
    result = tune_algorithm1(compiled(kernel, views, 12), views, generator(), step=1e-3, max_iterations=25)
    assert result.error_after <= result.error_before
    parameters, masses = initial_network(compiled(kernel, views, 12), 12, CPU)
    assert [len(units) for units in masses] == [4, 1]
    assert max(masses[0]) > 0
    assert parameters.anchors[0].shape[:3] == (1, 4, 12)


@pytest.mark.parametrize("bad", [{"n_pairs": 0}, {"batch_size": 0}, {"step": 0.0}])
def test_refuses_settings_that_mean_nothing(bad):
    kernel, views = heavy_tail(n=40)
    with pytest.raises(ValueError, match="must be positive"):
        tune_algorithm1(compiled(kernel, views, 10), views, generator(), **bad)


def test_points_may_lie_in_tensors():
    _, views = three_layers(n=30)
    tensors = gl.Views({name: torch.from_numpy(views[name]) for name in views.names})
    both = stacked(tensors[:10], views[10:], torch.float64)
    assert both.torch_device == CPU
    np.testing.assert_array_equal(np.asarray(both), np.asarray(views))
