"""What a landmark selector is, and the kernel that it is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from gramless.views import Views


class PairwiseKernel(Protocol):
    """A kernel on whole samples, such as a DeepKernel: values between two sets, and its diagonal."""

    def tensor(self, X: Views, Z: Views) -> Tensor: ...

    def diagonal_tensor(self, X: Views) -> Tensor: ...


Selector = Callable[[PairwiseKernel, Views, int, torch.Generator, int], Tensor]
"""selector(kernel, X, n_landmarks, generator, budget) gives n_landmarks distinct row numbers of X."""


def top_up(chosen: Tensor, n_rows: int, n_landmarks: int, generator: torch.Generator) -> Tensor:
    """Fill up with rows drawn uniformly among those not chosen, for data with too few distinct samples."""
    if len(chosen) >= n_landmarks:
        return chosen[:n_landmarks]
    free = torch.ones(n_rows, dtype=torch.bool)
    free[chosen] = False
    unused = free.nonzero()[:, 0]
    drawn = unused[torch.randperm(len(unused), generator=generator)[: n_landmarks - len(chosen)]]
    return torch.cat([chosen, drawn])
