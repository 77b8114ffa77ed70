"""What will be computed, in which blocks, at what cost and with how much memory: known before anything runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt
from typing import Literal

import torch

from gramless.engine import cpu
from gramless.engine.backends import find_backend
from gramless.engine.device import Precision
from gramless.engine.forms import forms_of, share_planes
from gramless.kernels import Statistic
from gramless.network import Network
from gramless.support.budget import FREE_SHARE, readable, row_blocks
from gramless.support.config import current_budget, get_config
from gramless.views import Layout

CPU_BLOCK_BYTES = 32 << 20  # of values at a time: enough to hide the bookkeeping
GPU_BLOCK_BYTES = 2 << 30  # enough pairs that starting the work costs nothing beside doing it
STREAMED_BLOCK_BYTES = 1 << 30  # from host memory: copying and computing still overlap
REFERENCE_VALUES = 4  # per pair, besides the elementary kernels: temporaries of one kernel, and the output
FEW_ROWS = 32  # in a block, under which it is cut by columns too
IN_FLIGHT = 2  # streamed blocks that are on the device at a time: one is computed while the next is looked at
PREPARED_SHARE = 4  # of the budget, at most, for columns that are prepared once for all blocks of rows


@dataclass(frozen=True)
class Step:
    """One pass over a block: what it computes, and its operations for each pair of samples, or each sample."""

    what: str
    operations: float
    each: Literal["pair", "sample"] = "pair"


@dataclass(frozen=True, repr=False)
class Plan:
    """Blocks of rows against tiles of columns; every step runs on one such block before the next begins.

    `note` is a line more to print.
    """

    evaluator: str
    n_rows: int
    n_columns: int
    rows_per_block: int
    columns_per_block: int
    symmetric: bool
    keep_columns: bool
    steps: tuple[Step, ...]
    block_bytes: int
    result_bytes: int
    note: str = ""

    @property
    def operations(self) -> float:
        times = {"pair": self.n_rows * self.n_columns / (2 if self.symmetric else 1), "sample": self.n_rows}
        return sum(times[step.each] * step.operations for step in self.steps)

    def row_blocks(self) -> Iterator[slice]:
        return row_blocks(self.n_rows, 1, self.rows_per_block)

    def column_blocks(self) -> Iterator[slice]:
        return row_blocks(self.n_columns, 1, self.columns_per_block)

    def __repr__(self) -> str:
        lines = [
            f"{self.n_rows:,} x {self.n_columns:,} pairs of samples, {self.evaluator}",
            f"in blocks of {self.rows_per_block:,} x {self.columns_per_block:,}"
            + (", upper triangle only" if self.symmetric else ""),
        ]
        width = max(len(step.what) for step in self.steps)
        lines += [f"  {s.what:<{width}}  {s.operations:>10,.0f} operations per {s.each}" for s in self.steps]
        lines.append(
            f"{self.operations / 1e9:,.1f} billion operations; {readable(self.block_bytes)} of memory at most, "
            f"beside {readable(self.result_bytes)} for the result"
        )
        return "\n".join([*lines, self.note] if self.note else lines)


def compute_budget(device: torch.device) -> int:
    """Bytes that may be used at once where it is computed; by default a quarter of what is free there."""
    if device.type == "cuda" and get_config()["memory_budget"] is None:
        return torch.cuda.mem_get_info(device)[0] // FREE_SHARE
    return current_budget()


def make_plan(
    network: Network,
    layout: Layout,
    n_rows: int,
    n_columns: int,
    dtype: torch.dtype,
    device: torch.device,
    budget: int,
    *,
    precision: Precision = Precision.FLOAT32,
    n_components: int | None = None,
    symmetric: bool = False,
    streamed: bool = False,
) -> Plan:
    """Blocks as large as caches and the budget allow; with `n_components`, rows are projected as well.

    `streamed` rows come from host memory to a GPU.

    Memory of a block of b rows and c columns: 2 (b + c) features (dense, and centred), and as many of a view
    for each of its kernels that takes square roots or scales samples, c of them for all columns where a
    `PREPARED_SHARE` of the budget holds them; three numbers per sample and kernel; b c values, and on a GPU as many
    per plane, on a CPU per kernel without a formula, and what every thread works in.
    """
    if min(n_rows, n_columns) < 0:
        raise ValueError(f"there cannot be {n_rows:,} x {n_columns:,} pairs of samples: give a number of samples.")
    inputs, layers = network.inputs, network.layers
    forms = [forms_of(entry.kernel)[0] for entry in inputs]
    backend = find_backend(layers, dtype, device)
    size, width = dtype.itemsize, sum(layout.values())
    if backend is None:
        n_planes, evaluator = len(inputs) + REFERENCE_VALUES, "plain PyTorch"
        steps = tuple(
            Step(
                f"{entry.view}: {entry.kernel.name}",
                form.statistic.statistic.operations_per_feature * layout[entry.view],
            )
            for entry, form in zip(inputs, forms, strict=True)
        )
    else:
        planes, plane_of = share_planes(inputs, forms)
        stored = [plane for _, plane in planes if device.type == "cuda" or plane.statistic is Statistic.GIVEN]
        n_planes = len(stored) + 1
        how = precision.value if dtype == torch.float32 else "float64"
        evaluator = f"fused ({'Numba' if device.type == 'cpu' else 'Triton'}, {how})"
        sharing: list[list[str]] = [[] for _ in planes]
        for entry, number in zip(inputs, plane_of, strict=True):
            sharing[number].append(entry.kernel.name)
        steps = tuple(
            Step(f"{view}: {plane.label} for {', '.join(names)}", plane.statistic.operations_per_feature * layout[view])
            for (view, plane), names in zip(planes, sharing, strict=True)
        )
    steps += tuple(
        Step(f"layer of {layer.n_units} x {layer.n_inputs}, {layer.activation.name}", 2.0 * layer.weights.numel())
        for layer in layers
    )
    if n_components:
        steps += (Step(f"projection to {n_components} components", 2.0 * n_columns * n_components, "sample"),)
    copied = sum(layout[entry.view] for entry, form in zip(inputs, forms, strict=True) if form.statistic.features)
    per_sample = size * (2 * width + copied + 3 * len(inputs))
    n_projected = n_columns if n_components else 0
    fixed, responses = size * n_projected * (n_components or 0), size * n_projected
    if backend is cpu:
        widest = max(len(inputs), *(layer.n_units for layer in layers))
        fixed += torch.get_num_threads() * cpu.thread_bytes(size, len(planes), widest, width, n_projected)
    keep = per_sample * n_columns <= budget // PREPARED_SHARE
    cache = CPU_BLOCK_BYTES
    if device.type == "cuda":
        cache = STREAMED_BLOCK_BYTES if streamed else GPU_BLOCK_BYTES
    room = max(budget // 2 - fixed - (per_sample * n_columns if keep else 0), 1)
    rows, columns = _block_shape(
        n_rows, n_columns, n_planes * size, per_sample, responses, min(cache, room), room, symmetric
    )
    held = per_sample * (n_columns if keep else columns) + fixed
    return Plan(
        evaluator=evaluator,
        n_rows=n_rows,
        n_columns=n_columns,
        rows_per_block=rows,
        columns_per_block=columns,
        symmetric=symmetric,
        keep_columns=keep,
        steps=steps,
        block_bytes=held
        + (IN_FLIGHT if streamed else 1) * (rows * (per_sample + responses) + n_planes * size * rows * columns),
        result_bytes=size * n_rows * (n_components or n_columns),
    )


def _block_shape(
    n: int, m: int, pair_bytes: int, sample_bytes: int, response_bytes: int, cache: int, room: int, symmetric: bool
) -> tuple[int, int]:
    """Rows and columns of a block: all columns if a few dozen rows still fit, or a square."""
    side = max(1, min(isqrt(cache // pair_bytes), room // (4 * sample_bytes)))
    if symmetric:
        return min(side, n), min(side, n)
    columns = min(m, max(side, cache // (pair_bytes * FEW_ROWS)), max(1, room // (4 * sample_bytes)))
    rows = min(cache // (pair_bytes * columns), room // (4 * (sample_bytes + response_bytes)))
    return max(1, min(n, rows)), max(1, columns)
