"""PictureFeatures: what it learns and describes, with unreadable pictures, a cache, workers and Ctrl-C."""

import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from gramless.errors import DataError
from gramless.pictures.features import HANDCRAFTED, LEARNED, FeatureCache, PictureFeatures, read_picture
from gramless.pictures.features import rows as rows_module
from gramless.pictures.features.gist import gist
from gramless.pictures.features.histograms import colour_histograms
from gramless.pictures.features.local import local_descriptors
from gramless.pictures.features.workers import FEW
from gramless.support.packages import MissingPackageError
from tests.pictures.features import oracles
from tests.pictures.features.samples import encoded, photo, photo_files

QUICK = ("Gist", "Rgb", "DenseHue", "DenseHueV3H1")


@pytest.fixture
def features(tmp_path):
    (tmp_path / "training").mkdir()
    return PictureFeatures.learn(photo_files(tmp_path / "training", 3), QUICK)


@pytest.fixture
def n_reads(monkeypatch):
    """How many pictures were decoded."""
    reads = []

    def counted(source):
        reads.append(source)
        return read_picture(source)

    monkeypatch.setattr(rows_module, "read_picture", counted)
    return reads


def same(first, second):
    assert first.names == second.names
    for name in first.names:
        np.testing.assert_array_equal(first[name], second[name])


def test_all_views_have_their_widths_and_histograms_sum_to_one(tmp_path):
    paths = photo_files(tmp_path, 4)
    features = PictureFeatures.learn(paths, HANDCRAFTED + LEARNED)
    views, kept, unreadable = features.describe(paths)
    n_words = {view: len(words) for view, words in features.words.items()}
    widths = {"Gist": 512, "Rgb": 4096, "Hsv": 4096, "Lab": 4096, **n_words}
    widths |= {f"{space}V3H1": 5184 for space in ("Rgb", "Hsv", "Lab")} | {
        f"{v}V3H1": 3 * n for v, n in n_words.items()
    }
    assert views.names == HANDCRAFTED + LEARNED
    assert len(HANDCRAFTED) == 15
    assert views.layout == {name: widths.get(name, 1280) for name in views.names}
    assert kept.tolist() == [0, 1, 2, 3]
    assert unreadable == {}
    for name in set(HANDCRAFTED) - {"Gist"}:
        np.testing.assert_allclose(views[name].sum(1), 1, rtol=1e-5)
        assert views[name].dtype == np.float32


def test_rows_are_those_of_the_recipes(features, tmp_path):
    (path,) = photo_files(tmp_path, 1, seed=5)
    views = features.describe([path]).views
    picture = read_picture(path)
    descriptors, bands = local_descriptors(picture, ["DenseHue"])["DenseHue"]
    counts = oracles.word_counts(descriptors, bands, features.words["DenseHue"])
    np.testing.assert_array_equal(views["Gist"][0], gist(picture))
    np.testing.assert_array_equal(views["Rgb"][0], colour_histograms(picture, "Rgb")["Rgb"])
    np.testing.assert_allclose(views["DenseHue"][0], counts.sum(0) / counts.sum(), atol=1e-3)
    np.testing.assert_allclose(views["DenseHueV3H1"][0], counts.ravel() / counts.sum(), atol=1e-3)


def test_unreadable_pictures_are_named_and_left_out(features, tmp_path):
    good = photo_files(tmp_path, 3)
    sources = [tmp_path / "none.png", good[0], b"no picture", good[1], encoded(photo(np.random.default_rng(1)))[:200]]
    views, kept, unreadable = features.describe(sources)
    assert kept.tolist() == [1, 3]
    assert unreadable == {0: "is not there", 2: "is no picture of a kind that can be read", 4: "is cut off"}
    same(views, features.describe(good[:2]).views)


@pytest.mark.parametrize("sources", [[], [b""], [b"text", Path("nowhere.jpg")]])
def test_nothing_readable_is_no_views(features, sources):
    views, kept, unreadable = features.describe(sources)
    assert views is None
    assert len(kept) == 0
    assert len(unreadable) == len(sources)


def test_plain_and_tiny_pictures_have_every_view(tmp_path):
    sources = [encoded(np.full((*shape, 3), 255, dtype=np.uint8)) for shape in [(1, 1), (20, 3), (100, 100)]]
    features = PictureFeatures.learn([*sources, *photo_files(tmp_path, 2)], HANDCRAFTED + LEARNED)
    views = features.describe(sources).views
    assert len(views) == 3
    np.testing.assert_array_equal(views["HarrisSift"], 0)
    np.testing.assert_allclose(views["DenseSift"].sum(1), 1, rtol=1e-6)


def test_words_of_pictures_without_any_corner():
    plain = [encoded(np.full((40, 40, 3), level, dtype=np.uint8)) for level in (0, 255)]
    features = PictureFeatures.learn(plain, ["HarrisSift", "HarrisHueV3H1"])
    assert features.describe(plain).views.layout == {"HarrisSift": 1, "HarrisHueV3H1": 3}


