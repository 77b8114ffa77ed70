"""ImageCLEF 2013, scalable concept annotation (Villegas, Paredes, Thomee 2013): the WEBUPV collection's own files."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from scipy import sparse

from gramless import DataError, Views
from gramless.pictures.datasets.annotated import mark_keywords
from gramless.pictures.datasets.keyword_files import read_lines
from gramless.support.progress import ProgressBar
from reproduction.collection import Collection


@dataclass(frozen=True, eq=False)
class AnnotatedViews:
    """Views and their keywords: row i of every view, name i and row i of labels belong together."""

    views: Views
    names: tuple[str, ...]
    keywords: tuple[str, ...]
    labels: np.ndarray  # (n, n_keywords) int8


def read_imageclef(folder: Path, part: Literal["devel", "test"]) -> AnnotatedViews:
    """The development or test part: one sparse view per descriptor, and the concepts of every picture.

    Read are, wherever they lie below the folder (the archives unpack into folders of their own):

    - `<part>_iids.txt`: the identifier of one picture per line: the rows.
    - `<part>_concepts.txt`: one concept per line, first on the line, then its WordNet sense and Wikipedia page, which
      are passed over; lines that begin with # are titles. The columns, in this order.
    - `<part>_gnd.txt`: one picture per line, `identifier concept concept ...`: the truth.
    - `*_<part>_visual_<descriptor>.feat` or `.feat.gz`: `read_features` says what they hold. `webupv13_devel_visual_
      gist.feat.gz` becomes the view "gist". Rows follow the identifiers.

    The 250,000 pictures of the web ("train") have no concepts; `feature_files` finds their descriptors.
    """
    names = read_lines(_only_file(folder, f"{part}_iids.txt"))
    listed = read_lines(_only_file(folder, f"{part}_concepts.txt"))
    concepts = [line.split()[0] for line in listed if not line.startswith("#")]
    truth = _read_truth(_only_file(folder, f"{part}_gnd.txt"), names, set(concepts))
    files = feature_files(folder, part)
    if not files:
        raise DataError(
            f"{folder} has no files *_{part}_visual_<descriptor>.feat(.gz): no descriptors of the {part} pictures."
        )
    blocks = {descriptor: read_features(path) for descriptor, path in files.items()}
    for descriptor, block in blocks.items():
        if block.shape[0] != len(names):
            raise DataError(f"{files[descriptor]} describes {block.shape[0]} pictures, but {len(names)} are listed.")
    return AnnotatedViews(Views(blocks), tuple(names), tuple(concepts), mark_keywords(truth, concepts))


def feature_files(folder: Path, part: Literal["devel", "test", "train"]) -> dict[str, Path]:
    """The file of every descriptor, wherever it lies below the folder; an unpacked one rather than its archive."""
    start = f"_{part}_visual_"
    files: dict[str, Path] = {}
    for path in sorted(folder.rglob(f"*{start}*.feat*")):  # an unpacked file comes before its archive
        descriptor, _, packing = path.name.split(start, 1)[1].partition(".feat")
        if packing in ("", ".gz"):
            files.setdefault(descriptor, path)
    return files


def read_features(path: Path, most: int | None = None) -> sparse.csr_array:
    """The vectors (n, dimension) of a .feat or .feat.gz file, float32; at most so many of the first.

    It is text. The first line is `n dimension`; each of the n lines after it is one vector, `count index value index
    value ...`: how many entries are not zero, then each one's position, from 0, and value. Of a longer file nothing
    after the last vector that is wanted is read.
    """
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            header = _numbers(path, 1, file.readline())
            if len(header) != 2 or header.min() < 1 or (header % 1).any():
                raise DataError(
                    f"{path}: line 1 must say how many vectors follow and their dimension, as in '1000 480'."
                )
            n, dimension = (int(number) for number in header)
            n_wanted = n if most is None else min(n, most)
            starts, positions, values = [0], [np.empty(0, np.int32)], [np.empty(0, np.float32)]
            with ProgressBar(f"Reading {path.name}", n_wanted) as bar:
                for number, line in enumerate(file, 2):
                    if len(starts) - 1 == most:
                        break
                    if line.strip():
                        where, what = _entries(path, number, line, dimension)
                        positions.append(where)
                        values.append(what)
                        starts.append(starts[-1] + len(where))
                    bar.advance()
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path} is damaged or cut off: {error}. Copy it again.") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    if len(starts) - 1 != n_wanted:
        raise DataError(f"{path} announces {n} vectors, got {len(starts) - 1}. It may be cut off: copy it again.")
    return sparse.csr_array((np.concatenate(values), np.concatenate(positions), starts), shape=(n_wanted, dimension))


def _entries(path: Path, number: int, line: bytes, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions and values of one line."""
    count, *_ = numbers = _numbers(path, number, line)
    positions, values = numbers[1::2], numbers[2::2]
    if len(positions) != count or len(values) != count:
        raise DataError(f"{path}: line {number} announces {count:g} entries, got {len(values)} pairs.")
    inside = (positions >= 0) & (positions < dimension) & (positions % 1 == 0)
    if not inside.all():
        raise DataError(
            f"{path}: line {number} has position {positions[~inside][0]:g}; they run from 0 to {dimension - 1}."
        )
    if len(np.unique(positions)) < len(positions):
        raise DataError(f"{path}: line {number} gives one position twice.")
    return positions.astype(np.int32), values.astype(np.float32)


