"""Equations 14 to 20: the error of a batch of pairs on its way back through the sub-layers.

The error, Eq. 13, is E = 1/2 sum (<phi(x), phi(x')> - kappa(x, x'))^2 over the pairs.

All units of a layer at once, all samples of a batch at once. Shapes: P units of a layer, Q units of the layer before,
n samples, N landmarks, r components. Where the paper writes the gradient of one sample, parameters get the sum over
the samples of the batch.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gramless.network import Activation


def map_gradient(phi: Tensor, partner: Tensor, kappa: Tensor) -> Tensor:
    """Eq. 14: dE/dphi(x) = (<phi(x), phi(x')> - kappa(x, x')) phi(x'): (n, r)."""
    return ((phi * partner).sum(1) - kappa)[:, None] * partner


def response_gradient(of_maps: Tensor, projections: Tensor) -> Tensor:
    """Eq. 15: dE/dkappa_p(x, x_i) = <dE/dphi_p(x), row i of U_p>; (P, n, r) and (P, N, r) to (P, n, N)."""
    return of_maps @ projections.mT


def preactivation_gradient(of_responses: Tensor, slopes: Tensor) -> Tensor:
    """Eq. 16: dE/df_p(x, x_i) = g'(f_p(x, x_i)) dE/dkappa_p(x, x_i): (P, n, N)."""
    return of_responses * slopes


def concatenation_gradient(of_preactivations: Tensor, anchors: Tensor) -> Tensor:
    """Eq. 17: dE/dphi_p^c(x) = sum_i phi_p^c(x_i) dE/df_p(x, x_i), one fragment per input q.

    (P, n, N) and anchors (P, Q, N, r) to (P, Q, n, r).
    """
    return of_preactivations[:, None] @ anchors


def input_gradient(of_concatenations: Tensor, roots: Tensor) -> Tensor:
    """Eq. 18: dE/dphi_q(x) = sum_p sqrt(w_pq) Frag_q(dE/dphi_p^c(x)); (P, Q, n, r) to (Q, n, r).

    The paper leaves out the sum over the units p that share the input q; without it, it holds for one unit only.
    """
    return torch.einsum("pq,pqnr->qnr", roots, of_concatenations)


def projection_gradient(responses: Tensor, of_maps: Tensor) -> Tensor:
    """Eq. 19: Delta U_p = (kappa_p(x, x_1) ... kappa_p(x, x_N))' (dE/dphi_p(x))': (P, N, r)."""
    return responses.mT @ of_maps


def anchor_gradient(of_preactivations: Tensor, maps: Tensor, roots: Tensor) -> Tensor:
    """Eq. 20: Delta phi_p^c(x_i) = dE/df_p(x, x_i) phi_p^c(x), one fragment sqrt(w_pq) phi_q(x) per input q.

    (P, n, N) and maps (Q, n, r) to (P, Q, N, r). In the first layer, whose phi^c nobody writes out, dE/df_p(x, x_i)
    itself is the change of the coefficient of phi_p^c(x) in anchor i.
    """
    return roots[:, :, None, None] * (of_preactivations.mT[:, None] @ maps)


def slopes(activation: Activation, preactivations: Tensor) -> Tensor:
    """g'(f), entry by entry, of any activation: each response depends on its own preactivation only."""
    with torch.enable_grad():
        at = preactivations.detach().requires_grad_()
        (slope,) = torch.autograd.grad(activation(at).sum(), at)
    return slope
