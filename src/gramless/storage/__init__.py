"""Saving and loading, without pickle: safetensors and JSON."""

from gramless.storage.model_file import load, save
from gramless.storage.storable import register

__all__ = ["load", "register", "save"]
