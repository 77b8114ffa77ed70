"""Kernel values that are no numbers are refused where they would leave the package."""

from __future__ import annotations

from math import isfinite

import torch
from torch import Tensor

from gramless.errors import DataError


def finite(values: Tensor) -> Tensor:
    """The same values, after one pass over them; NaN and infinity are refused."""
    if values.numel():
        low, high = torch.stack(values.aminmax()).tolist()  # NaN if any value is
        if not (isfinite(low) and isfinite(high)):
            raise DataError(
                f"the network overflows on these samples: its values reach infinity or NaN in {values.dtype}. Use "
                "kernels normalised to a unit diagonal (normalize=True), smaller gains or weights, an activation that "
                "grows more slowly, or features of smaller values; an activation of your own must return numbers."
            )
    return values
