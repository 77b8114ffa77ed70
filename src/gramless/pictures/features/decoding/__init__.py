"""Decoding one picture at the size that is needed, here or in a process of its own.

Nothing outside this folder is imported in it, so that a worker starts in a fraction of a second and holds little but
Pillow.
"""

from .decode import SHORTEST_SIDE, SIMPLE_PIXELS, UndecodableError, decode, is_simple
from .metadata import Metadata, UnopenedError, metadata_of

__all__ = [
    "SHORTEST_SIDE",
    "SIMPLE_PIXELS",
    "Metadata",
    "UndecodableError",
    "UnopenedError",
    "decode",
    "is_simple",
    "metadata_of",
]
