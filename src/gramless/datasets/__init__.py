"""Data: your own annotated pictures, published data sets, scenes drawn by the package, and the embedded digits."""

from gramless.datasets.annotated import AnnotatedPictures, AnnotatedViews, Problem
from gramless.datasets.corel5k import is_corel5k, read_corel5k
from gramless.datasets.digits import DigitsViews, describe_pictures, load_digits_views
from gramless.datasets.folders import read_annotated
from gramless.datasets.imageclef import read_features, read_imageclef
from gramless.datasets.picture_files import FoundPictures, find_pictures
from gramless.datasets.scenes import draw_scene, write_scenes

__all__ = [
    "AnnotatedPictures",
    "AnnotatedViews",
    "DigitsViews",
    "FoundPictures",
    "Problem",
    "describe_pictures",
    "draw_scene",
    "find_pictures",
    "is_corel5k",
    "load_digits_views",
    "read_annotated",
    "read_corel5k",
    "read_features",
    "read_imageclef",
    "write_scenes",
]
