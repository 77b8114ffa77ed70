"""Formulas: what they refuse, and a kernel that is said in a few lines and is right everywhere."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

import gramless as gl
from gramless.engine import is_movable, make_evaluator
from gramless.kernels import KERNELS, NAMED, Formula, Kernel, Operation, Statistic
from gramless.kernels.statistics import roots
from gramless.network import Layer, Network, ViewKernel, make_activation
from gramless.storage.storable import VALUES

CPU = torch.device("cpu")


@dataclass(frozen=True)
class SquaredHellingerDecay(Kernel):
    """exp(-3 |sqrt(x) - sqrt(z)|^2), which no file of the package says."""

    name = "decay"

    def declare(self):
        return Formula(Statistic.SQUARED_DISTANCE, Operation.EXPONENTIAL, slope=-3.0, features=roots(2))


@dataclass(frozen=True)
class AffineCosine(Kernel):
    """2 <x, z> + 0.5, which normalises by its own diagonal."""

    name = "affine"

    def declare(self):
        return Formula(Statistic.INNER_PRODUCT, slope=2.0, offset=0.5)


def oracle(kernel, x, z):
    if isinstance(kernel, SquaredHellingerDecay):
        return np.exp(-3.0 * np.square(np.sqrt(x)[:, None] - np.sqrt(z)).sum(2))
    values = 2 * x @ z.T + 0.5
    own = [2 * np.square(samples).sum(1) + 0.5 for samples in (x, z)]
    return values / np.sqrt(np.outer(*own)) if kernel.normalize else values


@pytest.mark.parametrize(
    "kernel",
    [SquaredHellingerDecay(), SquaredHellingerDecay(normalize=True), AffineCosine(), AffineCosine(normalize=True)],
    ids=str,
)
@pytest.mark.parametrize("size", [1.0, 100.0, 0.0])
def test_what_a_formula_says_is_evaluated_in_every_way(kernel, size, rng):
    x, z = ((size * rng.random((n, 6))).astype(np.float32) for n in (7, 5))
    expected = oracle(kernel, x.astype(float), z.astype(float))
    for dtype, accuracy in ((torch.float64, 1e-12), (torch.float32, 1e-4)):
        found = kernel.pairwise(torch.from_numpy(x).to(dtype), torch.from_numpy(z).to(dtype))
        np.testing.assert_allclose(found, expected, rtol=accuracy, atol=accuracy)
    network = Network((ViewKernel("v", kernel),), (Layer([[1.0]], make_activation("identity")),))
    fused = make_evaluator(network, gl.Views({"v": z}), torch.float32, CPU)
    np.testing.assert_allclose(fused.values(gl.Views({"v": x})), expected, rtol=1e-4, atol=1e-4)
    own = np.diag(oracle(kernel, x.astype(float), x.astype(float)))
    np.testing.assert_allclose(kernel.diagonal(torch.from_numpy(x).double()), own, rtol=1e-12)
    assert is_movable(kernel)


@pytest.mark.parametrize("wrong", [{"offset": 1.0}, {"size": 1}, {"cosine": True}], ids=str)
@pytest.mark.parametrize("statistic", [s for s in Statistic if s.is_distance], ids=lambda s: s.name)
def test_what_is_no_formula_of_a_distance_is_refused(statistic, wrong):
    with pytest.raises(ValueError, match="of a sample with itself are 0"):
        Formula(statistic, Operation.EXPONENTIAL, **wrong)


def test_every_class_is_registered_once_and_files_may_name_those_alone():
    assert len(set(KERNELS)) == len(KERNELS)
    assert {type(kernel) for kernel in NAMED.values()} <= set(KERNELS)
    assert {name for name, cls in VALUES.items() if issubclass(cls, Kernel)} == {cls.__name__ for cls in KERNELS}
    assert AffineCosine not in KERNELS
