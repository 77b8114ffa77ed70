"""Judging: the measures of four pictures by hand, and what is left out of them."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from gramless.errors import DataError
from gramless.heads import Calibration, TopGains
from gramless.pictures.annotation import Album, Annotator, judge
from gramless.pictures.datasets import AnnotatedPictures
from gramless.pictures.features import Described
from gramless.support.pages import Problem
from gramless.views import Views

MARGINS = np.array([[-1.0, 2.0, 0.5], [1.5, -1.0, -2.0], [1.0, 0.0, -1.0], [-1.2, 1.0, 3.0]])
"""Of boat, sea and sky: the model says sea, boat, boat, sky."""


class Told(Annotator):
    """Of parts that answer as they are told."""

    def __post_init__(self):
        pass


def annotator(margins=MARGINS):
    """A model whose margins are known; picture 3 of five cannot be read."""
    kept = np.array([0, 1, 2, 4]) if len(margins) else np.array([], dtype=int)
    views = Views({"row": np.arange(4.0)[:, None]}) if len(margins) else None
    unreadable = {i: "is cut off" for i in range(5) if i not in kept}
    features = SimpleNamespace(describe=lambda paths, cache: Described(views, kept, unreadable))
    classifier = SimpleNamespace(
        decision_function=lambda views: margins,
        calibration_=Calibration(np.zeros(3), np.ones(3), np.zeros(3), 1.0, np.zeros(3), np.ones(3)),
        decision_=TopGains(5, np.ones(3), np.zeros(3)),
        unseen_scores_=MARGINS,
    )
    album = Album.of(["a", "b"], np.array([[1, 1, 0], [0, 1, 0]]), np.ones((2, 1)), [b"", b""])
    return Told(features, classifier, ("boat", "sea", "sky"), album)


def pictures(folder):
    """Their vocabulary has another order than the model's, and a keyword that it does not know."""
    truth = [["sea", "boat"], ["boat"], ["sky"], ["boat"], ["sky", "snow"]]
    keywords = ("sky", "snow", "sea", "boat", "never")
    labels = np.array([[word in words for word in keywords] for words in truth], dtype=np.int8)
    names = tuple(f"{i}.jpg" for i in range(5))
    return AnnotatedPictures(tuple(folder / name for name in names), names, keywords, labels, ())


def test_the_measures_are_those_counted_by_hand(tmp_path):
    found = judge(annotator(), pictures(tmp_path), top=1).quality
    # boat: given to 1 and 2, true of 0 and 1; sea: given to and true of 0; sky: given to 4, true of 2 and 4
    assert found.macro.recall == pytest.approx(100 * (1 / 2 + 1 + 1 / 2) / 3)
    assert found.macro.precision == pytest.approx(100 * (1 / 2 + 1 + 1) / 3)
    assert found.macro.n_plus == 3
    assert (found.counts.right, found.counts.wrong, found.counts.missed) == (3, 1, 2)
    assert found.counts.precision == pytest.approx(75)
    assert found.counts.recall == pytest.approx(60)
    assert found.counts.f1 == pytest.approx(2 * 75 * 60 / 135)
    # right keywords of the pictures are at the ranks 1 and 3; 1; 3; 1
    assert found.map_pictures == pytest.approx(100 * ((1 + 2 / 3) / 2 + 1 + 1 / 3 + 1) / 4)
    # right pictures of the keywords are at the ranks 1 and 3; 1; 1 and 3
    assert found.map_keywords == pytest.approx(100 * ((1 + 2 / 3) / 2 + 1 + (1 + 2 / 3) / 2) / 3)
    assert (found.n_keywords, found.n_pictures) == (3, 4)


def test_every_keyword_has_its_row_the_worst_first(tmp_path):
    rows = judge(annotator(), pictures(tmp_path), top=1).quality.keywords
    assert [(row.keyword, row.learned_from, row.counts.right, row.counts.wrong, row.counts.missed) for row in rows] == [
        ("boat", 1, 1, 1, 1),
        ("sky", 0, 1, 0, 1),
        ("sea", 2, 1, 0, 0),
    ]
    assert [round(row.counts.f1) for row in rows] == [50, 67, 100]
    nothing = judge(annotator(), pictures(tmp_path), threshold=1.0).quality
    assert nothing.never_given == ("boat", "sky", "sea") or set(nothing.never_given) == {"boat", "sky", "sea"}
    assert nothing.counts.precision == nothing.counts.f1 == 0.0


