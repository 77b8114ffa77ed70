"""Proposition 2, and what follows from it: the layered map equals the collapsed one."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gramless.maps import collapse, layered_map
from tests.networks import random_kernel, random_views, seeds

KEEPING = st.sampled_from(["sinh", "exp", "identity", (0.1, 0.5, 0.3)])
N_LANDMARKS, N_OTHERS = 14, 9


def layered(kernel, landmarks):
    return layered_map(kernel, landmarks, landmarks, generator=torch.Generator())


def networks(seed, hidden, activations, dtype=np.float64, gain=0.7):
    rng = np.random.default_rng(seed)
    views = random_views(rng, N_LANDMARKS + N_OTHERS, dtype=dtype)
    kernel = random_kernel(rng, views, hidden, activations, gain=gain)
    views = kernel.views(views)
    return kernel, views[:N_LANDMARKS], views[N_LANDMARKS:]


@pytest.mark.parametrize("hidden", [(), (5,), (5, 4)], ids=["2 layers", "3 layers", "4 layers"])
@given(seed=seeds, activation=KEEPING, output=KEEPING)
def test_exact_on_the_landmarks(hidden, seed, activation, output):
    kernel, landmarks, _ = networks(seed, hidden, [activation] * len(hidden) + [output])
    K = kernel(landmarks)
    for deep_map in (layered(kernel, landmarks), collapse(kernel, landmarks, None, torch.float64)):
        phi = deep_map.transform(landmarks).numpy()
        assert np.linalg.norm(phi @ phi.T - K, 2) <= 1e-8 * np.linalg.norm(K, 2)


@pytest.mark.parametrize("hidden", [(), (5,), (5, 4)], ids=["2 layers", "3 layers", "4 layers"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-8), (np.float32, 1e-4)], ids=["float64", "float32"])
@given(seed=seeds, activation=KEEPING, output=KEEPING)
def test_collapsed_equals_layered_away_from_the_landmarks(hidden, dtype, tolerance, seed, activation, output):
    kernel, landmarks, others = networks(seed, hidden, [activation] * len(hidden) + [output], dtype)
    kind = landmarks.dtype
    unfolded, collapsed = layered(kernel, landmarks), collapse(kernel, landmarks, None, kind)
    scale = np.abs(kernel(landmarks)).max()
    phi, psi = unfolded.transform(others).numpy(), collapsed.transform(others).numpy()
    assert phi.dtype == psi.dtype == dtype
    np.testing.assert_allclose(unfolded.responses(others), collapsed.responses(others), atol=tolerance * scale)
    np.testing.assert_allclose(phi @ phi.T, psi @ psi.T, atol=tolerance * scale)


def negative_shares(kernel, landmarks):
    """Of the spectrum of every first hidden unit's Gram matrix, the share that is negative."""
    first = kernel.layers[0]
    elementary = kernel.elementary(landmarks, landmarks, torch.float64, torch.device("cpu"))
    units = first.activation(torch.tensordot(first.weights, elementary, dims=1))
    spectra = [np.linalg.eigvalsh(gram.numpy()) for gram in units]
    return [-spectrum[spectrum < 0].sum() / np.abs(spectrum).sum() for spectrum in spectra]


@pytest.mark.filterwarnings("ignore::gramless.ClippedSpectrumWarning")
@given(seed=seeds)
def test_with_tanh_the_difference_is_within_what_was_clipped(seed):
    """A clipped unit p answers kappa_p(x_i, S) less its negative part, whose norm is that of the clipped eigenvalues.

    So the responses of the output, exp of a weighted sum, differ by at most exp's largest slope times the weighted
    sum of the units' clipped norms; and no unit that was not clipped contributes.
    """
    kernel, landmarks, _ = networks(seed, (6,), ["tanh", "exp"], gain=3.0)
    unfolded, collapsed = layered(kernel, landmarks), collapse(kernel, landmarks, None, torch.float64)
    difference = (unfolded.responses(landmarks) - collapsed.responses(landmarks)).abs().max().item()
    output_weights = kernel.layers[1].weights[0]
    explained = (output_weights * torch.tensor(unfolded.clipped_norm[0])).sum().item()
    slope = max(unfolded.responses(landmarks).max().item(), collapsed.responses(landmarks).max().item())
    assert difference <= slope * explained + 1e-9 * slope
    masses = np.array(unfolded.clipped_mass[0])
    np.testing.assert_allclose(masses, negative_shares(kernel, landmarks), atol=1e-9)
    assert masses.shape == (6,)
    assert ((masses > 0) == (np.array(unfolded.clipped_norm[0]) > 0)).all()


def test_tanh_really_clips_here():
    """The bound above would be empty if nothing were ever clipped."""
    kernel, landmarks, _ = networks(3, (6,), ["tanh", "exp"], gain=3.0)
    assert max(negative_shares(kernel, landmarks)) > 1e-4


def test_duplicate_landmarks_make_a_singular_gram_matrix_and_the_map_stays_exact():
    kernel, landmarks, others = networks(1, (5,), ["sinh", "exp"])
    twice = landmarks[np.r_[0:N_LANDMARKS, 0:N_LANDMARKS]]
    for deep_map in (layered(kernel, twice), collapse(kernel, twice, None, torch.float64)):
        phi, K = deep_map.transform(twice).numpy(), kernel(twice)
        assert np.linalg.norm(phi @ phi.T - K, 2) <= 1e-8 * np.linalg.norm(K, 2)
        assert deep_map.n_components <= N_LANDMARKS
        once = collapse(kernel, landmarks, None, torch.float64).transform(others).numpy()
        again = deep_map.transform(others).numpy()
        np.testing.assert_allclose(again @ again.T, once @ once.T, atol=1e-8 * np.abs(K).max())
