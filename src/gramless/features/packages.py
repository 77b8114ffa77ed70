"""Packages that only pictures need: imported where they are used, and explained where they are missing."""

from __future__ import annotations

import importlib
from types import ModuleType

from gramless.errors import GramlessError


def needed(module: str, install: str = "'gramless[pictures]'") -> ModuleType:
    """The module; where it is missing, an error that says what to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise GramlessError(
            f"pictures need the package {module.partition('.')[0]}, which cannot be imported ({error}): "
            f"pip install {install}"
        ) from error
