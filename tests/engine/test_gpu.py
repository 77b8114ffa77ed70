"""The engine on a GPU against the CPU: skipped where there is none."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import gramless as gl
from gramless.engine import FeaturewiseSum
from gramless.kernels import NAMED
from gramless.kernels.statistics import Statistic
from tests.networks import random_kernel, random_views

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")


@pytest.fixture
def network(rng):
    X = random_views(rng, 3000, (33, 60), np.float32)
    return X, random_kernel(rng, X, (17,), ("tanh", "exp"), n_kernels=7)


def values(kernel, X, Z=None, **settings):
    with gl.config_context(**settings):
        return kernel(X, Z)


@pytest.mark.parametrize("budget", [None, "2MiB"])
def test_kernel_values_are_the_cpus(network, budget):
    X, kernel = network
    exact = values(kernel, X[:500], X[500:800], device="cpu")
    found = values(kernel, X[:500], X[500:800], device="cuda", memory_budget=budget)
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, exact, rtol=1e-5)
    square = values(kernel, X, device="cuda", memory_budget="64MiB")
    assert np.array_equal(square, square.T)


@pytest.mark.parametrize(("precision", "allowed"), [("float32", 2e-4), ("tf32", 5e-2), ("bf16", 0.5)])
def test_distances_and_roots_are_the_cpus(rng, precision, allowed):
    X = random_views(rng, 900, (33, 60), np.float32)
    with gl.config_context(device="cpu"):
        kernel = gl.DeepKernelNetwork(("distance", "hellinger"), learning=None, random_state=0).fit(X).kernel_
        exact = kernel(X[:500], X[500:])
    found = values(kernel, X[:500], X[500:], device="cuda", precision=precision)
    assert np.abs(found / exact - 1).max() < allowed
    far = gl.Views(
        {view: np.where(np.arange(9)[:, None] == 4, 1e30, X[view][:9]).astype(np.float32) for view in X.names}
    )
    assert np.isfinite(values(kernel, far, X[:20], device="cuda", precision=precision)).all()


def test_streamed_from_the_host_or_on_the_device_the_vectors_are_the_same(network):
    X, kernel = network
    on_device = gl.Views({name: torch.from_numpy(X[name]).cuda() for name in X.names})
    with gl.config_context(device="cuda", memory_budget="2MiB"):
        dmn = gl.DeepMapNetwork(kernel, 60, random_state=0).fit(X)
        assert len(list(dmn.explain(len(X)).row_blocks())) > 3
        streamed, resident = dmn.transform(X), dmn.transform(on_device)
    assert isinstance(streamed, np.ndarray)
    assert resident.is_cuda
    assert np.array_equal(streamed, resident.cpu().numpy())


@pytest.mark.parametrize(("precision", "allowed"), [("tf32", 5e-3), ("bf16", 5e-2)])
def test_shorter_mantissas_cost_what_they_may(network, precision, allowed):
    X, kernel = network
    exact = values(kernel, X[:300], X[300:500], device="cuda")
    fast = values(kernel, X[:300], X[300:500], device="cuda", precision=precision)
    error = np.abs(fast / exact - 1).max()
    assert 1e-7 < error < allowed


def test_learning_ends_where_it_does_on_the_cpu(rng):
    X = gl.Views({"a": rng.random((150, 12), dtype=np.float32), "b": rng.random((150, 20), dtype=np.float32)})
    y = (X["a"][:, :3].sum(1) > 1.5).astype(int)
    settings = gl.Supervised(n_steps=10, validation=0.0, gap=1e-3)
    found = {}
    for device in ("cpu", "cuda"):
        with gl.config_context(device=device):
            found[device] = gl.DeepKernelNetwork(hidden=(5,), learning=settings, random_state=0).fit(X, y).kernel_
    for one, other in zip(found["cpu"].layers, found["cuda"].layers, strict=True):
        torch.testing.assert_close(one.weights, other.weights, rtol=0.02, atol=0.005)


@pytest.mark.parametrize("statistic", [Statistic.MINIMUM, Statistic.CITY_BLOCK, Statistic.CHI_SQUARE])
def test_slopes_of_columns_are_the_cpus(statistic, rng):
    x, z, cotangent = (
        torch.from_numpy(rng.random(shape, dtype=np.float32)) for shape in ((700, 133), (90, 133), (700, 90))
    )
    found = []
    for device in ("cpu", "cuda"):
        columns = z.to(device).requires_grad_()
        sums = FeaturewiseSum.apply(x.to(device), columns, statistic)
        found.append(torch.autograd.grad(sums, columns, cotangent.to(device))[0].cpu())
    torch.testing.assert_close(*found, rtol=1e-5, atol=1e-2)  # sums of 700 numbers up to 3, of both signs


@pytest.mark.parametrize("name", sorted(NAMED))
def test_every_kernel_by_name_has_the_cpus_values(rng, name):
    """Alone and normalised as a network would take it: the operation, the statistic and the sides of each."""
    X = random_views(rng, 400, (33, 5), np.float32)
    activation = "exp" if NAMED[name].conditional else "tanh"
    network = gl.DeepKernelNetwork((name,), (6,), activation=activation, learning=None, random_state=0)
    with gl.config_context(device="cpu"):
        kernel = network.fit(X).kernel_
        exact = kernel(X[:300], X[300:])
    found = values(kernel, X[:300], X[300:], device="cuda")
    allowed = 2e-4 if NAMED[name].conditional else 1e-5  # distances are differences of large numbers
    assert np.abs(found - exact).max() <= allowed * np.abs(exact).max()


def test_files_in_blocks_on_several_threads_have_the_vectors_of_all_at_once(network, tmp_path):
    X, kernel = network
    for name in X.names:
        np.save(tmp_path / f"{name}.npy", X[name])
    arrays = {name: np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in X.names}
    with gl.config_context(device="cuda"):
        dmn = gl.DeepMapNetwork(kernel, 60, random_state=0).fit(X)
        whole = dmn.transform(X)
        for rows in (100, 1000):
            in_blocks = np.asarray(dmn.transform(gl.in_blocks(arrays, rows=rows)))
            np.testing.assert_allclose(in_blocks, whole, rtol=1e-4, atol=1e-5 * np.abs(whole).max())
        with ThreadPoolExecutor(4) as pool:
            assert all(np.array_equal(found, whole) for found in pool.map(lambda _: dmn.transform(X), range(12)))
