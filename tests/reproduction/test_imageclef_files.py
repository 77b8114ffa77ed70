"""ImageCLEF 2013's layout, on small files written in it."""

import gzip

import numpy as np
import pytest

from gramless.errors import DataError
from reproduction.imageclef_files import feature_files, read_features, read_imageclef

GIST = np.array([[0.0, 0.5, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 2.5]])
CONCEPTS = (
    "# concept\ttype\tsense\twn_offset(3.0)\twiki\n"
    "aerial\tadj\t1\t01380267\thttp://en.wikipedia.org/wiki/Aerial_photography\n"
    "bird\tnoun\t1\t01503061\thttp://en.wikipedia.org/wiki/Bird\n"
    "sky\tnoun\t1\t09436708\thttp://en.wikipedia.org/wiki/Sky\n"
)


def as_text(vectors):
    lines = [f"{len(vectors)} {len(vectors[0])}"]
    for vector in vectors:
        entries = [f"{i} {value}" for i, value in enumerate(vector) if value]
        lines.append(" ".join([str(len(entries)), *entries]))
    return "\n".join(lines) + "\n"


@pytest.fixture
def folder(tmp_path):
    lists, visual = tmp_path / "webupv13_devel_lists", tmp_path / "feats_visual"
    lists.mkdir()
    visual.mkdir()
    (lists / "devel_iids.txt").write_text("-1fMVoG__ynNLb83\nb\nc\n")
    (lists / "devel_concepts.txt").write_text(CONCEPTS)
    (lists / "devel_gnd.txt").write_text("c sky\n-1fMVoG__ynNLb83 aerial sky\nb\n")
    (visual / "webupv13_devel_visual_sift_1000.feat").write_text("3 4\n1 3 7\n0\n2 0 1 2 1e-3\n")
    with gzip.open(visual / "webupv13_devel_visual_gist.feat.gz", "wt") as file:
        file.write(as_text(GIST))
    with gzip.open(visual / "webupv13_test_visual_gist.feat.gz", "wt") as file:
        file.write("1 3\n0\n")
    (visual / "webupv13_devel_visual_images.zip").write_bytes(b"PK")
    return tmp_path


def test_views_concepts_and_truth_follow_the_identifiers(folder):
    found = read_imageclef(folder, "devel")
    assert found.views.layout == {"gist": 3, "sift_1000": 4}
    np.testing.assert_array_equal(found.views["gist"].toarray(), GIST.astype(np.float32))
    expected = np.array([[0, 0, 0, 7], [0, 0, 0, 0], [1, 0, 1e-3, 0]], dtype=np.float32)
    np.testing.assert_array_equal(found.views["sift_1000"].toarray(), expected)
    assert found.names == ("-1fMVoG__ynNLb83", "b", "c")
    assert found.keywords == ("aerial", "bird", "sky")
    assert found.labels.tolist() == [[1, 0, 1], [0, 0, 0], [0, 0, 1]]


def test_an_unpacked_file_is_taken_before_its_archive(folder):
    (folder / "feats_visual/webupv13_devel_visual_gist.feat").write_text("3 1\n1 0 9\n0\n0\n")
    assert read_imageclef(folder, "devel").views.layout == {"gist": 1, "sift_1000": 4}


def test_random_vectors_come_back(tmp_path, rng):
    vectors = rng.standard_normal((50, 20)) * (rng.random((50, 20)) < 0.3)
    path = tmp_path / "x.feat"
    path.write_text(as_text(vectors))
    read = read_features(path)
    assert read.dtype == np.float32
    np.testing.assert_array_equal(read.toarray(), vectors.astype(np.float32))


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["text", "archive"])
def test_the_first_vectors_are_read_without_those_after_them(tmp_path, rng, pack):
    vectors = rng.standard_normal((50, 20)) * (rng.random((50, 20)) < 0.3)
    path = tmp_path / ("x.feat.gz" if pack is gzip.compress else "x.feat")
    path.write_bytes(pack(as_text(vectors).replace("\n", "\n\n").encode()))  # empty lines are no vectors
    for most, n in ((1, 1), (7, 7), (50, 50), (51, 50)):
        np.testing.assert_array_equal(read_features(path, most).toarray(), vectors[:n].astype(np.float32))
    path.write_bytes(pack("\n".join([*as_text(vectors).splitlines()[:8], "no vector"]).encode()))
    np.testing.assert_array_equal(read_features(path, 7).toarray(), vectors[:7].astype(np.float32))
    with pytest.raises(DataError, match="line 9 holds something that is not a number"):
        read_features(path, 8)


