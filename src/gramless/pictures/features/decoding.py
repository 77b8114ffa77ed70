"""Decoding one picture at the size that is needed; run as a program, the worker that does so for other processes.

Nothing of the package is imported here, so that a worker starts in a fraction of a second and holds little but Pillow.
"""

from __future__ import annotations

import io
import json
import os
import re
import signal
import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL import Image as PillowImage

SHORTEST_SIDE = 16  # the least that has a point to describe on a third scale of 1.5
FORMATS = ("AVIF", "BMP", "GIF", "JPEG", "JPEG2000", "MPO", "PNG", "PPM", "TIFF", "WEBP")
"""What photographs come as. Others are left out because Pillow starts a program for them or guesses (EPS, TGA)."""
MOST_PIXELS = 178_956_970  # of any picture; Pillow's own limit, and more than any camera has
GAP = 2.0  # pictures are averaged to at least so many times their size before they are resampled
STRIP = 2**21  # pixels that are converted at once: beside the decoded picture little else is in memory
WAVELET_LEVELS = 5  # of a JPEG 2000, as encoders write them
ORIENTATION = 0x0112  # in EXIF data
SIMPLE_PIXELS, SIMPLE_BYTES, SIMPLE_SCANS, SIMPLE_EXIF = 25_000_000, 2**26, 64, 2**16


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
    return image.width * image.height <= SIMPLE_PIXELS and exif <= SIMPLE_EXIF


def decode(file: BinaryIO, longest_side: int) -> NDArray[np.uint8]:
    """The picture in upright 8-bit RGB, (height, width, 3), no side over `longest_side` pixels."""
    from PIL import Image, UnidentifiedImageError

    Image.init()  # registers the formats
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Pillow remarks on damaged and on large files; the refused ones are named
        try:
            image = _shrunk(_loaded(file, longest_side), longest_side)
            if min(image.size) < SHORTEST_SIDE:
                image = image.resize((max(image.width, SHORTEST_SIDE), max(image.height, SHORTEST_SIDE)))
        except (UndecodableError, MemoryError):
            raise
        except Image.DecompressionBombError as error:
            raise _too_large() from error
        except UnidentifiedImageError as error:
            raise UndecodableError("is no picture of a kind that can be read") from error
        except Exception as error:  # Pillow's decoders raise all sorts of things on damaged files
            if "out of memory" in str(error):
                raise MemoryError from error
            cut_off = isinstance(error, EOFError) or "truncated" in str(error).lower()
            raise UndecodableError("is cut off" if cut_off else f"is damaged ({error})") from error
    return np.asarray(image)


def _loaded(file: BinaryIO, longest_side: int) -> PillowImage.Image:
    """The decoded picture, at a fraction of its size where its format can be decoded so: JPEG and JPEG 2000."""
    from PIL import Image

    at_least = int(GAP * longest_side)
    for reduced in (True, False):
        image: PillowImage.Image = Image.open(file, formats=[f for f in FORMATS if f in Image.OPEN])
        if image.width * image.height > MOST_PIXELS:
            raise _too_large()
        image.draft(None, (at_least, at_least))
        levels = min((max(image.size) // at_least).bit_length() - 1, WAVELET_LEVELS)
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


def _too_large() -> UndecodableError:
    return UndecodableError(f"has more than {MOST_PIXELS:,} pixels")


def _shrunk(image: PillowImage.Image, longest_side: int) -> PillowImage.Image:
    """In 8-bit RGB, upright, averaged strip by strip and then resampled."""
    from PIL import Image

    scale = min(1.0, longest_side / max(image.size))
    width, height = (max(1, round(side * scale)) for side in image.size)
    factors = max(1, int(image.width / width / GAP)), max(1, int(image.height / height / GAP))
    white = _white(image)
    if factors == (1, 1):
        small = _eight_bit_rgb(image, white)
    else:
        small = Image.new("RGB", (-(-image.width // factors[0]), -(-image.height // factors[1])))
        for top, strip in _strips(image, factors[1]):
            small.paste(_eight_bit_rgb(strip, white).reduce(factors), (0, top // factors[1]))
    if (width, height) != small.size:
        box = (0, 0, image.width / factors[0], image.height / factors[1])
        small = small.resize((width, height), box=box)
    turns = Image.Transpose
    turn = {
        2: turns.FLIP_LEFT_RIGHT,
        3: turns.ROTATE_180,
        4: turns.FLIP_TOP_BOTTOM,
        5: turns.TRANSPOSE,
        6: turns.ROTATE_270,
        7: turns.TRANSVERSE,
        8: turns.ROTATE_90,
    }.get(image.getexif().get(ORIENTATION, 1))
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


def _eight_bit_rgb(image: PillowImage.Image, white: float) -> PillowImage.Image:
    from PIL import Image

    if _is_deep(image):
        image = Image.fromarray(np.rint(np.clip(_numbers(image) / white, 0.0, 1.0) * 255).astype(np.uint8))
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    return image.convert("RGB")


def serve_requests(memory: int) -> None:
    """Decode what is asked for on standard input, one picture after the other, until it ends.

    A request is a line of JSON, {"longest_side": 384} with a "path" or with the "length" of the content that follows;
    the answer is a line, {"shape": [height, width, 3]} before the pixels or {"reason": ...}. The first line is a sign
    of life. `memory` is what the decoding may take, in bytes; it is enforced where the system can.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks, and it ends this one
    import PIL.Image

    PIL.Image.init()
    _limit_memory(memory)
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    answers.write(b"{}\n")
    answers.flush()
    while line := requests.readline():
        request = json.loads(line)
        try:
            with open(request["path"], "rb") if "path" in request else _content(requests, request["length"]) as file:
                pixels = decode(file, request["longest_side"])
            answers.write(json.dumps({"shape": pixels.shape}).encode() + b"\n" + pixels.tobytes())
        except (UndecodableError, OSError) as error:
            answers.write(json.dumps({"reason": str(error)}).encode() + b"\n")
        except MemoryError:
            answers.write(json.dumps({"reason": f"needs more than {memory / 2**30:.3g} GB of memory"}).encode() + b"\n")
        answers.flush()


def _content(requests: BinaryIO, length: int) -> BinaryIO:
    return io.BytesIO(requests.read(length))


def _limit_memory(memory: int) -> None:
    try:
        import resource

        with open(f"/proc/{os.getpid()}/status") as status:
            found = re.search(r"VmData:\s+(\d+) kB", status.read())
        if found:
            most = int(found[1]) * 1024 + memory
            resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    except (ImportError, OSError):  # not Linux: the number of pixels is the only bound
        return


if __name__ == "__main__":
    serve_requests(int(sys.argv[1]))
