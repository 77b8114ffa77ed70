"""The XMP packet in a JPEG file: found, replaced, added or removed, every other byte as it was."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from gramless.pictures.metadata.packet import PacketError

START = b"\xff\xd8"
SCAN, END, APP0, APP1, APP2 = 0xDA, 0xD9, 0xE0, 0xE1, 0xE2
ALONE = {0x01, *range(0xD0, 0xD8)}  # markers without a length
XMP, EXIF, MULTIPLE = b"http://ns.adobe.com/xap/1.0/\0", b"Exif\0", b"MPF\0"
LONGEST = 0xFFFF - 2  # of what a segment holds


class Segment(NamedTuple):
    """A segment before the first scan, from its marker to the next one's."""

    marker: int
    start: int
    end: int
    head: bytes  # of its contents: all of those that may hold XMP


def read_packet(file: BinaryIO) -> bytes | None:
    """The XMP packet in the file; None where there is none. Reads no further than to the picture itself."""
    found = [segment for segment in _segments(file) if _is_xmp(segment)]
    return found[0].head[len(XMP) :] if found else None


def with_packet(content: bytes, packet: bytes | None) -> bytes:
    """The file with this packet in place of the one that it has, or without any."""
    segments = list(_segments(io.BytesIO(content)))
    found = [segment for segment in segments if _is_xmp(segment)]
    if len(found) > 1:
        raise PacketError("has two XMP packets")
    new = b""
    if packet is not None:
        if len(XMP) + len(packet) > LONGEST:
            raise PacketError(f"would have {len(packet):,} bytes of XMP, more than a JPEG file holds in one piece")
        new = bytes((0xFF, APP1)) + (2 + len(XMP) + len(packet)).to_bytes(2, "big") + XMP + packet
    start, end = (found[0].start, found[0].end) if found else (_place(segments),) * 2
    if any(
        segment.marker == APP2 and segment.head.startswith(MULTIPLE) and segment.start < start for segment in segments
    ):
        raise PacketError("holds several pictures, with XMP after the list of them")  # whose offsets would be off
    return content[:start] + new + content[end:]


def _place(segments: list[Segment]) -> int:
    """Where XMP goes that was not there: after JFIF's and EXIF's segments."""
    place = len(START)
    for segment in segments:
        if segment.marker != APP0 and not (segment.marker == APP1 and segment.head.startswith(EXIF)):
            break
        place = segment.end
    return place


def _is_xmp(segment: Segment) -> bool:
    return segment.marker == APP1 and segment.head.startswith(XMP)


def _segments(file: BinaryIO) -> Iterator[Segment]:
    if file.read(2) != START:
        raise PacketError("is no JPEG file")
    position = 2
    while True:
        marker, start = _next_marker(file, position)
        if marker in (SCAN, END):
            return
        if marker in ALONE:
            position = start + 2
            continue
        length = int.from_bytes(file.read(2), "big")
        end = start + 2 + length
        contents = file.read(length - 2 if marker in (APP1, APP2) else 0) if length >= 2 else b""
        if length < 2 or (marker in (APP1, APP2) and len(contents) != length - 2):
            raise PacketError("is a damaged JPEG file")
        file.seek(end)
        position = end
        yield Segment(marker, start, end, contents)


def _next_marker(file: BinaryIO, position: int) -> tuple[int, int]:
    """The next marker and where it starts: at the last of any fill bytes."""
    if file.read(1) != b"\xff":
        raise PacketError("is a damaged JPEG file")
    while (byte := file.read(1)) == b"\xff":
        position += 1
    if not byte or byte == b"\0":
        raise PacketError("is a damaged JPEG file")
    return byte[0], position