def test_every_picture_has_its_answer_and_its_truth(tmp_path):
    found = judge(annotator(), pictures(tmp_path), top=1)
    assert [annotation.name for annotation in found.annotations] == ["0.jpg", "1.jpg", "2.jpg", "4.jpg"]
    assert [annotation.path.name for annotation in found.annotations] == ["0.jpg", "1.jpg", "2.jpg", "4.jpg"]
    assert [annotation.keywords for annotation in found.annotations] == [("sea",), ("boat",), ("boat",), ("sky",)]
    assert [annotation.truth for annotation in found.annotations] == [("boat", "sea"), ("boat",), ("sky",), ("sky",)]
    assert found.annotations[0].suggestions[0].score == pytest.approx(1 / (1 + np.exp(-np.arcsinh(2.0))))


def test_more_keywords_where_they_are_asked_for(tmp_path):
    found = judge(annotator(), pictures(tmp_path), top=2)
    assert [annotation.keywords for annotation in found.annotations] == [
        ("sea", "sky"),
        ("boat", "sea"),
        ("boat", "sea"),
        ("sky", "sea"),
    ]
    assert found.quality.macro.recall == pytest.approx(100 * (1 / 2 + 1 + 1 / 2) / 3)
    assert found.quality.macro.precision == pytest.approx(100 * (1 / 2 + 1 / 4 + 1 / 2) / 3)


def test_what_could_not_be_used_is_listed(tmp_path):
    assert judge(annotator(), pictures(tmp_path)).problems == (
        Problem("3.jpg", "is cut off"),
        Problem("snow", "is a keyword that the model was not taught"),
    )


@pytest.mark.parametrize("flat", ["the model", "the pictures"])
def test_a_keyword_without_parents_is_the_one_path_that_ends_in_it(tmp_path, flat):
    """A model of trees is compared with pictures that carry bare names, and the other way round."""
    bare = pictures(tmp_path)
    trees = replace(
        bare, keywords=("light|sky", "snow", "water|sea", "boat", "water"), labels=bare.labels[:, [0, 1, 2, 3, 2]]
    )
    told = annotator()
    if flat == "the pictures":
        told = replace(told, keywords=("boat", "water|sea", "light|sky"))
    found = judge(told, bare if flat == "the pictures" else trees, top=1)
    assert (found.quality.counts.right, found.quality.counts.wrong, found.quality.counts.missed) == (3, 1, 2)
    assert found.annotations[0].truth == ("boat", told.keywords[1])
    unknown = {problem.name for problem in found.problems[1:]}
    assert unknown == ({"snow"} if flat == "the pictures" else {"snow", "water"})


def test_a_bare_name_has_the_parents_that_the_model_knows(tmp_path):
    told = replace(annotator(), keywords=("boat", "water|sea", "water"))
    truth = [annotation.truth for annotation in judge(told, pictures(tmp_path)).annotations]
    assert truth == [("boat", "water|sea", "water"), ("boat",), (), ()]


def test_a_bare_name_of_several_paths_stays_unknown(tmp_path):
    told = replace(annotator(), keywords=("boat", "a|sea", "b|sea"))
    found = judge(told, pictures(tmp_path))
    assert Problem("sea", "is a keyword that the model was not taught") in found.problems
    assert found.annotations[0].truth == ("boat",)


def test_nothing_to_compare_with(tmp_path):
    with pytest.raises(DataError, match="have none of the model's keywords"):
        judge(annotator(), replace(pictures(tmp_path), keywords=("a", "b", "c", "d", "e")))
    with pytest.raises(DataError, match=r"none of the 5 pictures can be read\. The first one is cut off"):
        judge(annotator(MARGINS[:0]), pictures(tmp_path))


def test_a_model_is_better_than_chance_on_scenes_that_it_has_not_seen(fitted, scenes, tmp_path):
    found = judge(fitted.annotator, scenes.test, cache=scenes.cache(tmp_path))
    assert found.quality.map_pictures > 60
    assert found.quality.counts.f1 > 50
    assert found.quality.n_keywords == scenes.test.labels.any(0).sum()
    assert found.problems == ()
