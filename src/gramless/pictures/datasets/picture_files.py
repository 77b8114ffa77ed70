"""Finding picture files in folders: always in the same order, and never round in circles, nor out where asked."""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gramless.errors import DataError
from gramless.pictures.metadata.files import sidecar_of
from gramless.pictures.metadata.writing import Place
from gramless.support.pages import Problem

SUFFIXES = frozenset(
    {".apng", ".avif", ".avifs", ".bmp", ".gif", ".png", ".tif", ".tiff", ".webp"}
    | {".jfif", ".jpe", ".jpeg", ".jpg", ".mpo"}
    | {".j2c", ".j2k", ".jp2", ".jpc", ".jpf", ".jpx"}
    | {".pbm", ".pfm", ".pgm", ".pnm", ".ppm"}
    | {".heic", ".heif", ".hif"}
    | {".3fr", ".arw", ".cr2", ".cr3", ".dng", ".iiq", ".mrw", ".nef", ".nrw", ".orf", ".pef", ".raf", ".raw", ".rw2"}
    | {".rwl", ".sr2", ".srw", ".x3f"}
)
"""Of the formats that `features` reads. Where Pillow lacks one of them, its files are listed as unreadable."""
OTHER_SUFFIXES = frozenset({".jxl", ".psd", ".svg", ".tga"})
"""Pictures too, but not of those formats."""


EMBEDDABLE = frozenset({".apng", ".jfif", ".jpe", ".jpeg", ".jpg", ".mpo", ".png"})
"""Of pictures that keywords can be written into."""


class FoundPictures(NamedTuple):
    """Picture files, the names that people are shown, the folders that may not be read, and how many were left out."""

    paths: list[Path]
    names: list[str]
    problems: list[Problem]


def find_pictures(places: Sequence[Path]) -> FoundPictures:
    """The pictures at `places`, each a file or a folder that is searched with all its subfolders.

    A file that is named is taken whatever its suffix. In folders, files with one of SUFFIXES are taken, those with one
    of OTHER_SUFFIXES are counted in the problems, and hidden files and folders are passed over. Links to folders are
    followed, but every folder is searched once, so circles end. Pictures come in the order of `places`, in a folder by
    name, each picture once. A picture's name is its path in its folder; where that would call two pictures the same,
    all are named by their paths as given.
    """
    problems: list[Problem] = []
    found: dict[Path, str] = {}
    left_out: set[Path] = set()
    for place in places:
        if os.path.isdir(place):  # unlike Path.is_dir, False and no error where the way to it may not be searched
            for path in _search(place, problems):
                suffix = path.suffix.lower()
                if suffix in SUFFIXES:
                    found.setdefault(path, shown_name(path.relative_to(place)))
                elif suffix in OTHER_SUFFIXES:
                    left_out.add(path)
        elif os.path.exists(place):
            found.setdefault(place, shown_name(Path(place.name)))
        else:
            raise DataError(f"there is no file or folder {place}, or it may not be read. Check the path.")
    names = list(found.values())
    if len(set(names)) < len(names):
        names = [shown_name(path) for path in found]
    return FoundPictures(list(found), names, problems + _counted(left_out - found.keys()))


class WrittenPlaces(NamedTuple):
    """Files that may hold keywords of ours, sidecars or pictures, and the folders that may not be read."""

    places: list[tuple[Path, Place]]
    problems: list[Problem]


def find_written(places: Sequence[Path]) -> WrittenPlaces:
    """Every sidecar and every JPEG and PNG file at `places`, found as `find_pictures` finds pictures."""
    problems: list[Problem] = []
    found: dict[Path, Place] = {}
    for place in places:
        if not os.path.lexists(place):
            raise DataError(f"there is no file or folder {place}, or it may not be read. Check the path.")
        for path in _search(place, problems) if os.path.isdir(place) else [place]:
            suffix = path.suffix.lower()
            if suffix == ".xmp":
                found[path] = "beside"
            elif suffix in EMBEDDABLE:
                found[path] = "inside"
            if path == place and suffix != ".xmp" and sidecar_of(path).exists():
                found[sidecar_of(path)] = "beside"
    return WrittenPlaces(list(found.items()), problems)


def shown_name(path: Path) -> str:
    """A path for people: "/" between its parts, composed Unicode (NFC), a replacement for bytes that are no text."""
    return unicodedata.normalize("NFC", os.fsencode(path.as_posix()).decode("utf-8", "replace"))


def _search(top: Path, problems: list[Problem]) -> Iterator[Path]:
    """Files below `top`: real folders first, then what links lead to and has not been searched yet."""
    searched: set[tuple[int, int]] = set()
    starts = [top]
    while starts:
        for folder, subfolders, files in os.walk(starts.pop(0), onerror=lambda error: _note(error, problems)):
            status = os.stat(folder)
            if (status.st_dev, status.st_ino) in searched:
                subfolders.clear()
                continue
            searched.add((status.st_dev, status.st_ino))
            inside = [Path(folder, name) for name in sorted(subfolders) if not name.startswith(".")]
            starts += [path for path in inside if path.is_symlink()]
            subfolders[:] = [path.name for path in inside if not path.is_symlink()]
            yield from (Path(folder, name) for name in sorted(files) if not name.startswith("."))


def _note(error: OSError, problems: list[Problem]) -> None:
    problems.append(Problem(shown_name(Path(error.filename)), f"this folder may not be read: {error.strerror}"))


def _counted(left_out: Iterable[Path]) -> list[Problem]:
    """How many files of every suffix were left out, and what to do about them."""
    counts = Counter(path.suffix.lower() for path in left_out)
    return [
        Problem(
            f"*{suffix}",
            f"{'1 file' if n == 1 else f'{n:,} files'} left out: such pictures cannot be read, convert them to JPEG",
        )
        for suffix, n in sorted(counts.items())
    ]


class Listing(NamedTuple):
    """Pictures by name; stamps change when a file does."""

    paths: tuple[Path, ...]
    names: tuple[str, ...]
    stamps: tuple[str, ...]
    problems: tuple[Problem, ...]


def list_folder(folder: Path) -> Listing:
    """All pictures in a folder and below. What a link leads to outside of it is left out: this folder is shown."""
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder, or may not be read. Give the folder that your pictures are in.")
    found = find_pictures([folder])
    inside, home = dict[Path, bool](), folder.resolve()
    paths, names, stamps, problems = [], [], [], list(found.problems)
    for path in found.paths:
        name = shown_name(path.relative_to(folder))
        parent = path.parent
        if parent not in inside:
            inside[parent] = parent.resolve().is_relative_to(home)
        if not inside[parent] or (path.is_symlink() and not path.resolve().is_relative_to(home)):
            problems.append(Problem(name, "is a link that leads out of the folder: left out"))
            continue
        try:
            status = path.stat()
        except OSError as error:
            problems.append(Problem(name, f"cannot be read ({error.strerror})"))
            continue
        paths.append(path)
        names.append(name)
        stamps.append(f"{status.st_mtime_ns}-{status.st_size}")
    return Listing(tuple(paths), _distinct(names), tuple(stamps), tuple(problems))


def _distinct(names: list[str]) -> tuple[str, ...]:
    """Two files can be shown alike (bytes that are no text, accents written in two ways): the second gets a number."""
    seen: dict[str, int] = {}
    distinct = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        distinct.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return tuple(distinct)
