"""A map whose landmarks, and weights if asked, are parameters.

    phi(x) = L^-1 kappa(Z, x),   L L' = kappa(Z, Z) - d I,   d = s lambda_min.

Each landmark has a part of the kernel to itself, which no other sample ever shows, and inverted along with the rest it
makes the map too small on other samples. d takes it out: a share s of the smallest eigenvalue, which is found anew as
the landmarks move. s is a parameter like them, by its log-odds. How much is best depends on the kernel, 0.8 of one that
falls fast and half of one that is nearly flat; with too much of it, landmarks that part make a flat map worse.

Rows of every view move within the domain of its kernels. A view with a kernel of roots is moved by its roots: z^p has
an infinite slope at z = 0 for p < 1, and u = z^p none, nor has any power of z from p up. Where a kernel is defined on
non-negative numbers only, what leaves them is set to zero after every step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from gramless.deep_kernel import DeepKernel
from gramless.engine import RootedBlock, SampleBlock, differentiable_block, differentiable_values, is_movable
from gramless.errors import DataError
from gramless.kernels import Domain
from gramless.maps import CollapsedMap
from gramless.maps.spectrum import project
from gramless.network import Layer, Network
from gramless.support.budget import require
from gramless.support.config import current_budget
from gramless.views import Views

FIRST_SHARE = 0.9  # of the smallest eigenvalue
SMALLEST_JITTER = 1e-6  # of the mean diagonal
ROOM_SHARE = 4  # of the memory budget, for what gradients keep


@dataclass(frozen=True, eq=False)
class Placed:
    """The landmarks of one moment: as columns of kernel values, and L in float64 (N, N)."""

    blocks: dict[str, RootedBlock]
    factor: Tensor


@dataclass(eq=False)
class MovingMap:
    """The parameters of a map, on the device where it computes."""

    kernel: DeepKernel
    landmarks: MovableLandmarks
    log_weights: list[Tensor]
    log_odds: Tensor  # of s
    smallest: float  # eigenvalue, as it was found last; below zero, what must be added
    room: int

    @classmethod
    def of(cls, deep_map: CollapsedMap, device: torch.device, *, with_weights: bool) -> MovingMap:
        kernel, n_landmarks = deep_map.kernel, len(deep_map.landmarks)
        budget = current_budget()
        rows = 4 * sum(kernel.layout[view] for view in kernel.network.views)
        require(
            n_landmarks * (6 * rows + 8 * 6 * n_landmarks),  # the rows, their gradient, Adam's moments, the best yet
            budget // 2,
            what=f"moving {n_landmarks:,} landmarks of {rows // 4:,} numbers",
            remedy="Use fewer landmarks, leave them where they are (tuning=None), or raise memory_budget.",
        )
        logarithms = [layer.weights.log().to(device, torch.float32) for layer in kernel.layers]
        made = cls(
            kernel,
            MovableLandmarks.of(kernel.network, deep_map.landmarks, device),
            [weight.requires_grad_(with_weights) for weight in logarithms],
            torch.tensor(FIRST_SHARE, dtype=torch.float64, device=device).logit().requires_grad_(),
            0.0,
            budget // ROOM_SHARE,
        )
        made.renew_deflation_()
        return made

    @property
    def deflation(self) -> Tensor:
        """d; no share of what must be added."""
        return self.smallest * (self.log_odds.sigmoid() if self.smallest > 0 else torch.ones_like(self.log_odds))

    @torch.no_grad()
    def renew_deflation_(self) -> None:
        """d anew, by where the landmarks are now: two that start almost alike let it be next to nothing, and part."""
        gram = self._gram(self.landmarks.blocks())
        if gram.isfinite().all():
            smallest, jitter = torch.linalg.eigvalsh(gram).min().item(), _jitter(gram)
            self.smallest = smallest if smallest > jitter else -jitter

    def placed(self) -> Placed:
        """The landmarks as they are now. Where they have moved so that d is too much, d is halved."""
        blocks = self.landmarks.blocks()
        return Placed(blocks, self._factor(self._gram(blocks)))

    def _factor(self, gram: Tensor) -> Tensor:
        """L; NaN where the kernel overflows, so that nothing that is judged by it looks good."""
        identity = torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
        if not gram.isfinite().all():
            return torch.full_like(gram, torch.nan)
        jitter = _jitter(gram.detach())
        while True:
            factor, failed = torch.linalg.cholesky_ex(gram - self.deflation * identity)
            if not failed.item():
                return factor
            self.smallest = self.smallest / 2 if self.smallest > jitter else min(-jitter, 2 * self.smallest)

    def features(self, rows: dict[str, SampleBlock], placed: Placed) -> Tensor:
        """phi(x) in float64: (n, N)."""
        responses = self._values(rows, placed.blocks).double()
        return torch.linalg.solve_triangular(placed.factor, responses.T, upper=False).T

    @torch.no_grad()
    def between(self, rows: dict[str, SampleBlock]) -> Tensor:
        """kappa(x, x') of some samples in float64: (n, n)."""
        return self._values(rows, rows).double()

    def blocks_of(self, X: Views) -> dict[str, SampleBlock]:
        """The rows of samples as kernels look at them, which is kept once it is known."""
        views = self.landmarks.views
        return {view: differentiable_block(x, views[view].centre) for view, x in self.rows_of(X).items()}

    def rows_of(self, X: Views) -> dict[str, Tensor]:
        """The rows of samples, dense, on the device."""
        device, width = self.log_weights[0].device, sum(X.layout[view] for view in self.landmarks.views)
        require(
            4 * len(X) * width,
            self.room,
            what=f"{len(X):,} samples of {width:,} numbers, dense, for moving landmarks",
            remedy="Use views with fewer columns, leave landmarks alone (tuning=None), or raise memory_budget.",
        )
        return {view: X.tensor(view, torch.float32, device) for view in self.landmarks.views}

    def near(self, X: Views) -> Views:
        """The samples, dense on the device where half of the room holds them all; otherwise as they are."""
        width = sum(X.layout[view] for view in self.landmarks.views)
        if 4 * len(X) * width > self.room // 2:
            return X
        return X.replaced(self.rows_of(X))

    @property
    def _tensors(self) -> tuple[Tensor, ...]:
        return (*self.landmarks.parameters, *self.log_weights, self.log_odds)

    def state(self) -> tuple[list[Tensor], float]:
        """A copy of all parameters, and the smallest eigenvalue."""
        return [tensor.detach().clone() for tensor in self._tensors], self.smallest

    def restore_(self, state: tuple[list[Tensor], float]) -> None:
        tensors, self.smallest = state
        for mine, kept in zip(self._tensors, tensors, strict=True):
            mine.data.copy_(kept)

    def step_(self, optimizer: torch.optim.Optimizer) -> None:
        """Down the slopes, within the domains of the kernels."""
        self.landmarks.mend_slopes_()
        optimizer.step()
        self.landmarks.clip_()

    def compiled(self, like: CollapsedMap) -> CollapsedMap:
        """The map as it is now; views that no kernel looks at stay as they are."""
        place = like.landmarks.torch_device
        rows = {view: x.to(place or "cpu", like.dtype) for view, x in self.landmarks.rows().items()}
        moved: dict[str, Any] = {view: x.numpy() if place is None else x for view, x in rows.items()}
        landmarks = Views({name: moved.get(name, like.landmarks[name]) for name in like.landmarks.names})
        kernel = self.kernel
        if self.log_weights[0].requires_grad:
            layers = zip(kernel.layers, self.log_weights, strict=True)
            kernel = replace(kernel, layers=tuple(Layer(w.detach().exp(), layer.activation) for layer, w in layers))
        gram = kernel.tensor(landmarks, landmarks, like.dtype).double()
        gram.diagonal().sub_(self.deflation.item())
        n_components = like.n_components if like.projection.n_truncated else None
        return replace(like, kernel=kernel, landmarks=landmarks, projection=project(gram, n_components, like.dtype))

    def _gram(self, blocks: dict[str, RootedBlock]) -> Tensor:
        """kappa(Z, Z) in float64."""
        gram = self._values(None, blocks).double()
        return (gram + gram.T) / 2

    def _values(self, rows: dict[str, SampleBlock] | None, columns: Mapping[str, SampleBlock]) -> Tensor:
        weights = [logarithm.exp() for logarithm in self.log_weights]
        return differentiable_values(self.kernel.network, rows, columns, weights, self.room)


def _jitter(gram: Tensor) -> float:
    """float32 knows no smaller eigenvalue."""
    return SMALLEST_JITTER * gram.diagonal().mean().item()


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

    def mend_slopes_(self) -> None:
        """Zero where all stay, and where a slope is no number: a row of zeros has no angle to be moved by."""
        for view in self.views.values():
            if view.parameters.grad is not None:
                view.parameters.grad.nan_to_num_(0.0, 0.0, 0.0).masked_fill_(view.still, 0.0)

    def clip_(self) -> None:
        """What has left the domain of its kernels comes back."""
        for view in self.views.values():
            if view.nonnegative:
                view.parameters.data.clamp_min_(0.0)
