"""Where Algorithm 1 starts: the initial DMN on the landmarks, in representer form."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from gramless.maps import CollapsedMap
from gramless.maps.explicit import project, warn_if_clipped
from gramless.maps.tuning.representer import Parameters
from gramless.support.progress import ProgressBar


def initial_network(
    deep_map: CollapsedMap, n_points: int, device: torch.device
) -> tuple[Parameters, list[list[float]]]:
    """Parameters of Proposition 2, and the clipped share of every unit's spectrum.

    D_p is the identity on the landmarks, which are the first points. Hidden projections come from the Gram matrices
    of the network itself, one eigendecomposition per unit; the last one is that of the map which is to be tuned.
    """
    kernel, landmarks, dtype = deep_map.kernel, deep_map.landmarks, deep_map.dtype
    products = kernel.elementary(landmarks, landmarks, torch.float64, device)  # (Q, N, N): <phi_q(x_i), phi_q(x_j)>
    projections, anchors, masses = [], [], []
    with ProgressBar("eigendecompositions", sum(layer.n_units for layer in kernel.layers[:-1])) as progress:
        for layer in kernel.layers[:-1]:
            found = []
            for weights in layer.weights.to(products):
                found.append(project(layer.activation(torch.tensordot(weights, products, dims=1)), None, dtype))
                progress.advance()
            warn_if_clipped(max(found, key=lambda p: p.clipped_mass), "a unit's kernel on the landmarks")
            masses.append([projection.clipped_mass for projection in found])
            maps = _padded([projection.landmark_map for projection in found])  # (P, N, r)
            projections.append(_padded([projection.matrix for projection in found]).to(dtype))
            products = maps @ maps.mT
            following = kernel.layers[len(projections)]
            anchors.append((following.weights.sqrt().to(maps)[:, :, None, None] * maps).to(dtype))
    projections.append(deep_map.projection.matrix.to(device=device, dtype=dtype)[None].clone())
    masses += deep_map.clipped_mass
    n_landmarks = len(landmarks)
    coefficients = torch.zeros(kernel.layers[0].n_units, n_points, n_landmarks, dtype=dtype, device=device)
    coefficients[:, :n_landmarks] = torch.eye(n_landmarks, dtype=dtype, device=device)
    return Parameters(coefficients, projections, anchors), masses


def _padded(matrices: Sequence[Tensor]) -> Tensor:
    """Matrices of different widths in one tensor, with columns of zeros; zero columns have zero gradients."""
    widest = max(matrix.shape[1] for matrix in matrices)
    return torch.stack([torch.nn.functional.pad(matrix, (0, widest - matrix.shape[1])) for matrix in matrices])
