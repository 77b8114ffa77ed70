"""Rows of all elementary kernels against the points of a representer map, kept if there is room."""

from __future__ import annotations

import torch
from torch import Tensor

from gramless.deep_kernel import DeepKernel
from gramless.support.budget import row_blocks
from gramless.support.progress import ProgressBar
from gramless.views import Views

BLOCK_BYTES = 64 << 20


class ElementaryRows:
    """k_q(x, points) of chosen samples: (n_kernels, n, n_points).

    Computed once for all samples if that takes no more than `room` bytes, and whenever asked for otherwise.
    """

    def __init__(
        self, kernel: DeepKernel, samples: Views, points: Views, dtype: torch.dtype, device: torch.device, room: int
    ) -> None:
        self._kernel, self._samples, self._points = kernel, samples, points
        self._dtype, self._device = dtype, device
        self._kept: Tensor | None = None
        per_row = dtype.itemsize * len(kernel.inputs) * len(points)
        if per_row * len(samples) <= room:
            kept = torch.empty(len(kernel.inputs), len(samples), len(points), dtype=dtype, device=device)
            with ProgressBar("elementary kernels of the tuning set", len(samples)) as progress:
                for rows in row_blocks(len(samples), per_row, BLOCK_BYTES):
                    kept[:, rows] = kernel.elementary(samples[rows], points, dtype, device)
                    progress.advance(rows.stop - rows.start)
            self._kept = kept

    def __call__(self, rows: Tensor) -> Tensor:
        if self._kept is not None:
            return self._kept[:, rows.to(self._device)]
        return self._kernel.elementary(self._samples[rows], self._points, self._dtype, self._device)
