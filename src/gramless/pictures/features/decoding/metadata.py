"""What a picture carries beside its pixels, where keywords may be in it, as Pillow finds it."""

from __future__ import annotations

import warnings
from typing import Any, BinaryIO, NamedTuple

from .decode import FORMATS, undecodable

IPTC_KEYWORDS, IPTC_CHARACTERS = (2, 25), (1, 90)
XP_KEYWORDS = 0x9C9E
TIFF_XMP = 700


class Metadata(NamedTuple):
    """A picture's format; IPTC's keywords, and what it says of their letters; Windows' keywords; XMP outside of JPEG
    and PNG.
    """

    format: str
    iptc: tuple[bytes, ...]
    letters: bytes
    windows: bytes
    xmp: bytes

    def as_texts(self) -> list[Any]:
        """As JSON holds it."""
        return [self.format, *([part.decode("latin-1") for part in parts] for parts in (self.iptc, self[2:]))]

    @classmethod
    def of_texts(cls, texts: list[Any]) -> Metadata:
        kind, iptc, others = texts
        return cls(kind, tuple(text.encode("latin-1") for text in iptc), *(text.encode("latin-1") for text in others))


class UnopenedError(Exception):
    """A file of a kind that Pillow does not know."""


def metadata_of(file: BinaryIO) -> Metadata:
    """Of a file whose pixels are not looked at; it takes memory by the tags that it claims to have: see `is_simple`."""
    from PIL import Image, IptcImagePlugin, UnidentifiedImageError

    Image.init()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of huge pictures, which nobody decodes here, and of odd EXIF data
        try:
            # HEIF is for ExifTool, whether or not a picture of that kind was decoded before.
            with Image.open(file, formats=[f for f in FORMATS if f in Image.OPEN and f != "HEIF"]) as image:
                found: Any = IptcImagePlugin.getiptcinfo(image) or {}
                texts, letters = found.get(IPTC_KEYWORDS, []), found.get(IPTC_CHARACTERS)
                windows = image.getexif().get(XP_KEYWORDS)
                return Metadata(
                    str(image.format),
                    tuple([texts] if isinstance(texts, bytes) else texts),
                    letters if isinstance(letters, bytes) else b"",
                    bytes(windows) if isinstance(windows, (bytes, tuple)) else b"",
                    _xmp_of(image),
                )
        except MemoryError:
            raise
        except UnidentifiedImageError as error:
            raise UnopenedError from error
        except Exception as error:
            raise undecodable(error) from error


def _xmp_of(image: Any) -> bytes:
    if image.format in ("JPEG", "MPO", "PNG"):
        return b""
    content = image.info.get("xmp") or getattr(image, "tag_v2", {}).get(TIFF_XMP)
    if isinstance(content, str):
        content = content.encode()
    return content if isinstance(content, bytes) else b""
