"""Algorithm 1 of the paper: every projection and every landmark response layer by gradient descent on random pairs.

Where the paper leaves something open, this is what is done:
- The error, Eq. 13, is E = 1/2 sum (<phi(x), phi(x')> - kappa(x, x'))^2 over pairs. Its gradients, Eqs. 14 to 20, are
  autograd's, all taken at once; Eq. 18 as printed leaves out the sum over the units that share an input.
- "Average both gradients" of a pair is half the gradient of its error, and "for each pair" means for each batch: a step
  is eta times half the gradient of the batch's mean error.
- They are taken at the same parameters, also where the listing updates a layer before it goes on to the one below.
- The step is meant for the output kernel as the network gives it, before it is multiplied by `kernel.scale`: the paper
  knows no such factor, and eta means something else on another scale. The map is scaled afterwards.
- Input maps are those of the exact elementary kernels. The paper's own, exact for linear and polynomial kernels,
  quantised for intersections and truncated for Gaussians, differ from them by their approximation errors only.
- "Until convergence" is until `max_iterations`, or until numbers overflow; what had the lowest held-out error on the
  way is returned. There is no patience on purpose: E is a squared error, and the relative error of a kernel with a
  heavy tail was seen to rise for a hundred iterations and more before it fell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

import torch
from torch import Tensor

from gramless.deep_kernel import DeepKernel
from gramless.engine import choose_device
from gramless.maps import CollapsedMap
from gramless.maps.explicit import refuse_conditional
from gramless.maps.spectrum import project, warn_if_clipped
from gramless.maps.tuning.held_out import (
    BestSoFar,
    TuningResult,
    find_rows,
    fresh_rows,
    held_out_error,
    hold_out,
)
from gramless.maps.tuning.representer import (
    UNITS_AT_ONCE,
    Parameters,
    RepresenterMap,
    first_products,
    output_map,
)
from gramless.network import output_values
from gramless.support.budget import require, row_blocks
from gramless.support.config import current_budget
from gramless.support.progress import ProgressBar
from gramless.views import Views

CHECK_EVERY = 25


def tune_algorithm1(
    deep_map: CollapsedMap,
    X: Views,
    generator: torch.Generator,
    *,
    n_pairs: int = 100_000,
    batch_size: int = 200,
    step: float = 1e-6,
    max_iterations: int = 5_000,
) -> TuningResult:
    """Fine-tune as the paper does, with its settings unless others are given.

    S' is X without the held-out samples; landmarks among them stay, as in the paper. If what it needs does not fit
    into the memory budget, a random part of S' is taken.

    Memory: twice n_units (N + n) N values for D, twice the other parameters, and n_kernels n (N + n) elementary
    kernel values, which are computed anew in every iteration where they do not fit. Time per iteration, with b = 2
    batch_size samples: n_units b (N + n) (n_kernels + N) multiply-adds for the first layer and about 6 n_units b N^2
    for a second one.
    """
    if min(n_pairs, batch_size) < 1 or not step > 0:
        raise ValueError(f"n_pairs={n_pairs}, batch_size={batch_size} and step={step} must be positive.")
    refuse_conditional((entry.kernel for entry in deep_map.kernel.inputs), "tuning='algorithm1'")
    landmarks, dtype = deep_map.landmarks, deep_map.dtype
    unscaled = _unscaled(deep_map)
    kernel = unscaled.kernel
    X = kernel.views(X)
    device = choose_device(X)
    split = hold_out(fresh_rows(X, landmarks, dtype), generator)
    held_out = X[split.held_out]
    others = (find_rows(X, held_out, dtype) < 0).nonzero()[:, 0]
    others = others[torch.randperm(len(others), generator=generator)]
    n_train, room = _affordable(deep_map, len(others), 2 * batch_size)
    train = X[others[:n_train]]
    points = stacked(landmarks, train, dtype)
    n_landmarks = len(landmarks)
    parameters, clipped_mass = initial_network(unscaled, len(points), device)
    train_rows = ElementaryRows(kernel, train, points, dtype, device, room)
    held_out_rows = ElementaryRows(kernel, held_out, points, dtype, device, room // 4)
    gram = kernel.tensor(held_out, held_out, dtype).to(device)

    def error() -> float:
        chunks = torch.arange(len(held_out)).split(2 * batch_size)
        products = (first_products(kernel.layers[0], parameters.coefficients, held_out_rows(rows)) for rows in chunks)
        return held_out_error(torch.cat([output_map(kernel, parameters, each) for each in products]), gram)

    before = held_out_error(unscaled.transform(held_out).to(device), gram)
    best, chosen = BestSoFar(before), None
    pairs_of_all = torch.randint(n_train, (n_pairs, 2), generator=generator)  # from S' x S'; a sample may meet itself
    batches = pairs_of_all.split(batch_size)
    with ProgressBar("Algorithm 1", max_iterations) as progress:
        for iteration in range(1, max_iterations + 1):
            pairs = batches[(iteration - 1) % len(batches)]
            descend_pairs(kernel, parameters, train_rows, pairs, n_landmarks, step)
            progress.advance()
            if iteration % CHECK_EVERY == 0 or iteration == max_iterations:
                reached = error()
                if not isfinite(reached):  # the step is too large for this kernel
                    break
                if best.offer(reached, iteration):
                    chosen = parameters.apply(Tensor.clone)
    n_tuning = n_train + len(held_out)
    if chosen is None:
        return TuningResult(deep_map, before, before, best.curve, n_tuning)
    chosen.projections[-1].div_(deep_map.kernel.scale**0.5)
    tuned = _compact(deep_map.kernel, points, chosen, clipped_mass, dtype)
    return TuningResult(tuned, before, best.error, best.curve, n_tuning)


def descend_pairs(
    kernel: DeepKernel,
    parameters: Parameters,
    elementary_rows: ElementaryRows,
    pairs: Tensor,
    n_landmarks: int,
    step: float,
) -> None:
    """One iteration: forward both samples of every pair, back for both, average, step.

    Points are the landmarks and then the tuning samples, whose numbers `pairs` (n, 2) holds.
    """
    rows = pairs.T.flatten()  # all x, then all x'
    elementary = elementary_rows(rows)  # (n_kernels, 2n, n_points)
    n = len(pairs)
    points = (n_landmarks + rows).to(elementary.device)
    index = torch.arange(n, device=elementary.device)
    kappa = kernel.scale * output_values(kernel.layers, elementary[:, index, points[n:]])
    products = first_products(kernel.layers[0], parameters.coefficients, elementary).requires_grad_()
    leaves = parameters.apply(lambda t: t.detach().requires_grad_())  # the same memory
    with torch.enable_grad():
        phi = output_map(kernel, leaves, products)
        error = ((phi[:n] * phi[n:]).sum(1) - kappa).square().mean() / 4
    # In the first layer, whose phi^c nobody writes out, dE/df_p(x, x_i) is the change of the coefficient of phi_p^c(x).
    of_products, *gradients = torch.autograd.grad(error, [products, *leaves.projections, *leaves.anchors])
    for unit, gradient in zip(parameters.coefficients, of_products, strict=True):
        unit.index_add_(0, points, gradient, alpha=-step)  # by units: along the first axis it is ten times faster
    for tensor, gradient in zip([*parameters.projections, *parameters.anchors], gradients, strict=True):
        tensor.sub_(gradient, alpha=step)


def stacked(landmarks: Views, samples: Views, dtype: torch.dtype) -> Views:
    """Landmarks and then samples, dense, where the landmarks lie."""
    place = landmarks.torch_device or "cpu"
    blocks = {
        name: torch.cat([landmarks.tensor(name, dtype, place), samples.tensor(name, dtype, place)])
        for name in landmarks.names
    }
    if landmarks.torch_device is None:
        return Views({name: block.numpy() for name, block in blocks.items()})
    return Views(blocks)


def _unscaled(deep_map: CollapsedMap) -> CollapsedMap:
    """The map of kappa / scale: (kappa / scale) (sqrt(scale) U)."""
    scale, projection = deep_map.kernel.scale, deep_map.projection
    return replace(
        deep_map,
        kernel=replace(deep_map.kernel, scale=1.0),
        projection=replace(projection, matrix=scale**0.5 * projection.matrix),
    )


def _compact(
    kernel: DeepKernel, points: Views, parameters: Parameters, clipped_mass: list[list[float]], dtype: torch.dtype
) -> RepresenterMap:
    """The map without the points that moved no anchor, where the points lie."""
    kept = parameters.coefficients.abs().amax(dim=(0, 2)) > 0
    kept[: parameters.coefficients.shape[2]] = True  # the landmarks, also one whose own coefficient went to 0
    place = points.torch_device or "cpu"
    moved = parameters.apply(lambda t: t.to(place))
    coefficients = moved.coefficients[:, kept.to(place)].contiguous()
    return RepresenterMap(
        kernel, points[kept.cpu()], coefficients, moved.projections, moved.anchors, clipped_mass, dtype
    )


def _affordable(deep_map: CollapsedMap, n_samples: int, batch_rows: int) -> tuple[int, int]:
    """How many tuning samples fit into the memory budget, and the bytes then left for elementary kernel values."""
    kernel, itemsize, N = deep_map.kernel, deep_map.dtype.itemsize, len(deep_map.landmarks)
    n_units = [layer.n_units for layer in kernel.layers]
    later = sum(layer.n_units * layer.n_inputs for layer in kernel.layers[1:]) * N**2  # anchors
    fixed = 3 * (sum(n_units) * N**2 + later) + 2 * n_units[0] * N**2  # now, best, gradient; D on the landmarks
    fixed += batch_rows * (sum(4 * units * N for units in n_units) + len(kernel.inputs) * N)
    fixed = itemsize * fixed + 8 * N**2 * (len(kernel.inputs) + 2 * max(n_units))  # and the start in float64
    per_sample = itemsize * (2 * n_units[0] * N + batch_rows * (len(kernel.inputs) + UNITS_AT_ONCE))
    budget = current_budget()
    require(
        fixed + 2 * per_sample,
        budget,
        what=f"Algorithm 1 on a network of {sum(n_units)} units and {N:,} landmarks",
        remedy="Use another way of tuning, fewer landmarks, or raise memory_budget.",
    )
    n_train = min(n_samples, int((budget - fixed) // per_sample))
    return n_train, int(budget - fixed - n_train * per_sample) // 2


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
