"""Collections: what is saved is found again, and numbers decide what counts as the same."""

import json
from dataclasses import replace

import numpy as np
import pytest

import gramless as gl
from gramless.errors import DataError, GramlessError
from gramless.pictures.features import rows, workers
from gramless.support.atomic import write_atomically
from reproduction import collection
from reproduction.collection import (
    Collection,
    check_same,
    describe_corel5k,
    holds_views,
    load_collection,
    save_collection,
)
from tests.reproduction.samples import small_collection, write_corel5k


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    monkeypatch.setattr(workers, "FEW", 100)


def test_saved_and_loaded(tmp_path):
    pictures = small_collection(views=("a", "other:x"))
    save_collection(pictures, tmp_path / "features")
    found = load_collection(tmp_path / "features", ("a", "other:x"))
    for view in pictures.views.names:
        np.testing.assert_array_equal(found.views[view], pictures.views[view])
    np.testing.assert_array_equal(found.labels, pictures.labels)
    assert (found.keywords, found.names, found.n_train) == (pictures.keywords, pictures.names, pictures.n_train)
    assert found.sha256 == pictures.sha256
    assert load_collection(tmp_path / "features", ("a",)).sha256 == pictures.with_views(("a",)).sha256


def test_what_is_not_there_or_not_whole_is_not_found(tmp_path):
    assert load_collection(tmp_path, ("a",)) is None
    save_collection(small_collection(), tmp_path)
    assert load_collection(tmp_path, ("a", "c")) is None
    (tmp_path / "collection.json").unlink()
    assert load_collection(tmp_path, ("a",)) is None


def test_some_pictures_may_have_no_labels_and_no_names(tmp_path):
    pictures = small_collection(n=30, n_train=20, n_unlabelled=15)
    for names in (pictures.names, pictures.names[:30], ()):
        save_collection(replace(pictures, names=names), tmp_path)
        found = load_collection(tmp_path, ("a", "b"))
        np.testing.assert_array_equal(found.labels, pictures.labels)
        assert (len(found), found.names, found.sha256) == (45, names, pictures.sha256)


def test_features_of_another_recipe_are_not_todays(tmp_path, monkeypatch):
    save_collection(small_collection(views=("a", "EfficientNet-Lite0")), tmp_path)
    assert holds_views(tmp_path, ("a", "EfficientNet-Lite0"))
    with monkeypatch.context() as later:
        later.setattr(rows, "weights_version", lambda name: "7.0")
        assert load_collection(tmp_path, ("a", "EfficientNet-Lite0")) is None
        assert load_collection(tmp_path, ("a",)) is not None
    with monkeypatch.context() as later:
        later.setattr(rows, "RECIPES_VERSION", rows.RECIPES_VERSION + 1)
        assert not holds_views(tmp_path, ("a",))
        assert load_collection(tmp_path, ("a",)) is None
    assert load_collection(tmp_path, ("a", "EfficientNet-Lite0")) is not None


def test_features_can_be_taken_to_a_machine_without_the_network(tmp_path, monkeypatch):
    save_collection(small_collection(views=("a", "EfficientNet-Lite0")), tmp_path)

    def missing(name):
        raise GramlessError(f"the view {name} needs a package that is missing")

    monkeypatch.setattr(rows, "weights_version", missing)
    assert load_collection(tmp_path, ("a", "EfficientNet-Lite0")) is not None
    assert load_collection(tmp_path, ("a", "torchvision:resnet50")) is None


def test_lists_of_an_older_format_are_made_again(tmp_path):
    save_collection(small_collection(), tmp_path)
    path = tmp_path / "collection.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 1, "views": ["a", "b"]}))
    assert load_collection(tmp_path, ("a", "b")) is None


