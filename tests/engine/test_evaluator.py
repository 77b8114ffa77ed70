"""The fused evaluators against the reference in float64: random networks of every kind, hostile sizes and data."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Event

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from torch.utils._python_dispatch import TorchDispatchMode

import gramless as gl
from gramless.engine import Precision, choose_precision, make_evaluator
from gramless.engine.device import products_on_gpu, warn_once
from gramless.engine.evaluator import ReferenceEvaluator
from gramless.engine.forms import fine_enough, forms_of, share_planes
from gramless.engine.fused_on_cpu import FusedOnCpu
from gramless.engine.samples import sample_block
from gramless.errors import DataError
from gramless.kernels import (
    ArcCosine,
    Custom,
    Distance,
    Gaussian,
    Hellinger,
    Intersection,
    Linear,
    Polynomial,
    RationalQuadratic,
)
from gramless.network import Layer, Network, ViewKernel, make_activation
from gramless.views.arrays import numpy_dtype
from tests.networks import kernels_by_name

CPU = torch.device("cpu")
KERNELS = (
    *(kernel for kernel in kernels_by_name() if kernel != ArcCosine(order=0)),  # whose slope is infinite
    Linear(normalize=True),
    Polynomial(degree=2, normalize=True),
    Polynomial(degree=3, offset=0.5, normalize=True),
    Polynomial(degree=5, offset=0.1),
    Gaussian(scale=3.0, normalize=True),
    RationalQuadratic(scale=0.6, alpha=0.3),
    RationalQuadratic(scale=2.0, alpha=50.0, normalize=True),
    Intersection(normalize=True),
    Hellinger(normalize=True),
    Hellinger(root=4, normalize=True),
    ArcCosine(order=1, normalize=True),
    Custom(lambda x, z: 1.0 / (1.0 + x.sum(1)[:, None] + z.sum(1))),
)
ACTIVATIONS = ("tanh", "sinh", "exp", "identity", (0.1, 0.5, 0.2))


def views(rng, n_rows, widths, dtype=torch.float32):
    kind = numpy_dtype(dtype)
    return gl.Views({f"v{i}": rng.random((n_rows, width)).astype(kind) / width for i, width in enumerate(widths)})


def network(rng, widths, hidden, n_kernels):
    inputs = tuple(
        ViewKernel(f"v{rng.integers(len(widths))}", KERNELS[rng.integers(len(KERNELS))]) for _ in range(n_kernels)
    )
    units = (n_kernels, *hidden, 1)
    layers = tuple(
        Layer(rng.random((n_units, n_inputs)) / n_inputs, make_activation(ACTIVATIONS[rng.integers(len(ACTIVATIONS))]))
        for n_inputs, n_units in pairwise(units)
    )
    return inputs, layers


def both(inputs, layers, X, Z, dtype=torch.float32):
    fused = FusedOnCpu(Network(inputs, layers, 1.3), Z, dtype, CPU, Precision.FLOAT32)
    exact = ReferenceEvaluator(Network(inputs, layers, 1.3), Z, torch.float64, CPU)
    return fused, exact


sizes = st.integers(1, 70)


@pytest.mark.parametrize(
    ("dtype", "rtol", "atol"), [(torch.float32, 1e-5, 1e-7), (torch.float64, 1e-12, 1e-14)], ids=["float32", "float64"]
)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=sizes,
    m=sizes,
    widths=st.lists(st.integers(1, 40), min_size=1, max_size=3),
    hidden=st.lists(st.integers(1, 21), max_size=2),
    n_kernels=st.integers(1, 9),
)
def test_fused_equals_reference(dtype, rtol, atol, seed, n, m, widths, hidden, n_kernels):
    rng = np.random.default_rng(seed)
    inputs, layers = network(rng, widths, hidden, n_kernels)
    X, Z = (views(rng, k, widths, dtype) for k in (n, m))
    fused, exact = both(inputs, layers, X, Z, dtype)
    torch.testing.assert_close(fused.values(X).double(), exact.values(X), rtol=rtol, atol=1e-30)
    torch.testing.assert_close(fused.elementary(X).double(), exact.elementary(X), rtol=rtol, atol=atol)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: repr(kernel)[:40])
@pytest.mark.parametrize("data", ["zeros", "equal rows", "one feature rules", "far from the origin", "large", "small"])
def test_every_kernel_on_hostile_data(rng, kernel, data):
    x, z = rng.random((13, 37)).astype(np.float32), rng.random((9, 37)).astype(np.float32)
    if data == "zeros":
        x[:5] = 0.0
        z[3] = 0.0
    elif data == "equal rows":
        x[:], z[:] = x[0], x[0]
    elif data == "one feature rules":
        x[:, 3] *= 50.0
        z[:, 3] *= 50.0
    elif data == "far from the origin":
        x, z = x + 100.0, z + 100.0
    elif data == "large":
        x, z = x * 100.0, z * 100.0
    else:
        x, z = x * 1e-4, z * 1e-4
    X, Z = gl.Views({"a": x}), gl.Views({"a": z})
    inputs = (ViewKernel("a", kernel),)
    fused, exact = both(inputs, (Layer([[1.0]], make_activation("identity")),), X, Z)
    expected = exact.elementary(X)
    # The angle of nearly parallel samples, and the exponent of a narrow Gaussian, are as good as float32 has them.
    close = {"rtol": 2e-4, "atol": max(1e-6 * float(expected.abs().max()), 1e-37)}
    torch.testing.assert_close(fused.elementary(X).double(), expected, **close)


FAR_OUT = ("outliers", "tiny spread", "at the end of float32")


@pytest.mark.parametrize("root", [1, 2, 4])
@pytest.mark.parametrize("scaling", ["columns", "rows", "none"])
@pytest.mark.parametrize(
    "data", ["plain", "coinciding", "constant columns", "rows of zeros", "far from the origin", "huge", *FAR_OUT]
)
def test_distances_are_fused_where_float32_is_fine_enough(rng, scaling, root, data):
    x, z = rng.normal(size=(13, 37)).astype(np.float32), rng.normal(size=(9, 37)).astype(np.float32)
    if root > 1:
        x, z = np.abs(x), np.abs(z)
    if data == "coinciding":
        x[:9] = z
    elif data == "constant columns":
        z[:, ::2] = 0.1
    elif data == "rows of zeros":
        x[3] = z[2] = 0.0
    elif data == "far from the origin":
        x, z = x + 1000, z + 1000
    elif data == "huge":
        x, z = x * 1e30, z * 1e30
    kernel = Distance(scaling, root).fit(torch.from_numpy(z).double(), torch.Generator())
    if data == "outliers":
        x[2:4] += 1e4
    elif data == "tiny spread":
        factors = np.full(37, 1e40)  # more than float32 holds
        kernel = Distance(scaling, root, centre=np.zeros(37), factors=factors)
        x, z = x * np.float32(1e-40), z * np.float32(1e-40)
    elif data == "at the end of float32":
        x[3], x[4] = 3e38, 1e38
    X, Z = gl.Views({"a": x}), gl.Views({"a": z})
    layers = (Layer([[0.7]], make_activation("exp")),)
    fused, exact = both((ViewKernel("a", kernel),), layers, X, Z)
    samples = [sample_block(torch.from_numpy(part), torch.zeros(37)) for part in (x, z)]
    given_way = fine_enough(forms_of(kernel), *samples).statistic.kernel is not None
    if scaling != "rows" and root == 1:  # elsewhere samples that lie far out are drawn near
        assert given_way == (data in FAR_OUT)
    elif data == "plain":
        assert not given_way
    found, expected = fused.elementary(X).double(), exact.elementary(X)
    assert found.max() <= 0
    assert found.isfinite().all()
    smallest = torch.finfo(torch.float32).min
    torch.testing.assert_close(found, expected.clamp_min(smallest), rtol=1e-5, atol=2e-5)
    torch.testing.assert_close(fused.values(X).double(), exact.values(X), rtol=1e-4, atol=1e-37)


def test_every_distance_of_a_view_has_its_own_plane_and_copies_share_one(rng):
    Z = views(rng, 8, (5,))
    z = Z.tensor("v0", torch.float64)
    first, second = (Distance(scaling).fit(z, torch.Generator()) for scaling in ("columns", "none"))
    inputs = tuple(ViewKernel("v0", kernel) for kernel in (first, Hellinger(), second, first, Linear()))
    layers = (Layer([[0.3] * 5], make_activation("exp")),)
    X = views(rng, 6, (5,))
    fused, exact = both(inputs, layers, X, Z)
    assert len(share_planes(inputs, [forms_of(entry.kernel)[0] for entry in inputs])[0]) == 4
    torch.testing.assert_close(fused.elementary(X).double(), exact.elementary(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_threads_and_the_other_rows_change_no_bit(rng, dtype):
    X, Z = views(rng, 130, (40, 21)), views(rng, 70, (40, 21))
    inputs, _ = network(rng, (40, 21), (9,), 8)
    layers = tuple(Layer(rng.random((k, n)), make_activation("tanh")) for n, k in ((8, 9), (9, 1)))
    fused = FusedOnCpu(Network(inputs, layers), Z, dtype, CPU, Precision.FLOAT32)
    matrix = torch.from_numpy(rng.random((70, 11))).to(dtype)
    before, found = torch.get_num_threads(), []
    try:
        for n_threads in (1, 2, 5):
            torch.set_num_threads(n_threads)
            found.append(fused.projected(X, matrix))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(each, found[0]) for each in found)
    assert torch.equal(torch.cat([fused.projected(X[i], matrix) for i in range(130)]), found[0])


def test_functions_of_the_user_run_by_the_reference(rng):
    Z = views(rng, 5, (3,))
    inputs = (ViewKernel("v0", Linear()),)
    own = (Layer([[1.0]], make_activation(lambda t: t.clamp_min(0.0))),)
    known = (Layer([[1.0]], make_activation("exp")),)
    assert isinstance(make_evaluator(Network(inputs, own), Z, torch.float32, CPU), ReferenceEvaluator)
    for dtype in (torch.float32, torch.float64):
        assert isinstance(make_evaluator(Network(inputs, known), Z, dtype, CPU), FusedOnCpu)


def test_negative_values_are_refused_with_the_name_of_their_view(rng):
    Z = views(rng, 5, (3, 4))
    inputs = (ViewKernel("v0", Linear()), ViewKernel("v1", Intersection()))
    layers = (Layer([[1.0, 1.0]], make_activation("exp")),)
    fused = FusedOnCpu(Network(inputs, layers), Z, torch.float32, CPU, Precision.FLOAT32)
    signed = gl.Views({"v0": -np.ones((2, 3)), "v1": -np.ones((2, 4))})
    with pytest.raises(DataError, match=r"view 'v1'.*non-negative"):
        fused.values(signed)


@pytest.mark.parametrize("kernel", [Linear(), Hellinger()], ids=lambda kernel: kernel.name)
def test_memory_that_cannot_be_written_is_read_without_a_warning(rng, kernel):
    """Rows' numbers follow from the sums of the linear kernel, not of the other. PyTorch warns once, unless told."""
    X, Z = rng.random((6, 5)).astype(np.float32), views(rng, 4, (5,))
    net = Network((ViewKernel("v0", kernel),), (Layer([[1.0]], make_activation("exp")),))
    evaluators = [
        FusedOnCpu(net, Z, torch.float32, CPU, Precision.FLOAT32),
        ReferenceEvaluator(net, Z, torch.float32, CPU),
    ]
    expected = [evaluator.values(gl.Views({"v0": X})) for evaluator in evaluators]
    X.setflags(write=False)
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        with warnings.catch_warnings(action="error"):
            found = [evaluator.values(gl.Views({"v0": X})) for evaluator in evaluators]
    finally:
        torch.set_warn_always(before)
    assert all(map(torch.equal, found, expected))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("made", [np.asarray, sparse.csr_array, torch.from_numpy], ids=["array", "sparse", "tensor"])
