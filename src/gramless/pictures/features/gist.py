"""Gist, the scene descriptor of Oliva and Torralba (2001): block means of Gabor magnitudes.

The constants are those of the authors' LMgist.m, with its default of eight orientations at each of four scales and
4 x 4 blocks of a grey picture of 128 x 128 pixels.
"""

from __future__ import annotations

from functools import cache

import cv2
import numpy as np
import scipy.fft

from gramless.pictures.features.histograms import Floats
from gramless.pictures.features.pictures import Picture

SIDE = 128
BORDER = 32
BLOCKS = 4
SCALES = 4
ORIENTATIONS = 8
CONTRAST_BORDER = 5
CONTRAST_CYCLES = 4.0


def gist(picture: Picture) -> Floats:
    """512 numbers, ordered by scale, orientation, row of blocks, column of blocks."""
    grey = cv2.resize(picture.astype(np.float32).mean(axis=2), (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    grey -= grey.min()
    grey *= 255 / max(float(grey.max()), 1e-6)
    padded = np.pad(_local_contrast(np.asarray(grey)), BORDER, mode="symmetric")
    responses = np.abs(scipy.fft.ifft2(scipy.fft.fft2(padded) * _gabor_bank(), overwrite_x=True))
    inner = slice(BORDER, BORDER + SIDE)
    tiles = responses[:, inner, inner].reshape(-1, BLOCKS, SIDE // BLOCKS, BLOCKS, SIDE // BLOCKS)
    return np.asarray(tiles.mean(axis=(2, 4)).ravel(), dtype=np.float32)


@cache
def _gabor_bank() -> Floats:
    """The filters in the frequency domain, (scales x orientations, side, side)."""
    side = SIDE + 2 * BORDER
    x, y = _frequencies(side)
    radius, angle = np.hypot(x, y), np.arctan2(y, x)
    bank = []
    for scale in range(SCALES):
        radial = -10 * 0.35 * (radius / side / (0.3 / 1.85**scale) - 1) ** 2
        for orientation in range(ORIENTATIONS):
            turned = angle + np.pi * orientation / ORIENTATIONS
            turned = np.where(turned > np.pi, turned - 2 * np.pi, turned)
            bank.append(np.exp(radial - 2 * np.pi * (16 * ORIENTATIONS**2 / 32**2) * turned**2))
    return np.stack(bank).astype(np.float32)


def _local_contrast(grey: Floats) -> Floats:
    """Log intensity less its low frequencies, divided by the local standard deviation (the authors' prefilt.m)."""
    padded = np.pad(np.log1p(grey), CONTRAST_BORDER, mode="symmetric")
    high = padded - _smoothed(padded)
    contrast = high / (0.2 + np.sqrt(np.abs(_smoothed(high**2))))
    inner = slice(CONTRAST_BORDER, CONTRAST_BORDER + SIDE)
    return np.asarray(contrast[inner, inner], dtype=np.float32)


def _smoothed(grey: Floats) -> Floats:
    return np.asarray(scipy.fft.irfft2(scipy.fft.rfft2(grey) * _low_pass(), s=grey.shape))


@cache
def _low_pass() -> Floats:
    """The half of a Gaussian low pass that a real transform keeps."""
    side = SIDE + 2 * CONTRAST_BORDER
    x, y = _frequencies(side)
    gaussian = np.exp(-(x**2 + y**2) * np.log(2) / CONTRAST_CYCLES**2)
    return np.asarray(gaussian[:, : side // 2 + 1], dtype=np.float32)


def _frequencies(side: int) -> tuple[Floats, Floats]:
    """Whole frequencies in the order of a Fourier transform: along the columns (x), along the rows (y)."""
    line = np.rint(scipy.fft.fftfreq(side, 1 / side)).astype(np.float32)
    x, y = np.meshgrid(line, line)
    return x, y
