"""Annotated pictures: your own, with keyword files or what they carry, and COREL5k."""

from gramless.pictures.datasets.annotated import AnnotatedPictures
from gramless.pictures.datasets.corel5k import is_corel5k, read_corel5k
from gramless.pictures.datasets.folders import read_annotated
from gramless.pictures.datasets.picture_files import find_pictures, find_written

__all__ = [
    "AnnotatedPictures",
    "find_pictures",
    "find_written",
    "is_corel5k",
    "read_annotated",
    "read_corel5k",
]