def test_what_only_float64_holds_is_refused_with_its_value(rng, made):
    X, Z = rng.random((6, 5)), views(rng, 4, (5,))
    X[2, 3] = -1e300
    net = Network((ViewKernel("v0", Gaussian(1.0)),), (Layer([[1.0]], make_activation("exp")),))
    for evaluator in (
        FusedOnCpu(net, Z, torch.float32, CPU, Precision.FLOAT32),
        ReferenceEvaluator(net, Z, torch.float32, CPU),
    ):
        with pytest.raises(DataError, match=r"view 'v0': values up to 1e\+300 are too large: .*in float32"):
            evaluator.values(gl.Views({"v0": made(X)}))


def test_codes_are_off_by_half_a_step_per_feature_at_most(rng):
    X, Z = views(rng, 40, (64,)), views(rng, 30, (64,))
    inputs = (ViewKernel("v0", Intersection()),)
    layers = (Layer([[1.0]], make_activation("identity")),)
    exact = ReferenceEvaluator(Network(inputs, layers), Z, torch.float64, CPU).values(X)
    coded = FusedOnCpu(Network(inputs, layers), Z, torch.float32, CPU, Precision.CODES).values(X)
    step = Z["v0"].max() / 255
    assert 0 < (coded - exact).abs().max() <= 64 * step / 2
    assert (coded - exact).abs().mean() < 64**0.5 * step  # rounding evens out


