"""From a Gram matrix to a projection, with an account of what was lost."""

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gramless.errors import ClippedSpectrumWarning, DataError
from gramless.maps.spectrum import project, warn_if_clipped
from tests.contracts.samples import seeds
from tests.oracles import maps as oracle

F64 = torch.float64
SPECTRUM = st.integers(-50, 50).filter(bool).map(lambda i: i / 10)


def with_spectrum(eigenvalues, seed=0):
    """A symmetric matrix with these eigenvalues."""
    n = len(eigenvalues)
    basis, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))
    gram = basis @ np.diag(eigenvalues) @ basis.T
    return (gram + gram.T) / 2


def mapped(gram, projection):
    phi = gram @ projection.matrix.numpy()
    return phi @ phi.T


@given(
    eigenvalues=st.lists(SPECTRUM, min_size=1, max_size=8, unique=True),
    seed=seeds,
    n_components=st.none() | st.integers(1, 9),
)
def test_the_map_is_the_psd_part_of_the_matrix_and_the_rest_is_accounted_for(eigenvalues, seed, n_components):
    gram = with_spectrum(eigenvalues, seed)
    projection = project(torch.from_numpy(gram), n_components, F64)
    positive = sorted((v for v in eigenvalues if v > 0), reverse=True)
    negative = [-v for v in eigenvalues if v < 0]
    np.testing.assert_allclose(mapped(gram, projection), oracle.psd_part(gram, n_components), rtol=0, atol=1e-9)
    np.testing.assert_allclose(projection.eigenvalues, positive[:n_components] or [0.0], rtol=1e-9)
    assert projection.matrix.shape == (len(eigenvalues), len(projection.eigenvalues))
    assert projection.n_truncated == max(len(positive) - len(projection.eigenvalues), 0)
    assert projection.n_clipped == len(negative)
    assert projection.clipped_mass == pytest.approx(sum(negative) / sum(map(abs, eigenvalues)), rel=1e-9)
    assert projection.clipped_norm == pytest.approx(max(negative, default=0.0), rel=1e-9)


def test_columns_are_eigenvectors_over_roots_of_eigenvalues():
    gram = with_spectrum([4.0, 2.0, 1.0, 0.5])
    values, vectors = np.linalg.eigh(gram)
    projection = project(torch.from_numpy(gram), None, F64)
    expected = (vectors / np.sqrt(values))[:, ::-1]
    signs = np.sign((projection.matrix.numpy() * expected).sum(0))  # an eigenvector has no sign of its own
    np.testing.assert_allclose(projection.matrix.numpy() * signs, expected, rtol=0, atol=1e-12)


def test_the_landmarks_own_map_is_the_projected_gram_matrix():
    gram = with_spectrum([4.0, 2.0, 1.0, -0.5])
    projection = project(torch.from_numpy(gram), None, F64)
    np.testing.assert_allclose(projection.landmark_map, gram @ projection.matrix.numpy(), rtol=0, atol=1e-12)


def test_duplicate_samples_make_a_singular_matrix_and_lose_nothing(rng):
    factors = np.repeat(rng.normal(size=(4, 6)), 3, axis=0)
    gram = factors @ factors.T
    projection = project(torch.from_numpy(gram), None, F64)
    assert projection.matrix.shape == (12, 4)
    assert (projection.n_clipped, projection.clipped_mass, projection.n_truncated) == (0, 0.0, 0)
    np.testing.assert_allclose(mapped(gram, projection), gram, rtol=0, atol=1e-12 * gram.max())


def test_eigenvalues_within_rounding_of_zero_are_neither_kept_nor_clipped():
    gram = torch.from_numpy(with_spectrum([1.0, 0.5, 1e-17, -1e-17]))
    projection = project(gram, None, F64)
    assert (len(projection.eigenvalues), projection.n_clipped, projection.clipped_norm) == (2, 0, 0.0)


def test_rounding_is_that_of_the_type_in_which_the_map_is_evaluated():
    gram = torch.from_numpy(with_spectrum([1.0, 0.5, 1e-9, -1e-9]))
    assert [len(project(gram, None, dtype).eigenvalues) for dtype in (torch.float32, F64)] == [2, 3]
    assert [project(gram, None, dtype).n_clipped for dtype in (torch.float32, F64)] == [0, 1]


def test_a_zero_matrix_gives_one_column_of_zeros():
    projection = project(torch.zeros(3, 3), None, F64)
    assert projection.matrix.shape == (3, 1)
    assert not projection.matrix.any()
    assert projection.eigenvalues.tolist() == [0.0]
    assert (projection.clipped_mass, projection.clipped_norm, projection.n_clipped) == (0.0, 0.0, 0)


def test_float32_matrices_are_decomposed_in_float64_and_left_alone():
    gram = torch.from_numpy(with_spectrum([2.0, 1.0, 0.5])).float()
    kept = gram.clone()
    projection = project(gram, None, torch.float32)
    assert (projection.matrix.dtype, projection.eigenvalues.dtype) == (F64, F64)
    np.testing.assert_allclose(projection.eigenvalues, np.linalg.eigvalsh(gram.double().numpy())[::-1], rtol=1e-6)
    assert torch.equal(gram, kept)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_matrix_that_overflowed_is_refused(bad):
    with pytest.raises(DataError, match="overflow"):
        project(torch.tensor([[1.0, bad], [bad, 1.0]]), None, F64)


def test_a_visible_negative_part_is_warned_about_by_name():
    projection = project(torch.from_numpy(with_spectrum([1.0, 0.4, -0.1])), None, F64)
    with pytest.warns(ClippedSpectrumWarning, match=r"6\.7% of the spectrum of this unit .*1 eigenvalues"):
        warn_if_clipped(projection, "this unit")


@pytest.mark.parametrize("smallest", [1e-4, -1e-5], ids=["psd", "invisible"])
def test_nothing_is_said_of_a_negative_part_that_cannot_be_seen(smallest):
    projection = project(torch.from_numpy(with_spectrum([1.0, 0.5, smallest])), None, F64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_clipped(projection, "this unit")
