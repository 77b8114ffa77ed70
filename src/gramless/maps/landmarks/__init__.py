"""Choosing the landmarks S: one file, one selector. Landmarks can also be given, as rows or as samples."""

from __future__ import annotations

from gramless.maps.landmarks.base import PairwiseKernel, Selector
from gramless.maps.landmarks.kmeans import kmeans
from gramless.maps.landmarks.leverage import leverage
from gramless.maps.landmarks.rpcholesky import rpcholesky
from gramless.maps.landmarks.uniform import uniform

SELECTORS: dict[str, Selector] = {
    "uniform": uniform,
    "kmeans": kmeans,
    "rpcholesky": rpcholesky,
    "leverage": leverage,
}
"""Selectors that can be asked for by name."""

__all__ = ["SELECTORS", "PairwiseKernel", "Selector"]
