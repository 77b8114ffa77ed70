"""Kernels that come as a function or as a matrix: what is refused, and what is looked up."""

import numpy as np
import pytest
import torch

from gramless.errors import DataError
from gramless.kernels import Custom, Precomputed

GRAM = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.25], [0.0, 0.25, 3.0]])


def numbers(*values, dtype=torch.float64):
    return torch.tensor(values, dtype=dtype).reshape(-1, 1)


def test_a_function_of_the_wrong_shape_is_refused_by_name():
    def forgetful(X, Z):
        return X @ X.T

    with pytest.raises(DataError, match=r"forgetful returned float32 of shape \(3, 3\).*\(3, 2\)"):
        Custom(forgetful).pairwise(torch.ones(3, 4), torch.ones(2, 4))


def test_a_function_sees_arrays_of_the_type_that_came_and_may_return_lists():
    seen = []

    def product(X, Z):
        seen.append((type(X), X.dtype))
        return (X @ Z.T).tolist()

    values = Custom(product).pairwise(torch.ones(3, 4), torch.ones(2, 4))
    assert seen == [(np.ndarray, np.dtype(np.float32))]
    assert (values.shape, values.dtype) == ((3, 2), torch.float32)


def test_the_diagonal_of_a_function_never_needs_the_whole_matrix():
    sizes = []

    def product(X, Z):
        sizes.append(len(X) * len(Z))
        return X @ Z.T

    samples = torch.arange(150.0).reshape(-1, 1)
    torch.testing.assert_close(Custom(product).diagonal(samples), samples[:, 0] ** 2)
    assert max(sizes) <= 64 * 64


def test_rows_are_looked_up_by_number_in_any_order():
    values = Precomputed(GRAM).pairwise(numbers(2, 0, 2), numbers(1, 1, 0, 2))
    np.testing.assert_array_equal(values, GRAM[[2, 0, 2]][:, [1, 1, 0, 2]])
    np.testing.assert_array_equal(Precomputed(GRAM).diagonal(numbers(2, 1)), [3.0, 1.0])


@pytest.mark.parametrize("made", [np.array, torch.tensor], ids=["array", "tensor"])
def test_a_precomputed_kernel_does_not_change_with_the_matrix_that_it_was_made_of(made):
    gram = made(GRAM)
    kernel = Precomputed(gram)
    gram[0, 0] = 100.0
    assert kernel.diagonal(numbers(0)).item() == 2.0


@pytest.mark.parametrize("own", [0.0, -1.0])
def test_a_sample_without_content_is_like_nothing_when_normalised_whatever_the_matrix_says(own):
    """Possible only where the matrix is not p.s.d., and a division by 0 or the root of a negative number otherwise."""
    kernel = Precomputed([[own, 0.5], [0.5, 4.0]], normalize=True)
    np.testing.assert_array_equal(kernel.pairwise(numbers(0, 1), numbers(0, 1)), [[0.0, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(kernel.diagonal(numbers(0, 1)), [0.0, 1.0])


def test_small_asymmetry_is_rounding():
    gram = GRAM.copy()
    gram[0, 1] += 1e-8
    assert Precomputed(gram).pairwise(numbers(0), numbers(1)).item() == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("gram", "message"),
    [
        pytest.param(GRAM[:2], r"square.*\(2, 3\)", id="not-square"),
        pytest.param(np.ones(3), r"square.*\(3,\)", id="not-a-matrix"),
        pytest.param(np.where(GRAM == 3, np.nan, GRAM), "NaN", id="nan"),
        pytest.param(np.where(GRAM == 3, np.inf, GRAM), "infinity", id="infinity"),
        pytest.param(np.triu(GRAM), "not symmetric", id="asymmetric"),
        *((nothing, "precomputed") for nothing in (None, "x", np.zeros((0, 0)), torch.eye(2).to_sparse(), object())),
    ],
)
def test_a_matrix_that_is_no_kernel_is_refused(gram, message):
    with pytest.raises(DataError, match=message):
        Precomputed(gram)


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        pytest.param(numbers(0, 3), r"0 \.\.\. 2 .* got 0 \.\.\. 3", id="too-large"),
        pytest.param(numbers(-1, 1), r"got -1 \.\.\. 1", id="negative"),
        pytest.param(numbers(0.5, 1), r"whole", id="not-whole"),
        pytest.param(torch.zeros(2, 3), "one column, not 3", id="features"),
    ],
)
def test_anything_but_sample_numbers_is_refused(samples, message):
    for function in (Precomputed(GRAM).diagonal, lambda x: Precomputed(GRAM).pairwise(x, numbers(0))):
        with pytest.raises(DataError, match=message):
            function(samples)
