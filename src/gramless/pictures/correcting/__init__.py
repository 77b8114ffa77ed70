"""Correct and learn: a folder of pictures, what people say of their keywords, and a model that learns from it."""

from gramless.pictures.correcting.labels import LABEL_FILE, LabelFile
from gramless.pictures.correcting.open_folder import OpenFolder

__all__ = ["LABEL_FILE", "LabelFile", "OpenFolder"]
