"""The keywords that a picture carries: in XMP, IPTC and EXIF, inside of it and beside it.

A sidecar that has a list of keywords counts instead of what is inside of the picture: it is where programs that do not
write into pictures keep what their user has changed since. Inside, XMP, IPTC and EXIF count together. Keywords that
this program wrote are not the owner's, and not read. Of files that Pillow does not know (CR3, RAF, ORF and other raw
files; HEIC), ExifTool reads them where it is installed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from gramless.pictures.features.decoder import the_decoder
from gramless.pictures.features.decoding import Metadata, UndecodableError, UnopenedError, is_simple, metadata_of
from gramless.pictures.metadata.fields import clean_path, entries_of, leaf, unique
from gramless.pictures.metadata.files import MOST_PICTURE_BYTES, embedded_packet, read_sidecar, sidecars_of
from gramless.pictures.metadata.marks import owners_keywords
from gramless.pictures.metadata.packet import Packet, PacketError
from gramless.support.atomic import OddFileError, open_ordinary
from gramless.support.packages import needed

UTF8 = b"\x1b%G"  # how IPTC says that its texts are in UTF-8
EXIFTOOL_SECONDS = 30.0


class Carried(NamedTuple):
    """The owner's keywords of a picture, hierarchical ones as paths with | between the steps; and what was wrong."""

    keywords: tuple[str, ...]
    problem: str | None = None


def carried_keywords(picture: Path) -> Carried:
    """What a person, or another program, has given this picture."""
    problem = None
    for sidecar in sidecars_of(picture):
        try:
            content = read_sidecar(sidecar)
            packet = Packet(content) if content is not None else None
            if packet is not None and entries_of(packet):
                return Carried(tuple(owners_keywords(packet)))
        except PacketError as error:
            problem = f"has a sidecar, {sidecar.name}, that {error}: not read"
        except OSError as error:
            problem = f"has a sidecar, {sidecar.name}, that cannot be read ({error.strerror})"
    inside = keywords_inside(picture)
    return Carried(inside.keywords, problem or inside.problem)


def keywords_inside(picture: Path) -> Carried:
    """Those in the file itself."""
    needed("PIL")
    problem = None
    in_xmp: list[str] = []
    others: list[str] = []
    try:
        found = _metadata_of(picture)
        others = [*(_decoded(text, found.letters == UTF8) for text in found.iptc), *_from_windows(found)]
        content = _xmp_of(found, picture)
        if content is not None:
            in_xmp = owners_keywords(Packet(content))
    except PacketError as error:
        problem = f"has XMP in it that {error}: not read"
    except OddFileError as error:  # a fifo would wait for a writer
        return Carried((), str(error.strerror))
    except FileNotFoundError:
        return Carried((), "is not there")
    except UndecodableError as error:
        return Carried((), str(error))
    except UnopenedError:
        if not _is_for_exiftool(picture):
            return Carried((), "is no picture of a kind that can be read" if picture.stat().st_size else "is empty")
        told = _by_exiftool(picture)
        if told is None:
            return Carried((), "may carry keywords that ExifTool reads, which is not installed or cannot read them")
        in_xmp, others = told
    except Exception as error:  # whatever a damaged file makes us stumble over
        return Carried((), f"cannot be opened ({type(error).__name__})")
    steps = {step for path in in_xmp for step in path.split("|")}
    return Carried(tuple(unique((*in_xmp, *(k for k in map(clean_path, others) if leaf(k) not in steps)))), problem)


def _metadata_of(picture: Path) -> Metadata:
    """Here where that is sure to take little, or by the process that can be ended."""
    with open_ordinary(picture, MOST_PICTURE_BYTES) as file:
        here = is_simple(file)
        file.seek(0)
        if here:
            return metadata_of(file)
    return the_decoder().metadata(picture)


def _xmp_of(found: Metadata, picture: Path) -> bytes | None:
    content = embedded_packet(picture) if found.format in ("JPEG", "MPO", "PNG") else found.xmp
    return content.rstrip(b"\0") if content and content.strip(b"\0 \r\n") else None


def _decoded(text: bytes, utf8: bool) -> str:
    """IPTC's texts are in UTF-8 where it says so; elsewhere programs write UTF-8 all the same, or Latin letters."""
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        return text.decode("utf-8", "replace") if utf8 else text.decode("cp1252", "replace")


def _from_windows(found: Metadata) -> list[str]:
    """UTF-16, with ; between them."""
    return found.windows.decode("utf-16-le", "replace").partition("\0")[0].split(";")


def _is_for_exiftool(picture: Path) -> bool:
    """Whether it begins as a raw file or as HEIC does."""
    from gramless.pictures.features.decoding.previews import may_hold_preview

    with picture.open("rb") as file:
        head = file.read(16)
    return may_hold_preview(head) or head[4:8] == b"ftyp"


def _by_exiftool(picture: Path) -> tuple[list[str], list[str]] | None:
    """Keywords in XMP, and in IPTC and EXIF, by ExifTool; None where it is not there, or knows no such file."""
    program = shutil.which("exiftool")
    if program is None:
        return None
    asked = ("-j", "-b", "-XMP", "-IPTC:Keywords", "-EXIF:XPKeywords")
    command = [program, *asked, str(picture.absolute())]  # so that no name passes for an option
    try:
        answer = subprocess.run(command, check=True, capture_output=True, timeout=EXIFTOOL_SECONDS).stdout
        (found,) = json.loads(answer)
        packet = str(found.get("XMP", "")).strip("\0 \r\n").encode()
        in_xmp = owners_keywords(Packet(packet)) if packet else []
    except (OSError, subprocess.SubprocessError, ValueError, PacketError):
        return None
    named = found.get("Keywords", [])
    iptc = [str(word) for word in (named if isinstance(named, list) else [named])]
    return in_xmp, iptc + str(found.get("XPKeywords", "")).split(";")
