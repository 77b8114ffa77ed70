"""The whole deep kernel on tiles of pairs: elementary kernels, then all layers, without leaving the chip.

Networks that are too wide for the registers (`fits`) get their elementary values from here and their layers from torch,
a few million pairs at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import torch
import triton
import triton.language as tl
from torch import Tensor

from gramless.engine.backends import plain_layers
from gramless.engine.cuda.functions import operate
from gramless.engine.cuda.products import appended, network
from gramless.engine.cuda.structure import Kernels, PackedNetwork, arrange, count, fits, item, pack
from gramless.engine.device import settle
from gramless.engine.program import DenseLayer, Elementary
from gramless.network import output_values

COLUMNS = 64  # of pairs in a tile, all of one row
ROWS = 16  # that one program goes through, one after the other
WARPS = 4
STAGES = 2  # the next row's numbers are fetched while this row is computed
CHUNK_VALUES = 1 << 27  # elementary values in memory at once where the layers are torch's


@triton.jit
def _elementary(  # type: ignore[no-untyped-def]
    planes,
    tables,
    rows,
    columns,
    i,
    j,
    n,
    m,
    OPERATION: tl.constexpr,
    WIDTH: tl.constexpr,
    MAX_DEGREE: tl.constexpr,
    FIRST: tl.constexpr,
):
    """One piece of elementary values, (columns, width), of row i with the columns j; padding is 0."""
    place = FIRST + tl.arange(0, WIDTH)
    kernel = tl.load(tables[0] + place)
    plane = tl.load(tables[1] + place).to(tl.int64)
    exponent = tl.load(tables[2] + place)
    slope = tl.load(tables[3] + place)
    used = kernel >= 0
    inside = (j < m)[:, None] & used[None, :]
    row = kernel.to(tl.int64) * n + i
    column = kernel[None, :] * m + j[:, None]
    statistic = tl.load(planes + (plane * n + i)[None, :] * m + j[:, None], inside, 0.0)
    shift = tl.load(rows[0] + row, used, 0.0)[None, :] + tl.load(columns[0] + column, inside, 0.0)
    gain = tl.load(rows[1] + row, used, 0.0)[None, :] * tl.load(columns[1] + column, inside, 0.0)
    factor = tl.load(rows[2] + row, used, 0.0)[None, :] * tl.load(columns[2] + column, inside, 0.0)
    v = (slope[None, :] * statistic + shift) * gain
    return operate(v, exponent[None, :], OPERATION, MAX_DEGREE) * factor


@triton.jit
def _pairs_kernel(  # type: ignore[no-untyped-def]
    planes,
    kernels,
    plane_of,
    exponents,
    slopes,
    row_shift,
    row_gain,
    row_factor,
    column_shift,
    column_gain,
    column_factor,
    weights,
    out,
    n,
    m_units,
    scale,
    M_UNIT: tl.constexpr,
    GROUPS: tl.constexpr,
    LAYERS: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Without layers the elementary values themselves are written."""
    m = m_units * M_UNIT  # a multiple that the compiler knows lets it read four columns at once
    tables = (kernels, plane_of, exponents, slopes)
    rows = (row_shift, row_gain, row_factor)
    columns = (column_shift, column_gain, column_factor)
    first_row = tl.program_id(0).to(tl.int64) * ROWS
    j = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    for r in range(tl.minimum(ROWS, n - first_row).to(tl.int32)):
        i = first_row + r
        values = ()
        for g in tl.static_range(count(GROUPS)):
            piece = _elementary(
                planes,
                tables,
                rows,
                columns,
                i,
                j,
                n,
                m,
                item(GROUPS, g, 0),
                item(GROUPS, g, 1),
                item(GROUPS, g, 2),
                item(GROUPS, g, 3),
            )
            values = appended(values, piece)
        if count(LAYERS) > 0:
            tl.store(out + i * m + j, scale * network(values, weights, LAYERS, PRECISION), j < m)
        else:
            for g in tl.static_range(count(GROUPS)):
                kernel = tl.load(kernels + item(GROUPS, g, 3) + tl.arange(0, item(GROUPS, g, 1)))
                pointers = out + (kernel.to(tl.int64)[None, :] * n + i) * m + j[:, None]
                tl.store(pointers, values[g], (j < m)[:, None] & (kernel >= 0)[None, :])


def evaluate(
    planes: Tensor,
    elementary: Elementary,
    rows: Tensor,
    columns: Tensor,
    layers: Sequence[DenseLayer],
    scale: float,
    precision: str = "float32",
) -> Tensor:
    """scale times the network's value of every pair, (n, m), from float32 planes (n_planes, n, m).

    The precision of the products is "float32" (relative 1e-6), "tf32" (1e-4) or "bf16" (1e-3). Per pair: the planes are
    read once per kernel that uses them, n_units n_inputs multiply-adds and n_units activations in each layer, and one
    number written.
    """
    _, n, m = planes.shape
    out = planes.new_empty(n, m)
    kernels = _arranged(elementary, planes.device)
    if fits(kernels.widths, layers):
        packed = _packed(tuple(layers), kernels)
        _launch(planes, kernels, rows, columns, out, packed.weights, packed.layers, scale, precision)
        return out
    n_rows = max(1, CHUNK_VALUES // (len(elementary) * m))
    for start in range(0, n, n_rows):
        here = slice(start, start + n_rows)
        values = elementary_values(planes[:, here].contiguous(), elementary, rows[:, :, here].contiguous(), columns)
        out[here] = output_values(plain_layers(layers), values).mul_(scale)
    return out


def elementary_values(planes: Tensor, elementary: Elementary, rows: Tensor, columns: Tensor) -> Tensor:
    """The elementary kernels of every pair: (n_kernels, n, m)."""
    out = planes.new_empty(len(elementary), *planes.shape[1:])
    kernels = _arranged(elementary, planes.device)
    _launch(planes, kernels, rows, columns, out, out, (), 1.0, "float32")
    return out


@lru_cache(maxsize=64)
def _arranged(elementary: Elementary, device: torch.device) -> Kernels:
    """Made once for all blocks: small copies from host memory wait until the device has done all before them."""
    made = arrange(elementary, device)
    settle(device)
    return made


@lru_cache(maxsize=64)
def _packed(layers: tuple[DenseLayer, ...], kernels: Kernels) -> PackedNetwork:
    made = pack(layers, kernels.kernel, kernels.widths)
    settle(made.weights.device)
    return made


def _launch(
    planes: Tensor,
    kernels: Kernels,
    rows: Tensor,
    columns: Tensor,
    out: Tensor,
    weights: Tensor,
    layers: tuple[object, ...],
    scale: float,
    precision: str,
) -> None:
    _, n, m = planes.shape
    for tensor in (planes, rows, columns, out):
        assert tensor.is_contiguous()
        assert tensor.dtype == torch.float32
    m_unit = 4 if m % 4 == 0 else 1
    _pairs_kernel[(triton.cdiv(n, ROWS), triton.cdiv(m, COLUMNS))](
        planes,
        kernels.kernel,
        kernels.plane,
        kernels.exponent,
        kernels.slope,
        *rows,
        *columns,
        weights,
        out,
        n,
        m // m_unit,
        scale,
        M_UNIT=m_unit,
        GROUPS=kernels.groups,
        LAYERS=layers,
        PRECISION=precision,
        ROWS=ROWS,
        COLUMNS=COLUMNS,
        num_warps=WARPS,
        num_stages=STAGES,
    )
