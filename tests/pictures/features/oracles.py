"""Naive versions of the recipes, pixel by pixel in float64; they share no code with the package."""

from __future__ import annotations

import colorsys
import math

import numpy as np


def rgb(red, green, blue):
    return [value / 256 for value in (red, green, blue)]


def hsv(red, green, blue):
    return colorsys.rgb_to_hsv(red / 255, green / 255, blue / 255)


def lab(red, green, blue):
    """CIE 1976 of linear RGB with the primaries of sRGB and white D65, its ranges shifted and scaled to 0 ... 1."""
    linear = np.array([red, green, blue]) / 255
    matrix = np.array([[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]])
    x, y, z = matrix @ linear / matrix.sum(1)
    fx, fy, fz = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    light = 116 * y ** (1 / 3) - 16 if y > 0.008856 else 903.3 * y
    return light / 100, (500 * (fx - fy) + 128) / 256, (200 * (fy - fz) + 128) / 256


def histogram(picture, space, bins):
    counts = np.zeros(bins**3)
    for pixel in picture.reshape(-1, 3).astype(int):
        first, second, third = (min(int(unit * bins), bins - 1) for unit in space(*pixel))
        counts[first + bins * second + bins * bins * third] += 1
    return counts / counts.sum()


def gist(grey):
    """Of a square grey picture of 128 pixels; filters one by one, as in LMgist.m, with centred spectra."""
    grey = (grey - grey.min()) / max(grey.max() - grey.min(), 1e-9) * 255
    padded = np.pad(np.log(grey + 1), 5, mode="symmetric")
    side = len(padded)
    fx, fy = np.meshgrid(np.arange(side) - side // 2, np.arange(side) - side // 2)
    low = np.fft.fftshift(np.exp(-(fx**2 + fy**2) / (4 / math.sqrt(math.log(2))) ** 2))
    high = padded - np.real(np.fft.ifft2(np.fft.fft2(padded) * low))
    deviation = np.sqrt(np.abs(np.fft.ifft2(np.fft.fft2(high**2) * low)))
    contrast = (high / (0.2 + deviation))[5:-5, 5:-5]
    padded = np.pad(contrast, 32, mode="symmetric")
    side = len(padded)
    fx, fy = np.meshgrid(np.arange(side) - side // 2, np.arange(side) - side // 2)
    radius = np.fft.fftshift(np.sqrt(fx**2 + fy**2))
    angle = np.fft.fftshift(np.angle(fx + 1j * fy))
    rows = []
    for scale in range(4):
        for orientation in range(8):
            turned = angle + np.pi / 8 * orientation
            turned = turned + 2 * np.pi * (turned < -np.pi) - 2 * np.pi * (turned > np.pi)
            spread = 16 * 8**2 / 32**2
            frequency = 0.3 / 1.85**scale
            gabor = np.exp(-10 * 0.35 * (radius / side / frequency - 1) ** 2 - 2 * spread * np.pi * turned**2)
            response = np.abs(np.fft.ifft2(np.fft.fft2(padded) * gabor))[32:-32, 32:-32]
            rows += [response[y : y + 32, x : x + 32].mean() for y in range(0, 128, 32) for x in range(0, 128, 32)]
    return np.array(rows)


def hue_histogram(picture, x, y, bins=36, cell=4):
    """One patch of robust hue: 17 x 17 pixels around (x, y), mirrored at the borders."""
    height, width, _ = picture.shape
    line = [math.exp(-(d**2) / (2 * cell**2)) for d in range(-2 * cell, 2 * cell + 1)]
    weights = [value / sum(line) for value in line]
    histogram = np.zeros(bins)
    for i, weight_y in enumerate(weights):
        for j, weight_x in enumerate(weights):
            row, column = mirrored(y + i - 2 * cell, height), mirrored(x + j - 2 * cell, width)
            red, green, blue = picture[row, column].astype(float) / 255
            first, second = (red - green) / math.sqrt(2), (red + green - 2 * blue) / math.sqrt(6)
            place = (math.atan2(first, second) % (2 * math.pi)) / (2 * math.pi) * bins
            lower = math.floor(place)
            vote = weight_x * weight_y * math.hypot(first, second)
            histogram[lower % bins] += vote * (1 - (place - lower))
            histogram[(lower + 1) % bins] += vote * (place - lower)
    return histogram / (np.linalg.norm(histogram) + 0.01)


def mirrored(index, size):
    index = abs(index)
    return index if index < size else 2 * (size - 1) - index


def word_counts(descriptors, bands, words):
    counts = np.zeros((3, len(words)), dtype=int)
    for descriptor, band in zip(descriptors, bands, strict=True):
        counts[band, np.argmin([np.linalg.norm(descriptor - word) for word in words])] += 1
    return counts
