"""The three sub-layers into which a DMN unfolds each layer of a DKN (section 3.3 of the paper)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn

from gramless.maps.explicit import inner
from gramless.maps.explicit.unary import UnaryCodes
from gramless.network import Activation


@dataclass(frozen=True, eq=False)
class Concatenation:
    """phi_p^c = (sqrt(w_p1) phi_1, ..., sqrt(w_pn) phi_n) of every unit p (Eq. 8), without writing it out.

    The units share the phi_q and differ in weights only, so the n_units concatenations are kept as one list of maps
    and one matrix of weights; `unit(p)` writes one out.
    """

    maps: Sequence[Any]  # n_inputs of (n, columns), or codes that `inner` takes
    roots: Tensor  # (n_units, n_inputs): sqrt(w_pq)

    def unit(self, p: int) -> Tensor:
        return torch.cat([root * phi for root, phi in zip(self.roots[p], self.maps, strict=True)], dim=1)

    def inner(self, other: Sequence[Any]) -> Tensor:
        """<phi_p^c(x), phi_p^c(x_i)> = sum_q w_pq <phi_q(x), phi_q(x_i)> for every p (Eq. 9): (n_units, n, N)."""
        products = torch.stack([inner(phi, anchor) for phi, anchor in zip(self.maps, other, strict=True)])
        weights = self.roots.square()
        return (weights @ products.flatten(1)).reshape(len(weights), *products.shape[1:])


class Concatenate(nn.Module):
    """Sub-layer 1: weight the maps of the layer before by sqrt(w_pq) and put them side by side (Eq. 8)."""

    roots: Tensor

    def __init__(self, roots: Tensor) -> None:
        super().__init__()
        self.register_buffer("roots", roots)

    def forward(self, maps: Sequence[Any]) -> Concatenation:
        return Concatenation(maps, self.roots)


class Respond(nn.Module):
    """Sub-layer 2: inner products with the landmarks' own concatenations, then the activation (inside Eq. 7)."""

    def __init__(self, anchors: Sequence[Tensor | UnaryCodes], activation: Activation) -> None:
        super().__init__()
        self.anchors: list[Any] = list(anchors)
        self.activation = activation

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        self.anchors = [fn(a) if isinstance(a, Tensor) else a.apply(fn) for a in self.anchors]
        return super()._apply(fn, recurse)

    def forward(self, concatenation: Concatenation) -> Tensor:
        return self.activation.apply_(concatenation.inner(self.anchors))  # (n_units, n, N)


class Project(nn.Module):
    """Sub-layer 3: the responses of unit p times U_p (Eq. 7); units may keep different numbers of components."""

    def __init__(self, projections: Sequence[Tensor]) -> None:
        super().__init__()
        self.projections = list(projections)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        self.projections = [fn(U) for U in self.projections]
        return super()._apply(fn, recurse)

    def forward(self, responses: Tensor) -> list[Tensor]:
        return [response @ U for response, U in zip(responses, self.projections, strict=True)]


class MapLayer(nn.Module):
    """One layer of the DKN as its three sub-layers in the DMN."""

    def __init__(self, concatenate: Concatenate, respond: Respond, project: Project) -> None:
        super().__init__()
        self.concatenate = concatenate
        self.respond = respond
        self.project = project

    def forward(self, maps: Sequence[Any]) -> list[Tensor]:
        return self.project(self.respond(self.concatenate(maps)))
