"""Linear classifiers on the vectors of samples in blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import count

import numpy as np
import torch
from torch import Tensor

from gramless.blocks import Block, Blocks
from gramless.engine import choose_device
from gramless.estimators.unlabelled import MARK, labelled_rows
from gramless.heads import Head, LabelCounts, Labels, MarginLoss, NewtonTotals, fit_over_blocks, newton_totals
from gramless.learning import Learning

MOST_PASSES = 10_000  # over the data; a handful is what it takes, hundreds a hard margin

VectorsOf = Callable[[Block], np.ndarray | Tensor]
"""The vectors of a block's samples: (n, d)."""


@dataclass(frozen=True, eq=False)
class BlockFit:
    """Fits one linear classifier per label by Newton's method, whose sums are taken over blocks wherever they are.

    loss : of a margin
    labels : of the blocks
    learning : whether there may be samples without a label, which are left out
    counts : how many samples have each label, of all
    sides : (n_labels, 2), C times the weights of negatives and positives
    budget : bytes for sums
    """

    loss: MarginLoss
    labels: Labels
    learning: Learning | None
    counts: LabelCounts
    sides: np.ndarray
    budget: int

    def on_codes(self) -> BlockFit:
        """The same for blocks whose labels are `coded_labels`."""
        return replace(self, labels=Labels(np.arange(len(self.labels.classes)), self.labels.multilabel))

    def __call__(self, blocks: Blocks, vectors_of: VectorsOf, start: Head) -> Head:
        """blocks : labelled samples; start : such as the head of a sample of them"""

        n_passes = count(1)

        def totals(w: np.ndarray, chosen: np.ndarray, reach: np.ndarray) -> NewtonTotals:
            sums = partial(_totals, vectors_of, self, chosen, w, reach)
            return blocks.total(sums, f"pass {next(n_passes)}: {len(chosen):,} classifiers on all samples")

        positives = self.counts.positives
        varied = (positives > 0) & (positives < self.counts.n_samples)
        return fit_over_blocks(totals, start, varied, budget=self.budget, max_iter=MOST_PASSES)


def coded_labels(fit: BlockFit, block: Block) -> np.ndarray:
    """Labels as numbers, which every file can hold: those of the classes, in order, or the indicator; -1 for none."""
    labels = np.asarray(block.labels)
    labelled = labelled_rows(labels, fit.learning)
    if fit.labels.multilabel:
        return np.where(labelled[:, None], labels > 0, MARK).astype(np.int8)
    return np.where(labelled, np.searchsorted(fit.labels.classes, labels), MARK)


def _totals(
    vectors_of: VectorsOf, fit: BlockFit, chosen: np.ndarray, w: np.ndarray, reach: np.ndarray, block: Block
) -> NewtonTotals:
    labels = np.asarray(block.labels)
    labelled = labelled_rows(labels, fit.learning)
    signs = fit.labels.signs(labels[labelled])[:, chosen]
    vectors = vectors_of(block)
    if not isinstance(vectors, Tensor):
        vectors = torch.from_numpy(np.require(vectors, requirements=["C", "W"]))
    vectors = vectors.to(choose_device())
    if not labelled.all():
        vectors = vectors[torch.from_numpy(labelled).to(vectors.device)]
    return newton_totals(vectors, signs, w, reach, fit.loss, fit.sides[chosen])
