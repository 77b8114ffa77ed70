"""Histograms of colours, in a whole picture and in horizontal bands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramless.pictures.features.names import BANDED
from gramless.pictures.features.pictures import Picture
from gramless.support.packages import needed

Floats = NDArray[np.float32]

BANDS = 3  # horizontal ones, of a V3H1 layout
BINS, BANDED_BINS = 16, 12  # of a channel


def shares(counts: NDArray[Any]) -> Floats:
    """Counts of any shape as one row that sums to 1. Where nothing was counted the row is zero, as kernels allow."""
    row = counts.ravel().astype(np.float64)
    return (row / max(row.sum(), 1.0)).astype(np.float32)


def colour_histograms(picture: Picture, space: str) -> dict[str, Floats]:
    """The histogram of the whole picture, 16^3 numbers, and those of its three bands, 3 x 12^3.

    space : Rgb, Hsv or Lab. The first channel's bin changes fastest: R + 16 G + 256 B.
    """
    channels = _SPACES[space](picture)
    bands = np.array_split(_bins(channels, BANDED_BINS), BANDS)
    return {
        space: shares(_counts(_bins(channels, BINS), BINS)),
        f"{space}{BANDED}": shares(np.concatenate([_counts(band, BANDED_BINS) for band in bands])),
    }


def _bins(channels: Floats, bins: int) -> NDArray[np.int32]:
    """The joint bin of every pixel, of channels between 0 and 1."""
    first, second, third = np.moveaxis(np.clip((channels * bins).astype(np.int32), 0, bins - 1), 2, 0)
    return np.asarray(first + bins * (second + bins * third))


def _counts(joint: NDArray[np.int32], bins: int) -> NDArray[np.intp]:
    return np.bincount(joint.ravel(), minlength=bins**3)


def _rgb(picture: Picture) -> Floats:
    return np.asarray(picture / np.float32(256), dtype=np.float32)


def _hsv(picture: Picture) -> Floats:
    cv2 = needed("cv2")
    hsv = cv2.cvtColor(picture.astype(np.float32) / 255, cv2.COLOR_RGB2HSV)
    return np.asarray(hsv / np.array([360, 1, 1], dtype=np.float32))


def _lab(picture: Picture) -> Floats:
    """Without undoing the gamma of sRGB: so the histograms that the paper's authors published were made."""
    cv2 = needed("cv2")
    lab = cv2.cvtColor(picture.astype(np.float32) / 255, cv2.COLOR_LRGB2LAB)
    lowest, width = np.array([[0, -128, -128], [100, 256, 256]], dtype=np.float32)
    return np.asarray((lab - lowest) / width)


_SPACES: Mapping[str, Callable[[Picture], Floats]] = {"Rgb": _rgb, "Hsv": _hsv, "Lab": _lab}
