"""Learning again: scikit-learn's heads on the same rows, held-out pictures that gain, answers that are few or odd."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC

from gramless.errors import DataError
from gramless.estimators.new_heads import PENALTIES
from gramless.pictures.annotation import judge
from gramless.pictures.correcting.labels import REST
from gramless.pictures.correcting.learning import Taught, learn_again, learning_curve, signs_of, training_rows
from gramless.pictures.features import FeatureCache
from gramless.storage import load, save


@pytest.fixture
def cache(studio, tmp_path):
    import shutil

    return FeatureCache(shutil.copytree(studio.features, tmp_path / "features"))


def vectors_of(annotator, pictures, cache):
    return np.asarray(
        annotator.classifier.map_network_.transform(annotator.features.describe(pictures.paths, cache=cache).views)
    )


@pytest.fixture
def taught(studio, cache) -> Taught:
    """All pictures of the folder, answered in full."""
    inside = studio.inside
    answers = tuple(studio.truth(name) for name in inside.names)
    vectors = vectors_of(studio.annotator, inside, cache)
    return Taught(inside.names, vectors, answers, tuple(b"jpeg" for _ in inside.names))


def first(taught: Taught, n: int, answers=None) -> Taught:
    answers = taught.answers[:n] if answers is None else answers
    return Taught(taught.names[:n], taught.vectors[:n], tuple(answers), taught.thumbnails[:n])


def of_kind(annotator, kind: str, C: float):
    """The same model, as if its fit had chosen these settings."""
    classifier = copy(annotator.classifier)
    classifier.head_kind_, classifier.C_ = kind, C
    return replace(annotator, classifier=classifier)


@pytest.mark.parametrize(
    ("kind", "C", "machine", "tolerance"),
    [
        ("ridge", 1.0, lambda C: Ridge(alpha=0.5 / C, solver="svd"), 1e-3),  # float32 vectors
        ("ridge", 20.0, lambda C: Ridge(alpha=0.5 / C, solver="svd"), 1e-2),
        ("squared_hinge", 0.1, lambda C: LinearSVC(C=C, tol=1e-8, dual=True, max_iter=10**6), 1e-2),  # its solver stops
    ],
)
def test_heads_are_of_the_models_kind_on_old_and_new_pictures_together(studio, taught, kind, C, machine, tolerance):
    base = of_kind(studio.annotator, kind, C)
    learned = learn_again(base, taught)
    assert learned.keywords[: len(base.keywords)] == base.keywords
    assert learned.classifier.head_kind_ == kind
    assert learned.classifier.C_ in [factor * C for factor in PENALTIES]
    rows = np.vstack([base.album.vectors.astype(float), taught.vectors])
    for keyword in ("night", "sea", "grass"):
        j = learned.keywords.index(keyword)
        new = [1 if answers.get(keyword) else -1 for answers in taught.answers]
        sign = np.concatenate([np.where(base.album.labels[:, base.keywords.index(keyword)] > 0, 1, -1), new])
        found = machine(learned.classifier.C_).fit(rows, sign)
        expected = rows @ np.ravel(found.coef_) + found.intercept_
        margins = learned.classifier.head_.margins(rows)[:, j]
        np.testing.assert_allclose(margins, expected, atol=tolerance * np.abs(expected).max())


def test_nothing_new_said_gives_the_heads_that_the_model_had(studio, cache):
    """What a training picture was taught, said once more: fit and learning again solve the same problem."""
    base = studio.annotator
    name, vector = studio.train.names[:1], vectors_of(base, studio.train, cache)[:1]
    row = studio.train.labels[0]
    said = {word: True for word, has in zip(studio.train.keywords, row, strict=True) if has} | {REST: False}
    learned = learn_again(base, Taught(name, vector, (said,), (b"",)))
    margins = base.classifier.head_.margins(base.album.vectors.astype(np.float32))
    np.testing.assert_allclose(
        learned.classifier.head_.margins(base.album.vectors.astype(np.float32)), margins, atol=0.01
    )


def test_held_out_pictures_gain(studio, taught, cache):
    before, after = (
        judge(model, studio.test, cache=cache) for model in (studio.annotator, learn_again(studio.annotator, taught))
    )
    assert after.quality.map_pictures > before.quality.map_pictures
    assert after.quality.map_keywords > before.quality.map_keywords


def test_the_learned_model_can_be_saved_and_asked(studio, taught, tmp_path):
    learned = learn_again(studio.annotator, first(taught, 5))
    save(learned, tmp_path / "m.gramless")
    again = load(tmp_path / "m.gramless")
    picture = studio.test.paths[0].read_bytes()
    assert again.look(picture).suggestions == learned.look(picture).suggestions
    assert again.album.names == (*studio.annotator.album.names, *taught.names[:5])
    assert {neighbour.name for neighbour in again.look(picture).neighbours} <= set(again.album.names)


def test_a_new_keyword_is_learned_from_those_who_said_yes_and_no(studio, taught):
    """The old pictures may have it or not: nobody was asked."""
    has = np.array(["sea" in answers for answers in taught.answers])
    answers = tuple(said | {"harbour": True} if yes else said for said, yes in zip(taught.answers, has, strict=True))
    learned = learn_again(studio.annotator, first(taught, 40, answers))
    assert learned.keywords[-1] == "harbour"
    p = learned.probabilities(learned.classifier.head_.margins(taught.vectors))[:, -1]
    assert p[has].mean() > p[~has].mean() + 0.3
    sea = learned.probabilities(learned.classifier.head_.margins(studio.annotator.album.vectors.astype(np.float32)))
    old = studio.annotator.album.labels[:, studio.annotator.keywords.index("sea")] > 0
    assert sea[old, -1].mean() > sea[~old, -1].mean()


def test_a_new_keyword_that_nobody_denied_is_not_given_to_every_picture(studio, taught):
    learned = learn_again(studio.annotator, first(taught, 2, ({"zebra": True}, {"sea": False})))
    p = learned.probabilities(learned.classifier.head_.margins(taught.vectors))
    assert np.isfinite(p).all()
    assert p[1:, learned.keywords.index("zebra")].max() < 0.9


def test_what_nobody_spoke_of_is_not_taken_for_a_no():
    keywords = ("sea", "sky", "boat")
    assert signs_of({"sea": True}, keywords).tolist() == [1, 0, 0]
    assert signs_of({"sea": True, "boat": False}, keywords).tolist() == [1, 0, -1]
    assert signs_of({"sea": True, REST: False}, keywords).tolist() == [1, -1, -1]
    assert signs_of({}, keywords).tolist() == [0, 0, 0]


def test_a_corrected_training_picture_replaces_what_was_taught_of_it(studio, cache):
    base = studio.annotator
    vectors = vectors_of(base, studio.train, cache)
    assert training_rows(base.album, studio.train.names, vectors) == {i: i for i in range(len(studio.train))}
    others = tuple(reversed(studio.train.names))
    assert training_rows(base.album, others, vectors) == {}  # the names of other pictures
    assert training_rows(base.album, ("elsewhere.jpg",), vectors[:1]) == {}
    taught = Taught(studio.train.names[:2], vectors[:2], ({"sea": True, REST: False},) * 2, (b"", b""))
    learned = learn_again(base, taught)
    assert len(learned.album) == len(base.album)
    assert learned.album.labels[-2:, learned.keywords.index("sea")].tolist() == [1, 1]
    assert learned.album.labels[-2:].sum() == 2


def test_nothing_said_is_nothing_to_learn(studio, taught):
    with pytest.raises(DataError, match="Correct some first"):
        learn_again(studio.annotator, first(taught, 0))


def test_a_model_with_weights_of_classes_is_refused(studio, taught):
    from sklearn.base import clone

    other = clone(studio.annotator.classifier).set_params(class_weight="balanced")
    other.__dict__ |= {k: v for k, v in vars(studio.annotator.classifier).items() if k.endswith("_")}
    with pytest.raises(ValueError, match="class_weight='balanced'"):
        learn_again(replace(studio.annotator, classifier=other), taught)


def test_the_curve_is_the_quality_of_pictures_that_were_kept_out(studio, taught):
    curve = learning_curve(studio.annotator, taught)
    numbers = [point.n_pictures for point in curve]
    assert numbers == [0, 10, 20, 30, 40]
    assert curve[-1].quality > curve[0].quality
    # the first point needs no folds: no model that learned from nothing new has seen any of these pictures
    from gramless.estimators.new_heads import fit_heads
    from gramless.metrics import mean_average_precision

    base = studio.annotator
    keywords = learn_again(base, taught).keywords
    truth = np.array([signs_of(said, keywords) for said in taught.answers]) > 0
    known = np.pad(np.where(base.album.labels > 0, 1.0, -1.0), ((0, 0), (0, len(keywords) - len(base.keywords))))
    head = fit_heads(base.classifier, base.album.vectors.astype(np.float32), known)
    assert curve[0].quality == pytest.approx(mean_average_precision(head.margins(taught.vectors), truth), abs=0.5)


def test_few_answers_have_no_curve(studio, taught):
    assert learning_curve(studio.annotator, first(taught, 5)) == ()
    partly = [{"sea": True}] * 20
    assert learning_curve(studio.annotator, first(taught, 20, partly)) == ()
