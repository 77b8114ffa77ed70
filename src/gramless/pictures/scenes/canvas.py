"""A canvas on which scenes are drawn, its colours and its textures."""

from __future__ import annotations

import colorsys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gramless.support.packages import needed

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


_N_COURSES = 9  # rows of bricks in a wall


def decorate(canvas: Canvas, texture: str | None, outline: Points, size: float) -> None:
    """White stripes or dots on something of this size; nothing for None."""
    if texture == "stripes":
        canvas.inside(outline, lambda: _stripes(canvas, outline, 0.13 * size))
    elif texture == "dots":
        canvas.inside(outline, lambda: _dots(canvas, outline, 0.13 * size))


def lay_bricks(canvas: Canvas, rng: np.random.Generator, wall: Points, colour: Colour) -> None:
    """Bricks of about this colour, with lighter mortar, on a rectangular wall."""
    left, right, top, bottom = _bounds(wall)
    course = (bottom - top) / _N_COURSES

    def lay() -> None:
        canvas.polygon(wall, shade(colour, 1.3))
        for row in range(_N_COURSES):
            y = top + row * course
            for x in np.arange(left - (row % 2) * 1.1 * course, right, 2.2 * course):
                canvas.polygon(
                    rectangle(x, y, x + 1.95 * course, y + 0.78 * course), shade(colour, rng.uniform(0.82, 1.1))
                )

    canvas.inside(wall, lay)


def _stripes(canvas: Canvas, outline: Points, step: float) -> None:
    left, right, top, bottom = _bounds(outline)
    for x in np.arange(left + 0.5 * step, right, 2 * step):
        canvas.polygon(rectangle(x, top, x + 0.9 * step, bottom), WHITE)


def _dots(canvas: Canvas, outline: Points, step: float) -> None:
    left, right, top, bottom = _bounds(outline)
    for row, y in enumerate(np.arange(top + 0.5 * step, bottom + step, 1.15 * step)):
        for x in np.arange(left + (0.4 + 0.65 * (row % 2)) * step, right + step, 1.3 * step):
            canvas.ellipse(x, y, 0.34 * step, 0.34 * step, WHITE)


def _bounds(outline: Points) -> tuple[float, float, float, float]:
    """Left, right, top, bottom."""
    across, down = zip(*outline, strict=True)
    return min(across), max(across), min(down), max(down)


Points = Sequence[tuple[float, float]]

OVERSAMPLING = 3  # drawn at three times the size, then averaged: smooth edges
_SUBPIXEL_BITS = 4


@dataclass(frozen=True)
class Light:
    """What the light does to the colours of things: a factor for each channel, and light that is added."""

    factors: Colour
    added: Colour

    def on(self, colour: Colour) -> Colour:
        red, green, blue = (a + b for a, b in zip(filtered(colour, self.factors), self.added, strict=True))
        return min(red, 255.0), min(green, 255.0), min(blue, 255.0)


