"""Kernel values that are no numbers are refused where they would leave the package."""

from __future__ import annotations

from math import isfinite

import torch
from torch import Tensor

from gramless.errors import DataError

FEW = 4_096  # values whose sum is looked at first, by NumPy: PyTorch would let go of Python's lock for it


def finite(values: Tensor) -> Tensor:
    """The same values, after one pass over them; NaN and infinity are refused."""
    if values.numel() and not (values.numel() <= FEW and values.is_cpu and isfinite(values.numpy().sum())):
        _refuse(torch.stack(values.aminmax()))  # NaN if any value is
    return values


class Overflow:
    """The same for values that come block by block, on any device: none of them is waited for before the end."""

    def __init__(self) -> None:
        self._extremes: list[Tensor] = []

    def watch(self, values: Tensor) -> None:
        self._extremes += values.aminmax()

    def refuse(self) -> None:
        _refuse(torch.stack(self._extremes))


def _refuse(extremes: Tensor) -> None:
    if not all(isfinite(value) for value in extremes.tolist()):
        raise DataError(
            f"the network overflows on these samples: its values reach infinity or NaN in {extremes.dtype}. Use "
            "kernels normalised to a unit diagonal (normalize=True), smaller gains or weights, an activation that "
            "grows more slowly, or features of smaller values; an activation of your own must return numbers."
        )
