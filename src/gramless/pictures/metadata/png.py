"""The XMP packet in a PNG file, in an iTXt chunk: found, replaced, added or removed, every other byte as it was."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from gramless.pictures.metadata.packet import MOST_BYTES, PacketError

START = b"\x89PNG\r\n\x1a\n"
XMP = b"XML:com.adobe.xmp\0"


class Chunk(NamedTuple):
    """A chunk, from its length to its check sum."""

    kind: bytes
    start: int
    end: int
    contents: bytes  # of iTXt; others are passed over


def read_packet(file: BinaryIO) -> bytes | None:
    """The XMP packet in the file; None where there is none."""
    found = [chunk for chunk in _chunks(file) if _is_xmp(chunk)]
    return _packet_in(found[0]) if found else None


def with_packet(content: bytes, packet: bytes | None) -> bytes:
    """The file with this packet in place of the one that it has, or without any."""
    chunks = list(_chunks(io.BytesIO(content)))
    found = [chunk for chunk in chunks if _is_xmp(chunk)]
    if len(found) > 1:
        raise PacketError("has two XMP packets")
    new = b""
    if packet is not None:
        body = b"iTXt" + XMP + b"\0\0\0\0" + packet
        new = (len(body) - 4).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")
    start, end = (found[0].start, found[0].end) if found else (chunks[0].end,) * 2  # after IHDR
    return content[:start] + new + content[end:]


def _is_xmp(chunk: Chunk) -> bool:
    return chunk.kind == b"iTXt" and chunk.contents.startswith(XMP)


def _packet_in(chunk: Chunk) -> bytes:
    """After the keyword: whether it is compressed, how, a language and a translated keyword, both ended by a zero."""
    rest = chunk.contents[len(XMP) :]
    texts = rest[2:].split(b"\0", 2)
    if len(rest) < 2 or len(texts) < 3:
        raise PacketError("has an XMP chunk that is damaged")
    if rest[0] == 0:
        return texts[2]
    unpacker = zlib.decompressobj()
    try:
        packet = unpacker.decompress(texts[2], MOST_BYTES)
    except zlib.error as error:
        raise PacketError("has an XMP chunk that is damaged") from error
    if not unpacker.eof:
        raise PacketError("has an XMP chunk that is damaged, or too large")
    return packet


def _chunks(file: BinaryIO) -> Iterator[Chunk]:
    if file.read(8) != START:
        raise PacketError("is no PNG file")
    position, kind = 8, b""
    while kind != b"IEND":
        head = file.read(8)
        length, kind = int.from_bytes(head[:4], "big"), head[4:]
        if len(head) < 8 or (position == 8) != (kind == b"IHDR"):
            raise PacketError("is a damaged PNG file")
        contents = file.read(length) if kind == b"iTXt" and length <= MOST_BYTES else b""
        end = position + 12 + length
        file.seek(end)
        yield Chunk(kind, position, end, contents)
        position = end
