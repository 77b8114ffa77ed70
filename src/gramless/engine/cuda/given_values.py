"""The network on elementary values that are already there, and the gradient of its weights: what learning repeats."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from gramless.engine.backends import plain_layers
from gramless.engine.cuda.functions import activate, derivative
from gramless.engine.cuda.products import (
    appended,
    block_pointers,
    load_values,
    multiply_add,
    network,
    output_sum,
    output_weights,
    weighted_sums,
)
from gramless.engine.cuda.structure import PackedNetwork, count, fits, item, pack, pieces, places, unpack
from gramless.engine.program import DenseLayer
from gramless.network import gradients, output_values

PAIRS = 64  # in a tile
TILES = 8  # that one program goes through for values
PROGRAMS = 1056  # for gradients: eight for each multiprocessor of the largest GPUs
WARPS = 4


@triton.jit
def _values_kernel(  # type: ignore[no-untyped-def]
    values,
    weights,
    out,
    n_kernels,
    n_pairs,
    PIECES: tl.constexpr,
    LAYERS: tl.constexpr,
    PAIRS: tl.constexpr,
    TILES: tl.constexpr,
):
    for tile in range(TILES):
        pair = (tl.program_id(0).to(tl.int64) * TILES + tile) * PAIRS + tl.arange(0, PAIRS)
        loaded = load_values(values, pair, n_kernels, n_pairs, PIECES)
        tl.store(out + pair, network(loaded, weights, LAYERS, "float32"), pair < n_pairs)


@triton.jit
def _gradients_kernel(  # type: ignore[no-untyped-def]
    values,
    slopes,
    weights,
    totals,
    n_kernels,
    n_pairs,
    n_weights,
    PIECES: tl.constexpr,
    LAYERS: tl.constexpr,
    PAIRS: tl.constexpr,
):
    """Every program sums its tiles into registers, then writes them in the order of the weights."""
    input_totals = ()
    unit_totals = ()
    for u in tl.static_range(count(LAYERS, 0, 0)):
        unit_totals = appended(unit_totals, tl.zeros((item(LAYERS, 0, 0, u),), tl.float32))
        for q in tl.static_range(count(PIECES)):
            nothing = tl.zeros((item(PIECES, q, 1), item(LAYERS, 0, 0, u)), tl.float32)
            input_totals = appended(input_totals, nothing)
    for first in range(tl.program_id(0).to(tl.int64) * PAIRS, n_pairs, tl.num_programs(0) * PAIRS):
        pair = first + tl.arange(0, PAIRS)
        loaded = load_values(values, pair, n_kernels, n_pairs, PIECES)
        sums = ()
        units = ()
        for u in tl.static_range(count(LAYERS, 0, 0)):
            total = weighted_sums(loaded, weights, LAYERS, 0, u, "float32")
            sums = appended(sums, total)
            units = appended(units, activate(total, item(LAYERS, 0, 2), item(LAYERS, 0, 3)))
        output = output_sum(units, weights, LAYERS)
        slope = tl.load(slopes + pair, pair < n_pairs, 0.0)
        value = activate(output, item(LAYERS, 1, 2), item(LAYERS, 1, 3))
        slope *= derivative(output, value, item(LAYERS, 1, 2), item(LAYERS, 1, 3))
        new_input_totals = ()
        new_unit_totals = ()
        for u in tl.static_range(len(units)):
            new_unit_totals = appended(new_unit_totals, unit_totals[u] + tl.sum(units[u] * slope[:, None], 0))
            back = slope[:, None] * output_weights(weights, LAYERS, u, units[u].shape[1])[None, :]
            back *= derivative(sums[u], units[u], item(LAYERS, 0, 2), item(LAYERS, 0, 3))
            for q in tl.static_range(len(loaded)):
                total = input_totals[u * len(loaded) + q]
                total = multiply_add(tl.trans(loaded[q]), back, total, "float32")
                new_input_totals = appended(new_input_totals, total)
        input_totals = new_input_totals
        unit_totals = new_unit_totals
    own = totals + tl.program_id(0).to(tl.int64) * n_weights
    for u in tl.static_range(count(LAYERS, 0, 0)):
        tl.store(own + item(LAYERS, 1, 1, 0, u) + tl.arange(0, unit_totals[u].shape[0]), unit_totals[u])
        for q in tl.static_range(count(PIECES)):
            total = input_totals[u * count(PIECES) + q]
            tl.store(block_pointers(own, item(LAYERS, 0, 1, u, q), total.shape[0], total.shape[1]), total)


def network_values(values: Tensor, layers: Sequence[DenseLayer]) -> Tensor:
    """The network's value of each column of float32 (n_kernels, n_pairs): (n_pairs,).

    n_units n_inputs multiply-adds and n_units activations per pair and layer. Hidden values stay on the chip, except in
    networks that are too wide (`fits`), which torch evaluates.
    """
    n_kernels, n_pairs = values.shape
    assert values.is_contiguous()
    assert values.dtype == torch.float32
    widths = pieces(n_kernels)
    if not fits(widths, layers):
        return output_values(plain_layers(layers), values)
    out = values.new_empty(n_pairs)
    packed = _packed(layers, n_kernels)
    _values_kernel[(triton.cdiv(n_pairs, PAIRS * TILES),)](
        values,
        packed.weights,
        out,
        n_kernels,
        n_pairs,
        PIECES=_first_and_width(widths),
        LAYERS=packed.layers,
        PAIRS=PAIRS,
        TILES=TILES,
        num_warps=WARPS,
        num_stages=1,
    )
    return out


def network_gradients(values: Tensor, slopes: Tensor, layers: Sequence[DenseLayer]) -> list[Tensor]:
    """Gradients of sum_p slopes_p network(values[:, p]) by every layer's weights: (n_units, n_inputs) in float64.

    Fused for networks with one hidden layer that fit on the chip, about three forward passes' worth of work: hidden
    values are recomputed, every program sums its own pairs in float32, and the programs are summed in float64, always
    in the same order. Other networks go through torch.
    """
    n_kernels, n_pairs = values.shape
    assert values.is_contiguous()
    assert slopes.is_contiguous()
    assert values.dtype == slopes.dtype == torch.float32
    widths = pieces(n_kernels)
    if len(layers) != 2 or not fits(widths, layers):
        return gradients(plain_layers(layers), values, slopes)
    packed = _packed(layers, n_kernels)
    n_programs = min(PROGRAMS, triton.cdiv(n_pairs, PAIRS))
    totals = values.new_zeros(n_programs, len(packed.weights))
    _gradients_kernel[(n_programs,)](
        values,
        slopes,
        packed.weights,
        totals,
        n_kernels,
        n_pairs,
        len(packed.weights),
        PIECES=_first_and_width(widths),
        LAYERS=packed.layers,
        PAIRS=PAIRS,
        num_warps=WARPS,
        num_stages=1,
    )
    return unpack(totals.sum(0, dtype=torch.float64), packed, layers, widths)


def _packed(layers: Sequence[DenseLayer], n_kernels: int) -> PackedNetwork:
    widths = pieces(n_kernels)
    return pack(layers, places(n_kernels, sum(widths), layers[0].weights.device), widths)


def _first_and_width(widths: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    return tuple((sum(widths[:k]), width) for k, width in enumerate(widths))
