"""Pictures in, Views out: handcrafted and learned features of photographs."""

from gramless.pictures.features.cache import FeatureCache
from gramless.pictures.features.extractor import Described, PictureFeatures
from gramless.pictures.features.names import HANDCRAFTED, LEARNED, STANDARD
from gramless.pictures.features.pictures import PictureError, make_thumbnail, read_picture
from gramless.pictures.features.workers import end_workers

__all__ = [
    "HANDCRAFTED",
    "LEARNED",
    "STANDARD",
    "Described",
    "FeatureCache",
    "PictureError",
    "PictureFeatures",
    "end_workers",
    "make_thumbnail",
    "read_picture",
]
