"""Collections: what is saved is found again, and numbers decide what counts as the same."""

import numpy as np
import pytest

import gramless as gl
from gramless.errors import DataError
from gramless.features import workers
from gramless.reproduce.collection import Collection, describe_corel5k, load_collection, save_collection
from tests.reproduce.samples import small_collection, write_corel5k


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    monkeypatch.setattr(workers, "FEW", 100)


def test_saved_and_loaded(tmp_path):
    pictures = small_collection(views=("a", "torchvision:x"))
    save_collection(pictures, tmp_path / "features")
    found = load_collection(tmp_path / "features", ("a", "torchvision:x"))
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
