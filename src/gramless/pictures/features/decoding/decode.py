"""One picture, whatever its format, as upright 8-bit RGB in the colours of sRGB; and what a picture may be."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .colours import Conversion, conversion_of
from .previews import ORIENTATION, content_of, largest_preview, may_hold_preview, orientation_of

if TYPE_CHECKING:
    from PIL import Image as PillowImage


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


FORMATS = ("AVIF", "BMP", "GIF", "HEIF", "JPEG", "JPEG2000", "MPO", "PNG", "PPM", "TIFF", "WEBP")
"""What photographs come as. Others are left out because Pillow starts a program for them or guesses (EPS, TGA)."""
GAP = 2.0  # pictures are averaged to at least so many times their size before they are resampled
STRIP = 2**21  # pixels that are converted at once: beside the decoded picture little else is in memory
WAVELET_LEVELS = 5  # of a JPEG 2000, as encoders write them
HEAD = 16  # bytes that say what a file is
HEIF_BRANDS = tuple(b"ftyp" + brand for brand in (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1"))
REDUCED, PARTS = 254, 330  # tags of a TIFF: its first picture is a small one of another; it has pictures within
MOST_PREVIEW = 2**26  # bytes


class Decoded(NamedTuple):
    """Pixels as they are stored, and how the camera was held, as EXIF counts it."""

    image: PillowImage.Image
    orientation: int


def decode(file: BinaryIO, longest_side: int) -> NDArray[np.uint8]:
    """The picture in upright 8-bit RGB, (height, width, 3), no side over `longest_side` pixels."""
    from PIL import Image, UnidentifiedImageError

    Image.init()  # registers the formats
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Pillow remarks on damaged and on large files; the refused ones are named
        try:
            image = _shrunk(_decoded(file, longest_side), longest_side)
            if min(image.size) < SHORTEST_SIDE:
                image = image.resize((max(image.width, SHORTEST_SIDE), max(image.height, SHORTEST_SIDE)))
        except (UndecodableError, MemoryError):
            raise
        except UnidentifiedImageError as error:
            raise UndecodableError(_unknown_kind(file)) from error
        except Exception as error:
            raise undecodable(error) from error
    return np.asarray(image)


def undecodable(error: Exception) -> UndecodableError:
    """What is wrong with a picture, by what Pillow raised: all sorts of things, on damaged files."""
    from PIL import Image

    if "out of memory" in str(error):
        raise MemoryError from error
    if isinstance(error, Image.DecompressionBombError):
        return _too_large()
    cut_off = isinstance(error, EOFError) or "truncated" in str(error).lower()
    return UndecodableError("is cut off" if cut_off else f"is damaged ({error})")


def _decoded(file: BinaryIO, longest_side: int) -> Decoded:
    """The picture of a file; of a camera's raw file the JPEG in it, which the camera made of what it saw."""
    head = file.read(HEAD)
    file.seek(0)
    if head[4:].startswith(HEIF_BRANDS):
        _learn_heif()
    if not may_hold_preview(head):
        return _own(file, longest_side)
    content = content_of(file)
    preview = largest_preview(content)
    if preview is None or preview.n_pixels <= _own_pixels(file):
        try:
            return _own(file, longest_side)
        except Exception:
            if preview is None:
                raise
    image = _loaded(io.BytesIO(content[preview.start : preview.start + MOST_PREVIEW]), longest_side)
    return Decoded(image, image.getexif().get(ORIENTATION) or orientation_of(content))


def _own(file: BinaryIO, longest_side: int) -> Decoded:
    file.seek(0)
    image = _loaded(file, longest_side)
    return Decoded(image, image.getexif().get(ORIENTATION, 1))


def _own_pixels(file: BinaryIO) -> float:
    """Of the picture that Pillow finds in a TIFF; no preview has as many as one that stands for itself."""
    from PIL import Image

    try:
        file.seek(0)
        image = Image.open(file, formats=["TIFF"])
        tags = image.tag_v2  # type: ignore[attr-defined]  # of a TIFF
        return image.width * image.height if tags.get(REDUCED, 0) & 1 or PARTS in tags else math.inf
    except Exception:  # not a TIFF, or one of a kind that only raw files are
        return 0


def _learn_heif() -> None:
    """Teach Pillow the pictures of telephones, where the package is there."""
    from PIL import Image

    if "HEIF" in Image.OPEN:
        return
    try:
        import pi_heif
    except ImportError:
        return
    pi_heif.options.DECODE_THREADS = 1  # other cores have other pictures
    pi_heif.register_heif_opener()


