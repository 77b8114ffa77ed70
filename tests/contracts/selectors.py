"""What every landmark selector does, whatever it prefers."""

import numpy as np
import pytest
import torch
from scipy import sparse

import gramless as gl
from gramless.kernels import Precomputed, make_kernel
from gramless.maps.landmarks import SELECTORS
from gramless.network import Layer, ViewKernel, initial_weights, make_activation
from tests.contracts.samples import generator

AMPLE = 1 << 30
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
every_kernel = pytest.mark.parametrize("kernel", ["linear", "poly2", "gaussian", "distance", "arccos0", "arccos1"])


class Metered:
    """A kernel that gives up when a selector asks for far more of it than landmarks are worth: it would never end."""

    def __init__(self, kernel, limit=100):
        self.kernel = kernel
        self.calls_left = limit

    def tensor(self, X, Z):
        self.calls_left -= 1
        assert self.calls_left >= 0, "the selector goes on and on"
        return self.kernel.tensor(X, Z)

    def diagonal_tensor(self, X):
        return self.kernel.diagonal_tensor(X)


def deep_kernel(X, kernels=("linear", "gaussian"), hidden=(), output="exp"):
    """A small deep kernel on all views, with random weights and tanh in hidden layers."""
    chance = generator()
    inputs = tuple(
        ViewKernel(view, make_kernel(kernel, normalize=True).fit(X.tensor(view, torch.float64), chance))
        for view in X.names
        for kernel in kernels
    )
    gains = [1.0] * len(hidden) + [4.0]
    weights = initial_weights("random", (len(inputs), *hidden, 1), gains, chance)
    activations = map(make_activation, ["tanh"] * len(hidden) + [output])
    return gl.DeepKernel(inputs, tuple(map(Layer, weights, activations)), X.layout, scale=1.3)


def kernel_of(gram):
    """A kernel with these values, and the samples between which it has them."""
    X = gl.Views(np.arange(len(gram), dtype=float).reshape(-1, 1))
    inputs = (ViewKernel(X.names[0], Precomputed(gram)),)
    return gl.DeepKernel(inputs, (Layer([[1.0]], make_activation("identity")),), X.layout), X


def two_views(rng, n, dtype=np.float64):
    return gl.Views({"a": rng.normal(size=(n, 3)).astype(dtype), "b": rng.normal(size=(n, 5)).astype(dtype)})


def select(name, kernel, X, n_landmarks, seed=0, budget=AMPLE):
    return SELECTORS[name](Metered(kernel), X, n_landmarks, generator(seed), budget)


def check_rows(chosen, n_rows, n_landmarks):
    """That many distinct row numbers."""
    assert (chosen.shape, chosen.dtype) == ((n_landmarks,), torch.long)
    assert len(set(chosen.tolist())) == n_landmarks
    assert chosen.min() >= 0
    assert chosen.max() < n_rows


class SelectorContract:
    """A subclass is parametrised with `name`."""

    @every_dtype
    @pytest.mark.parametrize("n_landmarks", [1, 2, 7, 39, 40])
    def test_gives_that_many_distinct_rows(self, name, n_landmarks, dtype, rng):
        X = two_views(rng, 40, dtype)
        check_rows(select(name, deep_kernel(X), X, n_landmarks), 40, n_landmarks)

    def test_the_generator_decides_all_chance(self, name, rng):
        X = two_views(rng, 60)
        kernel = deep_kernel(X)
        first = select(name, kernel, X, 8)
        assert torch.equal(select(name, kernel, X, 8), first)
        assert set(select(name, kernel, X, 8, seed=1).tolist()) != set(first.tolist())

    @pytest.mark.parametrize("n_distinct", [3, 24], ids=["duplicates", "distinct"])
    def test_global_chance_is_neither_used_nor_touched(self, name, n_distinct, rng):
        X = gl.Views(np.repeat(rng.normal(size=(n_distinct, 3)), 24 // n_distinct, axis=0))
        kernel = deep_kernel(X)
        torch.manual_seed(1)
        before = torch.get_rng_state()
        first = select(name, kernel, X, 9)
        assert torch.equal(torch.get_rng_state(), before)
        torch.manual_seed(2)
        assert torch.equal(select(name, kernel, X, 9), first)

    def test_one_sample(self, name, rng):
        X = two_views(rng, 1)
        assert select(name, deep_kernel(X), X, 1).tolist() == [0]

    @every_dtype
    @every_kernel
    def test_samples_that_are_all_the_same(self, name, dtype, kernel, rng):
        X = gl.Views(np.repeat(rng.normal(size=(1, 4)), 12, axis=0).astype(dtype))
        check_rows(select(name, deep_kernel(X, (kernel,)), X, 5), 12, 5)

    @every_dtype
    @every_kernel
    def test_fewer_distinct_samples_than_landmarks(self, name, dtype, kernel, rng):
        X = gl.Views(np.repeat(rng.normal(size=(4, 3)), 6, axis=0).astype(dtype))
        check_rows(select(name, deep_kernel(X, (kernel,)), X, 9), 24, 9)

    @every_dtype
    def test_more_landmarks_than_the_rank_of_the_kernel(self, name, dtype, rng):
        """What is left of it then is rounding, and not p.s.d."""
        X = gl.Views(rng.normal(size=(60, 10)).astype(dtype))
        kernel = deep_kernel(X, ("linear",), output="identity")
        check_rows(select(name, kernel, X, 25), 60, 25)

    @pytest.mark.parametrize("kernels", [("linear",), ("linear", "poly2", "gaussian", "intersection")], ids=len)
    def test_a_kernel_that_tanh_makes_indefinite(self, name, kernels, rng):
        X = gl.Views(rng.random((120, 2)))
        check_rows(select(name, deep_kernel(X, kernels, hidden=(8,)), X, 50), 120, 50)

    def test_a_kernel_that_is_zero_everywhere(self, name):
        X = gl.Views(np.zeros((9, 3)))
        kernel = deep_kernel(X, ("linear",), output="identity")
        check_rows(select(name, kernel, X, 4), 9, 4)

    def test_samples_are_left_alone(self, name, rng):
        X = two_views(rng, 20)
        kept = {view: X[view].copy() for view in X.names}
        select(name, deep_kernel(X), X, 6)
        for view, block in kept.items():
            np.testing.assert_array_equal(X[view], block)

    def test_sparse_samples_give_the_same_landmarks_as_dense_ones(self, name, rng):
        dense = rng.normal(size=(25, 6)) * (rng.random((25, 6)) < 0.5)
        X, Z = gl.Views(dense), gl.Views(sparse.csr_array(dense))
        kernel = deep_kernel(X)
        assert torch.equal(select(name, kernel, X, 6), select(name, kernel, Z, 6))


class ThriftySelectorContract:
    """Of selectors that need memory for all samples at once."""

    def test_more_memory_than_the_budget_is_refused_before_any_work(self, name, rng):
        X = two_views(rng, 50)
        kernel = Metered(deep_kernel(X), limit=0)
        with pytest.raises(gl.MemoryBudgetError, match=r"50 samples.*landmarks='uniform'"):
            SELECTORS[name](kernel, X, 10, generator(), 1000)
