"""Claim: vectors at least 10 times faster than in plain PyTorch, and at least 50 times faster than by the sub-layers.

The paper's ImageCLEF size: 10 views, 40 kernels, 80 hidden units, 500 landmarks; made-up histograms. Rivals on the same
two threads, in float32:
  plain PyTorch  the collapsed map: every elementary kernel by its own formula, the layers, the projection; 200 rows at
                 a time
  in chunks      the same, with the layers run on 4,096 pairs at a time so that hidden values stay in the cache: the
                 package's own reference
  sub-layers     as the paper writes them: unit by unit, the maps of the layer before are weighted by sqrt(w_pq) and
                 put side by side, multiplied with the landmarks' (which are ready), activated, and projected by U_p;
                 input maps by eigendecomposition, 500 columns each
The rivals are timed on fewer samples and scaled. Then where our time goes: the least that these operations take one by
one on ready data, in blocks as the engine has them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from collapse import WIDTHS, largest_difference
from harness import THREADS, at_least, report, time_rivals
from rich.console import Console
from rich.table import Table
from torch import Tensor

import gramless as gl
from gramless.engine.cpu import evaluate, minimum_sums
from gramless.engine.evaluator import FusedEvaluator, ReferenceEvaluator
from gramless.maps import CollapsedMap, LayeredMap, layered_map
from gramless.network import unit_values

PLAIN_ROWS = 200
CPU = torch.device("cpu")


def histograms(n_rows: int, seed: int) -> gl.Views:
    """Rows of Dirichlet(0.3) in float32: ten views of the paper's widths."""
    rng = np.random.default_rng(seed)
    blocks = [np.empty((n_rows, width), np.float32) for width in WIDTHS]
    for block in blocks:
        for start in range(0, n_rows, 1000):
            rows = block[start : start + 1000]
            rng.standard_gamma(0.3, dtype=np.float32, out=rows)
            rows /= rows.sum(1, keepdims=True)
    return gl.Views(blocks)


def paper_kernel(X: gl.Views, seed: int) -> gl.DeepKernel:
    return gl.DeepKernelNetwork(hidden=(80,), learning=None, random_state=seed).fit(X[:2000]).kernel_


class PlainMap:
    """The collapsed map by the formulas, in plain PyTorch."""

    in_chunks = False

    def __init__(self, compiled: CollapsedMap, dtype: torch.dtype) -> None:
        kernel = self._kernel = compiled.kernel
        self._evaluator = ReferenceEvaluator(kernel.network, compiled.landmarks, dtype, CPU)
        self._matrix = compiled.projection.matrix.to(dtype)

    def responses(self, X: gl.Views) -> Tensor:
        blocks = [X[start : start + PLAIN_ROWS] for start in range(0, len(X), PLAIN_ROWS)]
        if self.in_chunks:
            return torch.cat([self._evaluator.values(block) for block in blocks])
        layers, scale = self._kernel.layers, self._kernel.scale
        return torch.cat([unit_values(layers, self._evaluator.elementary(block))[-1][0] * scale for block in blocks])

    def transform(self, X: gl.Views) -> Tensor:
        return self.responses(X) @ self._matrix


class ChunkedMap(PlainMap):
    """The same, with the layers run a few thousand pairs at a time."""

    in_chunks = True


class WrittenOutMap:
    """The layered map with every unit's concatenation written out; the landmarks' are kept: 3 GB of them."""

    def __init__(self, layered: LayeredMap) -> None:
        self._layered = layered
        self._anchors = [[written_out(weights, layer.anchors) for weights in layer.weights] for layer in layered.layers]

    def transform(self, X: gl.Views) -> Tensor:
        maps: Sequence[Tensor] = [
            input_map.transform(X.tensor(entry.view, torch.float32))
            for entry, input_map in zip(self._layered.kernel.inputs, self._layered.input_maps, strict=True)
        ]
        for layer, anchors in zip(self._layered.layers, self._anchors, strict=True):
            maps = [
                layer.activation.apply_(written_out(weights, maps) @ anchor.T) @ projection
                for weights, anchor, projection in zip(layer.weights, anchors, layer.projections, strict=True)
            ]
        return maps[0]


