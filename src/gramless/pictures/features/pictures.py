"""Reading one picture: whatever people have, as upright 8-bit RGB of a bounded size."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gramless.errors import DataError
from gramless.pictures.features.decoder import the_decoder
from gramless.pictures.features.decoding import UndecodableError, decode, is_simple
from gramless.support.atomic import OddFileError, open_ordinary
from gramless.support.packages import needed

Picture = NDArray[np.uint8]
"""(height, width, 3), red, green, blue."""

Source = Path | bytes
"""A file, or what is in one."""

LONGEST_SIDE = 384  # of the original COREL pictures; the cost of local descriptors grows with the area
MOST_BYTES = 10**9  # of a picture's file


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

    Transparency is laid on white, of an animation the first frame is taken, and of a camera's raw file the JPEG in it;
    16 bits become 8, and the colours of an embedded profile those of sRGB. A side shorter than SHORTEST_SIDE is
    stretched to it, so that every view of every picture can be computed.
    Whatever its format says, a picture takes no more than `decoder.MEMORY` bytes and `decoder.SECONDS` seconds.
    """
    needed("PIL")
    try:
        with _opened(source) as file:
            here = is_simple(file)
            file.seek(0)
            if here:
                return decode(file, longest_side)
        return the_decoder().decode(source, longest_side)
    except UndecodableError as error:
        raise PictureError(str(error), _name(source)) from error


def content_hash(source: Source) -> bytes:
    """SHA-256 of the bytes of a picture's file: the same for a renamed picture, another for a changed one."""
    with _opened(source) as file:
        return hashlib.file_digest(file, "sha256").digest()


@contextmanager
def _opened(source: Source) -> Iterator[io.BufferedReader | io.BytesIO]:
    """The bytes of a picture, or a PictureError that says why there are none."""
    name = _name(source)
    try:
        file = io.BytesIO(source) if isinstance(source, bytes) else open_ordinary(source, MOST_BYTES)
    except FileNotFoundError as error:
        raise PictureError("is not there", name) from error
    except IsADirectoryError as error:
        raise PictureError("is a folder", name) from error
    except PermissionError as error:
        raise PictureError("may not be read", name) from error
    except OddFileError as error:
        raise PictureError(str(error.strerror), name) from error
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


QUALITY = 75


def make_thumbnail(source: Source, longest_side: int) -> bytes:
    """The picture upright in a JPEG whose sides have at most so many pixels; PictureError where it cannot be read."""
    pixels = read_picture(source, longest_side)
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=QUALITY, optimize=True)
    return file.getvalue()


def data_uri(jpeg: bytes) -> str:
    """A JPEG as the address of itself (RFC 2397), for pages that need no other file."""
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"
