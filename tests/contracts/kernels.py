"""What every elementary kernel does, whatever its formula."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given

from gramless.errors import DataError
from gramless.kernels import Domain, Kernel
from tests.contracts.samples import sample_sets
from tests.oracles import kernels as oracle


@dataclass(frozen=True)
class KernelCase:
    """A kernel with every parameter settled, and the formula that it must agree with."""

    name: str
    kernel: Kernel
    pair: oracle.Pair
    accuracy: float = 1e-10  # of float64 values, as a share of sqrt(k(x, x) k(z, z))
    n_known: int = 0  # how many samples a precomputed kernel knows

    def __str__(self):
        return f"{self.name}{'-normalised' if self.kernel.normalize else ''}"

    @property
    def formula(self):
        return oracle.normalised(self.pair) if self.kernel.normalize else self.pair

    def admit(self, samples):
        """Any samples, changed into ones on which the kernel is defined."""
        if self.kernel.domain is Domain.NONNEGATIVE:
            return np.abs(samples)
        if self.kernel.domain is Domain.SAMPLE_NUMBERS:
            return np.floor(np.abs(samples[:, :1]) * 1000) % self.n_known
        return samples

    def pairwise(self, X, Z, dtype=torch.float64):
        return self.kernel.pairwise(*(torch.from_numpy(samples).to(dtype) for samples in (X, Z)))

    def diagonal(self, X, dtype=torch.float64):
        return self.kernel.diagonal(torch.from_numpy(X).to(dtype))

    def size(self, X, Z):
        """sqrt(k(x, x) k(z, z)): what errors are compared with."""
        own_x, own_z = oracle.diagonal(self.formula, X), oracle.diagonal(self.formula, Z)
        return np.sqrt(np.outer(own_x, own_z)) + 1e-5 * max(own_x.max(), own_z.max())  # where one of them is 0

    def check_against_oracle(self, X, Z, dtype=torch.float64, accuracy=None):
        """Values between X and Z, and the diagonal of X, agree with the formula."""
        accuracy = self.accuracy if accuracy is None else accuracy
        own_x, size = oracle.diagonal(self.formula, X), self.size(X, Z)
        error = np.abs(self.pairwise(X, Z, dtype).double().numpy() - oracle.matrix(self.formula, X, Z))
        assert (error <= accuracy * size).all(), f"off by {(error / size).max():.1e} of sqrt(k(x, x) k(z, z))"
        np.testing.assert_allclose(self.diagonal(X, dtype).double().numpy(), own_x, rtol=accuracy, atol=0)


class KernelContract:
    """A subclass is parametrised with `case`."""

    @given(sets=sample_sets())
    def test_agrees_with_the_formula_pair_by_pair(self, case, sets):
        X, Z = map(case.admit, sets)
        case.check_against_oracle(X, Z)

    @given(sets=sample_sets(1))
    def test_is_symmetric_and_psd_and_its_diagonal_agrees(self, case, sets):
        X = case.admit(sets[0])
        gram = case.pairwise(X, X).numpy()
        largest = np.abs(gram).max()
        assert np.abs(gram - gram.T).max() <= case.accuracy * largest
        eigenvalues = np.linalg.eigvalsh((gram + gram.T) / 2)
        assert eigenvalues[0] >= -len(X) * case.accuracy * largest  # entries that are off by e move them by n e
        np.testing.assert_allclose(case.diagonal(X), np.diag(gram), rtol=0, atol=case.accuracy * largest)

    @pytest.mark.parametrize(("n", "m", "d"), [(7, 4, 3), (1, 5, 3), (5, 1, 3), (1, 1, 1), (6, 6, 1)])
    def test_shapes_and_dtypes_are_kept(self, case, rng, n, m, d):
        X, Z = case.admit(rng.normal(size=(n, d))), case.admit(rng.normal(size=(m, d)))
        for dtype in (torch.float32, torch.float64):
            values, own = case.pairwise(X, Z, dtype), case.diagonal(X, dtype)
            assert (values.shape, values.dtype) == ((n, m), dtype)
            assert (own.shape, own.dtype) == ((n,), dtype)

    def test_float32_is_close_to_the_formula(self, case, rng):
        X, Z = (case.admit(rng.normal(size=(n, 4)).astype(np.float32).astype(float)) for n in (9, 6))
        case.check_against_oracle(X, Z, torch.float32, max(1e-5, case.accuracy**0.5))

    def test_inputs_are_left_alone(self, case, rng):
        X, Z = case.admit(rng.normal(size=(5, 3))), case.admit(rng.normal(size=(4, 3)))
        kept = X.copy(), Z.copy()
        case.pairwise(X, Z), case.diagonal(X)
        np.testing.assert_array_equal(X, kept[0])
        np.testing.assert_array_equal(Z, kept[1])

    def test_duplicate_rows_give_duplicate_values(self, case, rng):
        X = case.admit(rng.normal(size=(4, 3)))
        twice = case.pairwise(np.vstack([X, X]), X).numpy()
        np.testing.assert_allclose(twice[:4], twice[4:], rtol=1e-12, atol=1e-12 * np.abs(twice).max())
        case.check_against_oracle(np.vstack([X, X]), X)

    def test_zero_rows_follow_the_formula(self, case, rng):
        X = case.admit(np.vstack([np.zeros((2, 3)), rng.normal(size=(3, 3))]))
        case.check_against_oracle(X, X)

    def test_constant_features_and_strided_memory(self, case, rng):
        X = case.admit(np.hstack([rng.normal(size=(6, 2)), np.full((6, 2), 3.0)]))
        case.check_against_oracle(X, X)
        strided = torch.from_numpy(np.asfortranarray(np.repeat(X, 2, axis=0)))[::2]
        error = np.abs((case.kernel.pairwise(strided, strided) - case.pairwise(X, X)).numpy())
        assert (error <= 2 * case.accuracy * case.size(X, X)).all()  # each may be off by its accuracy

    def test_is_an_immutable_value(self, case):
        with pytest.raises(AttributeError):
            case.kernel.normalize = not case.kernel.normalize


class NormalisedKernelContract:
    """Of kernels with `normalize=True`."""

    def test_the_diagonal_is_one(self, case, rng):
        X = case.admit(rng.normal(size=(8, 3)) + 0.1)
        X = X[oracle.diagonal(case.pair, X) > 0]
        np.testing.assert_allclose(case.diagonal(X), 1.0, rtol=1e-14)
        np.testing.assert_allclose(case.pairwise(X, X).diagonal(), 1.0, rtol=0, atol=case.accuracy)

    def test_samples_without_content_are_like_nothing(self, case, rng):
        X = case.admit(np.vstack([np.zeros((2, 3)), rng.normal(size=(3, 3)) + 0.1]))
        empty = oracle.diagonal(case.pair, X) == 0
        assert (case.pairwise(X, X)[empty] == 0).all()
        assert (case.pairwise(X, X)[:, empty] == 0).all()
        np.testing.assert_allclose(case.diagonal(X), np.where(empty, 0.0, 1.0), rtol=1e-14)


class NonNegativeKernelContract:
    """Of kernels that are defined on non-negative samples only."""

    def test_negative_values_are_refused_by_name(self, case, rng):
        good = rng.random((4, 3))
        bad = good.copy()
        bad[2, 1] = -0.3125
        for function, *arguments in [(case.pairwise, bad, good), (case.pairwise, good, bad), (case.diagonal, bad)]:
            with pytest.raises(DataError, match=rf"{case.kernel.name} .* -0\.3125"):
                function(*arguments)

    def test_negative_zero_is_zero(self, case):
        case.check_against_oracle(np.array([[-0.0, 1.0]]), np.array([[0.0, 2.0]]))
