"""kappa(x, z) as a function of z and of the weights: values of the evaluators, slopes of central differences."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import gramless as gl
from gramless.engine import RootedBlock, differentiable_values, is_movable, make_evaluator
from gramless.engine.device import Precision
from gramless.engine.differentiable import differentiable_block
from gramless.engine.evaluator import ReferenceEvaluator
from gramless.kernels import (
    ArcCosine,
    Custom,
    Distance,
    Domain,
    Gaussian,
    Hellinger,
    Intersection,
    Linear,
    Polynomial,
    Precomputed,
    RationalQuadratic,
)
from gramless.kernels.base import KERNELS as CLASSES
from gramless.network import Layer, Network, ViewKernel, make_activation
from tests.networks import kernels_by_name

CPU = torch.device("cpu")
KERNELS = (
    *kernels_by_name(),
    Linear(normalize=True),
    Polynomial(degree=2, normalize=True),
    Polynomial(degree=3, offset=0.5),
    RationalQuadratic(scale=1.2, alpha=0.5),
    RationalQuadratic(scale=2.0, alpha=20.0, normalize=True),
    Distance("columns"),
    Distance("rows"),
    Distance("none"),
    Distance("rows", root=2),
    Distance("columns", root=4),
    Hellinger(normalize=True),
    Hellinger(root=4, normalize=True),
    Intersection(normalize=True),
    ArcCosine(order=1, normalize=True),
    ArcCosine(order=2, normalize=True),
)
ACTIVATIONS = ("tanh", "sinh", "exp", "identity", (0.1, 0.5, 0.2))
STEP = 1e-7  # a central difference is off by rounding, 1e-16 / 1e-7, and, across a kink, by about the step
ROOM = 1 << 30
shapes = {"n": st.integers(1, 6), "m": st.integers(1, 5), "d": st.integers(1, 7), "seed": st.integers(0, 2**32 - 1)}
each = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def samples(rng, n, m, d, *, nonnegative, tied):
    """x and z with rows that are equal, parallel, of zeros, and, where tied, of few different numbers."""
    # on a binary grid two numbers, and their doubles, are the same or far apart beside a step
    values = (64 * rng.gamma(1.0, size=(n + m, d))).round() / 64 + 0.5
    if tied:
        values = rng.choice([0.0, 0.5, 1.0, 2.0], (n + m, d))
    if not nonnegative:
        values *= rng.choice([-1.0, 1.0], values.shape)
    x, z = values[:n], values[n:]
    if m > 1:
        z[0] = x[0]
    if m > 2:
        z[1] = 2 * x[-1]
    if m > 3:
        z[2], x[0] = 0.0, 0.0
    return torch.from_numpy(x.copy()), torch.from_numpy(z.copy())


def fitted(kernel, x):
    """Scaled by samples of its own, so that no factor is zero."""
    others = torch.from_numpy(np.random.default_rng(1).gamma(1.0, size=(9, x.shape[1])))
    return kernel.fit(others, torch.Generator())


def directions(rng, z, kernel):
    """Ways to move z in which the kernel is defined and continuous: no further row leaves zero, no zero its domain."""
    direction = torch.from_numpy(rng.normal(size=z.shape)) * (z != 0).any(1, keepdim=True)
    return direction * (z != 0) if kernel.domain is Domain.NONNEGATIVE else direction


def reference(network, x, z):
    return ReferenceEvaluator(network, gl.Views({"v": z.numpy()}), z.dtype, CPU).values(gl.Views({"v": x.numpy()}))


def of_columns(network, x, z, room=ROOM):
    """Values, and z as a leaf."""
    z = z.clone().requires_grad_()
    weights = [layer.weights.to(x) for layer in network.layers]
    return differentiable_values(
        network,
        {"v": differentiable_block(x, z.detach().mean(0))},
        {"v": differentiable_block(z, z.detach().mean(0))},
        weights,
        room,
    ), z


def test_every_elementary_kernel_is_here():
    assert {type(kernel) for kernel in KERNELS} == set(CLASSES) - {Custom, Precomputed}


@each
@settings(max_examples=15)
@given(**shapes, tied=st.booleans())
def test_every_kernel(kernel, n, m, d, seed, tied):
    rng = np.random.default_rng(seed)
    x, z = samples(rng, n, m, d, nonnegative=kernel.domain is Domain.NONNEGATIVE, tied=tied)
    kernel = fitted(kernel, x)
    network = Network((ViewKernel("v", kernel),), (Layer([[0.7]], make_activation("identity")),), 1.3)
    values, leaf = of_columns(network, x, z)
    expected = reference(network, x, z)
    size = max(1.0, expected.abs().max().item())
    # of a cosine 1 - 1e-16 the angle is 1e-8: that is as well as an angle between equal rows is known
    angular = 3e-8 if isinstance(kernel, ArcCosine) else 0.0
    torch.testing.assert_close(values.detach(), expected, rtol=1e-12, atol=1e-12 * size + angular)
    cotangent = torch.from_numpy(rng.normal(size=(n, m)))
    (slopes,) = torch.autograd.grad(values, leaf, cotangent)
    assert slopes[(z != 0).all(1)].isfinite().all()
    direction = directions(rng, z, kernel)
    step = 100 * STEP if kernel == ArcCosine(order=0) else STEP
    forward, back = (reference(network, x, z + sign * step * direction) for sign in (1, -1))
    by_differences = ((forward - back) * cotangent).sum() / (2 * step)
    finite = torch.where(direction == 0, 0.0, slopes)
    scale = 1.0 + (finite.abs() * direction.abs()).sum()
    rounding = angular / step * cotangent.abs().sum() if kernel == ArcCosine(order=0) else 0.0  # of the differences
    allowed = 1e-5 * scale.item() + float(rounding)
    assert (finite * direction).sum().item() == pytest.approx(by_differences.item(), abs=allowed)


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=str)
@settings(max_examples=10)
@given(**shapes)
def test_every_activation_and_the_weights(activation, n, m, d, seed):
    rng = np.random.default_rng(seed)
    x, z = samples(rng, n, m, d, nonnegative=True, tied=False)
    kernels = [Linear(normalize=True), Gaussian(scale=1.0), Gaussian(scale=3.0), Intersection(normalize=True)]
    inputs = tuple(ViewKernel("v", kernel) for kernel in [*kernels, fitted(Distance(), x), fitted(Distance("rows"), x)])
    weights = [torch.from_numpy(rng.random(shape) / 4) for shape in ((3, 6), (2, 3), (1, 2))]
    names = ("identity", activation, "exp")

    def network(matrices):
        layers = (Layer(w, make_activation(name)) for w, name in zip(matrices, names, strict=True))
        return Network(inputs, tuple(layers), 1.3)

    leaves = [w.clone().requires_grad_() for w in weights]
    leaf = z.clone().requires_grad_()
    blocks = {"v": differentiable_block(leaf, z.mean(0))}
    values = differentiable_values(network(weights), {"v": differentiable_block(x, z.mean(0))}, blocks, leaves, ROOM)
    torch.testing.assert_close(values.detach(), reference(network(weights), x, z), rtol=1e-11, atol=1e-11)
    cotangent = torch.from_numpy(rng.normal(size=(n, m)))
    slopes = torch.autograd.grad(values, [leaf, *leaves], cotangent)
    ways = [directions(rng, z, Intersection()), *(torch.from_numpy(rng.normal(size=w.shape)) for w in weights)]
    moved = [
        reference(
            network([w + s * STEP * v for w, v in zip(weights, ways[1:], strict=True)]), x, z + s * STEP * ways[0]
        )
        for s in (1, -1)
    ]
    by_differences = ((moved[0] - moved[1]) * cotangent).sum().item() / (2 * STEP)
    parts = [torch.where(way == 0, 0.0, slope) * way for way, slope in zip(ways, slopes, strict=True)]
    scale = 1.0 + sum(part.abs().sum().item() for part in parts)
    assert sum(part.sum().item() for part in parts) == pytest.approx(by_differences, abs=1e-6 * scale)


@each
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_chunks_that_are_computed_twice_give_the_same(kernel, dtype, rng):
    x, z = (part.to(dtype) for part in samples(rng, 23, 5, 6, nonnegative=True, tied=False))
    inputs = (ViewKernel("v", fitted(kernel, x)), ViewKernel("v", Gaussian(scale=2.0)))
    network = Network(inputs, (Layer([[0.4, 0.6]], make_activation("tanh")),), 1.3)
    cotangent = torch.from_numpy(rng.normal(size=(23, 5))).to(dtype)
    found = []
    for room in (ROOM, 32 * 3 * 5 * 4, 1):  # one chunk, chunks of four rows, a chunk for every row
        values, leaf = of_columns(network, x, z, room)
        found.append((values.detach(), torch.autograd.grad(values, leaf, cotangent)[0].nan_to_num(0.0)))
    eps = torch.finfo(dtype).eps
    exact = eps**0.5 if isinstance(kernel, ArcCosine) else 100 * eps  # an angle is known to the root of its cosine
    for values, slopes in found[1:]:
        torch.testing.assert_close(values, found[0][0], rtol=exact, atol=exact)
        scale = found[0][1].abs().max().item()
        torch.testing.assert_close(slopes, found[0][1], rtol=exact, atol=exact * scale)


@each
def test_float32_is_the_evaluators(kernel, rng):
    x, z = (part.float() for part in samples(rng, 20, 8, 12, nonnegative=True, tied=False))
    network = Network((ViewKernel("v", fitted(kernel, x)),), (Layer([[0.7]], make_activation("exp")),), 1.3)
    values, _ = of_columns(network, x, z)
    fused = make_evaluator(network, gl.Views({"v": z.numpy()}), torch.float32, CPU, Precision.FLOAT32)
    # float32 loses 1e-7 of a cosine, so 5e-4 of an angle between equal rows
    accuracy = 5e-4 if isinstance(kernel, ArcCosine) else 2e-5
    torch.testing.assert_close(values.detach(), fused.values(gl.Views({"v": x.numpy()})), rtol=accuracy, atol=1e-6)


@pytest.mark.parametrize("root", [2, 4])
def test_roots_have_finite_slopes_at_zero(root, rng):
    x, _ = samples(rng, 6, 1, 5, nonnegative=True, tied=False)
    inputs = (ViewKernel("v", Hellinger(root=root)), ViewKernel("v", fitted(Distance("rows", root=root), x)))
    inputs += (ViewKernel("v", Intersection()), ViewKernel("v", Linear()))
    network = Network(inputs, (Layer([[0.1, 0.2, 0.3, 0.4]], make_activation("exp")),))
    roots = torch.from_numpy(rng.random((4, 5)))
    roots[0, :3], roots[1] = 0.0, 0.0
    z, weights = roots**root, [layer.weights for layer in network.layers]
    leaf = roots.clone().requires_grad_()
    block = RootedBlock.of(leaf, 1 / root, z.mean(0))
    values = differentiable_values(network, {"v": differentiable_block(x, block.centre)}, {"v": block}, weights, ROOM)
    torch.testing.assert_close(values.detach(), reference(network, x, z))
    (slopes,) = torch.autograd.grad(values.sum(), leaf)
    assert slopes.isfinite().all()
    assert (slopes[0, :3].abs() > 1e-3).all()  # with respect to z itself they are infinite
    way = torch.from_numpy(rng.random((4, 5))) * (roots != 0).any(1, keepdim=True)
    ahead = reference(network, x, (roots + STEP * way) ** root).sum()
    one_sided = (ahead - values.detach().sum()).item() / STEP
    assert (slopes * way).sum().item() == pytest.approx(one_sided, rel=1e-3)


def test_functions_and_known_values_cannot_be_moved():
    assert all(is_movable(fitted(kernel, torch.ones(1, 3))) for kernel in KERNELS)
    assert not is_movable(Custom(lambda x, z: x @ z.T))
    assert not is_movable(Precomputed(np.eye(3)))