def test_workers_give_what_one_process_gives(features, tmp_path):
    paths = photo_files(tmp_path, FEW + 4)
    paths[3].write_bytes(b"no picture")
    alone, shared = (features.describe(paths, n_jobs=n) for n in (1, 2))
    same(alone.views, shared.views)
    assert alone.unreadable == shared.unreadable
    learned = [PictureFeatures.learn(paths, ["HarrisSift"], n_jobs=n).words["HarrisSift"] for n in (1, 2)]
    np.testing.assert_array_equal(*learned)


def test_a_network_in_batches_gives_what_it_gives_one_by_one(tmp_path, monkeypatch):
    """With a GPU pictures go to the network in batches; here the batches run on the CPU."""
    sources = [*photo_files(tmp_path, 3), b"no picture", *photo_files(tmp_path, 1, seed=1)]
    features = PictureFeatures(("EfficientNet-Lite0", "Rgb"), {})
    one_by_one = features.describe(sources).views
    monkeypatch.setattr(rows_module, "has_gpu", lambda: True)
    batches = features.describe(sources).views
    np.testing.assert_array_equal(batches["Rgb"], one_by_one["Rgb"])
    np.testing.assert_allclose(batches["EfficientNet-Lite0"], one_by_one["EfficientNet-Lite0"], atol=1e-5)


@pytest.mark.parametrize("n_jobs", [0, -1])
def test_a_number_of_workers_that_is_none(features, n_jobs):
    with pytest.raises(ValueError, match="at least 1"):
        features.describe([b"", b""], n_jobs=n_jobs)


def test_a_second_run_reads_no_picture_and_a_renamed_one_is_known(features, tmp_path, n_reads):
    paths = photo_files(tmp_path, 4)
    first = features.describe(paths, cache=FeatureCache(tmp_path / "cache"))
    assert len(n_reads) == 4
    renamed = [path.rename(tmp_path / f"renamed {i}.png") for i, path in enumerate(paths)]
    second = features.describe([*renamed, renamed[0]], cache=FeatureCache(tmp_path / "cache"))
    assert len(n_reads) == 4
    same(second.views[:4], first.views)
    same(second.views[4:], first.views[:1])
    paths[0].write_bytes(encoded(photo(np.random.default_rng(9))))
    features.describe([paths[0], *renamed[1:]], cache=FeatureCache(tmp_path / "cache"))
    assert n_reads[4:] == [paths[0]]


def test_only_what_is_missing_is_computed(features, tmp_path, n_reads):
    paths = photo_files(tmp_path, 3)
    cache = FeatureCache(tmp_path / "cache")
    PictureFeatures(("Gist",), {}).describe(paths[:2], cache=cache)
    views = features.describe(paths, cache=cache).views
    same(views, features.describe(paths).views)


def test_other_words_are_another_recipe(features, tmp_path, n_reads):
    paths = photo_files(tmp_path, 2)
    cache = FeatureCache(tmp_path / "cache")
    features.describe(paths, cache=cache)
    halved = PictureFeatures(QUICK, {"DenseHue": features.words["DenseHue"][::2]})
    same(halved.describe(paths, cache=cache).views, halved.describe(paths).views)


def test_words_are_kept_and_their_descriptors_are_not(tmp_path, n_reads):
    paths = photo_files(tmp_path, 3)
    names = ("DenseHue", "HarrisSift")
    first, second = (PictureFeatures.learn(paths, names, cache=FeatureCache(tmp_path / "cache")) for _ in range(2))
    assert len(n_reads) == 3
    for view in names:
        np.testing.assert_array_equal(first.words[view], second.words[view])
    PictureFeatures.learn(paths, names, cache=FeatureCache(tmp_path / "cache"), seed=1)
    assert len(n_reads) == 6
    PictureFeatures.learn(paths[:2], names, cache=FeatureCache(tmp_path / "cache"))
    assert len(n_reads) == 8  # the descriptors of the first run were dropped once its words were known


def test_unreadable_pictures_are_tried_again(features, tmp_path):
    (path,) = photo_files(tmp_path, 1)
    whole = path.read_bytes()
    cache = FeatureCache(tmp_path / "cache")
    path.write_bytes(whole[:100])
    assert features.describe([path], cache=cache).views is None
    path.write_bytes(whole)
    assert len(features.describe([path], cache=cache).views) == 1


