"""Claim: the collapsed map equals the layered one, and is at least four times faster from the same kernel rows.

At the paper's ImageCLEF size: 10 views, 40 kernels, 80 hidden units, 500 landmarks, on made-up non-negative features.
Operations per sample, given the elementary kernel rows (N = 500 landmarks):
  collapsed  80 x 40 x N + 80 N multiply-adds, 80 N tanh, N exp, and N x N for the projection:       1.9 M
  layered    besides: N x N per elementary kernel, twice (map, inner product), and per hidden unit, twice:  60 M
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from harness import at_least, report, time_rivals
from torch import Tensor

import gramless as gl
from gramless.maps import layered_map
from gramless.network import forward

WIDTHS = (256, 480, 576, 512, 512, 512, 512, 512, 128, 128)  # the ten views of the paper's ImageCLEF


def made_up_views(n_rows: int, seed: int) -> gl.Views:
    """Sparse-ish histograms around a few centres, so that kernels have structure."""
    rng = np.random.default_rng(seed)
    centres = [rng.gamma(0.3, size=(50, width)) for width in WIDTHS]
    which = rng.integers(50, size=n_rows)
    blocks = [c[which] * rng.gamma(2.0, size=(n_rows, c.shape[1])) for c in centres]
    return gl.Views([(b / b.sum(1, keepdims=True)).astype(np.float32) for b in blocks])


def compare(n_samples: int, n_landmarks: int, hidden: int, repeats: int, seed: int) -> None:
    views = made_up_views(n_samples, seed)
    kernel = gl.DeepKernelNetwork(hidden=(hidden,), learning=None, random_state=seed).fit(views).kernel_
    collapsed = gl.DeepMapNetwork(kernel, landmarks=np.arange(n_landmarks), random_state=seed).fit(views).map_
    layered = layered_map(kernel, collapsed.landmarks, views, generator=torch.Generator().manual_seed(seed))
    kernel_rows = kernel.elementary(views, collapsed.landmarks, torch.float32, torch.device("cpu"))  # (40, n, N)
    input_projections = [m.projection.matrix.float() for m in layered.input_maps]
    output_projection = collapsed.projection.matrix.float()

    def collapsed_from_rows() -> Tensor:
        return forward(kernel.layers, kernel_rows).mul_(kernel.scale) @ output_projection

    def layered_from_rows() -> Tensor:
        return layered.from_input_maps([k @ U for k, U in zip(kernel_rows, input_projections, strict=True)])

    from_rows = time_rivals({"collapsed": collapsed_from_rows, "layered": layered_from_rows}, repeats)
    end_to_end = time_rivals(
        {"collapsed": lambda: collapsed.transform(views), "layered": lambda: layered.transform(views)}, repeats
    )
    difference = largest_difference(collapsed.transform(views), layered.transform(views))
    rows = [
        [what, f"{t['collapsed']:.3f}", f"{t['layered']:.3f}", f"{t['layered'] / t['collapsed']:.1f}"]
        for what, t in (("from the same kernel rows", from_rows), ("end to end", end_to_end))
    ]
    report(
        "collapse",
        f"{len(kernel.inputs)} kernels, {hidden} units, {n_landmarks} landmarks, {n_samples} samples; "
        f"largest difference of inner products {difference:.1e} of the largest",
        ["", "collapsed (s)", "layered (s)", "ratio"],
        rows,
        {
            "n_samples": n_samples,
            "n_landmarks": n_landmarks,
            "n_kernels": len(kernel.inputs),
            "n_units": hidden,
            "seconds_from_rows": from_rows,
            "seconds_end_to_end": end_to_end,
            "ratio_from_rows": from_rows["layered"] / from_rows["collapsed"],
            "ratio_end_to_end": end_to_end["layered"] / end_to_end["collapsed"],
            "largest_difference": difference,
            "largest_clipped_mass": max(max(units) for units in layered.clipped_mass),
        },
        [
            at_least(
                "collapsed map: times faster than the layered one, end to end",
                end_to_end["layered"] / end_to_end["collapsed"],
                4,
            )
        ],
    )


def largest_difference(phi: Tensor, psi: Tensor) -> float:
    """Of inner products, as a share of the largest; the maps themselves may differ by a rotation."""
    a, b = phi @ phi.T, psi @ psi.T
    return ((a - b).abs().max() / a.abs().max()).item()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--landmarks", type=int, default=500)
    parser.add_argument("--hidden", type=int, default=80)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    compare(chosen.samples, chosen.landmarks, chosen.hidden, chosen.repeats, chosen.seed)