def written_out(weights: Tensor, maps: Sequence[Tensor]) -> Tensor:
    """phi_p^c of one unit (Eq. 8)."""
    return torch.cat([weight.sqrt() * phi for weight, phi in zip(weights, maps, strict=True)], dim=1)


@dataclass(frozen=True)
class Part:
    """One kind of work in transform: how much of it a sample needs, and how to do it for all of them."""

    name: str
    per_sample: float
    unit: str
    run: Callable[[], Any]


def parts_of(compiled: CollapsedMap, X: gl.Views) -> list[Part]:
    kernel, m = compiled.kernel, len(compiled.landmarks)
    starts = [(rows.start, rows.stop) for rows in compiled.plan(len(X), CPU).row_blocks()]
    n_rows = starts[0][1]
    rows = {name: X.tensor(name, torch.float32) for name in X.names}
    columns = {name: compiled.landmarks.tensor(name, torch.float32) for name in X.names}
    values = torch.empty(n_rows, m)
    evaluator = kernel.evaluator(compiled.landmarks, torch.float32, CPU)
    assert isinstance(evaluator, FusedEvaluator)
    program, planes, sides = evaluator._planes(X[:n_rows])  # what the engine hands on from one step to the next
    layers = evaluator._layers
    matrix, projected = compiled.projection.matrix.float(), torch.empty(n_rows, compiled.n_components)
    n_units, n_kernels = kernel.layers[0].weights.shape

    def products() -> None:
        for start, stop in starts:
            for name in X.names:
                torch.mm(rows[name][start:stop], columns[name].T, out=values[: stop - start])

    def minima() -> None:
        for start, stop in starts:
            for name in X.names:
                block = rows[name][start:stop].numpy()
                minimum_sums(block, columns[name].numpy(), values[: stop - start].numpy())

    def combination() -> None:
        for _ in starts:
            evaluate(planes.numpy(), program.elementary, sides, program.columns, layers, kernel.scale, values.numpy())

    def projection() -> None:
        for _ in starts:
            torch.mm(values, matrix, out=projected)

    width = X.shape[1]
    return [
        Part("inner products (torch.mm)", 2.0 * width * m, "FLOP", products),
        Part("sums of minima", float(width * m), "minima and additions", minima),
        Part(f"kernels, layers, {n_units * m:,} tanh", 2.0 * (n_units * n_kernels + n_units) * m, "FLOP", combination),
        Part("projection (torch.mm)", 2.0 * m * compiled.n_components, "FLOP", projection),
    ]


def largest_relative(found: Tensor, exact: Tensor) -> float:
    return ((found - exact).abs() / exact.abs()).max().item()