def test_a_product_on_the_cpu_leaves_the_gpus_setting_alone(rng):
    """A caller may have set it in PyTorch's newer way, after which even reading it in the older one is an error."""
    X, matmul = views(rng, 5, (3,)), torch.backends.cuda.matmul
    seen = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(matmul.fp32_precision)
            return func(*args, **(kwargs or {}))

    network = Network((ViewKernel("v0", Linear()),), (Layer([[1.0]], make_activation("identity")),))
    before = matmul.fp32_precision
    matmul.fp32_precision = "tf32"
    try:
        with Watch():
            FusedOnCpu(network, X, torch.float32, CPU, Precision.FLOAT32).values(X)
    finally:
        matmul.fp32_precision = before
    assert seen
    assert set(seen) == {"tf32"}


def test_threads_take_turns_at_the_gpus_setting():
    matmul, entered = torch.backends.cuda.matmul, Event()
    before = matmul.fp32_precision

    def is_short(precision):
        with products_on_gpu(precision):
            entered.set()
            return matmul.fp32_precision == "tf32"

    with ThreadPoolExecutor(1) as pool:
        with products_on_gpu(Precision.TF32):
            other = pool.submit(is_short, Precision.FLOAT32)
            assert not entered.wait(0.5)
            assert matmul.fp32_precision == "tf32"
        assert not other.result(10)
    assert is_short(Precision.TF32)
    assert matmul.fp32_precision == before


