"""Landmarks as parameters: rows of every view that gradients may move, each within the domain of its kernels.

A view with a kernel of roots is moved by its roots: z^p has an infinite slope at z = 0 for p < 1, and u = z^p none, nor
has any power of z from p up. Where a kernel is defined on non-negative numbers only, what leaves them is set to zero
after every step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gramless.engine import RootedBlock, is_movable
from gramless.errors import DataError
from gramless.kernels import Domain
from gramless.network import Network
from gramless.views import Views


@dataclass(frozen=True, eq=False)
class MovableView:
    """One view's landmarks z as z^power = units * parameters: (N, d).

    A step means the same in all columns. One that is the same in all landmarks has no spread to measure a step by and
    stays: most bins of a large histogram are empty in a few hundred samples, and steps of 1 would fill them.
    """

    parameters: Tensor
    units: Tensor  # (d,): the spread of each column, 1 where there is none
    still: Tensor  # (d,): where there is none
    power: float
    centre: Tensor  # (d,): of the landmarks as they were
    nonnegative: bool

    @classmethod
    def of(cls, network: Network, view: str, rows: Tensor) -> MovableView:
        kernels = [entry.kernel for entry in network.inputs if entry.view == view]
        features = [kernel.formula.features for kernel in kernels]
        power = 1.0 / max(each.root if each is not None else 1 for each in features)
        nonnegative = any(kernel.domain is Domain.NONNEGATIVE for kernel in kernels)
        roots = rows.pow(power) if power < 1 else rows
        spread = roots.std(0, correction=0)
        still = (roots.amin(0) == roots.amax(0)) | (spread == 0)
        units = torch.where(still, 1.0, spread)
        return cls((roots / units).requires_grad_(), units, still, power, rows.mean(0), nonnegative)

    def block(self) -> RootedBlock:
        return RootedBlock.of(self.units * self.parameters, self.power, self.centre)

    def clip_(self) -> None:
        if self.nonnegative:
            self.parameters.data.clamp_min_(0.0)


@dataclass(frozen=True, eq=False)
class MovableLandmarks:
    """The landmarks of a map, view by view."""

    views: dict[str, MovableView]

    @classmethod
    def of(cls, network: Network, landmarks: Views, device: torch.device) -> MovableLandmarks:
        """A copy of the landmarks on the device; an error where a kernel has no slope to move them by."""
        fixed = [entry for entry in network.inputs if not is_movable(entry.kernel)]
        if fixed:
            raise DataError(
                f"the {fixed[0].kernel.name} kernel on view {fixed[0].view!r} has no gradient, so landmarks cannot be "
                "moved: leave them where they are (tuning=None), or choose other kernels."
            )
        rows = {view: landmarks.tensor(view, torch.float32, device) for view in network.views}
        return cls({view: MovableView.of(network, view, x) for view, x in rows.items()})

    @property
    def parameters(self) -> list[Tensor]:
        return [view.parameters for view in self.views.values()]

    def blocks(self) -> dict[str, RootedBlock]:
        return {name: view.block() for name, view in self.views.items()}

    def rows(self) -> dict[str, Tensor]:
        """The landmarks as they are now, without a gradient."""
        return {name: block.x.detach().clone() for name, block in self.blocks().items()}

    def state(self) -> list[Tensor]:
        return [view.parameters.detach().clone() for view in self.views.values()]

    def restore_(self, state: Sequence[Tensor]) -> None:
        for view, parameters in zip(self.views.values(), state, strict=True):
            view.parameters.data.copy_(parameters)

    def mend_slopes_(self) -> None:
        """Zero where all stay, and where a slope is no number: a row of zeros has no angle to be moved by."""
        for view in self.views.values():
            if view.parameters.grad is not None:
                view.parameters.grad.nan_to_num_(0.0, 0.0, 0.0).masked_fill_(view.still, 0.0)

    def clip_(self) -> None:
        for view in self.views.values():
            view.clip_()
