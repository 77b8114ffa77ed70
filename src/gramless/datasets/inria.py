"""INRIA's files of fifteen features for COREL5k, ESP Game and IAPR TC-12 (Guillaumin et al. 2009)."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np

from gramless.datasets.annotated import AnnotatedViews
from gramless.datasets.text_files import read_lines
from gramless.errors import DataError
from gramless.views import Views

_TYPES = {".hvecs": ("<u2", "<u2"), ".hvecs32": ("<u4", "<u4"), ".fvec": ("<i4", "<f4")}
"""Suffixes, and the types of a row's dimension and of its values."""

_DICTIONARY = "_dictionary.txt"


def read_inria(folder: Path, part: Literal["train", "test"]) -> AnnotatedViews:
    """One part of a data set in INRIA's own files: every feature that is there becomes a view of its file's name.

    Read are, for one prefix such as "corel5k", `<prefix>_dictionary.txt` (a keyword per line: the columns),
    `<prefix>_<part>_list.txt` (a picture per line: the rows), `<prefix>_<part>_annot.hvecs` (0/1) and
    `<prefix>_<part>_<feature>` with the suffix .hvecs, .hvecs32 or .fvec. Views are float32.
    """
    prefix = _prefix(folder)
    keywords = read_lines(folder / f"{prefix}{_DICTIONARY}")
    names = read_lines(folder / f"{prefix}_{part}_list.txt")
    start = f"{prefix}_{part}_"
    files = {path.stem.removeprefix(start): path for path in sorted(folder.glob(f"{start}*")) if path.suffix in _TYPES}
    annotations = files.pop("annot", None)
    if annotations is None or not files:
        lacking = f"{start}annot.hvecs" if annotations is None else f"files {start}<feature> ({', '.join(_TYPES)})"
        raise DataError(f"{folder} has no {lacking}. Give the folder with INRIA's files.")
    labels = read_vectors(annotations)
    if labels.shape != (len(names), len(keywords)) or not np.isin(labels, (0, 1)).all():
        raise DataError(
            f"{annotations} must hold 0 and 1 for {len(names)} pictures and {len(keywords)} keywords, as list and "
            f"dictionary say, but numbers of shape {labels.shape} up to {labels.max()} came."
        )
    views = {}
    for feature, path in files.items():
        vectors = read_vectors(path)
        if len(vectors) != len(names):
            raise DataError(f"{path} describes {len(vectors)} pictures, but the list names {len(names)}.")
        views[feature] = vectors.astype(np.float32, copy=False)
    return AnnotatedViews(Views(views), tuple(names), tuple(keywords), labels.astype(np.int8))


def read_vectors(path: Path) -> np.ndarray:
    """The rows (n, dimension) of a .hvecs (uint16), .hvecs32 (uint32) or .fvec (float32) file.

    Every row begins with its dimension (uint16, uint32, int32); all have the same one; all is little-endian.
    """
    if path.suffix not in _TYPES:
        raise DataError(f"{path} is not one of {', '.join(_TYPES)}: its suffix says how to read it.")
    counts, values = (np.dtype(kind) for kind in _TYPES[path.suffix])
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    if len(raw) < counts.itemsize:
        raise DataError(f"{path} is empty: it holds no vector. Copy it again.")
    dimension = int(np.frombuffer(raw, counts, count=1)[0])
    if dimension < 1:
        raise DataError(f"{path} says that its vectors have {dimension} dimensions: it is damaged or of another kind.")
    n_whole, rest = divmod(len(raw), counts.itemsize + dimension * values.itemsize)
    if n_whole == 0:
        raise DataError(f"{path} is cut off: its first row has {dimension} dimensions, but {len(raw)} bytes came.")
    row_type = np.dtype([("dimension", counts), ("values", values, (dimension,))])
    rows = np.frombuffer(raw, row_type, count=n_whole)
    other = np.flatnonzero(rows["dimension"] != dimension)
    if len(other):
        raise DataError(
            f"{path} mixes dimensions: row 0 has {dimension}, row {other[0]} says {rows['dimension'][other[0]]}. "
            "It is damaged, or of another kind than its suffix says."
        )
    if rest:
        raise DataError(f"{path} is cut off: {rest} bytes follow the last whole row, {n_whole - 1}. Copy it again.")
    return np.ascontiguousarray(rows["values"])


def _prefix(folder: Path) -> str:
    found = sorted(folder.glob(f"*{_DICTIONARY}"))
    if len(found) != 1:
        came = ", ".join(path.name for path in found) or "there is none"
        raise DataError(f"{folder} must hold one file *{_DICTIONARY}, but {came}. Give the folder with INRIA's files.")
    return found[0].name.removesuffix(_DICTIONARY)
