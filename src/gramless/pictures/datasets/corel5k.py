"""COREL5k (Duygulu, Barnard, de Freitas, Forsyth 2002): 5,000 pictures, 260 keywords, the split that papers use."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from scipy.io import loadmat

from gramless.errors import DataError
from gramless.pictures.datasets.annotated import AnnotatedPictures
from gramless.pictures.datasets.keyword_files import read_lines
from gramless.support.pages import Problem

Part = Literal["train", "test"]

_WORDS = "corel5k_words.txt"
_PICTURES = "images"


def is_corel5k(folder: Path) -> bool:
    """Whether the folder holds COREL5k: its words, its lists and its pictures."""
    return not _missing(folder, "train") and not _missing(folder, "test")


def read_corel5k(folder: Path, part: Part) -> AnnotatedPictures:
    """The training part (4,500 pictures) or the test part (499) of COREL5k, in the order of its list.

    Read are `images/<cd>/<id>.jpeg`, `corel5k_words.txt` (one keyword per line: the columns), `corel5k_<part>_list.txt`
    (one `<cd>/<id>` per line: the rows) and `corel5k_<part>_annot.mat` (one 0/1 matrix). Training pictures without any
    keyword belong to the split that papers report on, so they stay, and `problems` lists them.
    """
    missing = _missing(folder, part)
    if missing:
        raise DataError(f"{folder} is not COREL5k: {', '.join(missing)} missing. Give the folder that they are in.")
    keywords = read_lines(folder / _WORDS)
    names = [f"{line}.jpeg" for line in read_lines(folder / _list(part))]
    labels = _read_matrix(folder / _annotations(part), (len(names), len(keywords)))
    paths = [folder / _PICTURES / name for name in names]
    absent = [name for name, path in zip(names, paths, strict=True) if not path.is_file()]
    if absent:
        raise DataError(
            f"{len(absent)} of {len(names)} pictures are missing in {folder / _PICTURES}, {absent[0]} first. "
            "Copy the whole folder of pictures."
        )
    empty = np.flatnonzero(~labels.any(axis=1))
    problems = tuple(Problem(names[i], "has no keywords: kept, for it belongs to the split") for i in empty)
    return AnnotatedPictures(tuple(paths), tuple(names), tuple(keywords), labels, problems)


def _list(part: Part) -> str:
    return f"corel5k_{part}_list.txt"


def _annotations(part: Part) -> str:
    return f"corel5k_{part}_annot.mat"


def _missing(folder: Path, part: Part) -> list[str]:
    return [name for name in (_PICTURES, _WORDS, _list(part), _annotations(part)) if not (folder / name).exists()]


def _read_matrix(path: Path, shape: tuple[int, int]) -> np.ndarray:
    """The one matrix of a MATLAB file: 0/1, one row per picture of the list and one column per word."""
    try:
        matrices = [value for name, value in loadmat(path).items() if not name.startswith("__")]
    except Exception as error:  # loadmat raises whatever a damaged file makes it stumble over
        raise DataError(f"{path} cannot be read as a MATLAB file: {error}. Copy it again.") from error
    if len(matrices) != 1 or matrices[0].shape != shape:
        found = ", ".join(str(matrix.shape) for matrix in matrices) or "none"
        raise DataError(f"{path} must hold one matrix of shape {shape}, pictures by words, got {found}.")
    if not np.isin(matrices[0], (0, 1)).all():
        raise DataError(f"{path} must hold 0 and 1 only, got other numbers.")
    return matrices[0].astype(np.int8)
