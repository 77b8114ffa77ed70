"""The elementary kernel values of the training samples: computed once, kept in tiles, read in every step."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor

from gramless.deep_kernel import DeepKernel
from gramless.engine import choose_device
from gramless.support.budget import readable, row_blocks
from gramless.support.progress import ProgressBar
from gramless.views import Views

TILE_SIDE = 1024
GPU_TILE_SIDE = 2048  # fewer and larger: what a GPU does with a tile is soon done


@dataclass(frozen=True, eq=False)
class Tile:
    """Elementary values of one block of pairs: (n_kernels, rows, columns), on the diagonal those of its upper triangle.

    There every pair of samples is held once: (n_kernels, pairs), row after row.
    """

    rows: slice
    columns: slice
    values: Tensor

    @property
    def on_diagonal(self) -> bool:
        return self.values.ndim == 2

    def block(self, values: Tensor) -> Tensor:
        """The block (rows, columns) of a symmetric matrix with these values of the tile's pairs."""
        if not self.on_diagonal:
            return values
        size = _size(self.rows)
        return values.index_select(0, _pair_numbers(size, values.device)).view(size, size)

    def folded(self, block: Tensor) -> Tensor:
        """Both triangles of a symmetric matrix as the tile's pairs: what stands twice in it counts twice."""
        if not self.on_diagonal:
            return 2.0 * block
        folded = 2.0 * block
        folded.diagonal().copy_(block.diagonal())
        return _upper_triangle(folded)


class ElementaryValues:
    """All elementary kernels between samples X (the upper triangle), and between others Z and X.

    4 n_kernels (n^2 / 2 + n m) bytes: in memory, on the GPU if that is where the network computes and they fit, or in a
    file that lives as long as this object where they exceed the budget. No value per hidden unit is ever kept.
    """

    def __init__(self, kernel: DeepKernel, X: Views, Z: Views | None, budget: int) -> None:
        self.device = choose_device(X)
        self.n_samples, self.n_others = len(X), len(Z) if Z is not None else 0
        n_kernels = len(kernel.inputs)
        tile_side = GPU_TILE_SIDE if self.device.type == "cuda" else TILE_SIDE
        own, others = _blocks(len(X), tile_side), _blocks(self.n_others, tile_side)
        square = [(r, c) for r in own for c in own if c.start >= r.start]
        across = [(r, c) for r in others for c in own]
        n_values = n_kernels * (_n_pairs(len(X)) + self.n_others * len(X))
        pool = self._allocate(n_values, budget)
        tiles: list[Tile] = []
        used = 0
        with ProgressBar(f"elementary kernels ({readable(4 * n_values)})", len(square) + len(across)) as progress:
            for position, (rows, columns) in enumerate(square + across):
                side = X if position < len(square) or Z is None else Z
                found = kernel.elementary(side[rows], X[columns], torch.float32, self.device)
                triangle = position < len(square) and rows == columns
                shape = torch.Size([_n_pairs(_size(rows))]) if triangle else found.shape[1:]
                values = pool[used : used + n_kernels * shape.numel()].view(n_kernels, *shape)
                for kept, of_kernel in zip(values, found, strict=True):
                    kept.copy_(_upper_triangle(of_kernel) if triangle else of_kernel)
                tiles.append(Tile(rows, columns, values))
                used += values.numel()
                progress.advance()
        self._square, self._across = tiles[: len(square)], tiles[len(square) :]

    def _allocate(self, n_values: int, budget: int) -> Tensor:
        if self.device.type == "cuda" and 4 * n_values < torch.cuda.mem_get_info(self.device)[0] // 2:
            return torch.empty(n_values, dtype=torch.float32, device=self.device)
        if 4 * n_values <= budget:
            return torch.empty(n_values, dtype=torch.float32)
        self._folder = tempfile.TemporaryDirectory(prefix="gramless-")
        path = Path(self._folder.name) / "elementary"
        return torch.from_file(str(path), shared=True, size=n_values, dtype=torch.float32)

    def first_tile(self) -> ElementaryValues:
        """The same of the samples of the first tile alone, sharing its memory."""
        first = copy(self)
        first._square, first._across = self._square[:1], []
        first.n_samples, first.n_others = _size(self._square[0].rows), 0
        return first

    def square(self) -> Iterator[Tile]:
        """Tiles of the upper triangle of X with itself."""
        return self._on_device(self._square)

    def across(self) -> Iterator[Tile]:
        """Tiles of Z with X."""
        return self._on_device(self._across)

    def _on_device(self, tiles: list[Tile]) -> Iterator[Tile]:
        return (Tile(tile.rows, tile.columns, tile.values.to(self.device)) for tile in tiles)


def _blocks(n: int, side: int) -> list[slice]:
    return list(row_blocks(n, 1, side)) if n else []


def _size(block: slice) -> int:
    return block.stop - block.start


def _n_pairs(size: int) -> int:
    return size * (size + 1) // 2


def _upper_triangle(block: Tensor) -> Tensor:
    """Of (n, n), row after row."""
    return block.flatten().index_select(0, _upper_places(len(block), block.device))


@lru_cache(maxsize=4)
def _upper_places(size: int, device: torch.device) -> Tensor:
    """Where the upper triangle stands in a flat matrix."""
    rows, columns = torch.triu_indices(size, size, device=device)
    return (rows * size + columns).int()


@lru_cache(maxsize=4)
def _pair_numbers(size: int, device: torch.device) -> Tensor:
    """Of every place in a flat symmetric matrix."""
    numbers = torch.empty(size, size, dtype=torch.int32, device=device)
    rows, columns = torch.triu_indices(size, size, device=device)
    numbers[rows, columns] = numbers[columns, rows] = torch.arange(len(rows), dtype=torch.int32, device=device)
    return numbers.flatten()
