"""What every activation of kernel values does, whatever its formula."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gramless.network.activations import Activation
from tests.contracts.samples import VALUES


@st.composite
def psd_matrices(draw):
    """Of any rank, with coinciding and opposite samples, and entries of up to about 4."""
    n, rank = draw(st.integers(2, 7)), draw(st.integers(1, 4))
    factors = draw(arrays(np.float64, (n, rank), elements=VALUES)) / 5
    return factors @ factors.T


@dataclass(frozen=True)
class ActivationCase:
    name: str
    activation: Activation
    formula: Callable[[np.ndarray], np.ndarray]  # in NumPy
    keeps_psd: bool

    def __str__(self):
        return self.name


class ActivationContract:
    """A subclass is parametrised with `case`."""

    @given(values=arrays(np.float64, st.sampled_from([(1,), (7,), (2, 3), (2, 1, 4)]), elements=VALUES))
    def test_agrees_with_the_formula_element_by_element(self, case, values):
        expected = case.formula(values)
        for function in (case.activation, case.activation.apply_):
            result = function(torch.from_numpy(values.copy()))
            assert (result.shape, result.dtype) == (values.shape, torch.float64)
            np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-14)

    def test_float32_stays_float32(self, case, rng):
        values = torch.from_numpy(rng.normal(size=(4, 3))).float()
        result = case.activation(values)
        assert result.dtype == torch.float32
        np.testing.assert_allclose(result, case.formula(values.double().numpy()), rtol=1e-5, atol=1e-6)

    def test_calling_it_leaves_the_argument_alone(self, case, rng):
        values = torch.from_numpy(rng.normal(size=(4, 3)))
        kept = values.clone()
        result = case.activation(values)
        assert torch.equal(values, kept)
        result.zero_()
        assert torch.equal(values, kept)

    def test_is_an_immutable_value(self, case):
        with pytest.raises(AttributeError):
            case.activation.name = "other"


class PsdActivationContract:
    """Of activations that keep kernels p.s.d."""

    @given(gram=psd_matrices())
    def test_a_psd_matrix_stays_psd(self, case, gram):
        eigenvalues = np.linalg.eigvalsh(case.activation(torch.from_numpy(gram)).numpy())
        assert eigenvalues[0] >= -1e-12 * len(gram) * max(1.0, eigenvalues[-1])
