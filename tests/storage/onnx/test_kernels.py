"""Elementary kernels in an exported file against their formulas, pair by pair."""

import numpy as np
import onnxruntime
import pytest
import torch
from hypothesis import HealthCheck, given, settings

import gramless as gl
from gramless.kernels import ArcCosine, ChiSquare, Custom, Distance, Gaussian, Intersection, Laplacian, Precomputed
from gramless.storage.onnx import functions, pairs
from gramless.storage.onnx.graph import Constants, Graph, multiply, signature
from tests.contracts.samples import sample_sets
from tests.kernels.test_hostile_inputs import DISTANCE, HOMOGENEOUS
from tests.kernels.test_kernels import NORMALISED, PLAIN
from tests.oracles import kernels as oracle
from tests.storage.onnx.exported import ACCURACY, kernel_values

pytestmark = pytest.mark.filterwarnings("ignore::gramless.ClippedSpectrumWarning")
CASES = [case for case in PLAIN + NORMALISED if not isinstance(case.kernel, (Custom, Precomputed))]
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])


def rounded(samples):
    """The same numbers in float32, which is what a file is given."""
    return samples.astype(np.float32).astype(np.float64)


def check(case, X, Z, folder, dtype):
    found = kernel_values(case.kernel, X, Z, folder, dtype)
    own = [oracle.diagonal(case.formula, samples) for samples in (X, Z)]
    size = np.sqrt(np.outer(*own)) + 1e-2 * max(each.max() for each in own)  # where one of them is 0
    assert (np.abs(found - oracle.matrix(case.formula, X, Z)) <= ACCURACY * size + 1e-30).all()


@every_dtype
@pytest.mark.parametrize("case", CASES, ids=str)
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sets=sample_sets())
def test_agrees_with_the_formula_pair_by_pair(case, dtype, sets, tmp_path):
    X, Z = (case.admit(rounded(samples)) for samples in sets)
    check(case, X, Z, tmp_path, dtype)


@every_dtype
@pytest.mark.parametrize("case", CASES, ids=str)
def test_zero_rows_duplicates_and_one_feature(case, dtype, rng, tmp_path):
    X = case.admit(rounded(rng.normal(size=(5, 3))))
    hostile = np.vstack([np.zeros((2, 3)), X, X])
    check(case, hostile, hostile[1:], tmp_path, dtype)
    check(case, hostile[:, :1], hostile[2:3, :1], tmp_path, dtype)


@pytest.mark.parametrize("magnitude", [2.0**26, 2.0**-26])
@pytest.mark.parametrize(("kind", "parameters", "formula", "_degree"), HOMOGENEOUS.values(), ids=HOMOGENEOUS)
def test_normalised_kernels_do_not_depend_on_units(kind, parameters, formula, _degree, magnitude, rng, tmp_path):
    X = magnitude * rounded(rng.random((6, 4)))
    found = kernel_values(kind(**parameters, normalize=True), X, X, tmp_path)
    np.testing.assert_allclose(found, oracle.matrix(oracle.normalised(formula), X, X), rtol=0, atol=2 * ACCURACY)


@every_dtype
@pytest.mark.parametrize("magnitude", [2.0**50, 2.0**-50])
@pytest.mark.parametrize(("kind", "formula"), DISTANCE.values(), ids=DISTANCE)
def test_distance_kernels_do_not_depend_on_units(kind, formula, magnitude, dtype, rng, tmp_path):
    X, Z = (magnitude * rounded(rng.random((n, 4))) for n in (6, 5))
    found = kernel_values(kind(scale=0.7 * magnitude), X, Z, tmp_path, dtype)
    np.testing.assert_allclose(found, oracle.matrix(formula(0.7 * magnitude), X, Z), rtol=0, atol=ACCURACY)


@pytest.mark.parametrize(("kind", "formula"), DISTANCE.values(), ids=DISTANCE)
def test_samples_far_from_all_landmarks_are_as_far_as_they_are(kind, formula, rng, tmp_path):
    Z = rounded(rng.random((5, 4)))
    X = np.array([[3e38, 0, 0, 0], [1e20, 1e20, 1e20, 1e20], [1e5, 0, 0, 0]])
    found, expected = kernel_values(kind(scale=0.5), X, Z, tmp_path), oracle.matrix(formula(0.5), X, Z)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-37)
    assert (found[expected == 0] == 0).all()


@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_a_gaussian_much_narrower_than_the_data_is_not_lost_in_rounding(offset, rng, tmp_path):
    centres = rng.integers(-400, 400, size=(6, 3)) * 64.0
    X, Z = (rounded(offset + centres + rng.integers(-64, 64, size=(6, 3)) / 64) for _ in range(2))
    found = kernel_values(Gaussian(scale=0.9), X, Z, tmp_path)
    assert found.diagonal().min() > 1e-3
    np.testing.assert_allclose(found, oracle.matrix(oracle.gaussian(0.9), X, Z), rtol=0, atol=ACCURACY)


@pytest.mark.parametrize("kernel", [Intersection(), Laplacian(scale=9.0), ChiSquare(scale=9.0)], ids=str)
@pytest.mark.parametrize("n_landmarks", [1, 2, 7, 13])
def test_landmarks_in_any_number_of_groups(kernel, n_landmarks, rng, tmp_path, monkeypatch):
    monkeypatch.setattr(pairs, "TERMS_AT_ONCE", 4 * 4 * 30)  # four landmarks of 30 features, for four rows
    X, Z = (rounded(rng.random((n, 30))) for n in (9, n_landmarks))
    formulas = {Intersection: oracle.intersection, Laplacian: oracle.laplacian(9.0), ChiSquare: oracle.chi_square(9.0)}
    found = kernel_values(kernel, X, Z, tmp_path)
    np.testing.assert_allclose(found, oracle.matrix(formulas[type(kernel)], X, Z), rtol=1e-5)


