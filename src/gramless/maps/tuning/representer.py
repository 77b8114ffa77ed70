"""The layered DMN with first-layer anchors as sums over samples, so that no input map is ever written out.

Algorithm 1 moves an anchor of the first layer by multiples of phi_p^c(x), x in S'. So the anchor is always

    a_pi = sum over x in S and S' of D_p[x, i] phi_p^c(x),     D_p = the identity on S, 0 on S' at the start,

and its inner product with phi_p^c(x) is the row (sum_q w_pq k_q(x, S and S')) D_p. Maps of later layers have few
columns, and their anchors are vectors as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gramless.deep_kernel import DeepKernel
from gramless.maps.tuning import backprop
from gramless.network import Layer

UNITS_AT_ONCE = 8  # sums over the elementary kernels for so many units: one pass over memory, and little of it


@dataclass(frozen=True, eq=False)
class Parameters:
    """What Algorithm 1 changes. Units of a layer that keep fewer components than others have columns of zeros."""

    coefficients: Tensor  # (P, n_points, N): D_p of the first layer
    projections: list[Tensor]  # per layer, (P, N, r): U_p
    anchors: list[Tensor]  # per layer but the first, (P, Q, N, r): the fragments of phi_p^c(x_i)

    def apply(self, function: Callable[[Tensor], Tensor]) -> Parameters:
        """The same with a function applied to every tensor."""
        projections, anchors = ([function(t) for t in tensors] for tensors in (self.projections, self.anchors))
        return Parameters(function(self.coefficients), projections, anchors)

    def descend_(self, gradients: Parameters, rows: Tensor, step: float) -> None:
        """One step down; row j of the gradient of the coefficients belongs to point rows[j]."""
        for mine, gradient in zip(self.coefficients, gradients.coefficients, strict=True):
            mine.index_add_(0, rows, gradient, alpha=-step)  # by units: along the first axis it is ten times faster
        for mine, gradient in zip(
            [*self.projections, *self.anchors], [*gradients.projections, *gradients.anchors], strict=True
        ):
            mine.sub_(gradient, alpha=step)


@dataclass(frozen=True, eq=False)
class LayerTrace:
    """One layer's values for a batch."""

    preactivations: Tensor  # (P, n, N): f_p(x, x_i)
    responses: Tensor  # (P, n, N): kappa_p(x, x_i)
    maps: Tensor  # (P, n, r): phi_p(x)


def forward(kernel: DeepKernel, parameters: Parameters, elementary: Tensor) -> list[LayerTrace]:
    """Eqs. 7 and 8 layer by layer, from elementary kernel values against all points (n_kernels, n, n_points).

    Per sample: n_units n_points (n_kernels + N) multiply-adds in the first layer, n_units N r for every projection,
    n_units n_inputs N r for every later layer's inner products.
    """
    traces: list[LayerTrace] = []
    for i, (layer, projections) in enumerate(zip(kernel.layers, parameters.projections, strict=True)):
        if i == 0:
            preactivations = representer_products(layer, parameters.coefficients, elementary)
        else:
            preactivations = anchor_products(layer, parameters.anchors[i - 1], traces[-1].maps)
        responses = layer.activation(preactivations)
        if layer is kernel.layers[-1]:
            responses = kernel.scale * responses
        traces.append(LayerTrace(preactivations, responses, responses @ projections))
    return traces


def representer_products(layer: Layer, coefficients: Tensor, elementary: Tensor) -> Tensor:
    """f_p(x, x_i) = <phi_p^c(x), a_pi> of the first layer, a few units at a time: (P, n, N)."""
    weights = layer.weights.to(elementary)
    units = zip(weights.split(UNITS_AT_ONCE), coefficients.split(UNITS_AT_ONCE), strict=True)
    return torch.cat([torch.tensordot(some, elementary, dims=1) @ their for some, their in units])


def anchor_products(layer: Layer, anchors: Tensor, maps: Tensor) -> Tensor:
    """f_p(x, x_i) = sum_q sqrt(w_pq) <phi_q(x), fragment q of a_pi> of a later layer: (P, n, N)."""
    roots = layer.weights.sqrt().to(maps)
    units = zip(roots, anchors, strict=True)
    return torch.stack([torch.einsum("qnr,qir->ni", root[:, None, None] * maps, unit) for root, unit in units])


def backward(kernel: DeepKernel, parameters: Parameters, traces: Sequence[LayerTrace], of_maps: Tensor) -> Parameters:
    """Gradients of all parameters from dE/dphi (n, r) of the output map, by Eqs. 15 to 20 from the last layer down.

    `coefficients` of the result has a row per sample of the batch, (P, n, N), instead of one per point.
    """
    gradient = of_maps[None]  # (1, n, r)
    projections: list[Tensor] = []
    anchors: list[Tensor] = []
    for i in range(len(kernel.layers) - 1, -1, -1):
        layer, trace = kernel.layers[i], traces[i]
        slope = backprop.slopes(layer.activation, trace.preactivations)
        if i == len(kernel.layers) - 1:
            slope = slope * kernel.scale
        projections.insert(0, backprop.projection_gradient(trace.responses, gradient))
        of_responses = backprop.response_gradient(gradient, parameters.projections[i])
        of_preactivations = backprop.preactivation_gradient(of_responses, slope)
        if i == 0:
            return Parameters(of_preactivations, projections, anchors)
        roots = layer.weights.sqrt().to(gradient)
        anchors.insert(0, backprop.anchor_gradient(of_preactivations, traces[i - 1].maps, roots))
        of_concatenations = backprop.concatenation_gradient(of_preactivations, parameters.anchors[i - 1])
        gradient = backprop.input_gradient(of_concatenations, roots)
    raise AssertionError("a network has at least one layer")