def _loaded(file: BinaryIO, longest_side: int) -> PillowImage.Image:
    """The decoded picture, at a fraction of its size where its format can be decoded so: JPEG and JPEG 2000."""
    from PIL import Image

    for reduced in (True, False):
        image: PillowImage.Image = Image.open(file, formats=[f for f in FORMATS if f in Image.OPEN])
        if image.width * image.height > MOST_PIXELS:
            raise _too_large()
        shrinking = max(1.0, max(image.size) / longest_side / GAP)
        image.draft(None, (math.ceil(image.width / shrinking), math.ceil(image.height / shrinking)))
        levels = min(int(shrinking).bit_length() - 1, WAVELET_LEVELS)
        by_wavelets = reduced and image.format == "JPEG2000" and levels > 0
        if by_wavelets:
            image.reduce = levels  # type: ignore[assignment, method-assign]  # a property where it is not a method
        try:
            image.load()
        except OSError:
            if not by_wavelets:
                raise
            continue  # it has fewer levels than most
        break
    return image


def _unknown_kind(file: BinaryIO) -> str:
    from PIL import Image

    file.seek(0)
    if file.read(HEAD)[4:].startswith(HEIF_BRANDS) and "HEIF" not in Image.OPEN:
        return "is of the kind HEIF, which needs a package: pip install pi-heif"
    return "is no picture of a kind that can be read"


def _too_large() -> UndecodableError:
    return UndecodableError(f"has more than {MOST_PIXELS:,} pixels")


def _shrunk(decoded: Decoded, longest_side: int) -> PillowImage.Image:
    """In 8-bit sRGB, upright, averaged strip by strip and then resampled."""
    from PIL import Image

    image, orientation = decoded
    convert = conversion_of(image)
    scale = min(1.0, longest_side / max(image.size))
    width, height = (max(1, round(side * scale)) for side in image.size)
    factors = max(1, int(image.width / width / GAP)), max(1, int(image.height / height / GAP))
    white = _white(image)
    if factors == (1, 1):
        small = _eight_bit_rgb(image, white, convert)
    else:
        small = Image.new("RGB", (-(-image.width // factors[0]), -(-image.height // factors[1])))
        for top, strip in _strips(image, factors[1]):
            small.paste(_eight_bit_rgb(strip, white, convert).reduce(factors), (0, top // factors[1]))
    if (width, height) != small.size:
        box = (0, 0, image.width / factors[0], image.height / factors[1])
        small = small.resize((width, height), box=box)
    if convert is not None and convert.mode == "RGB":
        small = convert(small)
    turns = Image.Transpose
    turn = {
        2: turns.FLIP_LEFT_RIGHT,
        3: turns.ROTATE_180,
        4: turns.FLIP_TOP_BOTTOM,
        5: turns.TRANSPOSE,
        6: turns.ROTATE_270,
        7: turns.TRANSVERSE,
        8: turns.ROTATE_90,
    }.get(orientation)
    return small if turn is None else small.transpose(turn)


def _strips(image: PillowImage.Image, multiple: int = 1) -> Iterator[tuple[int, PillowImage.Image]]:
    """Where each strip of the picture begins, and the strip, of a multiple of so many rows."""
    rows = max(1, STRIP // (image.width * multiple)) * multiple
    for top in range(0, image.height, rows):
        yield top, image.crop((0, top, image.width, min(top + rows, image.height)))


def _is_deep(image: PillowImage.Image) -> bool:
    return image.mode.startswith("I") or image.mode == "F"


def _white(image: PillowImage.Image) -> float:
    """Of a picture of more than 8 bits: 65,535, or the brightest pixel where there are brighter or fractional ones."""
    if not _is_deep(image):
        return 255.0
    brightest = max(float(_numbers(strip).max()) for _, strip in _strips(image))
    return max(brightest, 65_535.0 if image.mode.startswith("I") else 1e-30)


def _numbers(image: PillowImage.Image) -> NDArray[np.float32]:
    return np.nan_to_num(np.asarray(image, dtype=np.float32), posinf=0.0, neginf=0.0)


def _eight_bit_rgb(image: PillowImage.Image, white: float, convert: Conversion | None) -> PillowImage.Image:
    """Grey and ink in their own colours; those of RGB are left to when there are fewer pixels."""
    from PIL import Image

    if convert is not None and convert.mode == image.mode != "RGB":
        return convert(image)
    if _is_deep(image):
        image = Image.fromarray(np.rint(np.clip(_numbers(image) / white, 0.0, 1.0) * 255).astype(np.uint8))
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    return image.convert("RGB")