@every_dtype
@pytest.mark.parametrize("root", [1, 2, 4])
@pytest.mark.parametrize("scaling", ["columns", "rows", "none"])
@pytest.mark.parametrize("data", ["plain", "coinciding", "rows of zeros", "far from the origin", "huge", "outliers"])
def test_distances_under_an_exponential(data, scaling, root, dtype, rng, tmp_path):
    X, Z = (rounded(rng.normal(size=(n, 4))) for n in (9, 6))
    if root > 1:
        X, Z = np.abs(X), np.abs(Z)
    Z[:, 2] = 0.5  # no spread
    if data == "coinciding":
        X[:6] = Z
    elif data == "rows of zeros":
        X[3] = Z[1] = 0.0
    elif data == "far from the origin":
        X, Z = rounded(X + 1000), rounded(Z + 1000)
    elif data == "huge":
        X, Z = rounded(X * 1e30), rounded(Z * 1e30)
    formula = oracle.distance(Z, scaling, root)
    if data == "outliers":
        X[2:4] += 1e4
        X[4] = 3e38
    kernel = Distance(scaling, root).fit(torch.from_numpy(Z), torch.Generator())
    found = kernel_values(kernel, X, Z, tmp_path, dtype, activation="exp")
    np.testing.assert_allclose(found, np.exp(oracle.matrix(formula, X, Z)), rtol=1e-5, atol=1e-37)


def test_the_angle_of_order_zero_is_right_where_samples_coincide(rng, tmp_path):
    X = rounded(rng.random((40, 30)))
    for kernel in (ArcCosine(order=0), ArcCosine(order=0, normalize=True)):
        assert np.abs(kernel_values(kernel, X, X, tmp_path).diagonal() - 1.0).max() < 1e-6


def test_functions_and_known_matrices_are_refused_by_name(rng, tmp_path):
    X = rng.random((6, 3))
    for kernel, samples, name in (
        (Custom(lambda x, z: x @ z.T), X, "Custom"),
        (Precomputed(X @ X.T), np.arange(6.0)[:, None], "Precomputed"),
    ):
        with pytest.raises(gl.GramlessError, match=rf"type {name} cannot be exported.*Gaussian"):
            kernel_values(kernel, samples, samples, tmp_path)
    assert not (tmp_path / "model.onnx").exists()


def evaluate(build, x, dtype=np.float64):
    """What build(graph, "x") says of an array."""
    graph = Graph(np.dtype(dtype), Constants(["x", "y"]))
    graph.put_out("y", build(graph, "x"), dtype)
    shape = [f"size{i}" for i in range(x.ndim)]
    content = graph.to_bytes([signature("x", dtype, shape)], [signature("y", dtype, None)], {}, "test")
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x.astype(dtype)})[0]


@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float64, 1e-15), (np.float32, 1e-6)], ids=["float64", "float32"])
def test_arc_cosine(dtype, accuracy):
    x = np.concatenate([np.linspace(-1, 1, 4001), [0.5, -0.5, 1 - 1e-16, 1e-300, -0.0]]).astype(dtype)
    found = evaluate(functions.arc_cosine, x, dtype)
    np.testing.assert_allclose(found, np.arccos(x.astype(np.float64)), rtol=0, atol=accuracy)


@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float64, 1e-14), (np.float32, 1e-6)], ids=["float64", "float32"])
def test_hyperbolic_sine(dtype, accuracy):
    x = np.concatenate([np.linspace(-30, 30, 999), [1e-9, 80.0, -80.0, 0.0]]).astype(dtype)
    found = evaluate(functions.hyperbolic_sine, x, dtype)
    np.testing.assert_allclose(found, np.sinh(x.astype(np.float64)), rtol=accuracy, atol=1e-15)


def test_inverse_hyperbolic_sine():
    x = np.concatenate([np.linspace(-30, 30, 999), [1e-9, 1e100, -1e100, 1e200, np.inf, -np.inf]])
    found = evaluate(functions.inverse_hyperbolic_sine, x)
    expected = np.arcsinh(x)
    expected[1002] = np.inf  # its square overflows; what is asked for is cut off far below
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("coefficients", [(2.0,), (1.0, 3.0), (0.5, 0.0, 2.0), (0.0, 0.0, 0.0, 1.0)], ids=str)
def test_polynomial(coefficients):
    x = np.linspace(-3, 3, 50)
    found = evaluate(lambda graph, name: functions.polynomial(graph, name, coefficients), x)
    np.testing.assert_allclose(found, sum(c * x**k for k, c in enumerate(coefficients)), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(("shape", "n_products"), [((6, 2, 6), 2), ((6, 5, 6), 1), ((3, 6, 5, 6), 1)], ids=str)
def test_two_matrices_become_one_where_it_is_smaller(shape, n_products, rng):
    *stack, n, r, m = shape
    first, second = rng.normal(size=(*stack, n, r)), rng.normal(size=(*stack, r, m))
    x = rng.normal(size=(*stack, 4, n))
    np.testing.assert_allclose(evaluate(lambda g, name: multiply(g, name, first, second), x), x @ first @ second)
    graph = Graph(np.dtype(np.float64), Constants(["x"]))
    multiply(graph, "x", first, second)
    assert len(graph.nodes) == n_products
