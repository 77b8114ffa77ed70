"""Annotations know which of their keywords are right, and which are missing."""

from pathlib import Path

from gramless.pictures.annotation.annotator import Annotation, Suggestion

CHOSEN = (Suggestion("sky", 0.9), Suggestion("cat", 0.4), Suggestion("sea", 0.2))


def test_right_and_missed_keywords():
    annotation = Annotation(Path("a.jpg"), "a.jpg", CHOSEN, truth=("boat", "sea", "sky", "Cat"))
    assert annotation.keywords == ("sky", "cat", "sea")
    assert annotation.right == {"sea", "sky"}
    assert annotation.missed == ("boat", "Cat")


def test_nothing_is_right_or_missed_where_the_truth_is_unknown():
    annotation = Annotation(Path("a.jpg"), "a.jpg", CHOSEN)
    assert annotation.right == frozenset()
    assert annotation.missed == ()
