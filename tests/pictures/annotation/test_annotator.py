"""A fitted model: its answers for files, for one picture in memory, and from a file that it was saved to."""

from dataclasses import replace

import numpy as np
import pytest

import gramless as gl
from gramless.errors import DataError
from gramless.heads import f1_thresholds
from gramless.pictures.annotation import Album, Annotator
from gramless.pictures.features import PictureError


@pytest.fixture(scope="module")
def annotator(fitted) -> Annotator:
    return fitted.annotator


@pytest.fixture(scope="module")
def asked(scenes):
    return scenes.test[:8]


def probabilities(annotator, asked):
    """All of them, by the steps that lead to them."""
    views = annotator.features.describe(asked.paths).views
    phi = annotator.classifier.map_network_.transform(views)
    head, calibration = annotator.classifier.head_, annotator.classifier.calibration_
    margins = phi.astype(float) @ head.coefficients.astype(float).T + head.intercepts
    unusual = calibration.slope * np.arcsinh((margins - calibration.shift) / calibration.scale) + calibration.offset
    return calibration.least + (calibration.most - calibration.least) / (1.0 + np.exp(-unusual))


def test_as_many_keywords_as_a_picture_deserves_the_most_probable_first(annotator, asked):
    answers = annotator.annotate(asked.paths, asked.names)
    assert [annotation.name for annotation in answers.annotations] == list(asked.names)
    assert [annotation.path for annotation in answers.annotations] == list(asked.paths)
    assert not answers.unreadable
    expected = probabilities(annotator, asked)
    unseen = annotator.classifier.calibration_.probabilities(annotator.classifier.unseen_scores_)
    chosen = f1_thresholds(unseen).decide(expected)
    for annotation, row, given in zip(answers.annotations, expected, chosen, strict=True):
        assert set(annotation.keywords) == {annotator.keywords[j] for j in np.flatnonzero(given)}
        scores = [suggestion.score for suggestion in annotation.suggestions]
        assert scores == sorted(scores, reverse=True)
        for suggestion in annotation.suggestions:
            assert suggestion.score == pytest.approx(row[annotator.keywords.index(suggestion.keyword)], abs=1e-4)
    assert len({len(annotation.keywords) for annotation in answers.annotations}) > 1


@pytest.mark.parametrize("precision", [0.5, 0.8, 1.0])
def test_or_as_many_as_reach_a_precision_on_unseen_training_pictures(annotator, asked, precision):
    unseen = annotator.probabilities(annotator.classifier.unseen_scores_)
    truth = annotator.album.labels > 0
    reached = [t for t in np.unique(unseen) if truth[unseen >= t].mean() >= precision]
    p = annotator.probabilities(annotator.margins(annotator.features.describe(asked.paths).views))
    assert (unseen >= min(reached)).sum() == annotator.choose(unseen, precision=precision).sum()
    chosen = annotator.choose(p, precision=precision)
    assert (p[chosen] > max(unseen[unseen < min(reached)], default=0)).all()
    assert (p[~chosen] < min(reached)).all()


def test_what_was_learned_is_judged_on_scores_of_unseen_pictures(annotator, scenes):
    quality = annotator.unseen_quality()
    p = annotator.probabilities(annotator.classifier.unseen_scores_)
    truth = scenes.train.labels[:-1] > 0
    chosen = annotator.choose(p)
    assert quality.n_pictures == len(truth)
    assert quality.counts.right == (chosen & truth).sum()
    assert quality.counts.wrong == (chosen & ~truth).sum()
    assert {row.keyword: row.learned_from for row in quality.keywords} == {
        keyword: n for keyword, n in zip(annotator.keywords, truth.sum(0).tolist(), strict=True) if n
    }
    assert quality.counts.f1 < 100


def as_tree(annotator, parent, child):
    """The same model, in whose keywords one is below another."""
    names = [f"{parent}|{child}" if keyword == child else keyword for keyword in annotator.keywords]
    return replace(annotator, keywords=tuple(names))


def test_a_child_is_never_given_without_its_parents_nor_more_probable(annotator, asked):
    rare, frequent = "unique", annotator.keywords[int(annotator.album.labels.sum(0).argmax())]
    tree = as_tree(annotator, rare, frequent)
    parent, child = tree.keywords.index(rare), tree.keywords.index(f"{rare}|{frequent}")
    p = tree.probabilities(tree.margins(tree.features.describe(asked.paths).views))
    plain = probabilities(annotator, asked)
    np.testing.assert_allclose(p[:, parent], np.maximum(plain[:, parent], plain[:, child]), atol=1e-4)
    for options in ({}, {"top": 1}, {"top": 3}, {"threshold": 0.3}, {"precision": 0.7}):
        chosen = tree.choose(p, **options)
        assert chosen[:, child].any() or "top" in options
        assert (chosen[:, parent] >= chosen[:, child]).all()


def test_pictures_with_one_keyword_each_get_one_or_none(annotator):
    labels = np.zeros_like(annotator.album.labels)
    labels[:, 0] = 1
    single = replace(annotator, album=replace(annotator.album, labels=labels))
    assert single.exclusive
    assert not annotator.exclusive
    p = np.full((3, len(annotator.keywords)), 0.1)
    p[0, [1, 2]] = 0.9, 0.8
    p[1, [1, 2]] = 0.4, 0.45
    p[2, 3] = 0.5
    assert [np.flatnonzero(row).tolist() for row in single.choose(p)] == [[1], [], [3]]
    assert [np.flatnonzero(row).tolist() for row in single.choose(p, threshold=0.42)] == [[1], [2], [3]]
    assert single.choose(p, top=2).sum(1).tolist() == [2, 2, 2]


