"""Your own pictures: with a keyword file, with the keywords that they carry, or one folder for each keyword."""

from __future__ import annotations

import os
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

from gramless.errors import DataError
from gramless.pictures.datasets.annotated import AnnotatedPictures, mark_keywords
from gramless.pictures.datasets.keyword_files import Keywords, clean_keywords, read_keyword_file
from gramless.pictures.datasets.picture_files import find_pictures
from gramless.pictures.metadata.fields import lineage, paths_of_names, unique
from gramless.pictures.metadata.reading import carried_keywords
from gramless.support.pages import Problem
from gramless.support.progress import ProgressBar

_WAYS_TO_NAME: tuple[Callable[[PurePosixPath], str], ...] = (
    lambda path: str(path),
    lambda path: str(path.with_suffix("")),
    lambda path: path.name,
    lambda path: path.stem,
)
"""How a keyword file may name a picture: the first way that fits any picture counts."""


def read_annotated(pictures: Path, keywords: Path | None, *, folders: bool = False) -> AnnotatedPictures:
    """The pictures in the folder `pictures` and below that have keywords, and those keywords in alphabetical order.

    With a keyword file (`read_keyword_file` says what it may hold) a picture is named by its path in the folder, with
    or without the suffix, or by its bare file name where no other picture has the same. With None, the keywords are
    those that the pictures carry (`carried_keywords`); where none carries any, or with `folders`, the folders that a
    picture lies in are its keywords: "cat/1.jpg" has "cat", "animal/cat/1.jpg" has "animal" and "cat".

    A picture with the keyword "animal|cat" has the keyword "animal" as well. A carried "cat" without parents is that
    keyword too, where the pictures know no other cat.

    Names and keywords are compared in Unicode's composed form (NFC). Pictures without keywords are left out. They are
    listed in `problems`, and so are names in the keyword file that fit no picture or several, folders that may not be
    read, how many pictures are of a kind that cannot be, and keywords that look like two spellings of one.
    """
    if not os.path.isdir(pictures):
        raise DataError(f"{pictures} is not a folder, or may not be read. Give the folder that your pictures are in.")
    paths, names, problems = find_pictures([pictures])
    if keywords is not None:
        keywords_of = _match(names, read_keyword_file(keywords), problems)
        source = str(keywords)
    else:
        keywords_of, unread = ([], []) if folders else _carried(paths, names)
        source = "the pictures themselves (XMP, IPTC, EXIF and sidecars)"
        if any(keywords_of):
            problems += unread
        else:
            keywords_of = [clean_keywords(list(PurePosixPath(name).parts[:-1])) for name in names]
            source = "the names of the folders that they are in"
            if not folders and not any(keywords_of):
                source = f"the pictures themselves, their sidecars and {source}"
    keywords_of = [unique(part for keyword in found for part in lineage(keyword)) for found in keywords_of]
    kept = [i for i, found in enumerate(keywords_of) if found]
    if not kept:
        raise DataError(_nothing_usable(pictures, len(paths), source, problems))
    without = [name for name, found in zip(names, keywords_of, strict=True) if not found]
    problems = _joined(problems, without)
    vocabulary = sorted({keyword for found in keywords_of for keyword in found})
    return AnnotatedPictures(
        paths=tuple(paths[i] for i in kept),
        names=tuple(names[i] for i in kept),
        keywords=tuple(vocabulary),
        labels=mark_keywords([keywords_of[i] for i in kept], vocabulary),
        problems=(*problems, *_doubtful_keywords(vocabulary)),
        source=source,
    )


def _joined(problems: list[Problem], without: list[str]) -> list[Problem]:
    """Pictures without keywords besides the other problems, each picture in one line."""
    left_out = "has no keywords: left out"
    known = {name for name, _ in problems}.intersection(without)
    told = [Problem(name, f"{reason}, and {left_out}" if name in known else reason) for name, reason in problems]
    return [*told, *(Problem(name, left_out) for name in without if name not in known)]


