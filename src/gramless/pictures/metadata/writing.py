"""Writing keywords beside pictures or into them, and taking the machine's back: planned first, then done.

A sidecar lies beside its picture and leaves the picture alone. `sea.jpg` gets `sea.jpg.xmp`: the name that digiKam,
darktable, Immich and PhotoPrism look for, and that keeps `sea.jpg` and `sea.png` apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Literal

from gramless.pictures.metadata.files import (
    NEW_PACKET,
    NEW_SIDECAR,
    ForeignFormatError,
    embedded_packet,
    read_sidecar,
    sidecar_of,
    sidecars_of,
    with_embedded,
)
from gramless.pictures.metadata.giving import Said, give, say, take_back
from gramless.pictures.metadata.marks import OURS, Given, Stamp, marks_of
from gramless.pictures.metadata.packet import Packet, PacketError
from gramless.pictures.metadata.reading import carried_keywords, keywords_inside
from gramless.support.atomic import sync_folder, write_atomically
from gramless.support.pages import Problem

Place = Literal["beside", "inside"]


@dataclass(frozen=True)
class Writing:
    """What becomes of one file's XMP."""

    path: Path  # the sidecar, or the picture itself
    place: Place
    before: bytes | None
    after: bytes | None

    @cached_property
    def gone(self) -> tuple[Given, ...]:
        """The keywords of ours that were there."""
        return _given_in(self.before)

    @cached_property
    def come(self) -> tuple[Given, ...]:
        """Those that are there then."""
        return _given_in(self.after)

    @property
    def changes(self) -> bool:
        return self.before != self.after

    def do(self) -> None:
        """Whole or not at all; a sidecar that was started for our keywords is removed with them."""
        if not self.changes:
            return
        if self.place == "inside":
            content = with_embedded(self.path, self.after)
            write_atomically(self.path, lambda file: file.write(content))
        elif self.after is None:
            self.path.unlink()
            sync_folder(self.path.parent)
        else:
            packet = self.after
            write_atomically(self.path, lambda file: file.write(packet))


def plan_giving(picture: Path, given: Iterable[Given], stamp: Stamp, place: Place) -> Writing:
    """What giving a picture keywords would change; PacketError, or OSError, where that cannot be.

    A new sidecar starts from the sidecar sea.xmp, or from what the picture carries, so that it hides nothing.
    """
    if place == "beside":
        path, before, base = _sidecar(picture)
        carried = carried_keywords(picture).keywords
    else:
        path, before = picture, embedded_packet(picture)
        base = before if before is not None else NEW_PACKET
        carried = keywords_inside(picture).keywords
    packet, zeros = _parted(base)
    given = list(given)
    earlier = marks_of(Packet(packet)).stamp
    if earlier.model == stamp.model and give(packet, given, earlier, carried) == packet:
        stamp = earlier  # the same answer once more: nothing is written for the sake of its date
    after = give(packet, given, stamp, carried, new=before is None)
    return Writing(path, place, before, None if after is None else after + zeros)


def plan_saying(picture: Path, said: Said) -> Writing:
    """What a person's words would change in the sidecar of a picture; it starts as one for our keywords does."""
    path, before, base = _sidecar(picture)
    packet, zeros = _parted(base)
    after = say(packet, said, carried_keywords(picture).keywords, new=before is None)
    return Writing(path, "beside", before, None if after is None else after + zeros)


def plan_taking_back(path: Path, place: Place) -> Writing:
    """What taking our keywords out of a sidecar, or out of a picture, would change."""
    try:
        before = read_sidecar(path) if place == "beside" else embedded_packet(path)
    except ForeignFormatError:  # whatever its name says
        before = None
    if before is None or OURS.encode() not in before:
        return Writing(path, place, before, before)
    packet, zeros = _parted(before)
    bare = take_back(packet)
    return Writing(path, place, before, None if bare is None else bare + zeros)


def give_all(
    wanted: Iterable[tuple[Path, tuple[Given, ...]]], stamp: Stamp, place: Place, *, dry: bool = False
) -> tuple[list[Writing], list[Problem]]:
    """Every picture's keywords; what could not be done is returned, and spoils no other. `dry` changes nothing."""
    pictures = ((sidecar_of(picture) if place == "beside" else picture, picture, given) for picture, given in wanted)
    return _all(((path, partial(plan_giving, picture, given, stamp, place)) for path, picture, given in pictures), dry)


def say_all(said: Iterable[tuple[Path, Said]]) -> tuple[list[Writing], list[Problem]]:
    """What a person says of pictures, into their sidecars."""
    return _all(((sidecar_of(picture), partial(plan_saying, picture, words)) for picture, words in said), False)


def take_back_all(places: Iterable[tuple[Path, Place]], *, dry: bool = False) -> tuple[list[Writing], list[Problem]]:
    """Our keywords out of every sidecar and picture. `dry` changes nothing."""
    return _all(((path, partial(plan_taking_back, path, place)) for path, place in places), dry)


def _all(plans: Iterable[tuple[Path, Callable[[], Writing]]], dry: bool) -> tuple[list[Writing], list[Problem]]:
    done: list[Writing] = []
    problems: list[Problem] = []
    for path, plan in plans:
        try:
            writing = plan()
            if not dry:
                writing.do()
        except PacketError as error:
            problems.append(Problem(str(path), f"{error}, so it is left alone."))
        except OSError as error:
            problems.append(Problem(str(path), f"cannot be written ({error.strerror})."))
        else:
            done.append(writing)
    return done, problems


def _sidecar(picture: Path) -> tuple[Path, bytes | None, bytes]:
    """The sidecar of a picture, what is in it, and that or what a new one starts from."""
    path = sidecar_of(picture)
    before = read_sidecar(path)
    return path, before, before if before is not None else _start_of_sidecar(picture) or NEW_SIDECAR


def _start_of_sidecar(picture: Path) -> bytes | None:
    """XMP of the picture's owner that a new sidecar starts from; None where there is none, or it cannot be read."""
    for content in _owners_xmp(picture):
        try:
            packet = Packet(content)
        except PacketError:
            continue
        if packet.descriptions:
            return content
    return None


def _owners_xmp(picture: Path) -> Iterator[bytes]:
    for read in (lambda: read_sidecar(sidecars_of(picture)[1]), lambda: embedded_packet(picture)):
        try:
            content = read()  # type: ignore[no-untyped-call]  # to mypy, a lambda in a tuple has no type
        except (OSError, PacketError):
            continue
        if content is not None:
            yield _parted(content)[0]


def _parted(content: bytes) -> tuple[bytes, bytes]:
    """A packet, and the zeros that some programs end it with."""
    packet = content.rstrip(b"\0")
    return packet, content[len(packet) :]


def _given_in(content: bytes | None) -> tuple[Given, ...]:
    return marks_of(Packet(_parted(content)[0])).given if content is not None and OURS.encode() in content else ()
