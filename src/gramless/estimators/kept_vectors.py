"""Vectors of the training samples, kept in a folder while classifiers are fitted on them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gramless.blocks import Block, Blocks, Rows, in_blocks, write_partitions
from gramless.blocks.partitions import read_by_workers
from gramless.blocks.writing import require_same_run
from gramless.errors import DataError
from gramless.estimators.block_heads import BlockFit, coded_labels
from gramless.heads import Head
from gramless.support.atomic import locked

OURS = "gramless-scratch"  # a folder within the caller's, so that no file of theirs is in the way
FILE, PARTS, LABELS = "vectors.npy", "vectors.parquet", "labels.npy"
NAMES = tuple(f"{name}{end}" for name in (FILE, PARTS, LABELS) for end in ("", ".partial"))
VECTORS = "vectors"  # the one view of samples whose vectors are known


@contextmanager
def kept_vectors(vectors: Any, codes: Any, scratch: Path) -> Iterator[Blocks]:
    """Labelled samples by their vectors, which are written into a folder of ours in `scratch` and read in each pass.

    The folder is removed in the end, but stays where work was interrupted: the next time its vectors are not computed
    again, if a few of them show that it is the same run. Labels are, because a few of them would show nothing. While
    the folder is in use, other runs are refused; so is a folder that holds anything else.

    vectors, codes : Rows of samples in blocks, or Dask arrays; then the folder must be one that all workers see
    """
    folder = scratch.absolute() / OURS
    _make(folder)
    with locked(folder):
        if isinstance(vectors, Rows):
            _remove(folder, (LABELS, f"{LABELS}.partial"))
            path = folder / FILE
            complete = path.exists()
            kept = np.load(path if complete else vectors.write(path), mmap_mode="r")
            if complete:
                require_same_run(vectors, len(kept), lambda first, last: kept[first:last], path)
            known = np.load(codes.write(folder / LABELS), mmap_mode="r")
            yield in_blocks({VECTORS: kept}, known)
        else:
            if (folder / PARTS).exists():  # all there: put where a run looks for what it may continue
                os.replace(folder / PARTS, folder / f"{PARTS}.partial")
            path = write_partitions(vectors, folder / PARTS)
            yield in_blocks({VECTORS: read_by_workers(vectors, path)}, codes)
        _remove(folder, NAMES)
        with suppress(OSError):  # somebody has put something into it
            folder.rmdir()


def fit_on_kept_vectors(fit: BlockFit, blocks: Blocks, vectors: Any, start: Head, scratch: Path) -> Head:
    """What `fit` finds on the vectors of labelled samples, which are kept meanwhile."""
    width, kind = (len(fit.labels.classes), np.int8) if fit.labels.multilabel else (None, np.int64)
    codes = blocks.mapped(partial(coded_labels, fit), width, kind, "labels")
    with kept_vectors(vectors, codes, scratch) as kept:
        return fit.on_codes()(kept, known_vectors, start)


def known_vectors(block: Block) -> np.ndarray:
    """Of blocks of kept vectors."""
    return block.views[VECTORS]


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"scratch={folder.parent}: {error.strerror}. Give a folder that can be written to.") from error
    strangers = sorted(entry.name for entry in folder.iterdir() if entry.name not in NAMES)
    if strangers:
        raise DataError(f"{folder} holds {strangers[0]}, which is no work of a fit. Move it, or give another scratch.")


def _remove(folder: Path, names: tuple[str, ...]) -> None:
    for path in (folder / name for name in names):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
