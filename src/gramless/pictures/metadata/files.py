"""Which bytes of which file hold the XMP of a picture: its sidecars, and the packet inside of it."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import BinaryIO

from gramless.pictures.metadata import jpeg, png
from gramless.pictures.metadata.packet import MOST_BYTES, PacketError
from gramless.support.atomic import OddFileError, open_ordinary

MOST_PICTURE_BYTES = 10**9
NEW_SIDECAR = b"""<?xml version="1.0" encoding="UTF-8"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
 </rdf:RDF>
</x:xmpmeta>
"""
NEW_PACKET = b"""<?xpacket begin="\xef\xbb\xbf" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>"""


class ForeignFormatError(PacketError):
    """A picture that nothing can be written into, and so has nothing of ours in it."""


def sidecar_of(picture: Path) -> Path:
    """Where keywords of a picture are written: beside it, .xmp appended to its name."""
    return picture.with_name(f"{picture.name}.xmp")


def sidecars_of(picture: Path) -> tuple[Path, Path]:
    """Where keywords of a picture are looked for: sea.jpg.xmp, and sea.xmp, as Adobe's programs call it."""
    return sidecar_of(picture), picture.with_suffix(".xmp")


def read_sidecar(path: Path) -> bytes | None:
    """What is in a sidecar; None where there is none."""
    try:
        with open_ordinary(path, MOST_BYTES) as file:
            return file.read()
    except FileNotFoundError:
        return None
    except (OddFileError, IsADirectoryError) as error:
        raise PacketError(str(error.strerror)) from error


def embedded_packet(picture: Path) -> bytes | None:
    """The XMP inside of a JPEG or PNG file, None where there is none."""
    try:
        with open_ordinary(picture, MOST_PICTURE_BYTES) as file:
            packet = _format_of(file).read_packet(file)
    except (OddFileError, IsADirectoryError) as error:
        raise PacketError(str(error.strerror)) from error
    return packet


def with_embedded(picture: Path, packet: bytes | None) -> bytes:
    """The picture's file with this packet in it, or without any; what is not XMP is as it was."""
    with open_ordinary(picture, MOST_PICTURE_BYTES) as file:
        form = _format_of(file)
        return form.with_packet(file.read(), packet)


def _format_of(file: BinaryIO) -> ModuleType:
    """By what the file begins with, whatever it is called."""
    head = file.read(len(png.START))
    file.seek(0)
    if head.startswith(jpeg.START):
        return jpeg
    if head == png.START:
        return png
    raise ForeignFormatError(
        "is neither JPEG nor PNG, and only into those can keywords be written (--to xmp writes them beside it)"
    )
