"""Plans: what they promise holds, and explain says it."""

import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import gramless as gl
from gramless.engine import make_plan
from gramless.engine.cpu.network import MOST_ROWS
from gramless.engine.plan import Plan
from gramless.kernels import Distance, Gaussian, Hellinger, Intersection, Linear
from gramless.network import Layer, Network, ViewKernel, make_activation
from tests.networks import random_kernel, random_views

CPU = torch.device("cpu")
INPUTS = tuple(ViewKernel("v", kernel) for kernel in (Linear(), Gaussian(scale=1.0), Intersection()))
LAYERS = (Layer(np.ones((4, 3)), make_activation("tanh")), Layer(np.ones((1, 4)), make_activation("exp")))


def plan(n, m, width, budget, dtype=torch.float32, **options) -> Plan:
    return make_plan(Network(INPUTS, LAYERS), {"v": width}, n, m, dtype, CPU, budget, **options)


@given(
    n=st.integers(1, 10**6),
    m=st.integers(1, 5000),
    width=st.integers(1, 5000),
    budget=st.integers(1 << 20, 1 << 32),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    symmetric=st.booleans(),
)
def test_blocks_cover_everything_and_fit_the_budget(n, m, width, budget, dtype, symmetric):
    m = n if symmetric else m
    made = plan(n, m, width, budget, dtype, symmetric=symmetric)
    assert 1 <= made.rows_per_block <= n
    assert 1 <= made.columns_per_block <= m
    if symmetric:
        assert made.rows_per_block == made.columns_per_block
    one_pair = 2 * dtype.itemsize * (2 * width + 9 + 4)
    if budget > 16 * one_pair:
        assert made.block_bytes <= budget


def test_a_plan_shares_inner_products_between_the_kernels_of_a_view():
    steps = [step.what for step in plan(100, 50, 10, 1 << 30).steps]
    assert steps[:2] == ["v: inner products for linear, gaussian", "v: sums of minima for intersection"]


def test_a_plan_counts_the_roots_and_the_scaled_samples_of_every_kernel():
    distances = [Distance(centre=np.zeros(10), factors=np.ones(10)) for _ in range(2)]
    inputs = tuple(ViewKernel("v", kernel) for kernel in (*distances, Hellinger()))
    layers = (Layer(np.ones((1, 3)), make_activation("exp")),)
    made = make_plan(Network(inputs, layers), {"v": 10}, 100, 50, torch.float32, CPU, 1 << 30)
    scaled = "v: scaled, centred inner products for distance"
    roots = "v: inner products of roots for hellinger"
    assert [step.what for step in made.steps[:3]] == [scaled, scaled, roots]
    a_thread = 4 * 64 * (3 * MOST_ROWS + 2 * 3) + 10 * MOST_ROWS  # three planes, two tiles of units; codes
    samples, values = (100 + 50) * (2 * 10 + 3 * 10 + 3 * 3), 100 * 50
    assert made.block_bytes == 4 * (samples + values) + torch.get_num_threads() * a_thread


def test_operations_are_counted_per_pair_and_per_row():
    made = plan(100, 50, 10, 1 << 30, n_components=7)
    per_pair = 2 * 10 + 2 * 10 + 2 * 3 * 4 + 2 * 4
    assert made.operations == 100 * 50 * per_pair + 100 * 2 * 50 * 7


def test_explain_says_what_it_will_take(rng):
    X = random_views(rng, 60, (5, 4), np.float32)
    kernel = random_kernel(rng, X, (6,), ("tanh", "exp"))
    dmn = gl.DeepMapNetwork(kernel, 20, random_state=0).fit(X)
    said = str(dmn.explain(1_000_000))
    assert "1,000,000 x 20 pairs" in said
    assert "fused (Numba, float32)" in said
    assert re.search(r"layer of 6 x 5, tanh +60 operations per pair", said)
    assert re.search(r"billion operations; [\d.]+ [KM]iB of memory at most, beside [\d.]+ MiB for the result", said)
    in_doubles = gl.DeepMapNetwork(kernel, 20, random_state=0).fit(random_views(rng, 60, (5, 4)))
    assert "fused (Numba, float64)" in str(in_doubles.explain(9))
    with pytest.raises(ValueError, match="cannot be -5 x 20 pairs"):
        dmn.explain(-5)
    assert re.match(r"5,000 x 5,000 pairs of samples.*\n.*upper triangle only", str(kernel.explain(5_000)))


@pytest.mark.parametrize("budget", ["1MiB", "3MiB", "1GiB"])
def test_values_do_not_depend_on_the_blocks(rng, budget):
    X, Z = random_views(rng, 230, (40, 60), np.float32), random_views(rng, 110, (40, 60), np.float32)
    kernel = random_kernel(rng, X, (6,), ("tanh", "exp"))
    with gl.config_context(memory_budget=budget):
        in_blocks, square = kernel(X, Z), kernel(X)
    np.testing.assert_allclose(in_blocks, kernel(X, Z), rtol=1e-6)
    np.testing.assert_allclose(square, kernel(X, X[:]), rtol=1e-5)
    assert np.array_equal(square, square.T)


MEASURE = """
import resource, sys
import numpy as np, gramless as gl
from gramless.kernels import Gaussian, Intersection, Linear
from gramless.network import Layer, ViewKernel, make_activation
rng = np.random.default_rng(0)
X = gl.Views({"v": rng.random((60_000, 300), dtype=np.float32)})
inputs = tuple(ViewKernel("v", k) for k in (Linear(normalize=True), Gaussian(scale=7.0), Intersection(normalize=True)))
layers = (Layer(np.full((8, 3), 0.2), make_activation("tanh")), Layer(np.full((1, 8), 0.1), make_activation("exp")))
kernel = gl.DeepKernel(inputs, layers, {"v": 300})
gl.set_config(memory_budget="48MiB")
dmn = gl.DeepMapNetwork(kernel, 100, random_state=0).fit(X[:2000])
dmn.transform(X[:4000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
phi = dmn.transform(X)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 - phi.nbytes / 2**20)
"""


def test_memory_stays_within_the_budget():
    """Measured: 24 MB of vectors come out, and the rest of the peak is what the budget allows."""
    done = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 48