@pytest.mark.parametrize("work", ["learn", "describe"])
def test_ctrl_c_loses_only_the_picture_that_was_being_computed(work, features, tmp_path, monkeypatch):
    paths = photo_files(tmp_path, 6)
    reads = []

    def interrupted(source):
        reads.append(source)
        if source == paths[4]:
            raise KeyboardInterrupt
        return read_picture(source)

    def run():
        cache = FeatureCache(tmp_path / "cache")
        if work == "learn":
            return PictureFeatures.learn(paths, ["DenseHue"], cache=cache)
        return features.describe(paths, cache=cache)

    monkeypatch.setattr(rows_module, "read_picture", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run()
    assert reads == paths[:5]
    monkeypatch.setattr(rows_module, "read_picture", lambda source: reads.append(source) or read_picture(source))
    run()
    assert reads[5:] == paths[4:]


def test_learning_depends_on_the_seed_and_on_readable_pictures_only(tmp_path):
    paths = photo_files(tmp_path, 3)
    first, again, other = (PictureFeatures.learn(paths, ["DenseSift"], seed=s).words["DenseSift"] for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert first.shape[1] == 128
    assert not np.array_equal(first, other)
    with_bad = PictureFeatures.learn([*paths, b"no picture"], ["DenseSift"]).words["DenseSift"]
    np.testing.assert_array_equal(with_bad, first)


def test_learning_on_nothing_readable():
    with pytest.raises(DataError, match=r"none can be read: picture 0 is empty"):
        PictureFeatures.learn([b""], ["DenseSift"])
    with pytest.raises(DataError, match="got no picture"):
        PictureFeatures.learn([], ["DenseSift"])
    assert PictureFeatures.learn([], ["Gist"]).words == {}


@pytest.mark.parametrize("names", [(), ("Gist", "Gist"), ("gist",), ("Gist", "Sift")])
def test_names_that_are_none(names):
    with pytest.raises(DataError, match="view"):
        PictureFeatures.learn([b""], names)


def test_words_that_are_missing():
    with pytest.raises(DataError, match="visual words of HarrisHue are missing"):
        PictureFeatures(("Gist", "HarrisHueV3H1"), {})


def test_a_missing_package_is_explained(features, monkeypatch):
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(MissingPackageError, match=r"cv2.*pip install 'gramless\[pictures\]'"):
        features.describe([b""])


def test_importing_the_features_needs_no_packages_for_pictures():
    code = (
        "import sys, gramless.pictures.features; print({'cv2', 'PIL', 'efficientnet_lite_pytorch'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "set()", done.stderr


@pytest.mark.skipif("GRAMLESS_COREL5K" not in os.environ, reason="GRAMLESS_COREL5K does not name the data")
def test_pictures_of_corel5k_keep_their_size_and_find_themselves():
    """A picture's rows are nearer to those of its own lossy copy than to any other picture's."""
    from PIL import Image

    paths = sorted(Path(os.environ["GRAMLESS_COREL5K"]).glob("images/*/*.jpeg"))[::500]
    assert {read_picture(path).shape for path in paths} <= {(128, 192, 3), (192, 128, 3)}
    features = PictureFeatures.learn(paths, HANDCRAFTED + LEARNED)
    copies = [encoded(Image.open(path), "JPEG", quality=60) for path in paths]
    views, of_copies = features.describe(paths).views, features.describe(copies).views
    for name in views.names:
        distances = np.abs(views[name][:, None] - of_copies[name][None]).sum(2)
        assert (distances.argmin(1) == np.arange(len(paths))).mean() >= 0.9, name


def test_a_stream_gives_what_describe_gives_a_few_at_a_time(features, tmp_path, monkeypatch, n_reads):
    monkeypatch.setattr("gramless.pictures.features.extractor.AT_ONCE", 3)
    paths = photo_files(tmp_path, 8)
    sources = [*paths[:4], b"no picture", *paths[4:], tmp_path / "none.png"]
    whole = features.describe(sources)
    n_reads.clear()
    parts = []
    for part in features.stream(sources):
        parts.append(part)
        assert len(n_reads) == min(3 * len(parts), len(sources))  # nothing ahead of what was asked for
    assert np.concatenate([part.kept for part in parts]).tolist() == whole.kept.tolist() == [0, 1, 2, 3, 5, 6, 7, 8]
    assert [bad for part in parts for bad in part.unreadable.items()] == list(whole.unreadable.items())
    for name in features.names:
        np.testing.assert_array_equal(
            np.concatenate([part.views[name] for part in parts if part.views]), whole.views[name]
        )


def test_a_stream_of_nothing_and_of_nothing_readable(features):
    assert list(features.stream([])) == []
    (part,) = features.stream([b"", b"x"])
    assert part.views is None
    assert list(part.unreadable) == [0, 1]


def test_a_stream_keeps_and_finds_rows(features, tmp_path, n_reads):
    paths = photo_files(tmp_path, 4)
    cache = FeatureCache(tmp_path / "cache")
    (first,) = features.stream(paths, cache=cache)
    (again,) = features.stream(paths, cache=cache)
    assert len(n_reads) == 4
    same(first.views, again.views)


def test_a_stream_holds_a_bounded_number_of_rows(features, tmp_path, monkeypatch):
    """Whatever the number of pictures: of 160 more, not even half of the rows are in memory."""
    monkeypatch.setattr("gramless.pictures.features.extractor.AT_ONCE", 2)
    rgb_only = PictureFeatures(("Rgb",), {})
    sources = photo_files(tmp_path, 2) * 20
    next(rgb_only.stream(sources[:2]))
    tracemalloc.start()
    try:
        for _ in rgb_only.stream(sources):
            pass
        _, few = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        for _ in rgb_only.stream(sources * 5):
            pass
        _, many = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    n_more, row = 4 * len(sources), 4 * 4096
    assert many - few < n_more * row / 2