@pytest.mark.parametrize(
    ("text", "message"), [("9 4\n0\n", "announces 9 vectors, got 1"), ("1 4\n0\n0\n", "1 vectors, got 2")]
)
def test_too_few_or_too_many_are_told_where_not_all_are_wanted(tmp_path, text, message):
    path = tmp_path / "x.feat"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_features(path, 5)


def test_files_of_features_by_their_descriptors(folder):
    visual = folder / "feats_visual"
    (visual / "webupv13_devel_visual_gist.feat-old").write_text("")
    (visual / "webupv13_devel_visual_gist.features").write_text("")
    (visual / "webupv13_devel_visual_colour.feat.zip").write_text("")
    assert feature_files(folder, "devel") == {
        "gist": visual / "webupv13_devel_visual_gist.feat.gz",
        "sift_1000": visual / "webupv13_devel_visual_sift_1000.feat",
    }
    assert feature_files(folder, "train") == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1 must say"),
        ("3\n", "line 1 must say"),
        ("0 4\n", "line 1 must say"),
        ("1.5 4\n0\n", "line 1 must say"),
        ("nan 4\n0\n", "line 1 must say"),
        ("one two\n", "line 1 holds something that is not a number"),
        ("2 4\n0\n", "announces 2 vectors, got 1"),
        ("1 4\n0\n0\n", "announces 1 vectors, got 2"),
        ("1 4\n2 0 1\n", "line 2 announces 2 entries, got 1 pairs"),
        ("1 4\n1 0 1 2\n", "line 2 announces 1 entries"),
        ("1 4\n1 4 1\n", "position 4; they run from 0 to 3"),
        ("1 4\n1 -1 1\n", "position -1"),
        ("1 4\n1 0.5 1\n", "position 0.5"),
        ("1 4\n2 1 5 1 6\n", "one position twice"),
        ("1 4\n1 0 x\n", "line 2 holds something that is not a number"),
    ],
)
def test_damaged_features_are_explained(tmp_path, text, message):
    path = tmp_path / "x.feat"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_features(path)


@pytest.mark.parametrize(
    "content", [b"not gzip", gzip.compress(as_text(GIST).encode(), mtime=0)[:-12]], ids=["foreign", "cut off"]
)
def test_damaged_archives_are_explained(tmp_path, content):
    path = tmp_path / "x.feat.gz"
    path.write_bytes(content)
    with pytest.raises(DataError, match="is damaged or cut off"):
        read_features(path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("webupv13_devel_lists/devel_gnd.txt", "b\nc sky\n", "has 2; 1 are missing, -1fMVoG__ynNLb83 first"),
        ("webupv13_devel_lists/devel_gnd.txt", "-1fMVoG__ynNLb83\nb\nb\nc sky\n", "has 4; 0 are missing"),
        ("webupv13_devel_lists/devel_gnd.txt", "-1fMVoG__ynNLb83 fish\nb\nc\n", "does not have: fish"),
        ("feats_visual/webupv13_devel_visual_sift_1000.feat", "1 4\n0\n", "describes 1 pictures, but 3 are listed"),
        ("elsewhere_devel_iids.txt", "", None),
        ("devel_iids.txt", "b\n", "must hold one file devel_iids.txt"),
    ],
)
def test_files_that_contradict_each_other_are_explained(folder, name, text, message):
    (folder / name).write_text(text)
    if message is None:
        read_imageclef(folder, "devel")
        return
    with pytest.raises(DataError, match=message):
        read_imageclef(folder, "devel")


def test_missing_files_are_named(folder):
    with pytest.raises(DataError, match=r"one file test_iids\.txt, in whichever subfolder, but there is none"):
        read_imageclef(folder, "test")
    for path in (folder / "feats_visual").iterdir():
        path.unlink()
    with pytest.raises(DataError, match="no descriptors of the devel pictures"):
        read_imageclef(folder, "devel")
