"""Fitting a model of keywords: bad pictures, rare keywords, few pictures and seeds."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

import gramless as gl
from gramless.errors import DataError
from gramless.pictures.annotation import fit_annotator, fitting
from gramless.support.pages import Problem
from tests.pictures.annotation.conftest import VIEWS


def few(scenes, keywords, *labels):
    """So many pictures with these labels."""
    chosen = scenes.train[: len(labels)]
    return replace(
        chosen, keywords=keywords, labels=np.array(labels, dtype=np.int8).reshape(len(labels), len(keywords))
    )


def bits(annotator, folder: Path) -> tuple[dict, dict]:
    """Everything that the model's file holds; the order of the metadata in it is not always the same."""
    gl.save(annotator, folder / "model")
    with safe_open(folder / "model", framework="numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, it is no mapping
        return file.metadata(), {name: (a.shape, a.dtype.str, a.tobytes()) for name, a in arrays.items()}


def raise_interrupt(*arguments):
    raise KeyboardInterrupt


def test_an_unreadable_picture_is_listed_and_not_in_the_album(fitted, scenes):
    assert fitted.problems == (Problem("broken.jpg", "is no picture of a kind that can be read"),)
    assert fitted.annotator.album.names == scenes.train.names[:-1]
    np.testing.assert_array_equal(fitted.annotator.album.labels, scenes.train.labels[:-1])
    assert fitted.annotator.keywords == scenes.train.keywords


def test_a_keyword_with_one_example_is_learned_and_one_whose_only_picture_is_unreadable_never_given(scenes, tmp_path):
    labels = np.hstack([scenes.train.labels, np.zeros((len(scenes.train), 1), dtype=np.int8)])
    labels[-1, -1] = 1
    pictures = replace(scenes.train, keywords=(*scenes.train.keywords, "lost"), labels=labels)
    annotator = fit_annotator(pictures, VIEWS, cache=scenes.cache(tmp_path)).annotator
    answers = annotator.annotate(scenes.train.paths[:10], scenes.train.names[:10], top=1000).annotations
    assert all("lost" not in annotation.keywords for annotation in answers)
    score = [dict(annotation.suggestions)["unique"] for annotation in answers]
    assert max(range(10), key=score.__getitem__) == 7


@pytest.mark.parametrize(
    ("keywords", "labels"),
    [
        (("cat",), [[1], [0], [1]]),
        (("cat", "dog"), [[1, 1]] * 4),
        (("cat", "dog"), [[1, 0]] * 4),
        (("cat", "dog"), [[1, 0]]),
        (("cat", "dog"), []),
    ],
    ids=["one keyword", "all have all", "all have one", "one picture", "no picture"],
)
def test_what_cannot_be_learned_is_refused_before_anything_is_computed(scenes, keywords, labels):
    stages = []
    with pytest.raises(
        DataError, match=rf"^got {len(labels)} usable .*cat.*at least 10 pictures, at least two keywords.*Add pictures"
    ):
        fit_annotator(few(scenes, keywords, *labels), VIEWS, tell=stages.append)
    assert stages == []


def test_with_one_keyword_other_pictures_need_keywords_too(scenes):
    """More pictures without any would not help: they are left out before."""
    with pytest.raises(DataError, match=r"Add pictures with other keywords: those without any are left out\.$"):
        fit_annotator(few(scenes, ("cat",), *12 * [[1]]), VIEWS)
    with pytest.raises(DataError, match=r"Add pictures\.$"):
        fit_annotator(few(scenes, ("cat", "dog"), *5 * [[1, 0]]), VIEWS)


def test_or_once_the_unreadable_ones_are_known(scenes):
    labels = np.zeros((10, 2), dtype=np.int8)
    labels[:, 0] = labels[2, 1] = 1
    last = replace(scenes.train[-10:], keywords=("cat", "dog"), labels=labels)
    with pytest.raises(DataError, match=r"^got 9 usable pictures .*at least 10 pictures"):
        fit_annotator(last, VIEWS)


def test_nothing_readable(scenes, tmp_path):
    nowhere = few(scenes, ("cat", "dog"), *5 * [[1, 0], [0, 1]])
    nowhere = replace(nowhere, paths=tuple(tmp_path / f"{i}.jpg" for i in range(10)))
    with pytest.raises(DataError, match=r"none of the 10 pictures can be read\. The first one is not there\."):
        fit_annotator(nowhere, VIEWS)


@pytest.mark.parametrize(
    "labels",
    [5 * [[1, 0], [0, 1]], [[1, 0], *9 * [[0, 1]]], [[0, 0], *9 * [[1, 0]]]],
    ids=["half and half", "one of them", "a keyword that nobody has"],
)
def test_ten_pictures_are_enough_for_a_model_and_nine_are_not(scenes, labels, tmp_path):
    pictures = few(scenes, ("cat", "dog"), *labels)
    annotator = fit_annotator(pictures, VIEWS, cache=scenes.cache(tmp_path)).annotator
    for annotation in annotator.annotate(pictures.paths, pictures.names, top=2).annotations:
        assert set(annotation.keywords) == {"cat", "dog"} if np.array(labels)[:, 1].any() else {"cat"}
        assert all(0.0 <= suggestion.score <= 1.0 for suggestion in annotation.suggestions)
    with pytest.raises(DataError, match=r"^got 9 usable pictures .*at least 10 pictures"):
        fit_annotator(pictures[:9], VIEWS)


def test_stages_are_told(scenes, tmp_path):
    stages = []
    fit_annotator(scenes.train[:20], VIEWS, cache=scenes.cache(tmp_path), n_landmarks=12, tell=stages.append)
    assert stages == ["describing pictures", "making thumbnails", "learning keywords"]


def test_thumbnails_are_made_before_anything_is_learned(scenes, tmp_path, monkeypatch):
    monkeypatch.setattr(fitting, "make_thumbnail", raise_interrupt)
    monkeypatch.setattr(fitting, "learn_keywords", lambda *arguments: pytest.fail("too early"))
    with pytest.raises(KeyboardInterrupt):
        fit_annotator(scenes.train, VIEWS, cache=scenes.cache(tmp_path))


def test_a_seed_is_a_model(fitted, scenes, tmp_path):
    cache = scenes.cache(tmp_path / "cache")
    assert bits(fit_annotator(scenes.train, VIEWS, cache=cache).annotator, tmp_path) == bits(fitted.annotator, tmp_path)
    other = fit_annotator(scenes.train, VIEWS, cache=cache, seed=1).annotator
    assert bits(other, tmp_path) != bits(fitted.annotator, tmp_path)


def test_without_a_cache_nothing_is_written(fitted, scenes, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = sorted(scenes.features.parent.rglob("*"))
    small = fit_annotator(scenes.train[:12], VIEWS).annotator
    assert list(tmp_path.iterdir()) == []
    assert sorted(scenes.features.parent.rglob("*")) == before
    with_cache = fit_annotator(scenes.train[:12], VIEWS, cache=scenes.cache(tmp_path / "cache")).annotator
    assert bits(with_cache, tmp_path) == bits(small, tmp_path)
