"""Pictures in, Views out: handcrafted and learned features of photographs."""

from gramless.features.cache import FeatureCache
from gramless.features.extractor import Described, PictureFeatures
from gramless.features.names import HANDCRAFTED, LEARNED
from gramless.features.pictures import LONGEST_SIDE, PictureError, Source, read_picture
from gramless.features.rows import Unreadable
from gramless.features.thumbnails import make_thumbnail

__all__ = [
    "HANDCRAFTED",
    "LEARNED",
    "LONGEST_SIDE",
    "Described",
    "FeatureCache",
    "PictureError",
    "PictureFeatures",
    "Source",
    "Unreadable",
    "make_thumbnail",
    "read_picture",
]
