"""What kernels allow samples to be, said with the name of the view."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gramless.engine.samples import SampleBlock
from gramless.errors import DataError
from gramless.kernels import Domain
from gramless.network import ViewKernel
from gramless.views.arrays import missing_rows


@dataclass(frozen=True)
class Limits:
    """What the kernels of a view allow its values to be; looked up one by one only where some are not."""

    entries: list[ViewKernel]
    low: float
    size: float
    width: int
    dtype: torch.dtype

    @classmethod
    def of(cls, entries: list[ViewKernel], z: Tensor) -> Limits:
        signed = all(entry.kernel.domain is Domain.REAL for entry in entries)
        size = min(entry.kernel.largest(z.shape[1], z.dtype) for entry in entries)
        return cls(entries, -np.inf if signed else 0.0, size, z.shape[1], z.dtype)

    def check(self, low: float, high: float) -> None:
        if low < self.low or not max(-low, high) <= self.size:
            for entry in self.entries:
                on_view(entry, entry.kernel.check_range, low, high, self.width, self.dtype)


def refuse_what_is_no_number(blocks: Mapping[str, SampleBlock]) -> None:
    """NaN and infinity, which were not there when views were made of the caller's memory."""
    for view, block in blocks.items():
        rows = missing_rows(view, block.x, 0)
        if rows is not None:
            raise DataError(
                f"view {view!r} contains NaN in all columns of row {int(rows.argmax())}, and did not when checked."
            )


def on_view(entry: ViewKernel, evaluate: Callable[..., Any], *arguments: Any) -> Any:
    """What goes wrong on a view is said with its name."""
    try:
        return evaluate(*arguments)
    except DataError as error:
        raise DataError(f"view {entry.view!r}: {error}") from error
