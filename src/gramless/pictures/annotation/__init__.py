"""Keywords for pictures: a model of your own keywords, what it answers, and the files that the answers go to."""

from gramless.pictures.annotation.album import Album, Neighbour
from gramless.pictures.annotation.annotator import (
    Annotation,
    Annotator,
    Answers,
    Choice,
    Look,
    Suggestion,
    load_annotator,
)
from gramless.pictures.annotation.fitting import FittedAnnotator, fit_annotator
from gramless.pictures.annotation.judging import Judgement, judge
from gramless.pictures.annotation.quality import Counts, Quality

__all__ = [
    "Album",
    "Annotation",
    "Annotator",
    "Answers",
    "Choice",
    "Counts",
    "FittedAnnotator",
    "Judgement",
    "Look",
    "Neighbour",
    "Quality",
    "Suggestion",
    "fit_annotator",
    "judge",
    "load_annotator",
]