@pytest.mark.parametrize(("name", "device"), [("tf32", "cpu"), ("bf16", "cpu"), ("codes", "cuda")])
def test_a_precision_that_the_device_lacks_is_float32_with_one_warning(name, device):
    warn_once.cache_clear()
    with pytest.warns(UserWarning, match=f"precision='{name}' does not exist on {device}.*float32 is used") as warned:
        found = {Precision.of(name, torch.device(device)) for _ in range(3)}
    assert found == {Precision.FLOAT32}
    assert len(warned) == 1


SETTLED = {
    "cpu": {"float32": "float32", "float64": "float32", "codes": "codes", "tf32": "float32", "bf16": "float32"},
    "cuda": {"float32": "float32", "float64": "float32", "codes": "float32", "tf32": "tf32", "bf16": "bf16"},
}


@pytest.mark.parametrize("device", SETTLED)
def test_every_wish_is_settled_on_every_device(device):
    """A wish comes from the machine where a model was made; float64 is of the data's type, and changes nothing here."""
    assert {name for wishes in SETTLED.values() for name in wishes.values()} == {each.value for each in Precision}
    for wish, settled in SETTLED[device].items():
        warn_once.cache_clear()
        with gl.config_context(precision=wish), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            assert choose_precision(torch.device(device)).value == settled
        assert len(warned) == (settled != wish and wish != "float64")


def test_a_precision_that_no_device_has_is_refused():
    with pytest.raises(ValueError, match="precision='float16'"):
        Precision.of("float16", torch.device("cpu"))
