"""What the fused evaluators compute of every pair of a view: statistics that the kernels of the view share."""

from __future__ import annotations

from typing import NamedTuple

from gramless.kernels import Features, Kernel, Statistic


class PairStatistic(NamedTuple):
    """A statistic of samples, or of what is made of them first.

    Squared distances are not among them: they follow from inner products, which more kernels share.
    """

    statistic: Statistic
    features: Features | None = None  # of the samples, which are compared instead
    centred: bool = False  # whether samples are compared after the mean of the columns is taken away
    kernel: Kernel | None = None  # whose own `pairwise` it is, where it is GIVEN

    @property
    def label(self) -> str:
        if self.features is not None:
            return "inner products of roots" if self.features.factors is None else "scaled, centred inner products"
        return f"centred {self.statistic.value}" if self.centred else self.statistic.value
