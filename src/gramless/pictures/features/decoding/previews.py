"""The JPEG that a camera puts into a raw file: the largest one in it, wherever its maker's format keeps it."""

from __future__ import annotations

import mmap
import struct
from typing import BinaryIO, NamedTuple

HEADS = (b"II*\0", b"MM\0*", b"IIRO", b"IIRS", b"MMOR", b"IIU\0", b"FUJIFILMCCD-RAW", b"\0MRM", b"FOVb")
"""How raw files begin: TIFF (CR2, NEF, ARW, DNG, PEF, SRW) and its relatives (ORF, RW2), RAF, MRW, X3F."""
CR3_HEAD, CR3_TAGS, CR3_TAGS_WITHIN = b"ftypcrx ", b"CMT1", 2**16
START = b"\xff\xd8\xff"
READABLE = (0xC0, 0xC1, 0xC2)  # frames of pixels: baseline, extended, progressive
OTHER_FRAMES = (0xC3, *range(0xC5, 0xC8), *range(0xC9, 0xCC), *range(0xCD, 0xD0))  # lossless: what the sensor saw
ENDS = (0xD8, 0xD9, 0xDA)
MOST_SEGMENTS = 200  # before the frame
MOST_TAGS = 1000
ORIENTATION = 0x0112

Content = bytes | mmap.mmap


class Preview(NamedTuple):
    """Where a JPEG begins in a raw file, and how many pixels it has."""

    start: int
    n_pixels: int


def may_hold_preview(head: bytes) -> bool:
    """Whether a file that begins so can be a camera's raw file."""
    return head.startswith(HEADS) or head[4:12] == CR3_HEAD


def content_of(file: BinaryIO) -> Content:
    """All bytes of a file, without reading those of one that lies on a disk."""
    try:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError:  # it is in memory already
        file.seek(0)
        return file.read()


def largest_preview(content: Content) -> Preview | None:
    """The JPEG with the most pixels; of equals the first."""
    best: Preview | None = None
    place = content.find(START)
    while place >= 0:
        n_pixels = _pixels(content, place)
        if n_pixels > (best.n_pixels if best else 0):
            best = Preview(place, n_pixels)
        place = content.find(START, place + 1)
    return best


def orientation_of(content: Content) -> int:
    """How the camera was held, as EXIF counts it, in the first tags of a raw file; 1 where they do not say."""
    start = 0
    if content[4:12] == CR3_HEAD:
        start = content.find(CR3_TAGS, 0, CR3_TAGS_WITHIN) + len(CR3_TAGS)
    order = "big" if content[start : start + 2] == b"MM" else "little"
    tags = start + _number(content, start + 4, 4, order)
    for i in range(min(_number(content, tags, 2, order), MOST_TAGS)):
        entry = tags + 2 + 12 * i
        if _number(content, entry, 2, order) == ORIENTATION:
            return _number(content, entry + 8, 2, order)
    return 1


def _number(content: Content, place: int, width: int, order: str) -> int:
    return int.from_bytes(content[place : place + width], "big" if order == "big" else "little")


def _pixels(content: Content, start: int) -> int:
    """Of the JPEG that begins there; 0 where there is none, or one of more than 8 bits or without loss."""
    place = start + 2
    for _ in range(MOST_SEGMENTS):
        head = content[place : place + 9]
        if len(head) < 9 or head[0] != 0xFF:
            return 0
        kind, length, depth, height, width = struct.unpack(">xBHBHH", head)
        if kind in READABLE:
            return width * height if depth == 8 else 0
        if kind in OTHER_FRAMES or kind in ENDS or length < 2:
            return 0
        place += 2 + length
    return 0
