"""The application: keywords for photographs, learned from one's own. Nothing in the rest of the package needs it."""

from gramless.pictures.annotation import Album, Annotator
from gramless.pictures.features import PictureFeatures
from gramless.storage import register

register(PictureFeatures, Album, Annotator)
