"""Scikit-learn's handwritten digits, described by several views: embedded, so nothing is fetched."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits

from gramless.demo.digit_views import DESCRIPTIONS
from gramless.views import Views

FULL_INK = 16.0


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
