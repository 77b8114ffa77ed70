"""The sky and the ground of a drawn scene, and the light that they give."""

from __future__ import annotations

import numpy as np

from gramless.pictures.scenes.canvas import Canvas, Colour, Light, Points, filtered, mix, shade

LIGHTS = {
    "sky": Light((1.0, 1.0, 1.0), (0, 0, 0)),
    "sunset": Light((0.82, 0.6, 0.56), (30, 12, 18)),
    "night": Light((0.44, 0.48, 0.6), (8, 11, 28)),
}
"""Kinds of sky, and what their light does to colours."""

_SKIES: dict[str, tuple[tuple[Colour, ...], ...]] = {
    "sky": (
        ((74, 146, 222), (142, 196, 240), (214, 234, 248)),
        ((104, 166, 214), (176, 208, 232), (228, 236, 240)),
        ((52, 122, 206), (110, 178, 238), (190, 224, 250)),
    ),
    "sunset": (
        ((74, 58, 122), (206, 92, 108), (250, 160, 92), (255, 214, 138)),
        ((52, 72, 128), (158, 102, 140), (240, 136, 110), (254, 196, 128)),
        ((120, 64, 96), (232, 104, 78), (252, 176, 84), (255, 226, 150)),
    ),
    "night": (
        ((8, 12, 36), (20, 30, 70), (44, 60, 108)),
        ((14, 12, 40), (34, 30, 78), (66, 58, 110)),
        ((4, 10, 26), (12, 28, 58), (26, 52, 86)),
    ),
}


def sky(canvas: Canvas, rng: np.random.Generator, kind: str, horizon: float) -> None:
    """The sky down to the horizon; by night with stars."""
    palettes = _SKIES[kind]
    first, second = rng.choice(len(palettes), 2, replace=False)
    share = rng.uniform(0, 0.6)
    stops = [mix(one, other, share) for one, other in zip(palettes[first], palettes[second], strict=True)]
    canvas.gradient(_below(canvas, [(0.0, 0.0), (canvas.width, 0.0)], horizon + 0.05), stops, shines=True)
    if kind == "night":
        for x, y, glitter in rng.uniform(0, 1, (45, 3)):
            radius = 0.0025 + 0.0045 * glitter**3
            canvas.ellipse(x * canvas.width, y**1.3 * horizon, radius, radius, (225, 228, 240), shines=True)


def sea(canvas: Canvas, rng: np.random.Generator, top: float, bottom: float, shine: float | None) -> None:
    """Water between two heights, with waves and, below a low sun or moon at x = shine, its reflection."""
    near, far = (26 + rng.uniform(-12, 16), 92 + rng.uniform(-20, 20), 140 + rng.uniform(-20, 20)), (122, 178, 204)
    canvas.gradient(_below(canvas, [(0.0, top), (canvas.width, top)], bottom), (far, near))
    for _ in range(int(70 * (bottom - top) / 0.5)):
        depth = rng.uniform(0, 1) ** 1.4
        y, length = top + depth * (bottom - top), rng.uniform(0.03, 0.09) * (0.35 + depth)
        x = rng.uniform(-0.05, canvas.width)
        bright = rng.uniform(0.0, 1.0) < 0.6
        wave = [(x, y), (x + length / 2, y - 0.008 * (0.3 + depth)), (x + length, y)]
        canvas.line(wave, (176, 212, 226) if bright else (24, 82, 122), 0.004 + 0.005 * depth)
    if shine is not None:
        for depth in np.linspace(0.02, 1, 16):
            y, half = top + depth * (bottom - top), rng.uniform(0.02, 0.07) * (0.6 + depth)
            x = shine + rng.uniform(-0.02, 0.02)
            canvas.ellipse(x, y, half, 0.006 + 0.004 * depth, (255, 232, 176), shines=True)


def grass(canvas: Canvas, rng: np.random.Generator, top: float) -> None:
    """Two green hills with blades of grass."""
    green = (108 + rng.uniform(-26, 30), 164 + rng.uniform(-24, 16), 74 + rng.uniform(-20, 16))
    _hills(canvas, rng, top, green, (0.96, 0.98, 0.94), (0.72, 0.76, 0.7))
    for _ in range(150):
        depth = rng.uniform(0.05, 1)
        x, y = rng.uniform(0, canvas.width), top + 0.06 + depth * (canvas.height - top)
        tall = 0.012 + 0.03 * depth
        tone = rng.uniform(0.62, 1.16)
        blade = [(x, y), (x + rng.uniform(-0.4, 0.4) * tall, y - tall)]
        canvas.line(blade, shade(green, tone), 0.005)


def sand(canvas: Canvas, rng: np.random.Generator, top: float) -> None:
    """Dunes with grains and ripples."""
    yellow = (226 + rng.uniform(-14, 12), 196 + rng.uniform(-14, 10), 142 + rng.uniform(-18, 14))
    _hills(canvas, rng, top, yellow, (1.03, 1.03, 1.03), (0.9, 0.87, 0.82))
    for _ in range(260):
        x, y = rng.uniform(0, canvas.width), rng.uniform(top + 0.05, canvas.height)
        tone = rng.uniform(0.74, 1.08)
        canvas.ellipse(x, y, 0.004, 0.003, shade(yellow, tone))
    for y in np.arange(top + 0.14, canvas.height, 0.09):
        x, length = rng.uniform(0, canvas.width), rng.uniform(0.2, 0.5)
        steps = np.linspace(0, 1, 12)
        ripple = np.stack([x + length * steps, y + 0.012 * np.sin(9 * steps)], axis=1)
        canvas.line(ripple.tolist(), shade(yellow, 0.86), 0.006)


def snow(canvas: Canvas, rng: np.random.Generator, top: float) -> None:
    """White hills with blue shadows."""
    white = (240 + rng.uniform(-8, 6), 245 + rng.uniform(-6, 4), 251)
    _hills(canvas, rng, top, white, (0.9, 0.93, 0.97), (0.83, 0.88, 0.96))
    for _ in range(7):
        x, y = rng.uniform(0, canvas.width), rng.uniform(top + 0.12, canvas.height)
        canvas.ellipse(x, y, rng.uniform(0.08, 0.25), rng.uniform(0.008, 0.02), (222, 232, 246))


def _hills(canvas: Canvas, rng: np.random.Generator, top: float, colour: Colour, far: Colour, near: Colour) -> None:
    """A hill behind and one before it; `far` and `near` are factors on the colour at the ends of each."""
    for drop, height, brightness in ((0.0, 0.035, 0.93), (0.14, 0.05, 1.0)):
        steps = np.linspace(0, canvas.width, 40)
        ridge = top + drop + height * np.sin(rng.uniform(2, 4) * steps + rng.uniform(0, 6))
        outline = _below(canvas, np.stack([steps, ridge], axis=1).tolist(), canvas.height)
        canvas.gradient(outline, [shade(filtered(colour, end), brightness) for end in (far, near)])


def _below(canvas: Canvas, edge: Points, bottom: float) -> Points:
    return [*edge, (canvas.width, bottom), (0.0, bottom)]
