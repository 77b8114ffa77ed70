"""Patterns on things in drawn scenes; each fills an outline."""

from __future__ import annotations

import numpy as np

from gramless.pictures.scenes.canvas import Canvas, Points, rectangle
from gramless.pictures.scenes.colours import WHITE, Colour, shade

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