def _numbers(path: Path, number: int, line: bytes) -> np.ndarray:
    try:
        return np.array(line.split(), dtype=np.float64)
    except ValueError as error:
        raise DataError(f"{path}: line {number} holds something that is not a number: {error}.") from error


def _read_truth(path: Path, names: list[str], concepts: set[str]) -> list[list[str]]:
    """The concepts of every named picture."""
    rows = [line.split() for line in read_lines(path)]
    truth = {name: found for name, *found in rows}
    unlisted = [name for name in names if name not in truth]
    if unlisted or len(rows) != len(names):
        raise DataError(
            f"{path} must have one line for each of the {len(names)} listed pictures, but has {len(rows)}; "
            f"{len(unlisted)} are missing{f', {unlisted[0]} first' if unlisted else ''}."
        )
    unknown = sorted({concept for found in truth.values() for concept in found} - concepts)
    if unknown:
        raise DataError(f"{path} names concepts that the list of concepts does not have: {', '.join(unknown[:5])}.")
    return [truth[name] for name in names]


def _only_file(folder: Path, name: str) -> Path:
    found = sorted(folder.rglob(name))
    if len(found) != 1:
        held = ", ".join(map(str, found)) or "there is none"
        raise DataError(
            f"{folder} must hold one file {name}, in whichever subfolder, but {held}. Give ImageCLEF's folder."
        )
    return found[0]


MOST_UNLABELLED = 9_000  # pictures of the web: with the development set, the 10,000 of the paper's tables


def open_imageclef(data: Path) -> Collection:
    """The development set, one random half for training and the other for testing, then pictures of the web.

    The latter come from files `*_train_visual_<descriptor>.feat(.gz)`, where every descriptor has one.
    """
    development = read_imageclef(data, "devel")
    order = np.random.default_rng(0).permutation(len(development.names))
    blocks = {name: development.views[name][order].toarray() for name in development.views.names}
    web = feature_files(data, "train")
    if blocks.keys() <= web.keys():
        blocks = {name: np.concatenate([block, _unlabelled(web[name], block)]) for name, block in blocks.items()}
    names = tuple(development.names[i] for i in order)
    return Collection(Views(blocks), development.labels[order], len(order) // 2, development.keywords, names)


def _unlabelled(path: Path, labelled: np.ndarray) -> np.ndarray:
    """The vectors of pictures of the web, by the descriptor that the labelled ones have."""
    found = read_features(path, MOST_UNLABELLED).toarray()
    if found.shape[1] != labelled.shape[1]:
        raise DataError(
            f"{path} has vectors of {found.shape[1]} numbers, but those of the development set have "
            f"{labelled.shape[1]}: they are not of one descriptor. Copy the file again, or take it out of the folder."
        )
    return np.asarray(found)
