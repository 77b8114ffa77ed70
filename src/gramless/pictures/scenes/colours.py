"""The colours of drawn scenes: red, green and blue between 0 and 255."""

from __future__ import annotations

import colorsys

import numpy as np

Colour = tuple[float, float, float]

WHITE: Colour = (245, 245, 245)
GLASS: Colour = (190, 220, 235)
LAMPLIGHT: Colour = (255, 214, 120)

_HUES = {"red": 357, "yellow": 47, "blue": 213, "purple": 283}
COLOUR_WORDS = tuple(_HUES)
"""Colours that are keywords."""


def colour_of(word: str, rng: np.random.Generator) -> Colour:
    """Some colour that people would call by this word, one of COLOUR_WORDS."""
    return hsv(_HUES[word] + rng.uniform(-7, 7), rng.uniform(0.6, 0.85), rng.uniform(0.72, 0.94))


def brick_colour(rng: np.random.Generator) -> Colour:
    """Some colour of bricks, paler than what people call red."""
    return hsv(rng.uniform(12, 24), rng.uniform(0.42, 0.58), rng.uniform(0.6, 0.75))


def shade(colour: Colour, factor: float) -> Colour:
    """Lighter (above 1) or darker (below 1)."""
    return _within([channel * factor for channel in colour])


def vary(colour: Colour, rng: np.random.Generator, by: float) -> Colour:
    """A colour near this one."""
    return _within([channel + rng.uniform(-by, by) for channel in colour])


def mix(one: Colour, other: Colour, share: float) -> Colour:
    """A share of the other colour, between 0 and 1, and one of the first for the rest."""
    return _within([(1 - share) * a + share * b for a, b in zip(one, other, strict=True)])


def filtered(colour: Colour, factors: Colour) -> Colour:
    """A colour with every channel multiplied by its own factor."""
    return _within([channel * factor for channel, factor in zip(colour, factors, strict=True)])


def hsv(hue: float, saturation: float, value: float) -> Colour:
    """From a hue in degrees, and saturation and value between 0 and 1."""
    return _within([255 * channel for channel in colorsys.hsv_to_rgb(hue / 360 % 1, saturation, value)])


def _within(channels: list[float]) -> Colour:
    red, green, blue = (min(255.0, max(0.0, channel)) for channel in channels)
    return red, green, blue
