"""Small JPEG and PNG files that carry keywords as programs write them, made without the code under test."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
from PIL import Image, PngImagePlugin

from tests.pictures.metadata.packets import bag, packet

XMP = b"http://ns.adobe.com/xap/1.0/\0"


def pixels() -> Image.Image:
    return Image.fromarray(np.random.default_rng(0).integers(0, 255, (24, 32, 3), dtype=np.uint8))


def segment(marker: int, contents: bytes) -> bytes:
    return bytes((0xFF, marker)) + struct.pack(">H", len(contents) + 2) + contents


def jpeg(*segments: bytes, exif: Image.Exif | None = None, picture: Image.Image | None = None) -> bytes:
    """A JPEG file with more segments after its JFIF one."""
    file = io.BytesIO()
    (picture or pixels()).save(file, "JPEG", **({"exif": exif} if exif is not None else {}))
    content = file.getvalue()
    end = 4 + struct.unpack(">H", content[4:6])[0]
    return content[:end] + b"".join(segments) + content[end:]


def xmp_segment(content: bytes) -> bytes:
    return segment(0xE1, XMP + content)


def iptc_segment(*keywords: bytes, utf8: bool = False) -> bytes:
    """Photoshop's resource 0x0404 with IPTC records."""
    records = b"\x1c\x01\x5a\x00\x03\x1b%G" if utf8 else b""
    records += b"".join(b"\x1c\x02\x19" + struct.pack(">H", len(keyword)) + keyword for keyword in keywords)
    body = records + b"\0" * (len(records) % 2)
    return segment(0xED, b"Photoshop 3.0\x00" + b"8BIM\x04\x04\0\0" + struct.pack(">I", len(records)) + body)


def windows_exif(*keywords: str) -> Image.Exif:
    exif = Image.Exif()
    exif[0x9C9E] = (";".join(keywords) + "\0").encode("utf-16-le")
    exif[0x010F] = "Camera"
    return exif


def png(content: bytes | None = None, compressed: bool = False) -> bytes:
    file, info = io.BytesIO(), PngImagePlugin.PngInfo()
    info.add_text("Comment", "mine")
    if content is not None:
        info.add_itxt("XML:com.adobe.xmp", content.decode(), zip=compressed)
    pixels().save(file, "PNG", pnginfo=info)
    return file.getvalue()


def scan_of(content: bytes) -> bytes:
    """The entropy-coded picture: from the start of the scan to the end of the file."""
    return content[content.index(b"\xff\xda") :]


def tagged(path: Path, *keywords: str) -> Path:
    path.write_bytes(jpeg(xmp_segment(packet(bag("dc:subject", *keywords)))))
    return path
