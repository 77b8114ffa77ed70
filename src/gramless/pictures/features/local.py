"""Local descriptors: SIFT and robust hue on a dense grid and at Harris corners, at three scales."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from gramless.pictures.features.histograms import BANDS, Floats
from gramless.pictures.features.names import DESCRIPTOR_WIDTHS
from gramless.pictures.features.pictures import Picture

SCALES = (1.0, 1.5, 2.25)
CELL = 4  # pixels; a descriptor covers 4 x 4 cells
STEP = 4  # pixels between the points of the dense grid
MOST_CORNERS = 400  # at each scale
HUES = DESCRIPTOR_WIDTHS["DenseHue"]
NO_COLOUR = 0.01  # a patch whose votes are not longer than this stays near zero
OPENCV_CELLS = 1.5  # the cell of OpenCV's SIFT in units of a keypoint's size

Points = NDArray[np.float32]
"""Rows of x, y."""


class Patches(NamedTuple):
    """The local descriptors of one picture."""

    descriptors: Floats  # (n, width)
    bands: NDArray[np.intp]  # (n,), the horizontal band of each one's centre


class LocalView(NamedTuple):
    """Where and how a view describes patches, and how many visual words it has."""

    detect: Callable[[Picture], Points]
    describe: Callable[[Picture, Points], Floats]
    words: int


def local_descriptors(picture: Picture, views: Collection[str]) -> dict[str, Patches]:
    """The descriptors of each view in LOCAL_VIEWS that is named, over all scales.

    At each scale the points of one kind are found once, and a descriptor is computed once for the points of all kinds.
    """
    parts: dict[str, list[Patches]] = {view: [] for view in views}
    for scale in SCALES:
        height, width = (max(round(side / scale), 1) for side in picture.shape[:2])
        level = np.asarray(cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA), dtype=np.uint8)
        points = {detect: detect(level) for detect in {LOCAL_VIEWS[view].detect for view in views}}
        sharing = defaultdict(list)
        for view in views:
            sharing[LOCAL_VIEWS[view].describe].append(view)
        for describe, group in sharing.items():
            groups = [points[LOCAL_VIEWS[view].detect] for view in group]
            descriptors = describe(level, np.concatenate(groups))
            ends = np.cumsum([len(chosen) for chosen in groups])
            for view, chosen, rows in zip(group, groups, np.split(descriptors, ends[:-1]), strict=True):
                bands = np.minimum((chosen[:, 1] + 0.5) * BANDS / height, BANDS - 1).astype(np.intp)
                parts[view].append(Patches(rows, bands))
    return {
        view: Patches(np.concatenate([p.descriptors for p in found]), np.concatenate([p.bands for p in found]))
        for view, found in parts.items()
    }


def dense_points(picture: Picture) -> Points:
    """A regular grid whose points lie at least one cell inside the picture."""
    height, width = picture.shape[:2]
    x, y = np.meshgrid(np.arange(CELL, width - CELL + 1, STEP), np.arange(CELL, height - CELL + 1, STEP))
    return np.column_stack([x.ravel(), y.ravel()]).astype(np.float32)


def harris_points(picture: Picture) -> Points:
    """The corners with the strongest Harris response, at least three pixels apart; none in a plain picture."""
    detector = cv2.GFTTDetector.create(
        maxCorners=MOST_CORNERS, qualityLevel=1e-4, minDistance=3, blockSize=3, useHarrisDetector=True, k=0.04
    )
    found = detector.detect(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY))
    return np.array([point.pt for point in found], dtype=np.float32).reshape(-1, 2)


def sift(picture: Picture, points: Points) -> Floats:
    """Upright SIFT (Lowe 2004) with 4 x 4 cells of CELL pixels: (n, 128)."""
    if not len(points):
        return np.empty((0, 128), dtype=np.float32)
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    keypoints = [cv2.KeyPoint(float(x), float(y), CELL / OPENCV_CELLS, 0.0) for x, y in points]
    _, descriptors = cv2.SIFT.create().compute(grey, keypoints)
    return np.asarray(descriptors, dtype=np.float32)


def robust_hue(picture: Picture, points: Points) -> Floats:
    """Hue histograms of patches under a Gaussian window (van de Weijer, Schmid 2006): (n, 36).

    Hue is unstable where a pixel has little colour, so a pixel votes with its saturation in the opponent colour space.
    Histograms have length 1, but for patches with next to no colour, which stay near zero.
    """
    red, green, blue = np.moveaxis(picture.astype(np.float32) / 255, 2, 0)
    first, second = (red - green) / np.sqrt(np.float32(2)), (red + green - 2 * blue) / np.sqrt(np.float32(6))
    saturation = np.hypot(first, second)
    place = (np.arctan2(first, second) / np.float32(2 * np.pi) % 1) * HUES
    lower = np.floor(place).astype(np.intp)
    share = place - lower.astype(np.float32)
    height, width = saturation.shape
    rows, columns = np.ogrid[:height, :width]
    votes = np.zeros((height, width, HUES), dtype=np.float32)
    votes[rows, columns, lower % HUES] = saturation * (1 - share)
    votes[rows, columns, (lower + 1) % HUES] += saturation * share
    window = cv2.getGaussianKernel(4 * CELL + 1, CELL).astype(np.float32)
    blurred = np.asarray(cv2.sepFilter2D(votes, -1, window, window), dtype=np.float32)
    x, y = np.rint(points).astype(np.intp).T
    histograms = blurred[np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)]
    return np.asarray(histograms / (np.linalg.norm(histograms, axis=1, keepdims=True) + NO_COLOUR), dtype=np.float32)


LOCAL_VIEWS: Mapping[str, LocalView] = {
    "DenseSift": LocalView(dense_points, sift, words=1000),
    "HarrisSift": LocalView(harris_points, sift, words=1000),
    "DenseHue": LocalView(dense_points, robust_hue, words=100),
    "HarrisHue": LocalView(harris_points, robust_hue, words=100),
}
