"""Data that is too large for memory: blocks of samples, of which a few are held at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from gramless.blocks.block import Block
from gramless.blocks.sampling import Sample, draw
from gramless.views import Layout


class Addable(Protocol):
    """What adds up over blocks."""

    def __add__(self, other: Any, /) -> Any: ...


Statistic = TypeVar("Statistic", bound=Addable)


class Blocks(ABC):
    """Samples in blocks, here or on many machines: each pass over them reads everything once.

    Whatever is computed from them is either one array row per sample (`mapped`) or something that adds up over blocks
    (`total`); both take a function of one block, which runs where the block is. The functions must be pure, because a
    block may be computed twice, and picklable, because it may be computed elsewhere.
    """

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """View names and their widths."""

    @property
    @abstractmethod
    def n_samples(self) -> int | None:
        """How many samples there are; None where only a pass can tell."""

    @property
    @abstractmethod
    def has_labels(self) -> bool:
        """Whether labels come with the samples."""

    @abstractmethod
    def with_labels(self, labels: Any) -> Blocks:
        """The same samples with these labels: one row for each sample."""

    @abstractmethod
    def match(self, layout: Layout) -> Self:
        """The views that a fitted network knows, in its order; an error that names what is missing or too wide."""

    @abstractmethod
    def total(self, function: Callable[[Block], Statistic], what: str) -> Statistic:
        """The sum of function(block) over all blocks. what : what is done, for the progress bar"""

    @abstractmethod
    def mapped(self, function: Callable[[Block], np.ndarray], width: int | None, dtype: Any, what: str) -> Any:
        """function(block), one row per sample, of all blocks, computed when it is asked for.

        width : columns of the result, None where it has one number per sample
        """

    def sample(self, size: int, seed: int) -> Sample:
        """So many samples drawn at random without replacement, in one pass; all, where there are no more.

        The draw depends on the seed and on the data's row numbers alone: however the data is cut into blocks, and
        wherever they are, it is the same.
        """
        return self.total(draw(size, seed, self.n_samples), "drawing a sample").sorted()
