"""Pictures for tests, made from random numbers: smooth colours with a few sharp corners."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image


def photo(rng: np.random.Generator, height: int = 48, width: int = 64) -> np.ndarray:
    """(height, width, 3), 8 bit: coloured clouds and three rectangles."""
    coarse = rng.integers(0, 256, (5, 6, 3), dtype=np.uint8)
    picture = np.array(Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC))
    for _ in range(3):
        top, left = rng.integers(0, height // 2), rng.integers(0, width // 2)
        picture[top : top + height // 4, left : left + width // 4] = rng.integers(0, 256, 3)
    return picture


def encoded(picture: np.ndarray | Image.Image, kind: str = "PNG", **options: object) -> bytes:
    image = picture if isinstance(picture, Image.Image) else Image.fromarray(picture)
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def photo_files(folder: Path, n: int, seed: int = 0) -> list[Path]:
    rng = np.random.default_rng(seed)
    paths = [folder / f"photo{i}.png" for i in range(n)]
    for path in paths:
        path.write_bytes(encoded(photo(rng)))
    return paths
