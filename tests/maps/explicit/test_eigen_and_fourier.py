"""Maps that are close to the kernel: exactly so on landmarks, or in the mean over random frequencies."""

from dataclasses import replace
from math import log, sqrt

import numpy as np
import pytest
import torch
from hypothesis import example, given

from gramless.errors import ClippedSpectrumWarning
from gramless.kernels import Precomputed
from gramless.maps.explicit import Eigen, Fourier
from tests.contracts.samples import generator, sample_sets
from tests.maps.explicit.cases import EIGEN, FOURIER
from tests.oracles import kernels as oracle


@pytest.mark.parametrize("case", EIGEN, ids=str)
@given(sets=sample_sets(2))
@example(sets=(np.array([[5.0, 5.0], [0.001, 0.0]]), np.array([[1.0, 0.0]])))  # poly2: one landmark is lost in rounding
def test_eigen_is_the_kernel_between_landmarks_and_between_a_landmark_and_any_sample(case, sets):
    """Proposition 2 with l = 1, whatever coincides.

    Directions whose eigenvalue is below N eps lambda_max are dropped, and a sample x has at most sqrt(k(x, x)
    lambda) to say along one of eigenvalue lambda; decomposing the matrix is backward stable to a few times as much.
    """
    landmarks, x = map(case.admit, sets)
    explicit = case.fit(landmarks)
    dropped = len(landmarks) * np.finfo(np.float64).eps * np.trace(case.kernel_values(landmarks, landmarks))
    for samples in (landmarks, x):
        error = np.abs(
            (explicit.transform(samples) @ explicit.transform(landmarks).T).numpy()
            - case.kernel_values(samples, landmarks)
        )
        own = oracle.diagonal(case.formula, samples.numpy())
        assert (error <= 4 * np.sqrt(own * dropped)[:, None] + 4 * dropped).all()


@pytest.mark.parametrize("case", EIGEN, ids=str)
def test_eigen_is_exact_to_rounding_where_the_gram_matrix_is_well_conditioned(case, rng):
    landmarks, x = case.admit(rng.normal(size=(5, 6))), case.admit(rng.normal(size=(9, 6)))
    explicit = case.fit(landmarks)
    assert explicit.n_columns == 5
    case.check_equals_kernel(explicit, landmarks, landmarks, 1e-12)
    case.check_equals_kernel(explicit, x, landmarks, 1e-11)


def test_eigen_says_so_when_the_kernel_is_not_psd():
    numbers = torch.arange(2.0).reshape(-1, 1)
    with pytest.warns(ClippedSpectrumWarning, match="precomputed"):
        Eigen().fit(Precomputed([[1.0, 2.0], [2.0, 1.0]]), numbers, generator())


@pytest.mark.parametrize("case", FOURIER, ids=str)
def test_fourier_is_within_hoeffdings_bound(case, rng):
    """A mean of D terms in [-1, 1]: off by more than t for any of 20 x 20 pairs with a chance of at most 1e-6."""
    n_frequencies, n_pairs = 20_000, 400
    x = torch.from_numpy(rng.normal(size=(20, 4)))
    explicit = replace(case, recipe=Fourier(n_frequencies)).fit(x)
    error = (explicit.transform(x) @ explicit.transform(x).T).numpy() - case.kernel_values(x, x)
    assert np.abs(error).max() <= sqrt(2 * log(2 * n_pairs / 1e-6) / n_frequencies)


@pytest.mark.parametrize("case", FOURIER, ids=str)
@given(sets=sample_sets(2))
def test_fourier_has_a_unit_diagonal(case, sets):
    landmarks, x = map(case.admit, sets)
    np.testing.assert_allclose(case.fit(landmarks).transform(x).square().sum(1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("case", FOURIER, ids=str)
def test_fourier_frequencies_come_from_the_generator(case, rng):
    x = case.admit(rng.normal(size=(4, 3)))
    assert case.fit(x).n_columns == 2 * case.recipe.n_frequencies
    assert not torch.equal(case.fit(x, seed=0).transform(x), case.fit(x, seed=1).transform(x))
