"""What stands, floats and flies in a drawn scene: one function each, at (x, y) with some size, in units of the canvas.

(x, y) is the foot of what stands on the ground and the middle of what does not; `size` is about the height.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from gramless.pictures.scenes.canvas import (
    GLASS,
    LAMPLIGHT,
    WHITE,
    Canvas,
    Colour,
    Points,
    decorate,
    hsv,
    lay_bricks,
    oval,
    rectangle,
    shade,
    vary,
)


@dataclass(frozen=True)
class Look:
    """How something looks that comes in several colours and textures, with lamps lit or not."""

    colour: Colour
    texture: str | None
    lamps: bool


def sun(canvas: Canvas, rng: np.random.Generator, x: float, y: float, size: float) -> None:
    canvas.glow(x, y, 2.6 * size, (255, 244, 206), 0.7)
    canvas.ellipse(x, y, size / 2, size / 2, vary((255, 226, 110), rng, 8), shines=True)


def moon(canvas: Canvas, rng: np.random.Generator, x: float, y: float, size: float) -> None:
    canvas.glow(x, y, 2.4 * size, (170, 185, 225), 0.55)
    canvas.ellipse(x, y, size / 2, size / 2, (240, 238, 220), shines=True)
    for right, down, crater in ((-0.18, -0.12, 0.1), (0.14, 0.1, 0.13), (-0.05, 0.25, 0.07), (0.2, -0.22, 0.06)):
        canvas.ellipse(x + right * size, y + down * size, crater * size, crater * size, (214, 211, 193), shines=True)


def cloud(canvas: Canvas, rng: np.random.Generator, x: float, y: float, size: float) -> None:
    puffs = [(rng.uniform(-0.95, 0.95), rng.uniform(-0.15, 0.1), rng.uniform(0.28, 0.42)) for _ in range(5)]
    puffs += [(-0.35, -0.18, 0.42), (0.3, -0.25, 0.5)]
    for colour, lift in (((205, 214, 228), 0.0), ((250, 251, 253), 0.09)):
        for right, down, radius in puffs:
            canvas.ellipse(x + right * size, y + (down - lift) * size, radius * size, 0.72 * radius * size, colour)


def bird(canvas: Canvas, rng: np.random.Generator, x: float, y: float, size: float) -> None:
    """A few birds in flight, each two bent wings."""
    for _ in range(rng.integers(3, 6)):
        left, top = x + rng.uniform(-1.6, 1.6) * size, y + rng.uniform(-0.8, 0.8) * size
        span, lift = rng.uniform(0.35, 0.55) * size, rng.uniform(0.3, 0.6)
        steps = np.linspace(-1, 1, 21)
        curve = -lift * np.sin(np.pi * np.abs(steps) ** 0.8) + 0.25 * (1 - np.abs(steps))
        wings = np.stack([left + span * steps, top + span * curve], axis=1)
        canvas.line(wings.tolist(), (40, 42, 52), 0.08 * span + 0.006)


def mountain(canvas: Canvas, rng: np.random.Generator, x: float, y: float, size: float) -> None:
    """A range of peaks with snow on them, foot at y."""
    rock = vary((112, 118, 138), rng, 14)
    for offset, scale in ((-0.95, 0.72), (1.0, 0.62), (0.0, 1.0)):
        height = scale * size * rng.uniform(0.85, 1.05)
        centre, half = x + offset * size, 1.15 * height
        peak = (centre, y - height)
        canvas.polygon([(centre - half, y), peak, (centre + half, y)], shade(rock, 0.88 + 0.12 * scale))
        canvas.polygon([(centre + 0.12 * half, y), peak, (centre + half, y)], shade(rock, 0.68 + 0.12 * scale))
        cap = [(-0.32, 0.32), (-0.16, 0.24), (-0.06, 0.36), (0.06, 0.25), (0.17, 0.37), (0.32, 0.32)]
        snow = [(centre + right * half, y - height + down * height) for right, down in cap]
        canvas.polygon([peak, *snow], (238, 243, 250))


def house(canvas: Canvas, rng: np.random.Generator, x: float, y: float, size: float, look: Look) -> None:
    """A gabled house, plastered or of brick."""
    wide, wall, roof = 0.52 * size * rng.uniform(0.9, 1.15), 0.56 * size, 0.44 * size
    front = rectangle(x - wide, y - wall, x + wide, y)
    tiles = vary((92, 74, 72), rng, 14)
    canvas.shadow(x, y, 1.25 * wide)
    canvas.polygon(rectangle(x + 0.45 * wide, y - wall - 0.85 * roof, x + 0.68 * wide, y - wall), shade(tiles, 0.8))
    canvas.polygon(front, look.colour)
    if look.texture == "brick":
        lay_bricks(canvas, rng, front, look.colour)
    eaves = 1.18 * wide
    ridge = [(x - 0.1 * wide, y - wall - roof), (x + 0.1 * wide, y - wall - roof)]
    canvas.polygon([(x - eaves, y - wall), *ridge, (x + eaves, y - wall)], tiles)
    canvas.polygon(rectangle(x - eaves, y - wall, x + eaves, y - wall + 0.035 * size), shade(tiles, 0.7))
    pane = LAMPLIGHT if look.lamps else GLASS
    for centre in (x - 0.56 * wide, x + 0.56 * wide):
        half = 0.19 * wide
        canvas.polygon(rectangle(centre - 1.25 * half, y - 0.74 * wall, centre + 1.25 * half, y - 0.3 * wall), WHITE)
        canvas.polygon(
            rectangle(centre - half, y - 0.7 * wall, centre + half, y - 0.34 * wall), pane, shines=look.lamps
        )
        canvas.line([(centre, y - 0.7 * wall), (centre, y - 0.34 * wall)], WHITE, 0.012 * size)
    canvas.polygon(rectangle(x - 0.18 * wide, y - 0.55 * wall, x + 0.18 * wide, y), vary((96, 66, 50), rng, 10))


def leafy_tree(canvas: Canvas, rng: np.random.Generator, x: float, y: float, size: float) -> None:
    leaves = hsv(rng.uniform(95, 130), rng.uniform(0.5, 0.7), rng.uniform(0.38, 0.55))
    trunk = vary((104, 76, 54), rng, 10)
    canvas.shadow(x, y, 0.3 * size)
    canvas.polygon(_at(x, y, size, [(-0.07, 0), (-0.035, -0.5), (0.035, -0.5), (0.07, 0)]), trunk)
    places = ((-0.2, -0.5, 0.2), (0.2, -0.52, 0.2), (0.0, -0.6, 0.27), (-0.12, -0.76, 0.19), (0.13, -0.78, 0.18))
    for factor, shift, scale in ((0.8, 0.0, 1.0), (1.0, 0.03, 0.88), (1.22, 0.07, 0.55)):
        for right, down, radius in places:
            puff = scale * radius * size * rng.uniform(0.9, 1.1)
            canvas.ellipse(x + (right - shift) * size, y + (down - shift) * size, puff, puff, shade(leaves, factor))


def fir_tree(canvas: Canvas, rng: np.random.Generator, x: float, y: float, size: float) -> None:
    needles = hsv(rng.uniform(140, 165), rng.uniform(0.45, 0.6), rng.uniform(0.3, 0.42))
    canvas.shadow(x, y, 0.26 * size)
    canvas.polygon(rectangle(x - 0.04 * size, y - 0.15 * size, x + 0.04 * size, y), (92, 68, 50))
    for bottom, top, half in ((0.12, 0.56, 0.3), (0.36, 0.78, 0.24), (0.58, 1.0, 0.17)):
        foot, tip, reach = y - bottom * size, y - top * size, half * size
        canvas.polygon([(x - reach, foot), (x, tip), (x + reach, foot)], needles)
        canvas.polygon([(x + 0.15 * reach, foot), (x, tip), (x + reach, foot)], shade(needles, 0.78))
        snow = [(x - 0.42 * reach, tip + 0.42 * (foot - tip)), (x - 0.1 * reach, tip + 0.34 * (foot - tip))]
        snow += [(x + 0.12 * reach, tip + 0.46 * (foot - tip)), (x + 0.42 * reach, tip + 0.42 * (foot - tip))]
        canvas.polygon([(x, tip), *snow[::-1]], (240, 245, 252))


def palm_tree(canvas: Canvas, rng: np.random.Generator, x: float, y: float, size: float) -> None:
    lean = rng.uniform(-0.25, 0.25) * size
    steps = np.linspace(0, 1, 12)
    trunk = np.stack([x + lean * steps**2, y - 0.72 * size * steps], axis=1)
    canvas.shadow(x, y, 0.24 * size)
    canvas.line(trunk.tolist(), (136, 104, 72), 0.06 * size)
    leaves = hsv(rng.uniform(100, 135), rng.uniform(0.5, 0.7), rng.uniform(0.4, 0.55))
    top_x, top_y = trunk[-1]
    for i, angle in enumerate(np.linspace(-200, 20, 8) + rng.uniform(-8, 8, 8)):
        reach = rng.uniform(0.34, 0.44) * size
        along = np.linspace(0, 1, 10)
        spine_x = top_x + reach * along * np.cos(np.radians(angle))
        spine_y = top_y + reach * along * np.sin(np.radians(angle)) * 0.8 + 0.3 * reach * along**2
        half = 0.055 * size * np.sin(np.pi * (0.12 + 0.88 * along))
        outline = [*zip(spine_x, spine_y - half, strict=True), *zip(spine_x[::-1], (spine_y + half)[::-1], strict=True)]
        canvas.polygon(outline, shade(leaves, 0.82 + 0.09 * (i % 4)))


def boat(canvas: Canvas, rng: np.random.Generator, x: float, y: float, size: float, look: Look) -> None:
    """A sailing boat; its sails have the colour and the texture."""
    hull = vary((118, 84, 62), rng, 16)
    deck, keel = y - 0.16 * size, y
    main = [(x + 0.03 * size, y - size), (x + 0.03 * size, y - 0.22 * size), (x + 0.42 * size, y - 0.22 * size)]
    fore = [(x - 0.02 * size, y - 0.9 * size), (x - 0.02 * size, y - 0.22 * size), (x - 0.32 * size, y - 0.22 * size)]
    canvas.shadow(x, y, 0.46 * size)
    canvas.line([(x, deck), (x, y - 1.04 * size)], (80, 62, 50), 0.025 * size)
    for sail, factor in ((main, 1.0), (fore, 0.84)):
        canvas.polygon(sail, shade(look.colour, factor))
        decorate(canvas, look.texture, sail, size)
    canvas.polygon(
        [(x - 0.46 * size, deck), (x + 0.5 * size, deck), (x + 0.34 * size, keel), (x - 0.3 * size, keel)], hull
    )
    canvas.line([(x - 0.46 * size, deck), (x + 0.5 * size, deck)], WHITE, 0.03 * size)


def car(canvas: Canvas, rng: np.random.Generator, x: float, y: float, size: float, look: Look) -> None:
    """A car from the side; size is its height."""
    canvas.shadow(x, y, 1.2 * size)
    cabin = [(-0.72, -0.55), (-0.42, -1.0), (0.38, -1.0), (0.78, -0.55)]
    canvas.polygon(_at(x, y, size, cabin), shade(look.colour, 0.9))
    canvas.polygon(_at(x, y, size, [(-0.58, -0.57), (-0.36, -0.9), (-0.04, -0.9), (-0.04, -0.57)]), GLASS)
    canvas.polygon(_at(x, y, size, [(0.06, -0.57), (0.06, -0.9), (0.32, -0.9), (0.6, -0.57)]), GLASS)
    body = [(-1.18, -0.2), (-1.16, -0.46), (-0.95, -0.58), (0.85, -0.58), (1.16, -0.46), (1.2, -0.2)]
    canvas.polygon(_at(x, y, size, body), look.colour)
    canvas.polygon(
        _at(x, y, size, [(-1.18, -0.28), (-1.18, -0.18), (1.2, -0.18), (1.2, -0.28)]), shade(look.colour, 0.7)
    )
    canvas.ellipse(x + 1.12 * size, y - 0.42 * size, 0.06 * size, 0.06 * size, LAMPLIGHT, shines=True)
    for wheel in (-0.66, 0.68):
        canvas.ellipse(x + wheel * size, y - 0.19 * size, 0.23 * size, 0.23 * size, (38, 38, 42))
        canvas.ellipse(x + wheel * size, y - 0.19 * size, 0.11 * size, 0.11 * size, (176, 178, 184))


def person(canvas: Canvas, rng: np.random.Generator, x: float, y: float, size: float) -> None:
    skin = hsv(rng.uniform(20, 30), rng.uniform(0.35, 0.6), rng.uniform(0.5, 0.95))
    shirt, trousers = (hsv(0, 0.0, rng.uniform(0.62, 0.9)), hsv(220, 0.12, rng.uniform(0.25, 0.4)))
    wave = rng.uniform(0.1, 0.75)
    canvas.shadow(x, y, 0.2 * size)
    for side in (-1, 1):
        canvas.line(_at(x, y, size, [(0.05 * side, -0.45), (0.09 * side, 0.0)]), trousers, 0.095 * size)
    canvas.line(_at(x, y, size, [(0.1, -0.7), (0.24, -0.7 - 0.5 * (wave - 0.35))]), skin, 0.06 * size)
    canvas.line(_at(x, y, size, [(-0.1, -0.7), (-0.2, -0.44)]), skin, 0.06 * size)
    canvas.polygon(_at(x, y, size, [(-0.13, -0.76), (0.13, -0.76), (0.11, -0.4), (-0.11, -0.4)]), shirt)
    canvas.ellipse(x, y - 0.88 * size, 0.095 * size, 0.11 * size, skin)
    hair = [(-0.1, -0.88), (-0.09, -0.98), (0.0, -1.02), (0.09, -0.98), (0.1, -0.88), (0.05, -0.93), (-0.05, -0.93)]
    canvas.polygon(_at(x, y, size, hair), vary((66, 48, 38), rng, 20))


def flower(canvas: Canvas, rng: np.random.Generator, x: float, y: float, size: float, look: Look) -> None:
    """A bunch of flowers that grow from the foot."""
    for place in rng.permutation(np.linspace(-0.85, 0.85, int(rng.integers(3, 6)))):
        tall, right = size * rng.uniform(0.6, 1.0), x + place * size
        top, head = y - tall, 0.2 * size * rng.uniform(0.85, 1.1)
        canvas.line([(right - 0.05 * size, y), (right, top)], (62, 128, 58), 0.04 * size)
        canvas.ellipse(right + 0.1 * size, y - 0.4 * tall, 0.13 * size, 0.045 * size, (78, 148, 66), turn=-30)
        start = rng.uniform(0, 60)
        for angle in np.radians(np.arange(start, start + 360, 60)):
            petal_x, petal_y = right + head * np.cos(angle), top + head * np.sin(angle)
            canvas.ellipse(
                petal_x,
                petal_y,
                0.62 * head,
                0.46 * head,
                shade(look.colour, rng.uniform(0.88, 1.08)),
                turn=float(np.degrees(angle)),
            )
        canvas.ellipse(right, top, 0.48 * head, 0.48 * head, (92, 66, 40))


def balloon(canvas: Canvas, rng: np.random.Generator, x: float, y: float, size: float, look: Look) -> None:
    """A hot-air balloon with its basket."""
    radius = 0.36 * size
    around = np.linspace(np.radians(130), np.radians(410), 40)
    skin = [(x + radius * np.cos(a), y - 0.14 * size + radius * np.sin(a)) for a in around]
    envelope = [*skin, (x + 0.08 * size, y + 0.3 * size), (x - 0.08 * size, y + 0.3 * size)]
    canvas.polygon(envelope, look.colour)
    canvas.inside(envelope, lambda: canvas.ellipse(x + 0.3 * size, y, 0.3 * size, 0.6 * size, shade(look.colour, 0.86)))
    decorate(canvas, look.texture, envelope, 0.9 * size)
    for side in (-0.07, 0.07):
        canvas.line([(x + side * size, y + 0.3 * size), (x + 0.8 * side * size, y + 0.42 * size)], (70, 56, 46), 0.012)
    canvas.polygon(rectangle(x - 0.08 * size, y + 0.41 * size, x + 0.08 * size, y + 0.52 * size), (134, 98, 60))


def umbrella(canvas: Canvas, rng: np.random.Generator, x: float, y: float, size: float, look: Look) -> None:
    """A beach umbrella."""
    canvas.shadow(x, y, 0.4 * size)
    canvas.line([(x, y), (x, y - 0.95 * size)], (225, 222, 214), 0.035 * size)
    around = np.linspace(np.pi, 2 * np.pi, 30)
    rim = y - 0.52 * size
    dome = [(x + 0.62 * size * np.cos(a), rim + 0.46 * size * np.sin(a)) for a in around]
    canvas.polygon(dome, look.colour)
    for factor, half in ((0.9, 0.36), (1.06, 0.13)):
        panel = oval(x, rim, half * size, 0.46 * size)
        canvas.inside(dome, partial(canvas.polygon, panel, shade(look.colour, factor)))
    decorate(canvas, look.texture, dome, size)
    for left in np.linspace(-0.62, 0.31, 4):
        scallop = 0.155 * size
        canvas.ellipse(x + left * size + scallop, rim, scallop, 0.05 * size, shade(look.colour, 0.82))


def _at(x: float, y: float, size: float, points: Points) -> Points:
    return [(x + right * size, y + down * size) for right, down in points]