def _carried(paths: list[Path], names: list[str]) -> tuple[list[list[str]], list[Problem]]:
    """The keywords that pictures carry, and what could not be read of them."""
    keywords_of: list[list[str]] = []
    problems = []
    with ProgressBar("reading keywords", len(paths)) as progress:
        for path, name in zip(paths, names, strict=True):
            found = carried_keywords(path)
            keywords_of.append(list(found.keywords))
            if found.problem is not None:
                problems.append(Problem(name, found.problem))
            progress.advance()
    path_of = paths_of_names(keyword for found in keywords_of for keyword in found)
    return [[path_of.get(keyword, keyword) for keyword in found] for found in keywords_of], problems


def _match(names: list[str], keywords: Keywords, problems: list[Problem]) -> list[list[str]]:
    """The keywords of every picture; what does not fit is added to the problems."""
    positions: list[dict[str, list[int]]] = [defaultdict(list) for _ in _WAYS_TO_NAME]
    for i, name in enumerate(names):
        for way, by_name in zip(_WAYS_TO_NAME, positions, strict=True):
            by_name[way(_comparable(name))].append(i)
    keywords_of: list[list[str]] = [[] for _ in names]
    for name, its_keywords in keywords.items():
        wanted = str(_comparable(name))
        fitting = next((by_name[wanted] for by_name in positions if wanted in by_name), [])
        if len(fitting) == 1:
            keywords_of[fitting[0]] += its_keywords
        elif fitting:
            candidates = " or ".join(names[i] for i in fitting[:3])
            problems.append(Problem(name, f"could be {candidates}: write its folder and suffix as well"))
        else:
            problems.append(Problem(name, "is in the keyword file, but there is no such picture"))
    return keywords_of


def _comparable(name: str) -> PurePosixPath:
    """A name as it is compared: composed Unicode, no blanks around it, "/" where Windows writes a backslash."""
    return PurePosixPath(unicodedata.normalize("NFC", name).strip().replace("\\", "/"))


def _doubtful_keywords(vocabulary: Iterable[str]) -> list[Problem]:
    """Keywords that differ only in case, and those with a comma, which may have been meant as several."""
    spellings = defaultdict(list)
    for keyword in vocabulary:
        spellings[keyword.casefold()].append(keyword)
    doubtful = [
        Problem(found[0], f"differs only in case from {', '.join(map(repr, found[1:]))}: learned as separate keywords")
        for found in spellings.values()
        if len(found) > 1
    ]
    with_comma = [keyword for keyword in vocabulary if "," in keyword]
    if with_comma:
        reason = f"is one keyword with a comma, as are {len(with_comma)} in all: separate keywords with ;"
        doubtful.append(Problem(with_comma[0], reason))
    return doubtful


def _nothing_usable(pictures: Path, n_pictures: int, source: str, problems: list[Problem]) -> str:
    if n_pictures == 0:
        details = "".join(f" {name}: {reason}." for name, reason in problems[:3])
        return (
            f"there are no pictures in {pictures}, nor in its subfolders: looked for JPEG, PNG, TIFF, WebP, HEIC, raw "
            f"files of cameras and the like.{details} Give the folder that they are in."
        )
    details = "".join(f" {name!r} {reason}." for name, reason in problems[:3])
    holds = "1 picture, but it has no" if n_pictures == 1 else f"{n_pictures:,} pictures, but none of them has a"
    return (
        f"{pictures} holds {holds} keyword: looked in {source}.{details}{_lying_there(pictures)} "
        "Tag the pictures in a photo program, give a keyword file, or put them into one folder for each keyword."
    )


def _lying_there(pictures: Path) -> str:
    """Keyword files are not read unasked, but pointed at: any table may lie beside pictures."""
    files = sorted(path for pattern in ("*.csv", "*.json") for path in pictures.glob(pattern))
    return f" Is {files[0].name} its keyword file? Then give --keywords {files[0]}." if files else ""
