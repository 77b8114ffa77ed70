"""Linear classifiers on the vectors of samples in blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import count

import numpy as np

from gramless.blocks import Block, Blocks
from gramless.heads import Head, LabelCounts, Labels, MarginLoss, NewtonTotals, fit_over_blocks, newton_totals

VectorsOf = Callable[[Block], np.ndarray]
"""The vectors of a block's samples: (n, d)."""


@dataclass(frozen=True, eq=False)
class BlockFit:
    """Fits one linear classifier per label by Newton's method, whose sums are taken over blocks wherever they are.

    labels : of the blocks
    counts : how many samples have each label, of all
    sides : (n_labels, 2), C times the weights of negatives and positives
    budget : bytes for sums
    max_iter : most passes over the data
    """

    loss: MarginLoss
    labels: Labels
    counts: LabelCounts
    sides: np.ndarray
    budget: int
    max_iter: int

    def on_codes(self) -> BlockFit:
        """The same for blocks whose labels are `coded_labels`."""
        return replace(self, labels=Labels(np.arange(len(self.labels.classes)), self.labels.multilabel))

    def __call__(self, blocks: Blocks, vectors_of: VectorsOf, start: Head) -> Head:
        """blocks : labelled samples; start : such as the head of a sample of them"""

        n_passes = count(1)

        def totals(w: np.ndarray, chosen: np.ndarray, reach: np.ndarray) -> NewtonTotals:
            sums = partial(_totals, vectors_of, self.labels, chosen, w, reach, self.loss, self.sides[chosen])
            return blocks.total(sums, f"pass {next(n_passes)}: {len(chosen):,} classifiers on all samples")

        positives = self.counts.positives
        varied = (positives > 0) & (positives < self.counts.n_samples)
        return fit_over_blocks(totals, start, varied, budget=self.budget, max_iter=self.max_iter)


def coded_labels(labels: Labels, block: Block) -> np.ndarray:
    """Labels as numbers, which every file can hold: those of the classes, in order, or the indicator."""
    return (
        np.asarray(block.labels) > 0 if labels.multilabel else np.searchsorted(labels.classes, np.asarray(block.labels))
    )


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
