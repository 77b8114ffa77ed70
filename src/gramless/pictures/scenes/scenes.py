"""Scenes drawn by the package: pictures with keywords for demonstrations and tests, free of anybody's rights.

A scene has one kind of sky, one kind of ground, and things that go with both; each is a keyword, and so are the colours
and textures of things. Places, sizes, colours, light and noise vary, and small things are easy to miss.
"""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TypeVar

import numpy as np

from gramless.errors import DataError
from gramless.pictures.scenes import landscapes, objects
from gramless.pictures.scenes.canvas import COLOUR_WORDS, Canvas, brick_colour, colour_of
from gramless.support.packages import needed
from gramless.support.progress import ProgressBar

_Word = TypeVar("_Word", bound=str | None)

MAX_KEYWORDS = 6

KEYWORDS = (
    *("sky", "sunset", "night", "grass", "sea", "sand", "snow"),
    *("sun", "moon", "cloud", "bird", "mountain", "house", "tree"),
    *("boat", "car", "person", "flower", "balloon", "umbrella"),
    *("red", "yellow", "blue", "purple", "brick", "stripes", "dots"),
)

_SKIES = {"sky": 0.58, "sunset": 0.2, "night": 0.22}
_GROUNDS = {"grass": 0.36, "sea": 0.26, "sand": 0.18, "snow": 0.2}
_IN_THE_SKY = {
    "sky": {"sun": 0.5, "cloud": 0.8, "bird": 0.45, "balloon": 0.4},
    "sunset": {"sun": 1.2, "cloud": 0.3, "bird": 0.5, "balloon": 0.3},
    "night": {"moon": 1.4, "cloud": 0.25},
}
_ON_THE_GROUND = {
    "grass": {"house": 0.9, "tree": 1.0, "flower": 0.8, "car": 0.6, "person": 0.5, "mountain": 0.3},
    "sea": {"boat": 2.0, "mountain": 0.5},
    "sand": {"umbrella": 1.0, "tree": 0.7, "person": 0.8, "sea": 1.2},
    "snow": {"house": 0.8, "tree": 1.0, "mountain": 1.0, "person": 0.4},
}
"""How likely things are to be chosen next, given the sky and the ground."""

_TEXTURES: dict[str, dict[str | None, float]] = {
    "house": {"brick": 0.45, None: 0.55},
    "boat": {"stripes": 0.35, "dots": 0.15, None: 0.5},
    "balloon": {"stripes": 0.4, "dots": 0.35, None: 0.25},
    "umbrella": {"stripes": 0.45, "dots": 0.35, None: 0.2},
}
_COLOURED = ("house", "boat", "car", "flower", "balloon", "umbrella")
_DRAWN_WITH_A_LOOK = {
    "house": (objects.house, 0.46),
    "boat": (objects.boat, 0.5),
    "umbrella": (objects.umbrella, 0.44),
    "car": (objects.car, 0.2),
    "flower": (objects.flower, 0.26),
}
"""How to draw things that stand on the ground or swim, and their usual sizes."""

_TREES = {"grass": objects.leafy_tree, "snow": objects.fir_tree, "sand": objects.palm_tree}


@dataclass(frozen=True)
class Thing:
    """Something in a scene; bricks have no other colour than their own."""

    name: str
    colour: str | None = None
    texture: str | None = None

    @property
    def keywords(self) -> set[str]:
        return {word for word in (self.name, self.colour, self.texture) if word}


def draw_scene(rng: np.random.Generator, size: tuple[int, int] = (192, 128)) -> tuple[np.ndarray, tuple[str, ...]]:
    """A picture (height, width, 3) uint8, red green blue, of size (width, height), and its 3 to 6 keywords."""
    if min(size) < 32:
        raise DataError(f"a scene of {size[0]} x {size[1]} pixels shows nothing: draw at least 32 x 32.")
    light, ground = _pick(rng, _SKIES), _pick(rng, _GROUNDS)
    things = _choose_things(rng, light, ground)
    canvas = Canvas(size, landscapes.LIGHTS[light])
    _paint(canvas, rng, light, ground, things)
    words = {light, ground}.union(*(thing.keywords for thing in things))
    return _photograph(canvas.picture(), rng), tuple(word for word in KEYWORDS if word in words)


