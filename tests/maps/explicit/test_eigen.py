"""Maps by eigendecomposition are the kernel itself on landmarks."""

import numpy as np
import pytest
import torch
from hypothesis import example, given

from gramless.errors import ClippedSpectrumWarning
from gramless.kernels import Precomputed
from gramless.maps.explicit import Eigen
from tests.contracts.samples import sample_sets
from tests.maps.explicit.cases import EIGEN
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
        Eigen().fit(Precomputed([[1.0, 2.0], [2.0, 1.0]]), numbers)
