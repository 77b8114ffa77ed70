"""Saving and loading, without pickle: safetensors and JSON."""

from gramless.storage.model_file import load, save

__all__ = ["load", "save"]