class Canvas:
    """Draws on `pixels`. (0, 0) is the top left; `width` and `height` are its size in units, the shorter one is 1.

    Colours are lit by `light`, unless something shines by itself.
    """

    def __init__(self, size: tuple[int, int], light: Light) -> None:
        self._cv2 = needed("cv2")
        self._size = size
        self._unit = min(size) * OVERSAMPLING
        self.width, self.height = size[0] / min(size), size[1] / min(size)
        self.light = light
        self.pixels = np.zeros((size[1] * OVERSAMPLING, size[0] * OVERSAMPLING, 3), dtype=np.uint8)

    def polygon(self, points: Points, colour: Colour, shines: bool = False) -> None:
        self._cv2.fillPoly(
            self.pixels, [self._fixed(points)], self._lit(colour, shines), self._cv2.LINE_AA, _SUBPIXEL_BITS
        )

    def ellipse(
        self, x: float, y: float, across: float, down: float, colour: Colour, turn: float = 0.0, shines: bool = False
    ) -> None:
        """An ellipse around (x, y) with these half axes, turned by degrees."""
        self.polygon(oval(x, y, across, down, turn), colour, shines)

    def line(self, points: Points, colour: Colour, thickness: float) -> None:
        pixels = max(1, round(thickness * self._unit))
        fixed = [self._fixed(points)]
        self._cv2.polylines(
            self.pixels, fixed, False, self._lit(colour, False), pixels, self._cv2.LINE_AA, _SUBPIXEL_BITS
        )

    def gradient(self, outline: Points, stops: Sequence[Colour], shines: bool = False) -> None:
        """Fill an outline with colours that change from its top to its bottom."""
        first = max(0, int(min(y for _, y in outline) * self._unit))
        last = min(len(self.pixels), int(np.ceil(max(y for _, y in outline) * self._unit)))
        lit = np.array([self._lit(colour, shines) for colour in stops])
        where = np.linspace(0, len(stops) - 1, max(1, last - first))
        ramp = np.stack([np.interp(where, range(len(stops)), channel) for channel in lit.T], axis=1)

        def fill() -> None:
            self.pixels[first:last] = ramp[: last - first, None]

        self.inside(outline, fill)

    def shadow(self, x: float, y: float, across: float) -> None:
        """The shadow of something that stands at (x, y)."""
        outline = oval(x, y, across, 0.16 * across)
        self.inside(outline, lambda: self.polygon(outline, (20, 24, 40)), opacity=0.3)

    def inside(self, outline: Points, draw: Callable[[], None], opacity: float = 1.0) -> None:
        """Draw, and keep only what lies inside the outline."""
        before = self.pixels.copy()
        draw()
        drawn = self.pixels
        mask = np.zeros(drawn.shape[:2], dtype=np.uint8)
        fixed = self._fixed(outline)
        self._cv2.fillPoly(mask, [fixed], 255, self._cv2.LINE_AA, _SUBPIXEL_BITS)
        left, top = np.maximum(0, (fixed.min(axis=0) >> _SUBPIXEL_BITS) - 2)
        right, bottom = np.maximum(0, (fixed.max(axis=0) >> _SUBPIXEL_BITS) + 3)
        box = np.s_[top:bottom, left:right]  # nothing changes outside, and most things are small
        self.pixels = before
        self.pixels[box] = _blend(before[box], drawn[box], mask[box][..., None] * np.float32(opacity / 255))

    def glow(self, x: float, y: float, radius: float, colour: Colour, strength: float) -> None:
        """Light around a point, fading with the distance."""
        rows, columns = np.ogrid[: self.pixels.shape[0], : self.pixels.shape[1]]
        distance = np.hypot(columns / self._unit - x, rows / self._unit - y) / radius
        amount = (strength * np.exp(-2 * distance**2)).astype(np.float32)[..., None]
        self.pixels = _blend(self.pixels, np.array(colour, dtype=np.float32), amount)

    def picture(self) -> np.ndarray:
        """What was drawn, at its true size: (height, width, 3) uint8."""
        return self._cv2.resize(self.pixels, self._size, interpolation=self._cv2.INTER_AREA)

    def _fixed(self, points: Points) -> np.ndarray:
        return np.rint(np.asarray(points) * self._unit * 2**_SUBPIXEL_BITS).astype(np.int32)

    def _lit(self, colour: Colour, shines: bool) -> Colour:
        return colour if shines else self.light.on(colour)


def rectangle(left: float, top: float, right: float, bottom: float) -> Points:
    """The corners of a rectangle."""
    return [(left, top), (right, top), (right, bottom), (left, bottom)]


def oval(x: float, y: float, across: float, down: float, turn: float = 0.0) -> Points:
    """The outline of an ellipse around (x, y) with these half axes, turned by degrees."""
    angle = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    right, below = across * np.cos(angle), down * np.sin(angle)
    cos, sin = np.cos(np.radians(turn)), np.sin(np.radians(turn))
    return np.stack([x + right * cos - below * sin, y + right * sin + below * cos], axis=1).tolist()


def _blend(below: np.ndarray, above: np.ndarray, amount: np.ndarray) -> np.ndarray:
    return (below + amount * (above.astype(np.float32) - below)).astype(np.uint8)