def write_scenes(folder: Path, n: int, seed: int) -> Path:
    """Draw n scenes into a new folder, as JPEG files, with their keywords in keywords.csv, whose path is returned.

    The folder appears with everything in it or not at all. Scene i of a seed is the same for every n.
    """
    if n < 1:
        raise DataError(f"{n} scenes were asked for: draw at least one.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DataError(f"{folder} is there already, and is not an empty folder. Name a new one.")
    cv2 = needed("cv2")
    folder.parent.mkdir(parents=True, exist_ok=True)
    table = StringIO()
    rows = csv.writer(table)
    rows.writerow(["file", "keywords"])
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as temporary:
        unfinished = Path(temporary, "scenes")
        unfinished.mkdir()
        with ProgressBar("Drawing scenes", n) as bar:
            for i in range(n):
                picture, keywords = draw_scene(np.random.default_rng([seed, i]))
                name = f"scene-{i:04d}.jpg"
                jpeg = cv2.imencode(".jpg", picture[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 93])[1]
                (unfinished / name).write_bytes(jpeg.tobytes())
                rows.writerow([name, ";".join(keywords)])
                bar.advance()
        (unfinished / "keywords.csv").write_text(table.getvalue(), encoding="utf-8", newline="")
        os.replace(unfinished, folder)
    return folder / "keywords.csv"


def _choose_things(rng: np.random.Generator, light: str, ground: str) -> list[Thing]:
    """Things one after the other until there are enough keywords: what no longer fits is left out."""
    wanted = rng.choice((3, 4, 5, 6), p=(0.15, 0.3, 0.3, 0.25))
    weights = _IN_THE_SKY[light] | _ON_THE_GROUND[ground]
    things: list[Thing] = []
    words = {light, ground}
    while len(words) < wanted and weights:
        name = _pick(rng, weights)
        del weights[name]
        texture = _pick(rng, _TEXTURES[name]) if name in _TEXTURES else None
        coloured = name in _COLOURED and texture != "brick"
        colour = _pick(rng, dict.fromkeys(COLOUR_WORDS, 1.0)) if coloured else None
        thing = Thing(name, colour, texture)
        if len(words | thing.keywords) <= MAX_KEYWORDS:
            things.append(thing)
            words |= thing.keywords
    return things


def _pick(rng: np.random.Generator, weights: Mapping[_Word, float]) -> _Word:
    chances = np.array(list(weights.values()), dtype=float)
    return list(weights)[rng.choice(len(chances), p=chances / chances.sum())]


def _paint(canvas: Canvas, rng: np.random.Generator, light: str, ground: str, things: list[Thing]) -> None:
    """From far to near."""
    named = {thing.name: thing for thing in things}
    horizon = canvas.height * rng.uniform(0.5, 0.62)
    landscapes.sky(canvas, rng, light, horizon)
    columns = iter(rng.permutation(np.linspace(0.16, 0.84, 4)) * canvas.width + rng.uniform(-0.05, 0.05, 4))
    shine = None
    for name in ("sun", "moon"):
        if name in named:
            size = rng.uniform(0.15, 0.24)
            x, y = next(columns), horizon * rng.uniform(0.18, 0.36)
            if light == "sunset" and "mountain" not in named:  # which would hide it
                size, y = 1.35 * size, horizon - rng.uniform(0.05, 0.14)
            (objects.sun if name == "sun" else objects.moon)(canvas, rng, x, y, size)
            shine = x
    if "cloud" in named:
        for _ in range(rng.integers(2, 5)):
            x, y = rng.uniform(0, canvas.width), rng.uniform(0.08, 0.6) * horizon
            objects.cloud(canvas, rng, x, y, rng.uniform(0.08, 0.16))
    if "mountain" in named:
        objects.mountain(canvas, rng, next(columns), horizon + 0.06, horizon * rng.uniform(0.5, 0.8))
    if "bird" in named:
        objects.bird(canvas, rng, next(columns), horizon * rng.uniform(0.2, 0.6), rng.uniform(0.1, 0.18))
    _paint_ground(canvas, rng, ground, horizon, "sea" in named, shine)
    if "balloon" in named:
        size, look = rng.uniform(0.34, 0.52), _look(named["balloon"], light, rng)
        objects.balloon(canvas, rng, next(columns), horizon * rng.uniform(0.4, 0.6), size, look)
    _paint_things(canvas, rng, light, ground, horizon, named)


def _paint_ground(
    canvas: Canvas, rng: np.random.Generator, ground: str, horizon: float, beach: bool, shine: float | None
) -> None:
    if ground == "sea":
        landscapes.sea(canvas, rng, horizon, canvas.height, shine)
    elif ground == "grass":
        landscapes.grass(canvas, rng, horizon)
    elif ground == "snow":
        landscapes.snow(canvas, rng, horizon)
    else:
        if beach:
            landscapes.sea(canvas, rng, horizon, horizon + 0.25, shine)
        landscapes.sand(canvas, rng, horizon + (0.14 if beach else 0.0))


def _paint_things(
    canvas: Canvas, rng: np.random.Generator, light: str, ground: str, horizon: float, named: dict[str, Thing]
) -> None:
    """What stands on the ground or swims, the near ones over the far ones."""
    standing = [name for name in ("house", "tree", "boat", "umbrella", "car", "person", "flower") if name in named]
    columns = rng.permutation(np.linspace(0.18, 0.82, max(3, len(standing))))
    for name, column in zip(standing, columns, strict=False):
        near = {"house": 0.3, "tree": 0.45, "flower": 0.95}.get(name, 0.6) + rng.uniform(-0.2, 0.05)
        x = column * canvas.width + rng.uniform(-0.06, 0.06)
        y = horizon + 0.1 + near * (canvas.height - horizon - 0.12)
        size = rng.uniform(0.85, 1.15) * (0.7 + 0.5 * near)
        if name == "tree":
            for right in (0.0, *rng.uniform(-0.5, 0.5, rng.integers(0, 3))):
                _TREES[ground](canvas, rng, x + right, y, 0.5 * size * (1 - 0.6 * abs(right)))
        elif name == "person":
            objects.person(canvas, rng, x, y, 0.36 * size)
        else:
            draw, usual_size = _DRAWN_WITH_A_LOOK[name]
            draw(canvas, rng, x, y, usual_size * size, _look(named[name], light, rng))


def _look(thing: Thing, light: str, rng: np.random.Generator) -> objects.Look:
    colour = colour_of(thing.colour, rng) if thing.colour else brick_colour(rng)
    return objects.Look(colour, thing.texture, lamps=light != "sky")


def _photograph(picture: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """What a camera adds: left or right, exposure, a cast of colour, darker corners, noise."""
    height, width, _ = picture.shape
    down, right = np.ogrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    corners = 1 - rng.uniform(0.0, 0.22) * (down**2 + right**2)[..., None] / 2
    exposure = rng.uniform(0.9, 1.14) * (1 + rng.uniform(-0.04, 0.04, 3))
    seen = picture[:, :: rng.choice((-1, 1))] * exposure * corners
    return np.clip(np.rint(seen + rng.normal(0, rng.uniform(1, 5), picture.shape)), 0, 255).astype(np.uint8)
