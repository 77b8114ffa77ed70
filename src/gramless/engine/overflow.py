"""Kernel values that are no numbers are refused where they would leave the package."""

from __future__ import annotations

import torch
from torch import Tensor

from gramless.errors import DataError


class Overflow:
    """Watches values that come block by block, on any device, and waits for none of them before the end."""

    def __init__(self) -> None:
        self._extremes: list[Tensor] = []

    def watch(self, values: Tensor) -> None:
        if values.numel():
            self._extremes.append(torch.stack(values.aminmax()))  # NaN if any value is

    def refuse(self) -> None:
        """NaN and infinity, if there were any."""
        if self._extremes and not torch.stack(self._extremes).isfinite().all():
            raise DataError(
                "the network overflows on these samples: its values reach infinity or NaN in "
                f"{self._extremes[0].dtype}. Use kernels normalised to a unit diagonal (normalize=True), smaller gains "
                "or weights, an activation that grows more slowly, or features of smaller values; an activation of "
                "your own must return numbers."
            )


def finite(values: Tensor) -> Tensor:
    """The same values, after one pass over them; NaN and infinity are refused."""
    overflow = Overflow()
    overflow.watch(values)
    overflow.refuse()
    return values