def test_parts_that_do_not_belong_together_are_refused(annotator):
    album = annotator.album
    short = Album.of(album.names[:3], album.labels[:3], album.vectors[:3], [b"", b"", b""])
    with pytest.raises(DataError, match="60 pictures were learned from, and the album has 3"):
        replace(annotator, album=short)
    forgetful = replace(annotator, album=Album.of((), album.labels[:0], album.vectors[:0], ()))
    with pytest.raises(DataError, match="does not remember its training pictures"):
        forgetful.choose(np.zeros((1, len(annotator.keywords))), precision=0.9)


@pytest.mark.parametrize("top", [1, 3, 1000])
def test_as_many_as_asked_for(annotator, asked, top):
    p = probabilities(annotator, asked)
    gains = annotator.classifier.decision_
    worth = gains.slope * p + gains.cost
    for annotation, row in zip(annotator.annotate(asked.paths, asked.names, top=top).annotations, worth, strict=True):
        best = sorted(range(len(row)), key=lambda j: -row[j])[:top]
        assert set(annotation.keywords) == {annotator.keywords[j] for j in best}


@pytest.mark.parametrize("near", [0.0, 0.2, 0.6, 1.01])
def test_or_every_keyword_that_is_probable(annotator, asked, near):
    p = probabilities(annotator, asked)
    threshold = near if near in (0.0, 1.01) else amid(p, near)
    for annotation, row in zip(
        annotator.annotate(asked.paths, asked.names, threshold=threshold).annotations, p, strict=True
    ):
        expected = {keyword for keyword, number in zip(annotator.keywords, row, strict=True) if number >= threshold}
        assert set(annotation.keywords) == expected
    assert 0 < (p >= threshold).sum() < p.size or near in (0.0, 1.01)


def amid(p, near):
    """The middle of the widest gap between probabilities near a number: which ones are above it is not rounding."""
    around = np.sort(p[abs(p - near) < 0.1])
    assert len(around) > 2
    widest = np.diff(around).argmax()
    assert around[widest + 1] - around[widest] > 2e-4
    return float(around[widest : widest + 2].mean())


def test_not_both_and_not_none(annotator, asked):
    with pytest.raises(DataError, match=r"top=3, threshold=0\.5 and precision=None: give one"):
        annotator.annotate(asked.paths, asked.names, top=3, threshold=0.5)
    with pytest.raises(ValueError, match=r"precision=1\.5"):
        annotator.annotate(asked.paths, asked.names, precision=1.5)
    with pytest.raises(ValueError, match="got k=0"):
        annotator.annotate(asked.paths, asked.names, top=0)


def test_what_cannot_be_read_is_listed_and_spoils_no_other(annotator, asked, tmp_path):
    broken, missing = tmp_path / "broken.jpg", tmp_path / "missing.jpg"
    broken.write_bytes(asked.paths[0].read_bytes()[:300])
    paths = [asked.paths[0], broken, asked.paths[1], missing]
    answers = annotator.annotate(paths, ["a", "b", "c", "d"])
    assert [annotation.name for annotation in answers.annotations] == ["a", "c"]
    assert set(answers.unreadable) == {"b", "d"}
    assert answers.unreadable["d"] == "is not there"
    whole = annotator.annotate(asked.paths[:2], ["a", "c"])
    assert answers.annotations[0].keywords == whole.annotations[0].keywords
    nothing = annotator.annotate([broken, missing], ["b", "d"])
    assert nothing.annotations == ()
    assert set(nothing.unreadable) == {"b", "d"}


def test_one_picture_from_memory_has_the_answer_of_its_file(annotator, asked):
    (annotation,) = annotator.annotate(asked.paths[:1], asked.names[:1]).annotations
    look = annotator.look(asked.paths[0].read_bytes())
    assert look.suggestions == annotation.suggestions
    assert len(look.neighbours) == 6


def test_a_training_picture_is_nearest_to_itself_with_its_own_keywords(annotator, scenes):
    look = annotator.look(scenes.train.paths[7].read_bytes(), n_neighbours=3)
    assert len(look.neighbours) == 3
    nearest = look.neighbours[0]
    assert nearest.name == scenes.train.names[7]
    assert nearest.similarity == pytest.approx(1.0, abs=2e-3)
    has = scenes.train.labels[7] == 1
    assert nearest.keywords == tuple(np.array(scenes.train.keywords)[has].tolist())
    assert "unique" in nearest.keywords
    assert nearest.thumbnail.startswith(b"\xff\xd8")


@pytest.mark.parametrize("content", [b"", b"no picture", b"\xff\xd8\xff\xe0 half a JPEG"])
def test_what_is_no_picture_is_refused(annotator, content):
    with pytest.raises(PictureError, match="the picture is"):
        annotator.look(content)


def test_a_saved_model_gives_the_same_answers_bit_for_bit(annotator, asked, scenes, tmp_path):
    path = tmp_path / "model.gramless"
    gl.save(annotator, path)
    loaded = gl.load(path)
    assert loaded.keywords == annotator.keywords
    assert loaded.album.names == annotator.album.names
    picture = asked.paths[0].read_bytes()
    assert loaded.look(picture) == annotator.look(picture)
    before, after = (model.annotate(asked.paths, asked.names) for model in (annotator, loaded))
    assert after.annotations == before.annotations
    assert str(scenes.features.parent).encode() not in path.read_bytes()
