"""Out of Python: a fitted map or classifier as an ONNX file of standard operators, one file here per part of it."""

from gramless.storage.onnx.export import export_onnx

__all__ = ["export_onnx"]
