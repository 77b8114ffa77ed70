"""DeepMapNetwork: what it takes, what it chooses, and what it says."""

import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import gramless as gl
from gramless.kernels import Gaussian
from gramless.maps.landmarks import SELECTORS
from gramless.maps.tuning import TUNERS, RepresenterMap, tune_algorithm1
from tests.networks import random_views, unfolded

NETWORK = gl.DeepKernelNetwork(hidden=(5,), activation="sinh", learning=None, random_state=0)


@pytest.fixture
def views(rng):
    return random_views(rng, 50)


@pytest.fixture
def labels(views):
    return (views["v0"][:, 0] > views["v0"][:, 1]).astype(int)


def gram(phi):
    return np.asarray(phi) @ np.asarray(phi).T


def test_one_gaussian_kernel_is_scikit_learns_nystroem(views):
    X = views["v0"]
    network = gl.DeepKernelNetwork(
        [Gaussian(scale=1.0)], (), weights=[np.ones((1, 1))], output_activation="identity", learning=None
    )
    kernel = network.fit(X).kernel_
    dmn = gl.DeepMapNetwork(kernel, landmarks=np.arange(20)).fit(X)
    nystroem = Nystroem(gamma=0.5, n_components=20).fit(X[:20])
    np.testing.assert_allclose(gram(dmn.transform(X)), kernel.scale * gram(nystroem.transform(X)), rtol=1e-6)


def test_a_kernel_a_network_a_frozen_network_and_a_clone_give_the_same_map(views):
    fitted = clone(NETWORK).fit(views)
    settings = {"n_landmarks": 15, "random_state": 0}
    expected = gl.DeepMapNetwork(fitted.kernel_, **settings).fit(views).transform(views)
    for kernel in (NETWORK, FrozenEstimator(fitted)):
        dmn = clone(gl.DeepMapNetwork(kernel, **settings)).fit(views)
        np.testing.assert_array_equal(dmn.transform(views), expected)
    assert not hasattr(NETWORK, "kernel_")  # the parameter was cloned, not fitted in place


def test_fit_transform_column_names_and_components(views):
    dmn = gl.DeepMapNetwork(NETWORK, n_landmarks=20, n_components=7, random_state=0)
    phi = dmn.fit_transform(views)
    assert phi.shape == (50, 7)
    np.testing.assert_array_equal(phi, dmn.transform(views))
    assert dmn.get_feature_names_out()[-1] == "deepmapnetwork6"


def test_more_components_approximate_better(views):
    errors = [
        gl.relative_error(dmn, dmn.kernel_, views)
        for k in (2, 8, None)
        for dmn in [gl.DeepMapNetwork(NETWORK, n_landmarks=30, n_components=k, random_state=0).fit(views)]
    ]
    assert errors[0] > errors[1] > errors[2]


@pytest.mark.parametrize("selector", SELECTORS)
def test_every_selector_makes_a_map_that_is_exact_on_its_landmarks(views, selector):
    dmn = gl.DeepMapNetwork(NETWORK, n_landmarks=12, landmarks=selector, random_state=0).fit(views)
    assert len(set(dmn.landmark_indices_.tolist())) == 12
    chosen = views[dmn.landmark_indices_]
    np.testing.assert_allclose(gram(dmn.transform(chosen)), dmn.kernel_(chosen), rtol=1e-7)


def test_landmarks_as_rows_and_as_samples(views):
    rows = [3, 1, 40, 7]
    by_rows = gl.DeepMapNetwork(NETWORK, landmarks=rows).fit(views)
    by_samples = gl.DeepMapNetwork(NETWORK, landmarks=views[rows]).fit(views)
    np.testing.assert_array_equal(by_rows.landmark_indices_, rows)
    assert by_samples.landmark_indices_ is None
    np.testing.assert_allclose(gram(by_rows.transform(views)), gram(by_samples.transform(views)), rtol=1e-9)
    for wrong in ([0, 50], [-1], [], [0.5], [[1]]):
        with pytest.raises(gl.DataError, match="landmark"):
            gl.DeepMapNetwork(NETWORK, landmarks=wrong).fit(views)


