"""Reading one picture: whatever people have, as upright 8-bit RGB of a bounded size."""

from __future__ import annotations

import hashlib
import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gramless.errors import DataError
from gramless.packages import needed

if TYPE_CHECKING:
    from PIL import Image as PillowImage

Picture = NDArray[np.uint8]
"""(height, width, 3), red, green, blue."""

Source = Path | bytes
"""A file, or what is in one."""

LONGEST_SIDE = 384  # of the original COREL pictures; the cost of local descriptors grows with the area
SHORTEST_SIDE = 16  # the least that has a point to describe on a third scale of 1.5
FORMATS = ("AVIF", "BMP", "GIF", "JPEG", "JPEG2000", "MPO", "PNG", "PPM", "TIFF", "WEBP")
"""What photographs come as. Others are left out because Pillow starts a program for them or guesses (EPS, TGA)."""


class PictureError(DataError):
    """A picture that cannot be read; `reason` finishes the sentence "this picture ..."."""

    def __init__(self, reason: str, picture: str = "the picture") -> None:
        super().__init__(reason, picture)
        self.reason = reason
        self.picture = picture

    def __str__(self) -> str:
        return f"{self.picture} {self.reason}. Leave it out, or give another one."


def read_picture(source: Source, longest_side: int = LONGEST_SIDE) -> Picture:
    """The picture in RGB, (height, width, 3), turned upright, no side over `longest_side` pixels.

    Transparency is laid on white, of an animation the first frame is taken, 16 bits become 8, colour profiles are
    ignored. A side shorter than SHORTEST_SIDE is stretched to it, so that every view of every picture can be computed.
    """
    needed("PIL")
    from PIL import Image, ImageOps, UnidentifiedImageError

    Image.init()  # registers the formats
    name = _name(source)
    with _opened(source) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Pillow remarks on damaged and on large files; the refused ones are named
        try:
            image: PillowImage.Image = Image.open(file, formats=[f for f in FORMATS if f in Image.OPEN])
            image.draft(None, (2 * longest_side, 2 * longest_side))  # a JPEG is decoded at a fraction of its size
            image = _eight_bit_rgb(ImageOps.exif_transpose(image))
            image.thumbnail((longest_side, longest_side), reducing_gap=2.0)
            if min(image.size) < SHORTEST_SIDE:
                image = image.resize((max(image.width, SHORTEST_SIDE), max(image.height, SHORTEST_SIDE)))
        except Image.DecompressionBombError as error:
            raise PictureError(f"has more than {2 * (Image.MAX_IMAGE_PIXELS or 0):,} pixels", name) from error
        except UnidentifiedImageError as error:
            raise PictureError("is no picture of a kind that can be read", name) from error
        except Exception as error:  # Pillow's decoders raise all sorts of things on damaged files
            cut_off = isinstance(error, EOFError) or "truncated" in str(error).lower()
            raise PictureError("is cut off" if cut_off else f"is damaged ({error})", name) from error
    return np.asarray(image)


def content_hash(source: Source) -> bytes:
    """SHA-256 of the bytes of a picture's file: the same for a renamed picture, another for a changed one."""
    with _opened(source) as file:
        return hashlib.file_digest(file, "sha256").digest()


@contextmanager
def _opened(source: Source) -> Iterator[io.BufferedReader | io.BytesIO]:
    """The bytes of a picture, or a PictureError that says why there are none."""
    name = _name(source)
    try:
        file = io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")
    except FileNotFoundError as error:
        raise PictureError("is not there", name) from error
    except IsADirectoryError as error:
        raise PictureError("is a folder", name) from error
    except PermissionError as error:
        raise PictureError("may not be read", name) from error
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        raise PictureError(f"cannot be opened ({error})", name) from error
    with file:
        try:
            empty = not file.read(1)
            file.seek(0)
        except OSError as error:
            raise PictureError(f"cannot be read ({error.strerror})", name) from error
        if empty:
            raise PictureError("is empty", name)
        yield file


def _name(source: Source) -> str:
    return "the picture" if isinstance(source, bytes) else str(source)


def _eight_bit_rgb(image: PillowImage.Image) -> PillowImage.Image:
    from PIL import Image

    if image.mode.startswith("I") or image.mode == "F":
        image = _eight_bit_grey(image)
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    return image.convert("RGB")


def _eight_bit_grey(image: PillowImage.Image) -> PillowImage.Image:
    """White is 65,535, as in 16-bit files, or the brightest pixel where there are brighter or fractional ones."""
    from PIL import Image

    values = np.nan_to_num(np.asarray(image, dtype=np.float32), posinf=0.0, neginf=0.0)
    brightest = float(values.max())
    white = max(brightest, 65_535.0 if image.mode.startswith("I") else 1e-30)
    return Image.fromarray(np.rint(np.clip(values / white, 0.0, 1.0) * 255).astype(np.uint8))
