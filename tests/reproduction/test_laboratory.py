"""Networks and maps of a laboratory, against estimators that are called directly."""

from functools import partial

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist

import gramless as gl
from gramless.maps.tuning import TUNERS, tune_algorithm1
from reproduction import laboratory as laboratory_module
from reproduction.collection import Collection
from reproduction.laboratory import Laboratory, MapSpec, NetworkSpec
from tests.reproduction.samples import small_collection

SUPERVISED = NetworkSpec("supervised", 3, 50, 1)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return Laboratory(small_collection(), tmp_path_factory.mktemp("networks"), 5, 60)


def test_a_network_is_learned_as_by_the_estimator(shared):
    pictures = shared.collection
    learning = gl.Supervised(max_samples=50)
    network = gl.DeepKernelNetwork(laboratory_module.KERNELS, (5,), learning=learning, random_state=1)
    expected = network.fit(pictures.views[:60], pictures.labels[:60]).kernel_(pictures.views)
    np.testing.assert_allclose(shared.gram(SUPERVISED).numpy(), expected, rtol=1e-5)


def test_a_network_is_learned_once_and_leaves_no_checkpoint(tmp_path, monkeypatch):
    pictures = small_collection()
    first = Laboratory(pictures, tmp_path, 5, 60).gram(SUPERVISED)
    assert [path.suffix for path in tmp_path.iterdir()] == [".gramless"]
    (learned,) = tmp_path.iterdir()
    learned.with_suffix(".checkpoint").write_bytes(b"of a run that was killed as soon as the network was saved")
    monkeypatch.setattr(Laboratory, "learn", lambda *_: pytest.fail("it is learned already"))
    torch.testing.assert_close(Laboratory(pictures, tmp_path, 5, 60).gram(SUPERVISED), first)
    assert list(tmp_path.iterdir()) == [learned]


def test_a_checkpoint_of_another_run_is_begun_anew(tmp_path):
    pictures = small_collection()
    expected = Laboratory(pictures, tmp_path / "a", 5, 60).gram(SUPERVISED)
    laboratory = Laboratory(pictures, tmp_path / "b", 5, 60)
    (learned,) = (tmp_path / "a").iterdir()
    (tmp_path / "b" / learned.with_suffix(".checkpoint").name).write_bytes(b"of an older version")
    torch.testing.assert_close(laboratory.gram(SUPERVISED), expected)
    assert [path.suffix for path in (tmp_path / "b").iterdir()] == [".gramless"]


@pytest.mark.parametrize("change", [{"n_hidden": 6}, {"n_candidates": 50}, {"collection": small_collection(seed=1)}])
def test_the_fingerprint_tells_laboratories_apart(tmp_path, change):
    def fingerprint(**settings):
        given = {"collection": small_collection(), "folder": tmp_path, "n_hidden": 5, "n_candidates": 60}
        return Laboratory(**(given | settings)).fingerprint

    assert fingerprint() == fingerprint(folder=tmp_path / "elsewhere")
    assert fingerprint(**change) != fingerprint()


@pytest.mark.parametrize(("constant", "value"), [("VERSION", 99), ("KERNELS", ("linear",))])
def test_so_does_how_networks_are_made(tmp_path, monkeypatch, constant, value):
    before = Laboratory(small_collection(), tmp_path, 5, 60).fingerprint
    monkeypatch.setattr(laboratory_module, constant, value)
    assert Laboratory(small_collection(), tmp_path, 5, 60).fingerprint != before


def test_the_average_kernel_is_the_average_of_the_papers_four(shared):
    kernels = []
    for view in ("a", "b"):
        x = shared.collection.views[view].astype(float)
        apart = cdist(x, x)
        scale = apart[:60, :60].sum() / (60 * 59)  # the mean distance between training pictures
        cosine = 1 - cdist(x, x, "cosine")
        common = np.array([[np.minimum(first, second).sum() for second in x] for first in x])  # histograms sum to one
        kernels += [cosine, cosine**2, np.exp(-0.5 * (apart / scale) ** 2), common]
    mean = np.mean(kernels, axis=0)
    known = mean[:60, :60]
    expected = mean / (known.diagonal().mean() - known.mean())  # training pictures have unit spread
    np.testing.assert_allclose(shared.gram(NetworkSpec("average", 2, 60, 0)).numpy(), expected, rtol=1e-5)


