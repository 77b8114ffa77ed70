"""The map that Algorithm 1 makes: a layered DMN with first-layer anchors as sums over samples.

Algorithm 1 moves an anchor of the first layer by multiples of phi_p^c(x), x in S'. So the anchor is always

    a_pi = sum over x in S and S' of D_p[x, i] phi_p^c(x),     D_p = the identity on S, 0 on S' at the start,

and its inner product with phi_p^c(x) is the row (sum_q w_pq k_q(x, S and S')) D_p: no input map is ever written out.
Maps of later layers have few columns, and their anchors are vectors as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from gramless.deep_kernel import DeepKernel
from gramless.engine import choose_device, finite
from gramless.errors import DataError
from gramless.network import Layer
from gramless.support.budget import row_blocks
from gramless.support.checks import check_array
from gramless.support.config import current_budget
from gramless.support.progress import ProgressBar
from gramless.views import Views

UNITS_AT_ONCE = 8  # sums over the elementary kernels for so many units: one pass over memory, and little of it


@dataclass(frozen=True, eq=False)
class Parameters:
    """What Algorithm 1 changes, of P units of a layer, Q of the layer before, N landmarks and r components.

    Units of a layer that keep fewer components than others have columns of zeros.
    """

    coefficients: Tensor  # (P, n_points, N): D_p of the first layer
    projections: list[Tensor]  # per layer, (P, N, r): U_p
    anchors: list[Tensor]  # per layer but the first, (P, Q, N, r): the fragments of phi_p^c(x_i)

    def apply(self, function: Callable[[Tensor], Tensor]) -> Parameters:
        """The same with a function applied to every tensor."""
        projections, anchors = ([function(t) for t in tensors] for tensors in (self.projections, self.anchors))
        return Parameters(function(self.coefficients), projections, anchors)


def first_products(layer: Layer, coefficients: Tensor, elementary: Tensor) -> Tensor:
    """f_p(x, x_i) = <phi_p^c(x), a_pi> of the first layer, a few units at a time: (P, n, N).

    From elementary kernel values against all points (n_kernels, n, n_points), with n_units n_points (n_kernels + N)
    multiply-adds per sample.
    """
    weights = layer.weights.to(elementary)
    units = zip(weights.split(UNITS_AT_ONCE), coefficients.split(UNITS_AT_ONCE), strict=True)
    return torch.cat([torch.tensordot(some, elementary, dims=1) @ their for some, their in units])


def later_products(layer: Layer, anchors: Tensor, maps: Tensor) -> Tensor:
    """f_p(x, x_i) = sum_q sqrt(w_pq) <phi_q(x), fragment q of a_pi> of a later layer: (P, n, N)."""
    roots = layer.weights.sqrt().to(maps)
    units = zip(roots, anchors, strict=True)
    return torch.stack([torch.einsum("qnr,qir->ni", root[:, None, None] * maps, unit) for root, unit in units])


def output_map(kernel: DeepKernel, parameters: Parameters, products: Tensor) -> Tensor:
    """Eqs. 7 and 8 from the first layer's products: the map of the output, (n, r).

    Per sample: n_units N r multiply-adds for every projection, n_units n_inputs N r for every later layer's products.
    """
    maps = products
    for i, (layer, projections) in enumerate(zip(kernel.layers, parameters.projections, strict=True)):
        if i > 0:
            products = later_products(layer, parameters.anchors[i - 1], maps)
        responses = layer.activation(products)
        if layer is kernel.layers[-1]:
            responses = kernel.scale * responses
        maps = responses @ projections
    return maps[0]


@dataclass(frozen=True, eq=False)
class RepresenterMap:
    """phi(x) by `points`, the landmarks first, and the parameters that Algorithm 1 has found.

    Per sample: n_kernels n_points kernel values and n_units n_points (n_kernels + N) multiply-adds in the first layer,
    where the layered map needs n_units N (n_kernels + N): what the tuning set took part in has to be met again.
    """

    kernel: DeepKernel
    points: Views  # the landmarks, then the tuning samples that moved an anchor
    coefficients: Tensor  # as in Parameters, as are the next two
    projections: list[Tensor]
    anchors: list[Tensor]
    clipped_mass: list[list[float]]  # per layer and unit, of the initial network
    dtype: torch.dtype

    def __post_init__(self) -> None:
        self.kernel.check_samples(self.points)
        layers = self.kernel.layers
        if len(self.projections) != len(layers) or len(self.anchors) != len(layers) - 1:
            raise DataError(
                f"a network of {len(layers)} layers has as many projections, and anchors in all but the first, got "
                f"{len(self.projections)} and {len(self.anchors)}."
            )
        check_array("coefficients of anchors", self.coefficients, (layers[0].n_units, len(self.points), None))
        n_landmarks = self.coefficients.shape[2]
        for layer, projections in zip(layers, self.projections, strict=True):
            check_array("the projections of a layer", projections, (layer.n_units, n_landmarks, None))
        for layer, anchors, before in zip(layers[1:], self.anchors, self.projections, strict=False):
            shape = (layer.n_units, layer.n_inputs, n_landmarks, before.shape[2])
            check_array("the anchors of a layer", anchors, shape)

    @property
    def n_components(self) -> int:
        return self.projections[-1].shape[2]

    def transform(self, X: Views) -> Tensor:
        """phi(x): (n, n_components), where the caller's data lies."""
        device, place = choose_device(X), X.torch_device or torch.device("cpu")
        parameters = Parameters(self.coefficients, self.projections, self.anchors)
        parameters = parameters.apply(lambda t: t.to(device=device, dtype=self.dtype))
        blocks = []
        with ProgressBar("representer deep map", len(X)) as progress:
            for rows in row_blocks(len(X), self.row_bytes, current_budget() // 2):
                elementary = self.kernel.elementary(X[rows], self.points, self.dtype, device)
                products = first_products(self.kernel.layers[0], parameters.coefficients, elementary)
                blocks.append(output_map(self.kernel, parameters, products).to(place))
                progress.advance(rows.stop - rows.start)
        return finite(torch.cat(blocks))

    @property
    def row_bytes(self) -> int:
        """Memory per sample while its map is computed: elementary kernels, then every layer's values."""
        layers = sum(len(U) * (2 * U.shape[1] + U.shape[2]) for U in self.projections)
        return self.dtype.itemsize * ((len(self.kernel.inputs) + UNITS_AT_ONCE) * len(self.points) + layers)
