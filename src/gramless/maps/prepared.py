"""What a map has made of its landmarks, kept from one call to the next: most of the time that one sample would take."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from gramless.deep_kernel import DeepKernel
from gramless.engine import Evaluator, Plan
from gramless.views import Views

FEW = 32  # samples that need no plan: they are one block, unless memory is short


class Ready:
    """The projection where it is used, and what evaluates the kernel against all landmarks, made when first asked for.

    plan : of a few samples
    """

    def __init__(
        self,
        kernel: DeepKernel,
        landmarks: Views,
        dtype: torch.dtype,
        device: torch.device,
        matrix: Tensor,
        plan: Plan,
    ) -> None:
        self.matrix = matrix
        self._kernel, self._landmarks, self._dtype, self._device = kernel, landmarks, dtype, device
        one_tile = plan.columns_per_block == len(landmarks)
        self.n_at_once = plan.rows_per_block if one_tile else 0

    @cached_property
    def evaluator(self) -> Evaluator:
        return self._kernel.evaluator(self._landmarks, self._dtype, self._device)

    def evaluator_for(self, tile: Views) -> Evaluator:
        """That of all landmarks is kept; that of some, where all prepared together would not fit, is not."""
        if len(tile) == len(self._landmarks):
            return self.evaluator
        return self._kernel.evaluator(tile, self._dtype, self._device)


class Prepared:
    """One value by its key; another key replaces it.

    Threads share it without a lock, which a forked child might find locked for ever: two that come first both prepare,
    and either result will do. It does not travel: a copy elsewhere prepares its own.
    """

    def __init__(self) -> None:
        self._kept: tuple[Hashable, Any] | None = None

    def get(self, key: Hashable, prepare: Callable[[], Any]) -> Any:
        kept = self._kept
        if kept is None or kept[0] != key:
            self._kept = kept = key, prepare()
        return kept[1]

    def __reduce__(self) -> tuple[type[Prepared], tuple[()]]:
        return Prepared, ()
