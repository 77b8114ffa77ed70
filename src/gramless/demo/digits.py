"""Scikit-learn's handwritten digits, which nothing has to be fetched for, and seven non-negative views of them.

One function each, from pictures (n, height, width) to (n, features). Pictures are ink, which lies between 0 (paper) and
1 (full ink). Height and width are even; the digits are 8 x 8.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits

from gramless.views import Views

FULL_INK = 16.0
N_ORIENTATIONS = 8
CELL = 4  # pixels on a side of a gradient cell; cells overlap by half
N_GREYS = 4
INK = 0.25  # from this value on a pixel counts as written on


def pixels(ink: np.ndarray) -> np.ndarray:
    """The ink of every pixel."""
    return _as_rows(ink)


def fourier(ink: np.ndarray) -> np.ndarray:
    """Magnitudes of the two-dimensional Fourier transform: the same wherever the digit stands."""
    return _as_rows(np.abs(np.fft.rfft2(ink, norm="ortho")))


def gradients(ink: np.ndarray) -> np.ndarray:
    """How much edge runs in each direction, in overlapping cells; square roots, so that one edge does not rule."""
    down, right = np.gradient(ink, axis=(1, 2))
    turns = np.arctan2(down, right) / (2 * np.pi) % 1.0
    bins = np.rint(turns * N_ORIENTATIONS).astype(int) % N_ORIENTATIONS
    edges = _one_hot(bins, N_ORIENTATIONS) * np.hypot(down, right)[..., None]  # (n, height, width, orientation)
    cells = np.lib.stride_tricks.sliding_window_view(edges, (CELL, CELL), axis=(1, 2))[:, :: CELL // 2, :: CELL // 2]
    return _as_rows(np.sqrt(cells.sum(axis=(-2, -1))))


def projections(ink: np.ndarray) -> np.ndarray:
    """Mean ink along rows, columns and both kinds of diagonal; diagonals are divided by the longest one's length."""
    _, height, width = ink.shape
    offsets = range(1 - height, width)
    falling = [np.trace(ink, offset, axis1=1, axis2=2) for offset in offsets]
    rising = [np.trace(ink[:, ::-1], offset, axis1=1, axis2=2) for offset in offsets]
    diagonals = np.stack(falling + rising, axis=1) / min(height, width)
    return _as_rows(np.concatenate([ink.mean(axis=2), ink.mean(axis=1), diagonals], axis=1))


def binary_patterns(ink: np.ndarray) -> np.ndarray:
    """Local binary patterns: which of the four neighbours hold more ink than the pixel, counted per quadrant."""
    around = np.pad(ink, ((0, 0), (1, 1), (1, 1)))
    neighbours = (around[:, :-2, 1:-1], around[:, 2:, 1:-1], around[:, 1:-1, :-2], around[:, 1:-1, 2:])
    codes = sum((neighbour > ink).astype(int) << bit for bit, neighbour in enumerate(neighbours))
    n, height, width = ink.shape
    quadrants = _one_hot(np.asarray(codes), 16).reshape(n, 2, height // 2, 2, width // 2, 16)
    return _as_rows(quadrants.mean(axis=(2, 4)))


def borders(ink: np.ndarray) -> np.ndarray:
    """How far the first ink lies from the left, right, top and bottom, line by line; 1 for a line without ink."""
    written = ink >= INK
    sides = (written, written[:, :, ::-1], written.transpose(0, 2, 1), written[:, ::-1].transpose(0, 2, 1))
    distances = [np.where(lines.any(2), lines.argmax(2) / lines.shape[2], 1.0) for lines in sides]
    return _as_rows(np.concatenate(distances, axis=1))


def co_occurrences(ink: np.ndarray) -> np.ndarray:
    """How often each pair of four grey levels meets, to the right, below and on both diagonals."""
    grey = np.minimum((ink * N_GREYS).astype(int), N_GREYS - 1)
    meetings = (
        (grey[:, :, :-1], grey[:, :, 1:]),
        (grey[:, :-1], grey[:, 1:]),
        (grey[:, :-1, :-1], grey[:, 1:, 1:]),
        (grey[:, :-1, 1:], grey[:, 1:, :-1]),
    )
    pairs = [_one_hot(first * N_GREYS + second, N_GREYS**2).mean(axis=(1, 2)) for first, second in meetings]
    return _as_rows(np.concatenate(pairs, axis=1))


DESCRIPTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "pixels": pixels,
    "fourier": fourier,
    "gradients": gradients,
    "projections": projections,
    "binary patterns": binary_patterns,
    "borders": borders,
    "co-occurrences": co_occurrences,
}
"""The views by name."""


def _one_hot(codes: np.ndarray, n_codes: int) -> np.ndarray:
    """1 at the code and 0 elsewhere, along a new last axis."""
    return (codes[..., None] == np.arange(n_codes)).astype(np.float32)


def _as_rows(features: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(features.reshape(len(features), -1), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class DigitsViews:
    """1,797 digits: row i of every view, target i and picture i belong together."""

    views: Views
    target: np.ndarray  # (n,), 0 ... 9
    images: np.ndarray  # (n, 8, 8), ink between 0 and 1


def load_digits_views() -> DigitsViews:
    """The digits and their seven views, all non-negative float32."""
    digits = load_digits()
    images = (digits.images / FULL_INK).astype(np.float32)
    return DigitsViews(describe_pictures(images), digits.target, images)


def describe_pictures(images: np.ndarray) -> Views:
    """The seven views of pictures (n, height, width) with ink between 0 and 1."""
    return Views({name: describe(images) for name, describe in DESCRIPTIONS.items()})
