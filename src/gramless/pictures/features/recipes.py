"""What a row depends on beside the picture, as a text: rows of the same recipe can take each other's place."""

from __future__ import annotations

import hashlib

from gramless.pictures.features.histograms import Floats
from gramless.pictures.features.learned import weights_version
from gramless.pictures.features.names import is_learned
from gramless.pictures.features.pictures import LONGEST_SIDE

RECIPES_VERSION = 3  # raised whenever a view's numbers change


def recipe(name: str, words: Floats | None = None) -> str:
    """The recipe of a view; words : those that it counts, if any."""
    parts = [name, f"recipe {RECIPES_VERSION}", f"at most {LONGEST_SIDE} pixels"]
    if words is not None:
        parts.append(f"words {hashlib.sha256(words.astype('<f4').tobytes()).hexdigest()}")
    if is_learned(name):
        parts.append(f"weights {weights_version(name)}")
    return ", ".join(parts)