@pytest.mark.parametrize("settings", [{"landmarks": "clever"}, {"n_landmarks": 0}], ids=str)
def test_landmarks_that_cannot_be_are_refused(views, settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        gl.DeepMapNetwork(**({"kernel": NETWORK, "n_landmarks": 12} | settings)).fit(views)


def test_clipping_is_reported_and_warned_of(rng):
    X = rng.random((30, 2))
    network = gl.DeepKernelNetwork(
        ["linear"], (3,), hidden_gain=8.0, output_activation="identity", learning=None, normalize=False
    )
    with pytest.warns(gl.ClippedSpectrumWarning, match="negative and is clipped"):
        dmn = gl.DeepMapNetwork(network, 30, random_state=0).fit(X)
    ((mass,),) = dmn.clipped_mass_
    assert mass > 0
    with pytest.warns(gl.ClippedSpectrumWarning, match="a unit's kernel on the landmarks was negative"):
        hidden, output = unfolded(dmn, X).clipped_mass
    assert (len(hidden), len(output)) == (3, 1)
    assert all(mass > 0 for mass in hidden)


def test_nothing_is_clipped_where_activations_keep_psd(views, recwarn):
    dmn = gl.DeepMapNetwork(NETWORK, 20, random_state=0).fit(views)
    assert not any(any(layer) for deep_map in (dmn.map_, unfolded(dmn, views)) for layer in deep_map.clipped_mass)
    assert not [w for w in recwarn if w.category is gl.ClippedSpectrumWarning]


def test_every_kind_of_input_gives_the_same_map(views):
    a, b = views["v0"], views["v1"]
    joined = np.hstack([a, b])
    columns = {"v0": slice(0, 4), "v1": slice(4, 10)}
    frame = pd.DataFrame(joined, columns=[f"c{i}" for i in range(10)])
    by_name = {"v0": list(frame.columns[:4]), "v1": list(frame.columns[4:])}
    expected = gl.DeepMapNetwork(NETWORK, 10, random_state=0).fit(views).transform(views)
    for X, cut in (
        ({"v0": a, "v1": b}, None),
        ({"v0": sparse.csr_array(a), "v1": sparse.csr_matrix(b)}, None),
        (joined, columns),
        (sparse.csr_array(joined), columns),
        (frame, by_name),
        (frame, columns),
        ({"v0": torch.from_numpy(a), "v1": torch.from_numpy(b)}, None),
        (torch.from_numpy(joined), columns),
    ):
        dmn = gl.DeepMapNetwork(NETWORK, 10, views=cut, random_state=0).fit(X)
        phi = dmn.transform(X)
        assert isinstance(phi, torch.Tensor) == (dmn.landmarks_.torch_device is not None)
        np.testing.assert_allclose(gram(phi), gram(expected), rtol=1e-9)
        np.testing.assert_allclose(gram(dmn.transform(views)), gram(expected), rtol=1e-9)


def test_float32_in_float32_out(views):
    single = gl.Views({name: views[name].astype(np.float32) for name in views.names})
    dmn = gl.DeepMapNetwork(NETWORK, 10, random_state=0).fit(single)
    assert dmn.transform(single).dtype == np.float32
    double = gl.DeepMapNetwork(NETWORK, 10, random_state=0).fit(views)
    np.testing.assert_allclose(gram(dmn.transform(single)), gram(double.transform(views)), rtol=1e-4)


def test_in_a_pipeline_and_a_grid_search(views, labels):
    pipeline = make_pipeline(gl.DeepMapNetwork(NETWORK, 10, random_state=0), LinearSVC())
    grid = {"deepmapnetwork__n_landmarks": [5, 15], "deepmapnetwork__kernel__hidden": [(), (3,)]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(views, labels)
    assert search.best_score_ > 0.75
    assert search.predict(views[:4]).shape == (4,)


@pytest.mark.parametrize("tuning", TUNERS)
def test_tuning_never_raises_the_held_out_error_and_the_map_goes_on_working(rng, tuning):
    views = random_views(rng, 60)
    plain = gl.DeepMapNetwork(NETWORK, 15, random_state=0).fit(views)
    tuned = gl.DeepMapNetwork(NETWORK, 15, tuning=tuning, random_state=0).fit(views)
    before, after = tuned.tuning_errors_
    assert after <= before
    assert plain.tuning_errors_ is None
    assert tuned.transform(views).shape == (60, tuned.map_.n_components)
    assert tuned.get_feature_names_out().shape == (tuned.map_.n_components,)


def test_fine_tune_goes_on_from_a_fitted_map(rng):
    views = random_views(rng, 120)
    dmn = gl.DeepMapNetwork(NETWORK, 15, random_state=0).fit(views[:60])
    first = dmn.transform(views)
    before, after = dmn.fine_tune(views[60:]).tuning_errors_
    assert after <= before
    assert after == before or np.abs(dmn.transform(views) - first).max() > 0


@pytest.mark.filterwarnings("ignore::gramless.ClippedSpectrumWarning")
def test_fine_tune_goes_on_from_what_a_classifier_has_tuned_by_default(rng):
    views = random_views(rng, 200)
    clf = gl.DeepMapClassifier(gl.DeepKernelNetwork(("gaussian",), (3,), learning=None), 15, random_state=0)
    dmn = clf.fit(views[:100], np.arange(100) % 2).map_network_
    tuned = dmn.map_
    before, after = dmn.fine_tune(views[100:]).tuning_errors_
    assert after < before or (after == before and dmn.map_ is tuned)
    assert np.isfinite(dmn.fine_tune(views).transform(views)).all()


def test_what_algorithm_1_has_made_is_not_tuned_again(rng):
    views = random_views(rng, 60)
    dmn = gl.DeepMapNetwork(NETWORK, 15, random_state=0).fit(views)
    generator = torch.Generator().manual_seed(0)
    dmn.map_ = tune_algorithm1(dmn.map_, views, generator, max_iterations=25).map
    assert isinstance(dmn.map_, RepresenterMap)
    with pytest.raises(ValueError, match="Fit anew, with another tuning"):
        dmn.fine_tune(views)
    with pytest.raises(ValueError, match="layer by layer"):
        dmn.explain(9)


def test_what_cannot_be_tuned_is_said(views):
    with pytest.raises(ValueError, match=r"'tuning' parameter .* Got 'magic'"):
        gl.DeepMapNetwork(NETWORK, 10, tuning="magic", random_state=0).fit(views)


def test_more_landmarks_than_samples_takes_all_of_them(views):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dmn = gl.DeepMapNetwork(NETWORK, 99, random_state=0).fit(views)
    assert len(dmn.landmarks_) == 50
    assert gl.relative_error(dmn, dmn.kernel_, views) < 1e-7


def test_precision_reaches_the_engine(rng):
    X = {"a": rng.random((60, 30), dtype=np.float32)}
    kernel = gl.DeepKernelNetwork(("intersection",), (), learning=None).fit(X).kernel_
    dmn = gl.DeepMapNetwork(kernel, 20, random_state=0).fit(X)
    exact = dmn.transform(X)
    with gl.config_context(precision="codes"):
        assert "codes" in str(dmn.explain(60))
        coded = dmn.transform(X)
    assert "codes" not in str(dmn.explain(60))
    assert 0 < np.abs(exact - coded).max() < 0.05
    np.testing.assert_array_equal(dmn.transform(X), exact)


def test_a_model_runs_where_the_wished_precision_is_missing(rng, tmp_path):
    """One that was made with tf32 on a GPU, on a CPU."""
    X = {"a": rng.random((60, 30), dtype=np.float32)}
    with gl.config_context(device="cpu", precision="tf32"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dmn = gl.DeepMapNetwork(gl.DeepKernelNetwork(learning=None), 20, random_state=0).fit(X)
        gl.save(dmn, tmp_path / "model")
        wished = gl.load(tmp_path / "model").transform(X)
    with gl.config_context(device="cpu", precision="float32"):
        np.testing.assert_array_equal(gl.load(tmp_path / "model").transform(X), wished)
