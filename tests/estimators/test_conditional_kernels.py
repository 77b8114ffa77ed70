"""Networks with distances and square roots at their input, through everything that is built on a network."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import gramless as gl
from gramless.maps import CollapsedMap
from gramless.maps.explicit import Exact
from gramless.maps.landmarks import SELECTORS
from tests.networks import unfolded

KERNELS = ("distance", "hellinger", "linear")


@pytest.fixture
def samples(rng):
    X = {"a": rng.random((150, 6)), "b": rng.random((150, 4))}
    return X, (X["a"][:, 0] + X["b"][:, 1] > 1).astype(int)


def network(hidden=(), learning=None):
    return gl.DeepKernelNetwork(
        KERNELS, hidden, activation="exp", output_activation="exp", learning=learning, random_state=0
    )


@pytest.mark.parametrize("hidden", [(), (3,)], ids=["two layers", "three layers"])
def test_learning_lowers_the_objective_and_the_kernel_stays_psd(samples, hidden):
    X, y = samples
    learned = network(hidden, gl.Supervised(n_steps=10, evaluate_every=5, validation=0.0)).fit(X, y)
    objectives = [point.objective for point in learned.learning_curve_]
    assert objectives[-1] < objectives[0]
    gram = learned.kernel_(X)
    eigenvalues = np.linalg.eigvalsh(gram)
    assert eigenvalues[0] >= -1e-12 * eigenvalues[-1]
    np.testing.assert_allclose(learned.kernel_.diagonal(X), np.diag(gram), rtol=1e-12)


@pytest.mark.parametrize("hidden", [(), (3,)], ids=["two layers", "three layers"])
def test_sparse_float32_and_data_in_blocks_give_the_same(samples, hidden):
    X, _ = samples
    X = {"a": np.where(X["a"] > 0.5, X["a"], 0.0), "b": X["b"]}
    X = {view: block.astype(np.float32) for view, block in X.items()}
    dmn = gl.DeepMapNetwork(network(hidden).fit(X).kernel_, landmarks=np.arange(0, 150, 5)).fit(X)
    kernel, exact = dmn.kernel_, dmn.kernel_({view: block.astype(float) for view, block in X.items()})
    np.testing.assert_allclose(kernel(X), exact, rtol=2e-4)  # 6 times the largest rounding of an exponent
    np.testing.assert_allclose(kernel({"a": sparse.csr_array(X["a"]), "b": X["b"]}), kernel(X), rtol=1e-6)
    vectors = dmn.transform(X)
    sent = pickle.loads(pickle.dumps(dmn))  # as to a worker
    np.testing.assert_array_equal(sent.transform(X), vectors)
    in_blocks = dmn.transform(gl.in_blocks(X, rows=40))
    np.testing.assert_allclose(np.asarray(in_blocks), vectors, rtol=0, atol=1e-4 * np.abs(vectors).max())


@pytest.mark.parametrize("selector", SELECTORS)
def test_every_selector_and_every_tuning_but_the_papers(samples, selector):
    X, _ = samples
    kernel = network().fit(X).kernel_
    dmn = gl.DeepMapNetwork(kernel, 20, landmarks=selector, random_state=0).fit(X)
    assert isinstance(dmn.map_, CollapsedMap)
    landmarks = {view: block[dmn.landmark_indices_] for view, block in X.items()}
    phi = dmn.transform(landmarks)
    np.testing.assert_allclose(phi @ phi.T, kernel(landmarks), rtol=1e-6)
    dmn = gl.DeepMapNetwork(kernel, 20, landmarks=selector, tuning="landmarks", random_state=0).fit(X)
    before, after = dmn.tuning_errors_
    assert after <= before
    assert np.isfinite(dmn.transform(X)).all()


def test_what_needs_a_map_of_every_kernel_is_refused_with_what_to_do(samples):
    X, _ = samples
    words = r"distance kernel.*has none.*as DeepMapNetwork does"
    with pytest.raises(ValueError, match=words):
        gl.DeepMapNetwork(network((3,)), 20, tuning="algorithm1", random_state=0).fit(X)
    dmn = gl.DeepMapNetwork(network((3,)), 20, random_state=0).fit(X)
    for options in ({}, {"input_maps": {"hellinger": Exact()}}):
        with pytest.raises(ValueError, match=words):
            unfolded(dmn, X, **options)


def test_the_default_activation_of_a_hidden_layer_is_refused_with_what_to_do(samples):
    X, _ = samples
    with pytest.raises(gl.DataError, match="output_activation='exp'"):
        gl.DeepKernelNetwork(KERNELS, (3,), learning=None).fit(X)


@pytest.mark.parametrize(
    ("kernels", "hidden", "given", "expected"),
    [
        ("auto", (), {}, 1.0),
        (("distance", "linear"), (), {}, 1.0),
        (("gaussian", "linear"), (), {}, 6.0),
        ("auto", (3,), {}, 6.0),
        ("auto", (), {"output_gain": 2.5}, 2.5),
    ],
    ids=str,
)
def test_the_gain_of_the_output_is_smaller_where_it_sums_distances(samples, kernels, hidden, given, expected):
    made = gl.DeepKernelNetwork(kernels, hidden, activation="exp", learning=None, random_state=0, **given)
    assert made.fit(samples[0]).kernel_.layers[-1].weights.sum().item() == pytest.approx(expected)


def test_an_outlier_among_new_samples_is_like_nothing_and_changes_nothing_else(samples):
    X, y = samples
    X = {view: block.astype(np.float32) for view, block in X.items()}
    classifier = gl.DeepMapClassifier(
        gl.DeepKernelNetwork(("distance", "hellinger"), learning=None), n_landmarks=30, random_state=0
    )
    classifier.fit(X, y)
    plain = classifier.decision_function(X)
    X["a"][7] = 1e37  # six of them still add up to a number
    X["b"][7] = 1e9
    found = classifier.decision_function(X)
    assert np.isfinite(found).all()
    others = np.arange(150) != 7
    np.testing.assert_allclose(found[others], plain[others], rtol=1e-3, atol=1e-3)


def test_a_distance_of_other_columns_than_the_views_is_refused(rng):
    kernel = gl.DeepKernelNetwork(("distance",), (), learning=None, random_state=0).fit(rng.random((20, 4))).kernel_
    with pytest.raises(gl.DataError, match="a distance kernel of 4 features is on view 'view0' of 3"):
        replace(kernel, layout={"view0": 3})