def compare(n_samples: int, n_landmarks: int, n_plain: int, n_written: int, repeats: int, seed: int) -> None:
    X = histograms(n_samples, seed)
    kernel = paper_kernel(X, seed)

    engine = gl.DeepMapNetwork(kernel, n_landmarks, random_state=seed).fit(X)
    generator = torch.Generator().manual_seed(seed)

    def in_codes(work: Callable[[], Any]) -> Any:
        with gl.config_context(precision="codes"):
            return work()

    plain, chunked = PlainMap(engine.map_, torch.float32), ChunkedMap(engine.map_, torch.float32)
    written_out = WrittenOutMap(layered_map(kernel, engine.landmarks_, X, generator=generator))
    parts = parts_of(engine.map_, X)
    X_plain, X_written = X[:n_plain], X[:n_written]
    n_of = {
        "engine": n_samples,
        "codes": n_samples,
        "plain PyTorch": n_plain,
        "in chunks": n_plain,
        "sub-layers": n_written,
    }
    rivals = {
        "engine": lambda: engine.transform(X),
        "codes": lambda: in_codes(lambda: engine.transform(X)),
        "plain PyTorch": lambda: plain.transform(X_plain),
        "in chunks": lambda: chunked.transform(X_plain),
        "sub-layers": lambda: written_out.transform(X_written),
    }
    taken = time_rivals(rivals | {part.name: part.run for part in parts}, repeats)
    per_sample = {name: taken[name] / n for name, n in n_of.items()}
    exact = PlainMap(engine.map_, torch.float64).responses(X_plain)
    errors = {
        "engine": largest_relative(engine.map_.responses(X_plain), exact),
        "codes": largest_relative(in_codes(lambda: engine.map_.responses(X_plain)), exact),
        "plain PyTorch": largest_relative(plain.responses(X_plain), exact),
    }
    difference = largest_difference(engine.map_.transform(X_written), written_out.transform(X_written))
    floor = sum(taken[part.name] for part in parts) / n_samples
    print_parts(parts, taken, n_samples, per_sample["engine"])
    report(
        "transform",
        f"{len(kernel.inputs)} kernels, {kernel.layers[0].n_units} units, {n_landmarks} landmarks, {n_samples:,} "
        f"samples, {THREADS} threads; inner products of the engine's and the sub-layers' vectors differ by "
        f"{difference:.1e} of the largest",
        ["", "timed on", "ms / sample", "samples / s", "engine is faster", "largest error of kernel values"],
        [
            [
                name,
                f"{n_of[name]:,}",
                f"{1e3 * t:.3f}",
                f"{1 / t:,.0f}",
                f"{t / per_sample['engine']:.1f} times",
                f"{errors[name]:.1e}" if name in errors else "",
            ]
            for name, t in per_sample.items()
        ],
        {
            "n_samples": n_samples,
            "n_landmarks": n_landmarks,
            "timed_on": n_of,
            "seconds_per_sample": per_sample,
            "largest_relative_error": errors,
            "engine_against_sub_layers": difference,
            "parts": {
                part.name: {"per_sample": part.per_sample, "unit": part.unit, "seconds": taken[part.name]}
                for part in parts
            },
            "seconds_per_sample_of_parts": floor,
            "transform_over_parts": per_sample["engine"] / floor,
        },
        [
            at_least(
                "transform: times faster than plain PyTorch", per_sample["plain PyTorch"] / per_sample["engine"], 10
            ),
            at_least(
                "transform: times faster than the sub-layers", per_sample["sub-layers"] / per_sample["engine"], 50
            ),
        ],
    )


def print_parts(parts: Sequence[Part], taken: dict[str, float], n_samples: int, transform: float) -> None:
    table = Table("work", "per sample", "1e9 / s", "ms / sample", "share of transform", title="where the time goes")
    total = 0.0
    for part in parts:
        seconds = taken[part.name] / n_samples
        total += seconds
        table.add_row(
            part.name,
            f"{part.per_sample / 1e6:.2f} M {part.unit}",
            f"{part.per_sample / seconds / 1e9:.1f}",
            f"{1e3 * seconds:.3f}",
            f"{seconds / transform:.0%}",
        )
    table.add_section()
    table.add_row("sum of these", "", "", f"{1e3 * total:.3f}", f"{total / transform:.0%}")
    table.add_row("transform", "", "", f"{1e3 * transform:.3f}", f"{transform / total:.2f} times the sum")
    Console().print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--landmarks", type=int, default=500)
    parser.add_argument("--plain-samples", type=int, default=600)
    parser.add_argument("--written-samples", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="three repeats, plain PyTorch on 200 samples")
    chosen = parser.parse_args()
    torch.set_num_threads(THREADS)
    gl.set_config(device="cpu")
    n_plain, repeats = (PLAIN_ROWS, 3) if chosen.quick else (chosen.plain_samples, chosen.repeats)
    compare(chosen.samples, chosen.landmarks, n_plain, chosen.written_samples, repeats, chosen.seed)
