"""What a picture may be, and whether its head proves that it takes little to decode."""

from __future__ import annotations

import io
import warnings
from typing import BinaryIO

SHORTEST_SIDE = 16  # the least that has a point to describe on a third scale of 1.5
MOST_PIXELS = 178_956_970  # of any picture; Pillow's own limit, and more than any camera has
SIMPLE_PIXELS, SIMPLE_BYTES, SIMPLE_SCANS = 25_000_000, 2**26, 64
SIMPLE_EXIF, SIMPLE_PROFILE = 2**16, 2**20  # bytes


class UndecodableError(Exception):
    """A picture that cannot be decoded; the message finishes the sentence "this picture ..."."""


def is_simple(content: BinaryIO) -> bool:
    """Whether the head of a JPEG or PNG proves that decoding it takes a fraction of a gigabyte and a few seconds.

    Pixels bound the memory, and the time as well where they are gone through a few times only: every scan of a JPEG is
    one more pass, and in its data the two bytes that begin one stand nowhere else. Tags of EXIF data can each claim all
    of it, so memory is quadratic in its length; Pillow looks at them when it opens a JPEG, where a segment is short.
    """
    from PIL import Image

    head = content.read(8)
    if not head.startswith((b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")):
        return False
    data = head + content.read(SIMPLE_BYTES)
    is_long = len(data) > SIMPLE_BYTES
    if is_long or (head.startswith(b"\xff") and (data.count(b"\xff\xda") > SIMPLE_SCANS or data.count(b"Exif\0") > 1)):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            image = Image.open(io.BytesIO(data), formats=["JPEG", "PNG"])
    except Exception:  # what cannot be opened is refused at once
        return True
    exif = max(len(image.info.get(key, "")) for key in ("exif", "Raw profile type exif"))
    profile = len(image.info.get("icc_profile") or b"")
    return image.width * image.height <= SIMPLE_PIXELS and exif <= SIMPLE_EXIF and profile <= SIMPLE_PROFILE
