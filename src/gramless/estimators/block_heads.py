"""Linear classifiers on the vectors of samples in blocks."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gramless.blocks import Block, Blocks, Rows, in_blocks
from gramless.heads import Head, LabelCounts, Labels, MarginLoss, NewtonTotals, fit_over_blocks, newton_totals

VECTORS = "vectors"  # the one view of samples whose vectors are known
VectorsOf = Callable[[Block], np.ndarray]
"""The vectors of a block's samples: (n, d)."""


@dataclass(frozen=True, eq=False)
class BlockFit:
    """Fits one linear classifier per label by Newton's method, whose sums are taken over blocks wherever they are.

    labels : of the blocks
    counts : how many samples have each label, of all
    sides : (n_labels, 2), C times the weights of negatives and positives
    budget : bytes for sums
    """

    loss: MarginLoss
    labels: Labels
    counts: LabelCounts
    sides: np.ndarray
    budget: int

    def on_codes(self) -> BlockFit:
        """The same for blocks whose labels are `coded_labels`."""
        return replace(self, labels=Labels(np.arange(len(self.labels.classes)), self.labels.multilabel))

    def __call__(self, blocks: Blocks, vectors_of: VectorsOf, start: Head) -> Head:
        """blocks : labelled samples; start : such as the head of a sample of them"""

        def totals(w: np.ndarray, chosen: np.ndarray, reach: np.ndarray) -> NewtonTotals:
            sums = partial(_totals, vectors_of, self.labels, chosen, w, reach, self.loss, self.sides[chosen])
            return blocks.total(sums, f"{len(chosen):,} classifiers on all samples")

        positives = self.counts.positives
        varied = (positives > 0) & (positives < self.counts.n_samples)
        return fit_over_blocks(totals, start, varied, budget=self.budget)


@contextmanager
def kept_vectors(vectors: Any, codes: Any, folder: Path) -> Iterator[Blocks]:
    """Labelled samples by their vectors, which are written into the folder and read in every pass.

    The files are removed in the end, but stay where work was interrupted, and are continued the next time.
    vectors, codes : Rows of samples in blocks, or Dask arrays; then the folder must be one that all workers see
    """
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(vectors, Rows):
        paths = [vectors.write(folder / "vectors.npy"), codes.write(folder / "labels.npy")]
        kept, known = (np.load(path, mmap_mode="r") for path in paths)
        yield in_blocks({VECTORS: kept}, known)
    else:
        paths = [folder / "vectors.zarr"]
        yield in_blocks({VECTORS: _through_zarr(vectors, paths[0])}, codes)
    for path in paths:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def known_vectors(block: Block) -> np.ndarray:
    """Of blocks of kept vectors."""
    return block.views[VECTORS]


def coded_labels(labels: Labels, block: Block) -> np.ndarray:
    """Labels as numbers, which every file can hold: those of the classes, in order, or the indicator."""
    return (
        np.asarray(block.labels) > 0 if labels.multilabel else np.searchsorted(labels.classes, np.asarray(block.labels))
    )


def _through_zarr(array: Any, path: Path) -> Any:
    import dask.array

    array.to_zarr(str(path), overwrite=True)
    return dask.array.from_zarr(str(path), chunks=array.chunks)


def _totals(
    vectors_of: VectorsOf,
    labels: Labels,
    chosen: np.ndarray,
    w: np.ndarray,
    reach: np.ndarray,
    loss: MarginLoss,
    sides: np.ndarray,
    block: Block,
) -> NewtonTotals:
    return newton_totals(vectors_of(block), labels.signs(block.labels)[:, chosen], w, reach, loss, sides)
