"""Features that say nothing: every estimator answers with numbers, and learns from what else there is."""

import numpy as np
import pytest
import torch

import gramless as gl
from gramless.kernels import NAMED, make_kernel
from gramless.learning import SemiSupervised, Supervised, spread
from tests.networks import unfolded

pytestmark = pytest.mark.filterwarnings("ignore::gramless.ClippedSpectrumWarning")

N = 60
Y = np.arange(N) % 2
GOOD = np.random.default_rng(0).random((N, 3)) + 2 * np.eye(3)[Y]
VIEWS = {
    "all constant": {"a": np.ones((N, 3)), "b": np.full((N, 2), 7.0)},
    "all zero": {"a": np.zeros((N, 3)), "b": np.zeros((N, 2))},
    "one sample many times": {"a": np.tile(GOOD[:1], (N, 1)), "b": np.tile(GOOD[1:2], (N, 1))},
    "a constant view": {"a": np.ones((N, 3)), "b": GOOD},
    "a view of zeros": {"a": np.zeros((N, 3)), "b": GOOD},
}
LEARNING = {"initial": None, "supervised": Supervised(n_steps=3), "semi-supervised": SemiSupervised(n_steps=3)}


def classifier(kind, kernel, learning, **options):
    network = gl.DeepKernelNetwork((kernel,), hidden_under(kernel), learning=learning)
    if kind is gl.DeepMapClassifier:
        options["n_landmarks"] = 10
    return kind(network, random_state=0, **options)


def hidden_under(kernel):
    return () if make_kernel(kernel, normalize=True).conditional else (3,)  # which tanh makes no kernel of


@pytest.mark.parametrize("learning", LEARNING)
@pytest.mark.parametrize("views", VIEWS)
@pytest.mark.parametrize("kernel", NAMED)
@pytest.mark.parametrize("kind", [gl.DeepKernelClassifier, gl.DeepMapClassifier])
def test_scores_are_numbers_and_good_views_still_count(kind, kernel, views, learning):
    X = VIEWS[views]
    model = classifier(kind, kernel, learning=LEARNING[learning]).fit(X, Y)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.score(X, Y) > (0.95 if "view" in views else 0.49)


@pytest.mark.parametrize("views", VIEWS)
@pytest.mark.parametrize("kernel", NAMED)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernels_and_maps_are_numbers(kernel, views, dtype):
    X = {name: view.astype(dtype) for name, view in VIEWS[views].items()}
    hidden = hidden_under(kernel)
    network = gl.DeepKernelNetwork((kernel,), hidden, learning=Supervised(n_steps=2), random_state=0).fit(X, Y)
    assert np.isfinite(network.kernel_(X)).all()
    mapped = gl.DeepMapNetwork(network.kernel_, 10, random_state=0).fit(X)
    found = [mapped.transform(X)]
    if hidden:
        found.append(unfolded(mapped, X).transform(network.kernel_.views(X)).numpy())
    for phi in found:
        assert np.isfinite(phi).all()
        values = network.kernel_(X)
        if "view" not in views:  # one landmark says it all
            # arccos turns the rounding of a cosine near 1 into its root, 5e-4 in float32, and the output's gain is 6
            np.testing.assert_allclose(phi @ phi.T, values, rtol=3e-3, atol=1e-6)


@pytest.mark.parametrize("landmarks", ["uniform", "kmeans", "rpcholesky", "leverage"])
def test_a_kernel_that_is_zero_everywhere(landmarks):
    X = VIEWS["all zero"]
    network = gl.DeepKernelNetwork(("linear",), (), output_activation="identity")
    model = gl.DeepMapClassifier(network, 10, landmarks=landmarks, random_state=0).fit(X, Y)
    assert np.isfinite(model.decision_function(X)).all()


def test_a_kernel_has_a_scale_only_beyond_its_rounding():
    rng = np.random.default_rng(1)
    rough = torch.full((50, 50), 3.0) * (1 + 1e-7 * torch.from_numpy(rng.normal(size=(50, 50)).astype(np.float32)))
    assert spread(rough).item() == 1.0
    assert spread(torch.zeros(4, 4)).item() == 1.0
    assert spread(torch.eye(4)).item() == 0.75
    assert spread(1e-9 * torch.eye(4)).item() == pytest.approx(0.75e-9)