def test_an_interrupted_save_leaves_no_list_of_old_and_new_views(tmp_path, monkeypatch):
    save_collection(small_collection(), tmp_path)
    written = []

    def interrupted(path, write):
        if written:
            raise KeyboardInterrupt
        written.append(path)
        write_atomically(path, write)

    monkeypatch.setattr(collection, "write_atomically", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save_collection(small_collection(seed=1), tmp_path)
    assert len(written) == 1
    assert load_collection(tmp_path, ("a", "b")) is None


def test_the_data_that_was_described_is_the_same(tmp_path):
    data = write_corel5k(tmp_path)
    check_same(describe_corel5k(data, ("Rgb",), None), tmp_path / "features", data)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"keywords": ("red", "green", "blue", "dark")}, "its 4 keywords are not the 4 that were kept"),
        ({"n_train": 25}, "25 training and 7 test pictures were kept, and it has 24 and 8"),
        (
            {"names": tuple(f"1000/{i ^ (i > 3)}.jpeg" for i in range(32))},
            "picture 5 was 1000/5.jpeg, and is 1000/4.jpeg",
        ),
        ({"labels": 1}, r"1 pictures had other keywords, 1000/29\.jpeg first"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_other_data_than_was_described_is_refused(tmp_path, change, told):
    data, folder = write_corel5k(tmp_path), tmp_path / "features"
    kept = describe_corel5k(data, ("Rgb",), None)
    if "labels" in change:
        labels = kept.labels.copy()
        labels[29, 2] ^= 1
        change = {"labels": labels}
    with pytest.raises(DataError, match=told) as refused:
        check_same(replace(kept, **change), folder, data)
    assert f"remove {folder}" in str(refused.value)
    assert str(data) in str(refused.value)


@pytest.mark.parametrize("file", ["collection.json", "a.npz"])
def test_damage_is_explained(tmp_path, file):
    save_collection(small_collection(), tmp_path)
    (tmp_path / file).write_bytes((tmp_path / file).read_bytes()[:40])
    with pytest.raises(DataError, match="Remove"):
        load_collection(tmp_path, ("a", "b"))


def test_the_hash_follows_every_number():
    pictures = small_collection()
    labels, block = pictures.labels.copy(), pictures.views["a"].copy()
    labels[0, 0] ^= 1
    block[3, 2] = np.nextafter(block[3, 2], 1)
    others = [
        Collection(pictures.views, labels, pictures.n_train, pictures.keywords, pictures.names),
        Collection(
            gl.Views({"a": block, "b": pictures.views["b"]}),
            pictures.labels,
            pictures.n_train,
            pictures.keywords,
            pictures.names,
        ),
        Collection(pictures.views, pictures.labels, 59, pictures.keywords, pictures.names),
        pictures.with_views(("a",)),
    ]
    assert len({pictures.sha256, *(other.sha256 for other in others)}) == 5
    assert small_collection().sha256 == pictures.sha256


def test_the_hash_stays_what_it_was():
    """What was computed before is found by it."""
    block = np.arange(12, dtype=np.float32).reshape(4, 3)
    labels = np.array([[1, 0], [0, 1], [1, 1]], dtype=np.int8)
    pictures = Collection(gl.Views({"a": block, "b": block[:, :1]}), labels, 2, ("sea", "sky"), ("1", "2", "3"))
    assert pictures.sha256 == "68b9a5871564d2c9"


def test_pictures_without_labels_come_last_and_are_no_test_pictures():
    pictures = small_collection(n=30, n_train=20, n_unlabelled=15)
    assert len(pictures) == 45
    assert pictures.train.tolist() == list(range(20))
    assert pictures.test.tolist() == list(range(20, 30))


def test_corel5k_is_described_training_pictures_first(tmp_path):
    folder = write_corel5k(tmp_path)
    found = describe_corel5k(folder, ("Rgb",), None)
    assert (len(found), found.n_train) == (32, 24)
    assert found.names[24] == "1000/24.jpeg"
    red = found.labels[:, 0] > 0
    assert found.views.layout == {"Rgb": 4096}
    assert red.sum() == 11


def test_a_picture_that_cannot_be_read_is_named(tmp_path):
    folder = write_corel5k(tmp_path)
    (folder / "images/1000/3.jpeg").write_bytes(b"no picture")
    with pytest.raises(DataError, match=r"1 pictures.*1000/3.jpeg"):
        describe_corel5k(folder, ("Rgb",), None)
