"""The pictures of a folder as they are shown and remembered: by names that never lead out of it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from gramless.errors import DataError
from gramless.pictures.datasets import Problem, find_pictures
from gramless.pictures.datasets.picture_files import shown_name


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
