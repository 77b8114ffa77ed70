"""Values so large that a kernel overflows are refused; just below, and however small, everything is finite."""

import numpy as np
import pytest
import torch

import gramless as gl
from gramless.kernels import (
    ArcCosine,
    Custom,
    Intersection,
    Linear,
    Polynomial,
)
from tests.networks import kernels_by_name, unfolded

KERNELS = (
    *kernels_by_name(scale=1.0),
    Linear(normalize=True),
    Polynomial(degree=3, normalize=True),
    Polynomial(degree=2, offset=1e10),
    Intersection(normalize=True),
    ArcCosine(order=2, normalize=True),
)
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)
every_type = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)


def network(kernel, **settings):
    settings = {"activation": "tanh", "output_activation": "identity"} | settings
    return gl.DeepKernelNetwork(kernel, (2,), learning=None, random_state=0, **settings)


@every_kernel
@every_type
@pytest.mark.parametrize("width", [1, 3, 700])
def test_up_to_the_largest_value_everything_is_finite(kernel, dtype, width, rng):
    """The worst case: all features at the limit; and with them ordinary samples, zeros, and, where defined, signs."""
    limit = (1 - 1e-6) * min(kernel.largest(width, dtype), torch.finfo(dtype).max)
    x = torch.tensor(rng.random((4, width)), dtype=dtype)
    x[0], x[1] = limit, 0.0
    if kernel.domain.name == "REAL":
        x[2] = -limit
    assert kernel.pairwise(x, x).isfinite().all()
    assert kernel.diagonal(x).isfinite().all()


@every_kernel
@every_type
def test_beyond_it_they_are_refused_with_the_value(kernel, dtype):
    beyond = 1.01 * kernel.largest(2, dtype)
    x = torch.tensor([[1.0, beyond], [1.0, 1.0]], dtype=torch.float64).to(dtype)  # infinite where it holds no more
    for function, *arguments in ((kernel.pairwise, x, x[1:]), (kernel.pairwise, x[1:], x), (kernel.diagonal, x)):
        with pytest.raises(
            gl.DataError, match=rf"too large: the {kernel.name} kernel of 2 features overflows in float"
        ):
            function(*arguments)


@pytest.mark.parametrize("kernel", [k for k in KERNELS if hasattr(k, "scale")], ids=lambda k: k.name)
@every_type
@pytest.mark.parametrize("scale", [1e-150, 1e-40, 1e-19, 1e19, 1e40, 1e150])
def test_scales_that_the_type_does_not_hold(kernel, dtype, scale, rng):
    """exp(-D / scale) of what D is: 1 on the diagonal, and 0 or 1 elsewhere, at all these scales."""
    x = torch.tensor(rng.random((5, 3)), dtype=dtype)
    narrow = type(kernel)(scale=scale)
    expected = torch.eye(5, dtype=dtype) if scale < 1 else torch.ones(5, 5, dtype=dtype)
    torch.testing.assert_close(narrow.pairwise(x, x), expected)
    fused = network(narrow, activation="identity", weights=[np.eye(1).repeat(2, 0), np.ones((1, 2)) / 2])
    values = fused.fit(x.numpy()).kernel_
    torch.testing.assert_close(torch.from_numpy(values(x.numpy())) / values.scale, expected)


@every_kernel
@every_type
@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-160, 1e-45, 1e-25])
def test_values_however_small_stay_finite(kernel, dtype, size, rng):
    X = (size * rng.random((6, 3))).astype(str(dtype).removeprefix("torch."))
    assert np.isfinite(network(kernel).fit(X).kernel_(X)).all()
    assert np.isfinite(network(type(kernel)()).fit(X).kernel_(X)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("learning", [None, "supervised"])
def test_fit_names_the_view_and_the_value(dtype, learning, rng):
    X = {"good": rng.random((8, 2)).astype(dtype), "bad": rng.random((8, 3)).astype(dtype)}
    X["bad"][5, 1] = np.finfo(dtype).max / 2
    estimator = gl.DeepKernelNetwork(("gaussian", "linear"), (2,), learning=learning, random_state=0)
    value = f"{X['bad'][5, 1]:.6g}".replace("+", r"\+")
    with pytest.raises(gl.DataError, match=rf"view 'bad': values up to {value} are too large"):
        estimator.fit(X, np.arange(8) % 2)


def test_a_map_in_float32_refuses_what_only_float64_holds(rng):
    X = rng.random((9, 3)).astype(np.float32)
    fitted = gl.DeepMapNetwork(network("linear"), 4, random_state=0).fit(X)
    new = X.astype(np.float64)
    new[2, 2] = 1e300
    with pytest.raises(gl.DataError, match=r"view 'view0': .*too large"):
        fitted.transform(new)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_network_that_overflows_is_refused(dtype, rng):
    X = rng.random((9, 3)).astype(dtype)
    steep = network(Linear(), activation="identity", output_activation="exp")
    with pytest.raises(gl.DataError, match="overflows"):
        steep.fit(1e3 * X)
    fitted = gl.DeepMapNetwork(steep, 4, random_state=0).fit(X)
    layered = unfolded(fitted, X)
    for function in (
        fitted.transform,
        fitted.kernel_,
        fitted.kernel_.diagonal,
        lambda x: layered.transform(fitted.kernel_.views(x)),
    ):
        with pytest.raises(gl.DataError, match="overflows"):
            function(1e3 * X)


def test_what_a_function_of_ones_own_returns_must_be_numbers(rng):
    X = rng.random((5, 3))
    for kernel in (lambda x, z: np.full((len(x), len(z)), np.nan), lambda x, z: np.full((len(x), len(z)), np.inf)):
        with pytest.raises(gl.DataError, match=r"<lambda> returned float64 of shape \(5, 5\), with NaN"):
            network(Custom(kernel)).fit(X)
