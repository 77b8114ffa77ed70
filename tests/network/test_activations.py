"""Every activation under one contract, and tanh, which is not what the paper takes it for."""

import numpy as np
import pytest
import torch

from gramless.network.activations import NAMED, CustomActivation, Power, Sinh, Tanh, make_activation
from tests.contracts.activations import ActivationCase, ActivationContract, PsdActivationContract

NAMED_FORMULAS = {
    "tanh": (np.tanh, False),
    "sinh": (np.sinh, True),
    "exp": (np.exp, True),
    "identity": (lambda t: t, True),
}


def power(*coefficients):
    def formula(t):
        return sum(c * t**i for i, c in enumerate(coefficients)) + 0 * t

    label = "-".join(f"{c:g}" for c in coefficients)
    return ActivationCase(f"power-{label}", Power(coefficients), formula, True)


CASES = [
    *(ActivationCase(name, NAMED[name], *expected) for name, expected in NAMED_FORMULAS.items()),
    power(2),
    power(0, 1),
    power(0.5, 0, 2),
    power(1, 1, 0.5, 0.25),
    power(0, 0, 0, 1),
    ActivationCase("custom", CustomActivation(torch.sin), np.sin, False),
    ActivationCase("custom-in-place", CustomActivation(lambda t: t.sin_()), np.sin, False),
    ActivationCase("custom-psd", CustomActivation(torch.cosh), np.cosh, True),
]


@pytest.mark.parametrize("case", CASES, ids=str)
class TestEveryActivation(ActivationContract):
    pass


@pytest.mark.parametrize("case", [case for case in CASES if case.keeps_psd], ids=str)
class TestEveryPsdActivation(PsdActivationContract):
    pass


def test_every_named_activation_has_a_formula():
    assert set(NAMED_FORMULAS) == set(NAMED)
    assert all(activation.name == name for name, activation in NAMED.items())


def test_tanh_makes_a_psd_matrix_indefinite():
    v = torch.tensor([1.0, 0.5], dtype=torch.float64)
    gram = torch.outer(v, v)
    assert torch.linalg.eigvalsh(gram)[0] >= -1e-15
    assert torch.linalg.eigvalsh(Tanh()(gram))[0].item() == pytest.approx(-0.026, abs=5e-4)
    assert torch.linalg.eigvalsh(Sinh()(gram))[0] >= 0


@pytest.mark.parametrize(
    "bad", [(-1.0,), (1.0, -1e-9), (), (float("nan"),), (1.0, float("nan")), (float("inf"),)], ids=str
)
def test_coefficients_that_do_not_keep_kernels_psd_are_refused(bad):
    with pytest.raises(ValueError, match="non-negative coefficients"):
        Power(bad)


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda t: t.sum(), id="scalar"),
        pytest.param(lambda t: t[:1], id="other-shape"),
        pytest.param(lambda t: t.T, id="transposed"),
        pytest.param(lambda t: t.numpy(), id="array"),
        pytest.param(lambda t: None, id="nothing"),
    ],
)
def test_a_function_that_does_not_return_a_tensor_of_its_arguments_shape_is_refused(function):
    with pytest.raises(TypeError, match="shape"):
        CustomActivation(function)(torch.ones(2, 3))


def test_make_activation_takes_names_coefficients_functions_and_activations():
    assert all(make_activation(name) == activation for name, activation in NAMED.items())
    assert make_activation((1, 0.5)) == make_activation([1, 0.5]) == Power((1.0, 0.5))
    assert make_activation(torch.sin).function is torch.sin
    assert make_activation(custom := CustomActivation(torch.exp)) is custom


def test_make_activation_lists_the_names_it_knows():
    with pytest.raises(ValueError, match=", ".join(NAMED)):
        make_activation("relu")
    with pytest.raises(TypeError, match="float"):
        make_activation(0.5)
