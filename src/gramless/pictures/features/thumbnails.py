"""A picture as a small JPEG, for pages that show it."""

from __future__ import annotations

import base64
import io

from gramless.pictures.features.pictures import Source, read_picture

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
