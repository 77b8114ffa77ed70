"""Claim: vectors at least 10 times faster than in plain PyTorch, at 70 % of the processor's peak, and under load too.

The paper's ImageCLEF size: 10 views, 40 kernels, 80 hidden units, 500 landmarks; made-up histograms. Rivals on the same
two threads, in float32:
  plain PyTorch  the collapsed map: every elementary kernel by its own formula, the layers, the projection; 200 rows at
                 a time
  in chunks      the same, with the layers run on 4,096 pairs at a time so that hidden values stay in the cache: the
                 package's own reference
  compiled       plain PyTorch without its checks, through torch.compile
  sub-layers     as the paper writes them: unit by unit, the maps of the layer before are weighted by sqrt(w_pq) and
                 put side by side, multiplied with the landmarks' (which are ready), activated, and projected by U_p;
                 input maps by eigendecomposition, 500 columns each
The rivals are timed on fewer samples and scaled. The peak is measured in the same run, by loops on numbers in registers
and the nearest cache: multiply-adds (or PyTorch's product of two square matrices, should that be faster), and minima
with additions. Then all again beside a process that keeps one core busy. Times are the least of several: others use the
machine too. Where they keep all of it busy, `--processor-time` counts seconds of the processor on one thread, without
load and sub-layers.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from harness import THREADS, at_least, at_most, parser_of, report, time_rivals
from numba import njit
from numba.core import cgutils
from rich.console import Console
from rich.table import Table
from torch import Tensor

import gramless as gl
from gramless.engine.cpu.target import LANES
from gramless.engine.cpu.threads import run, tasks
from gramless.engine.cpu.vectors import VectorCode, integer, vector_function
from gramless.engine.evaluator import ReferenceEvaluator
from gramless.maps import CollapsedMap, LayeredMap, layered_map

WIDTHS = (256, 480, 576, 512, 512, 512, 512, 512, 128, 128)  # the ten views of the paper's ImageCLEF
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
        return torch.cat([self._operator_by_operator(self._evaluator.elementary(block)) for block in blocks])

    def _operator_by_operator(self, values: Tensor) -> Tensor:
        for layer in self._kernel.layers:
            values = layer.activation(torch.tensordot(layer.weights.to(values), values, dims=1))
        return self._kernel.scale * values[0]

    def transform(self, X: gl.Views) -> Tensor:
        return self.responses(X) @ self._matrix


class ChunkedMap(PlainMap):
    """The same, with the layers run a few thousand pairs at a time."""

    in_chunks = True


class CompiledMap(PlainMap):
    """The formulas without their checks, as one function that torch.compile makes code of."""

    def __init__(self, compiled: CollapsedMap, dtype: torch.dtype) -> None:
        super().__init__(compiled, dtype)
        self._columns = {name: compiled.landmarks.tensor(name, dtype) for name in compiled.landmarks.names}
        self._layers = [(layer.weights.to(dtype), layer.activation) for layer in self._kernel.layers]
        self._compiled = torch.compile(self._vectors)

    def _vectors(self, rows: dict[str, Tensor]) -> Tensor:
        values = [each.kernel._values(rows[each.view], self._columns[each.view]) for each in self._kernel.inputs]
        hidden = torch.stack(values)
        for weights, activation in self._layers:
            hidden = activation(torch.tensordot(weights, hidden, 1))
        return self._kernel.scale * hidden[0] @ self._matrix

    def transform(self, X: gl.Views) -> Tensor:
        blocks = [X[start : start + PLAIN_ROWS] for start in range(0, len(X), PLAIN_ROWS)]
        rows = [{name: block.tensor(name, self._matrix.dtype) for name in X.names} for block in blocks]
        return torch.cat([self._compiled(block) for block in rows])


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


def in_registers(code: VectorCode, numbers: Any, count: Any, added: Callable[[Any, Any, Any], Any]) -> None:
    """`count` times total = added(a, b, total) of 24 vectors: six a and four b are loaded, the totals stay."""
    builder = code.builder
    totals = [cgutils.alloca_once(builder, code.type) for _ in range(24)]
    for total in totals:
        builder.store(code.constant(0.0), total)
    with cgutils.for_range(builder, count) as loop:
        start = builder.mul(builder.and_(loop.index, integer(31)), integer(10 * code.lanes))
        loads = [code.load(numbers, builder.add(start, integer(k * code.lanes))) for k in range(10)]
        for k, total in enumerate(totals):
            builder.store(added(loads[k // 4], loads[6 + k % 4], builder.load(total)), total)
    for k, total in enumerate(totals):
        code.store(builder.load(total), numbers, integer((320 + k) * code.lanes))


@vector_function
def minimum_and_add(code: VectorCode, numbers: int, count: int, zero: float) -> None:
    builder, whole = code.builder, code.integers

    def added(a: Any, b: Any, total: Any) -> Any:
        p, q = (builder.bitcast(x, whole.type) for x in (a, b))
        return builder.fadd(total, builder.bitcast(builder.select(builder.icmp_signed("<", p, q), p, q), code.type))

    in_registers(code, numbers, count, added)


@vector_function
def multiply_and_add(code: VectorCode, numbers: int, count: int, zero: float) -> None:
    in_registers(code, numbers, count, code.multiply_add)


@njit(nogil=True)
def minima_and_additions(counter: Any, n_tasks: Any, count: Any) -> Any:
    numbers = np.zeros(400 * LANES, np.float32)
    for _ in tasks(counter, n_tasks):
        minimum_and_add(np.intp(numbers.ctypes.data), count, np.float32(0.0))


@njit(nogil=True)
def multiply_adds(counter: Any, n_tasks: Any, count: Any) -> Any:
    numbers = np.zeros(400 * LANES, np.float32)
    for _ in tasks(counter, n_tasks):
        multiply_and_add(np.intp(numbers.ctypes.data), count, np.float32(0.0))


SIDE = 2048


@dataclass(frozen=True)
class Work:
    """What a sample needs at the least, and ways to find out how fast the processor does it, the same work in each."""

    name: str
    per_sample: float
    unit: str
    in_a_run: float
    runs: Sequence[Callable[[], Any]]

    def fastest(self, taken: dict[str, float]) -> float:
        return min(taken[name] for name in self.named_runs)

    @property
    def named_runs(self) -> dict[str, Callable[[], Any]]:
        return {f"{self.name} {number}": run for number, run in enumerate(self.runs)}


def least_work(compiled: CollapsedMap) -> list[Work]:
    kernel, m = compiled.kernel, len(compiled.landmarks)
    width = sum(kernel.layout.values())
    weights = sum(layer.weights.numel() for layer in kernel.layers)
    a, out = torch.rand(SIDE, SIDE), torch.empty(SIDE, SIDE)
    products = float(width * m + weights * m + m * compiled.n_components)
    n_tasks = 8 * THREADS
    rounds = round(SIDE**3 / (n_tasks * 24 * LANES))
    in_a_run = float(n_tasks * rounds * 24 * LANES)  # SIDE**3, to one part in ten thousand
    return [
        Work(
            "multiply-adds",
            products,
            "FMA",
            in_a_run,
            (lambda: run(multiply_adds, n_tasks, rounds), lambda: torch.mm(a, a, out=out)),
        ),
        Work(
            "minima and additions",
            float(width * m),
            "minima",
            in_a_run,
            (lambda: run(minima_and_additions, n_tasks, rounds),),
        ),
    ]


@contextmanager
def one_core_busy() -> Iterator[None]:
    """Beside a process that does nothing but keep a core busy."""
    spinning = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        time.sleep(0.5)
        yield
    finally:
        spinning.kill()
        spinning.wait()


def largest_difference(phi: Tensor, psi: Tensor) -> float:
    """Of inner products, as a share of the largest; the maps themselves may differ by a rotation."""
    a, b = phi @ phi.T, psi @ psi.T
    return ((a - b).abs().max() / a.abs().max()).item()


def largest_relative(found: Tensor, exact: Tensor) -> float:
    return ((found - exact).abs() / exact.abs()).max().item()


def compare(
    n_samples: int, n_landmarks: int, n_plain: int, n_written: int, repeats: int, seed: int, busy: bool
) -> None:
    X = histograms(n_samples, seed)
    kernel = paper_kernel(X, seed)
    doubles = gl.Views({name: X[name].astype(np.float64) for name in X.names})

    engine = gl.DeepMapNetwork(kernel, n_landmarks, random_state=seed).fit(X)
    in_doubles = gl.DeepMapNetwork(kernel, n_landmarks, random_state=seed).fit(doubles)
    generator = torch.Generator().manual_seed(seed)

    def in_codes(work: Callable[[], Any]) -> Any:
        with gl.config_context(precision="codes"):
            return work()

    plain, chunked = PlainMap(engine.map_, torch.float32), ChunkedMap(engine.map_, torch.float32)
    compiled = CompiledMap(engine.map_, torch.float32)
    work = least_work(engine.map_)
    X_plain, X_written = X[:n_plain], X[:n_written]
    n_of = {
        "engine": n_samples,
        "float64": n_samples,
        "codes": n_samples,
        "plain PyTorch": n_plain,
        "in chunks": n_plain,
        "compiled": n_plain,
    }
    rivals = {
        "engine": lambda: engine.transform(X),
        "float64": lambda: in_doubles.transform(doubles),
        "codes": lambda: in_codes(lambda: engine.transform(X)),
        "plain PyTorch": lambda: plain.transform(X_plain),
        "in chunks": lambda: chunked.transform(X_plain),
        "compiled": lambda: compiled.transform(X_plain),
    }
    difference, loaded = None, {}
    if not busy:
        written_out = WrittenOutMap(layered_map(kernel, engine.landmarks_, X, generator=generator))
        n_of["sub-layers"], rivals["sub-layers"] = n_written, lambda: written_out.transform(X_written)
        difference = largest_difference(engine.map_.transform(X_written), written_out.transform(X_written))
    clock = time.process_time if busy else time.perf_counter
    peaks = {name: run for part in work for name, run in part.named_runs.items()}
    taken = time_rivals(rivals | peaks, repeats, min, clock)
    if not busy:
        with one_core_busy():
            loaded = time_rivals({name: rivals[name] for name in ("engine", "plain PyTorch")}, repeats, min)
    per_sample = {name: taken[name] / n for name, n in n_of.items()}
    under_load = {name: taken[name] / seconds for name, seconds in loaded.items()}
    floor = {part.name: part.per_sample * part.fastest(taken) / part.in_a_run for part in work}
    of_peak = sum(floor.values()) / per_sample["engine"]
    exact = PlainMap(engine.map_, torch.float64).responses(X_plain)
    errors = {
        "engine": largest_relative(engine.map_.responses(X_plain), exact),
        "float64": largest_relative(in_doubles.map_.responses(doubles[:n_plain]), exact),
        "codes": largest_relative(in_codes(lambda: engine.map_.responses(X_plain)), exact),
        "plain PyTorch": largest_relative(plain.responses(X_plain), exact),
    }
    print_work(work, taken, floor, per_sample["engine"])
    times = {name: t / per_sample["engine"] for name, t in per_sample.items()}
    report(
        "transform",
        f"{len(kernel.inputs)} kernels, {kernel.layers[0].n_units} units, {engine.n_landmarks_} landmarks, "
        f"{n_samples:,} samples, {torch.get_num_threads()} threads"
        + (
            ""
            if difference is None
            else f"; inner products of its and the sub-layers' vectors differ by {difference:.1e} of the largest"
        ),
        ["", "timed on", "ms / sample", "samples / s", "engine is faster", "beside a busy core", "largest error"],
        [
            [
                name,
                f"{n_of[name]:,}",
                f"{1e3 * t:.3f}",
                f"{1 / t:,.0f}",
                f"{times[name]:.1f} times",
                f"{under_load[name]:.0%} of the rate" if name in under_load else "",
                f"{errors[name]:.1e}" if name in errors else "",
            ]
            for name, t in per_sample.items()
        ],
        {
            "n_samples": n_samples,
            "n_landmarks": n_landmarks,
            "timed_on": n_of,
            "seconds_per_sample": per_sample,
            "rate_beside_a_busy_core": under_load,
            "largest_relative_error": errors,
            "engine_against_sub_layers": difference,
            "seconds_per_sample_at_peak": floor,
            "share_of_peak": of_peak,
        },
        [
            at_least("transform: times faster than plain PyTorch", times["plain PyTorch"], 10),
            at_least("transform: times faster than in chunks", times["in chunks"], 6),
            at_least("transform: times faster than compiled", times["compiled"], 6),
            at_least("transform: share of the processor's peak", of_peak, 0.7),
            at_most("transform: times slower in float64", times["float64"], 2.5),
            *(
                [
                    at_least("transform: times faster than the sub-layers", times["sub-layers"], 50),
                    at_least("transform: share of the rate beside a busy core", under_load["engine"], 0.4),
                ]
                if not busy
                else []
            ),
        ],
    )


def print_work(work: Sequence[Work], taken: dict[str, float], floor: dict[str, float], transform: float) -> None:
    table = Table("work", "per sample", "1e9 / s at peak", "ms / sample", "of transform", title="what is unavoidable")
    for part in work:
        table.add_row(
            part.name,
            f"{part.per_sample / 1e6:.2f} M {part.unit}",
            f"{part.in_a_run / part.fastest(taken) / 1e9:.1f}",
            f"{1e3 * floor[part.name]:.4f}",
            f"{floor[part.name] / transform:.0%}",
        )
    table.add_section()
    total = sum(floor.values())
    table.add_row("sum of these", "", "", f"{1e3 * total:.4f}", f"{total / transform:.0%}")
    table.add_row("transform", "", "", f"{1e3 * transform:.4f}", "")
    Console().print(table)


if __name__ == "__main__":
    parser = parser_of(__doc__, samples=2000, landmarks=500, plain_samples=600, written_samples=100, repeats=5, seed=0)
    parser.add_argument("--quick", action="store_true", help="three repeats, plain PyTorch on 200 samples")
    parser.add_argument("--processor-time", action="store_true", help="where others keep the machine busy")
    chosen = parser.parse_args()
    torch.set_num_threads(1 if chosen.processor_time else THREADS)
    gl.set_config(device="cpu")
    n_plain, repeats = (PLAIN_ROWS, 3) if chosen.quick else (chosen.plain_samples, chosen.repeats)
    sizes = (chosen.samples, chosen.landmarks, n_plain, chosen.written_samples)
    compare(*sizes, repeats, chosen.seed, chosen.processor_time)