def test_a_smooth_kernel_is_a_power_with_the_same_spread(shared):
    gram, smooth = (shared.gram(NetworkSpec(learning, 3, 50, 1)).double() for learning in ("supervised", "smooth"))
    ratio = smooth / gram**laboratory_module.POWER
    torch.testing.assert_close(ratio, ratio.mean().expand_as(ratio), rtol=1e-4, atol=0.0)
    spread, smooth_spread = ((g.diagonal().mean() - g.mean()).item() for g in (gram[:60, :60], smooth[:60, :60]))
    assert smooth_spread == pytest.approx(spread, rel=1e-4)


def test_networks_of_other_pictures_or_seeds_are_not_taken_for_these(tmp_path):
    spec = NetworkSpec("average", 2, 60, 0)
    pictures, others = small_collection(), small_collection(seed=1)
    here = Laboratory(pictures, tmp_path, 5, 60).gram(spec)
    there = Laboratory(others, tmp_path, 5, 60).gram(spec)
    assert len(list(tmp_path.iterdir())) == 2
    assert (here - there).abs().max() > 0.1
    Laboratory(pictures, tmp_path, 5, 60).gram(NetworkSpec("average", 2, 60, 1))
    Laboratory(pictures, tmp_path, 6, 60).gram(spec)
    assert len(list(tmp_path.iterdir())) == 4


def test_semi_supervised_learning_never_looks_at_labels_of_test_pictures(tmp_path):
    pictures = small_collection()
    labels = pictures.labels.copy()
    labels[60:] = 1 - labels[60:]
    spec = NetworkSpec("semi-supervised", 2, 90, 0)
    grams = []
    for name, given in (("a", pictures.labels), ("b", labels)):
        other = Collection(pictures.views, given, 60, pictures.keywords, pictures.names)
        grams.append(Laboratory(other, tmp_path / name, 5, 60).gram(spec))
    torch.testing.assert_close(*grams)


@pytest.mark.parametrize("tuning", [None, "landmarks"])
def test_maps_are_those_of_the_network_itself(shared, tuning):
    spec = MapSpec(SUPERVISED, 15, 2, tuning, 80 if tuning else None)
    views = shared.collection.views
    drawn = shared.draw(15, spec.n_tuning, 2)
    network = gl.DeepMapNetwork(shared.kernel(SUPERVISED), landmarks=drawn.landmarks, random_state=2).fit(views)
    deep_map = network.map_
    if tuning:
        deep_map = TUNERS[tuning](deep_map, views[drawn.tuning], torch.Generator().manual_seed(2)).map
    phi, expected = shared.map(spec).phi, deep_map.transform(views).numpy()
    np.testing.assert_allclose(phi @ phi.T, expected @ expected.T, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("tuning", TUNERS)
def test_maps_that_were_tuned_are_kept(tuning, tmp_path, monkeypatch):
    monkeypatch.setitem(TUNERS, "algorithm1", partial(tune_algorithm1, max_iterations=2, batch_size=5))
    monkeypatch.setattr("gramless.maps.tuning.landmark_descent.STEPS", 2)
    pictures = small_collection()
    spec = MapSpec(SUPERVISED, 10, 0, tuning, 60)
    made = Laboratory(pictures, tmp_path, 3, 60).map(spec)
    monkeypatch.setattr(Laboratory, "make", lambda *_: pytest.fail("it is made already"))
    again = Laboratory(pictures, tmp_path, 3, 60).map(spec)
    np.testing.assert_array_equal(made.phi, again.phi)
    assert made.curve == again.curve
    assert sorted({step for step, _ in made.curve}) == [0, 2]


def test_draws_nest_and_stay_apart(shared):
    small, large = shared.draw(10, 20, 0), shared.draw(30, 50, 0)
    assert set(small.landmarks) <= set(large.landmarks)
    assert set(small.tuning) <= set(large.tuning)
    assert large.landmarks.max() < 60
    assert sorted(large.order) == list(range(90))
    assert set(large.outside) == set(range(90)) - set(large.landmarks) - set(large.tuning)
    assert shared.draw(10, None, 0).tuning.size == 0
    assert (shared.draw(10, 20, 1).order != small.order).any()
