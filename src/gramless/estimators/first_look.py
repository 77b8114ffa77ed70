"""What one pass over data in blocks tells: a sample to fit on, the labels there are, and where numbers are negative."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from gramless.blocks import Block, Blocks, Sample, draw
from gramless.deep_kernel import DeepKernel
from gramless.errors import DataError
from gramless.estimators.numbers import block_numbers
from gramless.estimators.unlabelled import labelled_rows
from gramless.heads import LabelCounts
from gramless.learning import Learning
from gramless.views.arrays import lowest

OF_EACH_LABEL = 5  # samples at least, if there are as many


@dataclass(frozen=True, eq=False)
class FirstLook:
    """negative : per view that has any, the number of a row with a negative number, and that number"""

    sample: Sample
    labels: LabelCounts | None
    negative: dict[str, tuple[int, float]]

    def __add__(self, other: FirstLook) -> FirstLook:
        labels = None if self.labels is None or other.labels is None else self.labels + other.labels
        return FirstLook(self.sample + other.sample, labels, other.negative | self.negative)


def first_look(
    blocks: Blocks, size: int, seed: int, learning: Learning | None = None, *, numbers: bool = False
) -> FirstLook:
    """One pass, which also finds the blocks that cannot be used; the sample has that size, and some of each label.

    learning : whether there may be samples without a label, which are not counted
    numbers : whether targets are numbers: then the sample is a plain one, and there are no counts of labels
    """
    drawing = draw(size, seed, blocks.n_samples, 0 if numbers else OF_EACH_LABEL)
    look = blocks.total(partial(_look, drawing, learning, numbers), "looking at all samples")
    return replace(look, sample=look.sample.sorted())


def check_domains(kernel: DeepKernel, look: FirstLook) -> None:
    """Whether all samples, not only those of the sample, are what the elementary kernels are defined for."""
    for entry in kernel.inputs:
        if entry.view in look.negative:
            row, number = look.negative[entry.view]
            try:
                entry.kernel.domain.check(number, entry.kernel.name)
            except DataError as error:
                raise DataError(f"view {entry.view!r}, row {row:,}: {error}") from error


def _look(drawing: Callable[[Block], Sample], learning: Learning | None, numbers: bool, block: Block) -> FirstLook:
    if numbers:
        block_numbers(block)
    known = None if block.labels is None or numbers else block.labels[labelled_rows(block.labels, learning)]
    labels = None if known is None else LabelCounts.of(known)
    found = {name: _first_negative(block, name) for name in block.views.names}
    return FirstLook(drawing(block), labels, {name: place for name, place in found.items() if place is not None})


def _first_negative(block: Block, name: str) -> tuple[int, float] | None:
    if lowest(block.views[name]) >= 0:
        return None
    least = block.views.tensor(name, block.views.dtype).amin(1)
    rows = (least < 0).nonzero()
    if not len(rows):  # but samples that lack the view
        return None
    row = int(rows[0, 0])
    return block.start + row, least[row].item()
