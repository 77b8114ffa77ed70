"""What every explicit map does, whatever its recipe."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given

from gramless.kernels import Domain, Kernel
from gramless.maps.explicit import MapRecipe, inner
from tests.contracts.samples import generator, sample_sets
from tests.oracles import kernels as oracle


@dataclass(frozen=True)
class MapCase:
    """A recipe, a kernel that it supports, and that kernel's formula."""

    name: str
    recipe: MapRecipe
    kernel: Kernel
    pair: oracle.Pair
    float32_accuracy: float = 2e-4  # as a share of sqrt(k(x, x) k(z, z))

    def __str__(self):
        return f"{self.name}{'-normalised' if self.kernel.normalize else ''}"

    @property
    def formula(self):
        return oracle.normalised(self.pair) if self.kernel.normalize else self.pair

    def admit(self, samples):
        samples = np.abs(samples) if self.kernel.domain is Domain.NONNEGATIVE else samples
        return torch.from_numpy(samples)

    def fit(self, landmarks, seed=0):
        return self.recipe.fit(self.kernel, landmarks, generator(seed))

    def kernel_values(self, x, z):
        """From the formula, not from the package's kernel."""
        return oracle.matrix(self.formula, x.double().numpy(), z.double().numpy())

    def size(self, x, z):
        """sqrt(k(x, x) k(z, z)): what errors are compared with."""
        own = [oracle.diagonal(self.formula, samples.double().numpy()) for samples in (x, z)]
        return np.sqrt(np.outer(*own))

    def check_equals_kernel(self, explicit, x, z, accuracy):
        got = (explicit.transform(x) @ explicit.transform(z).T).double().numpy()
        error = np.abs(got - self.kernel_values(x, z))
        size = self.size(x, z)
        assert (error <= accuracy * (size + 1e-300)).all(), f"off by {(error / (size + 1e-300)).max():.1e}"


class MapContract:
    """A subclass is parametrised with `case`."""

    @given(sets=sample_sets(3))
    def test_compressed_samples_have_the_inner_products_of_transformed_ones(self, case, sets):
        landmarks, x, z = map(case.admit, sets)
        explicit = case.fit(landmarks)
        expected = explicit.transform(x) @ explicit.transform(z).T
        size = max(1.0, case.size(x, z).max())
        torch.testing.assert_close(
            inner(explicit.compress(x), explicit.compress(z)), expected, rtol=1e-9, atol=1e-11 * size
        )

    @pytest.mark.parametrize(("n_landmarks", "n", "d"), [(6, 9, 4), (1, 3, 2), (5, 1, 1)])
    def test_width_is_what_was_promised_and_the_dtype_is_kept(self, case, rng, n_landmarks, n, d):
        for dtype in (torch.float32, torch.float64):
            landmarks, x = (case.admit(rng.normal(size=(rows, d))).to(dtype) for rows in (n_landmarks, n))
            explicit = case.fit(landmarks)
            phi = explicit.transform(x)
            assert (phi.shape, phi.dtype) == ((n, explicit.n_columns), dtype)
            assert phi.isfinite().all()
            assert inner(explicit.compress(x), explicit.compress(landmarks)).dtype == dtype

    def test_a_sample_has_the_same_vector_whatever_stands_beside_it(self, case, rng):
        landmarks, x = (case.admit(rng.normal(size=(n, 4))) for n in (6, 9))
        explicit = case.fit(landmarks)
        alone = torch.cat([explicit.transform(row) for row in x.split(1)])
        torch.testing.assert_close(explicit.transform(x), alone, rtol=1e-10, atol=1e-10)

    def test_samples_and_landmarks_are_left_alone(self, case, rng):
        landmarks, x = (case.admit(rng.normal(size=(n, 4))) for n in (6, 9))
        kept = landmarks.clone(), x.clone()
        explicit = case.fit(landmarks)
        explicit.transform(x), inner(explicit.compress(x), explicit.compress(x))
        assert torch.equal(landmarks, kept[0])
        assert torch.equal(x, kept[1])

    def test_the_generator_decides_all_chance(self, case, rng):
        landmarks = case.admit(rng.normal(size=(6, 4)))
        torch.manual_seed(1)
        first = case.fit(landmarks, seed=3).transform(landmarks)
        torch.manual_seed(2)
        assert torch.equal(case.fit(landmarks, seed=3).transform(landmarks), first)

    def test_float32_maps_are_close_to_float64_ones(self, case, rng):
        landmarks, x = (case.admit(rng.normal(size=(n, 4))).float() for n in (6, 9))
        single, double = case.fit(landmarks), case.fit(landmarks.double())
        values = [e.transform(s) @ e.transform(t).T for e, s, t in self._both(single, double, x, landmarks)]
        error = (values[0].double() - values[1]).abs().numpy()
        assert (error <= case.float32_accuracy * case.size(x, landmarks)).all()

    @staticmethod
    def _both(single, double, x, z):
        return (single, x, z), (double, x.double(), z.double())

    def test_is_an_immutable_value(self, case, rng):
        explicit = case.fit(case.admit(rng.normal(size=(3, 2))))
        with pytest.raises(AttributeError):
            explicit.kernel = None
        assert explicit.kernel == case.kernel
