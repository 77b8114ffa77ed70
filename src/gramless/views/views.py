"""Views: feature blocks that share rows; the one input type inside the package."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from gramless.errors import DataError
from gramless.views.arrays import (
    as_block,
    as_tensor,
    dense,
    in_type,
    missing_rows,
    numpy_dtype,
    refuse_masked,
    with_rows,
)

Layout = dict[str, int]
"""View names and their widths, in order."""

Columns = Mapping[str, Any]
"""View names and the columns of one array that belong to each: a slice, positions, or DataFrame column names."""


class Views:
    """Several descriptions of the same samples: row i of every view describes sample i.

    Nothing is copied where a view of the caller's memory will do, and nothing of the caller's is ever changed.
    Rows can be indexed, so scikit-learn's splitters work; `X["sift"]` is one block.

    Parameters
    ----------
    blocks
        A mapping of names to 2-D blocks; a list of blocks (then named view0, view1, ...); or one block.
        A block is a NumPy array, a scipy.sparse matrix, a torch tensor or a DataFrame. Sparse blocks stay sparse
        and are made dense a few rows at a time where they are used.
    columns
        With one block: the columns that belong to each view, as slices, positions or DataFrame column names.
    first_row
        The number of the first row, for messages: these may be rows of something larger.

    A sample may lack a view: its row there is NaN in every column. Estimators complete it from samples that are like it
    in the views that it has; see gramless.views.completion.
    """

    __slots__ = ("__weakref__", "_blocks", "_missing")
    ndim = 2

    def __init__(self, blocks: Any, columns: Columns | None = None, *, first_row: int = 0) -> None:
        named = dict(_name_blocks(blocks, columns))
        if not named:
            raise DataError("got no views: give at least one block of features.")
        names = [str(name) for name in named]
        if len(set(names)) < len(names):
            raise DataError(f"views are told apart by their names, but two of {names} are the same.")
        self._blocks = {str(name): as_block(str(name), block) for name, block in named.items()}
        rows = {name: block.shape[0] for name, block in self._blocks.items()}
        if len(set(rows.values())) > 1:
            raise DataError(
                f"views must describe the same samples, but their row counts differ: {rows}. "
                "Give every view one row per sample, in the same order."
            )
        found = {name: missing_rows(name, block, first_row) for name, block in self._blocks.items()}
        self._missing = {name: mask for name, mask in found.items() if mask is not None}
        self._refuse_nothing_known(first_row)

    @classmethod
    def stacked(cls, parts: Sequence[Views]) -> Views:
        """The rows of several, one after the other; all with the views of the first."""
        blocks = {name: [part[name] for part in parts if len(part)] or [parts[0][name]] for name in parts[0].names}
        missing = {name: np.concatenate([part.missing_in(name) for part in parts]) for name in parts[0].names}
        return cls._trusted({name: _concatenated(found) for name, found in blocks.items()}, missing)

    @classmethod
    def _trusted(cls, blocks: dict[str, Any], missing: Mapping[str, np.ndarray] = MappingProxyType({})) -> Views:
        """Views of blocks that were checked before."""
        views = cls.__new__(cls)
        views._blocks = blocks
        views._missing = {name: mask for name, mask in missing.items() if mask.any()}
        return views

    @property
    def incomplete(self) -> bool:
        """Whether any sample lacks a view."""
        return bool(self._missing)

    def missing_in(self, name: str) -> np.ndarray:
        """Mask (n,) of the samples that lack a view."""
        return self._missing.get(name, np.zeros(len(self), dtype=bool))

    def complete(self, what: str) -> Views:
        """The same views, for something that needs every view of every sample; refused if one is missing."""
        for name, mask in self._missing.items():
            raise DataError(
                f"{what} needs every view of every sample, but view {name!r} is missing (NaN) in row "
                f"{int(mask.argmax())} ({int(mask.sum())} such rows in all). Leave those samples out, or use an "
                "estimator, which completes them."
            )
        return self

    def _refuse_nothing_known(self, first_row: int = 0) -> None:
        if len(self._missing) == len(self._blocks):
            nothing = np.logical_and.reduce([*self._missing.values()])
            if nothing.any():
                raise DataError(
                    f"row {first_row + int(nothing.argmax())} is NaN in all of the views {list(self._blocks)} "
                    f"({int(nothing.sum())} such rows in all): nothing is known of that sample. Leave it out."
                )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._blocks)

    @property
    def layout(self) -> Layout:
        return {name: block.shape[1] for name, block in self._blocks.items()}

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), sum(self.layout.values())

    @property
    def numpy_dtype(self) -> np.dtype:
        """The floating type that holds every block: float32, unless one of them needs float64."""
        kinds = (
            numpy_dtype(block.dtype) if isinstance(block, Tensor) else block.dtype for block in self._blocks.values()
        )
        return np.dtype(np.result_type(np.float32, *kinds))

    @property
    def dtype(self) -> torch.dtype:
        return torch.float64 if self.numpy_dtype.itemsize > 4 else torch.float32

    @property
    def torch_device(self) -> torch.device | None:
        """Where the caller's tensors lie; None if the caller gave arrays."""
        for block in self._blocks.values():
            if isinstance(block, Tensor):
                return block.device
        return None

    def __len__(self) -> int:
        return int(next(iter(self._blocks.values())).shape[0])

    def __getitem__(self, rows: Any) -> Any:
        """`X["name"]` is a block; anything else selects rows of every block."""
        if isinstance(rows, str):
            return self._blocks[rows]
        if isinstance(rows, tuple):  # scikit-learn indexes arrays as X[rows, ...]
            if len(rows) != 2 or rows[1] is not Ellipsis:
                raise IndexError("Views are indexed by rows, X[rows], or by the name of a view, X['name'].")
            rows = rows[0]
        if isinstance(rows, (int, np.integer)):
            if not -len(self) <= rows < len(self):
                raise IndexError(f"row {rows} of Views with {len(self)} rows")
            rows = np.array([rows])
        missing = {name: _take(mask, rows) for name, mask in self._missing.items()}
        return Views._trusted({name: _take(block, rows) for name, block in self._blocks.items()}, missing)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """All views side by side in one dense array, for code that knows arrays only."""
        kind = np.dtype(dtype) if dtype is not None else self.numpy_dtype
        return np.hstack([np.asarray(dense(block), dtype=kind) for block in self._blocks.values()])

    def __repr__(self) -> str:
        described = ", ".join(
            f"{name} {block.shape[1]}{' sparse' if sparse.issparse(block) else ''}"
            for name, block in self._blocks.items()
        )
        return f"Views({len(self)} rows: {described})"

    def tensor(self, name: str, dtype: torch.dtype, device: torch.device | str = "cpu") -> Tensor:
        """One view as a dense tensor (n, width), infinite beyond its type; shares the caller's memory where it can."""
        block = self._blocks[name]
        if isinstance(block, Tensor):
            return block.detach().to(device=device, dtype=dtype)
        with np.errstate(over="ignore"):
            array = np.asarray(dense(block), dtype=numpy_dtype(dtype))
        return as_tensor(array).to(device)

    def array(self, name: str, dtype: np.dtype) -> np.ndarray:
        """One view as a dense C-contiguous array in host memory: the caller's own, to be read only, where that is.

        Numbers beyond the type are refused.
        """
        block = self._blocks[name]
        if type(block) is np.ndarray and block.dtype == dtype and block.flags.c_contiguous:
            return block  # at once: one sample has little else to wait for
        return in_type(name, dense(block), dtype)

    def dense(self, dtype: torch.dtype) -> Views:
        """A dense copy of a few rows that shares no memory with the caller's."""
        tensors = {name: self.tensor(name, dtype, self.torch_device or "cpu").clone() for name in self.names}
        if self.torch_device is None:
            return Views._trusted({name: tensor.numpy() for name, tensor in tensors.items()}, self._missing)
        return Views._trusted(tensors, self._missing)

    def replaced(self, tensors: dict[str, Tensor]) -> Views:
        """Views of the same samples held elsewhere."""
        return Views._trusted(tensors, self._missing)

    def completed(self, rows: Mapping[str, Tensor]) -> Views:
        """The same samples with these rows (n_missing, width), in order, where they lack a view."""
        blocks = {
            name: with_rows(block, self._missing[name], rows[name]) if name in self._missing else block
            for name, block in self._blocks.items()
        }
        return Views._trusted(blocks)

    def match(self, layout: Layout) -> Views:
        """The views that a fitted network knows, in its order; an error that names what is missing or too wide."""
        check_layout(self.layout, layout)
        missing = {name: mask for name, mask in self._missing.items() if name in layout}
        matched = Views._trusted({name: self._blocks[name] for name in layout}, missing)
        matched._refuse_nothing_known()
        return matched


def check_layout(mine: Layout, known: Layout) -> None:
    """Whether data has the views that a fitted network knows; others may be there too."""
    missing = [name for name in known if name not in mine]
    if missing:
        raise DataError(
            f"the views {missing} are missing: this network was fitted on {list(known)}, got {list(mine)}. A "
            "sample that lacks a view has NaN in its whole row there."
        )
    for name, width in known.items():
        if mine[name] != width:
            raise DataError(
                f"view {name!r} has {mine[name]} features, but this network was fitted on {width}. "
                "Describe new samples with the same features as the training samples."
            )


def side_by_side(layout: Layout) -> dict[str, slice]:
    """The columns of each view in one array that holds them all in order."""
    ends = np.cumsum(list(layout.values())).tolist()
    return {name: slice(end - width, end) for (name, width), end in zip(layout.items(), ends, strict=True)}


def is_multiview(data: Any) -> bool:
    """Whether data names or lists several blocks, rather than being one array-like of samples."""
    if sparse.issparse(data):  # one of scipy's formats is a dict
        return False
    if isinstance(data, (Views, Mapping)):
        return True
    return isinstance(data, (list, tuple)) and len(data) > 0 and all(getattr(block, "ndim", 0) == 2 for block in data)


def _name_blocks(blocks: Any, columns: Columns | None) -> Mapping[str, Any]:
    if is_multiview(blocks):
        if columns is not None:
            raise DataError("columns= cuts one array into views, but got several views. Give one or the other.")
        if isinstance(blocks, Views):
            return blocks._blocks
        if isinstance(blocks, Mapping):
            return blocks
        return {f"view{i}": block for i, block in enumerate(blocks)}
    if columns is None:
        return {"view0": blocks}
    if not isinstance(columns, Mapping):
        raise DataError(f"columns= maps names of views to their columns, got {columns!r}.")
    return {name: _select_columns(name, blocks, chosen) for name, chosen in columns.items()}


def _select_columns(name: str, block: Any, chosen: Any) -> Any:
    chosen = column_list(chosen)
    by_name = not isinstance(chosen, slice) and all(isinstance(c, str) for c in chosen)
    try:
        if hasattr(block, "iloc"):
            refuse_ambiguous(block.columns, chosen) if by_name else None
            return block[list(chosen)] if by_name else block.iloc[:, chosen]
        if sparse.issparse(block):
            return as_block(name, block).tocsc()[:, chosen].tocsr()
        if not isinstance(block, Tensor):
            refuse_masked(f"view {name!r}", block)
            block = np.asarray(block)
        return block[:, chosen]
    except (IndexError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise DataError(f"view {name!r} asks for columns {chosen!r} that are not there: {error}.") from error


def column_list(chosen: Any) -> Any:
    """The columns of a view as something that arrays are indexed by: a single name or position is a list of one."""
    if isinstance(chosen, (str, int, np.integer)):
        return [chosen]
    if not isinstance(chosen, slice) and not hasattr(chosen, "__iter__"):
        raise DataError(f"the columns of a view are a slice, positions or names, got {chosen!r}.")
    return chosen


def refuse_ambiguous(names: Any, chosen: Any) -> None:
    """Columns are asked for by names that several have."""
    counts = Counter(names)
    several = [name for name in chosen if counts[name] > 1]
    if several:
        raise DataError(f"several columns are named {several[0]!r}: rename them, or give positions.")


def _take(block: Any, rows: Any) -> Any:
    if isinstance(block, Tensor):
        if isinstance(rows, Tensor):
            return block[rows.to(block.device)]
        if not isinstance(rows, slice):
            return block[torch.as_tensor(np.asarray(rows), device=block.device)]
        return block[rows]
    return block[rows.cpu().numpy() if isinstance(rows, Tensor) else rows]


def _concatenated(blocks: Sequence[Any]) -> Any:
    if isinstance(blocks[0], Tensor):
        return torch.cat(list(blocks))
    return sparse.vstack(blocks, format="csr") if sparse.issparse(blocks[0]) else np.concatenate(blocks)


LEAST_LOSS = 2e-5  # of a column's range: rounding below that is far below what samples differ by
ROWS = 4_096


def rounded(views: Views) -> Views:
    """The views in float32, or as they are where rounding would blur a column, or lose what is tiny or huge."""
    if views.numpy_dtype.itemsize <= 4 or views.torch_device is not None:
        return views
    blocks = {name: views[name] for name in views.names}
    if not all(loses_nothing(block) for block in blocks.values()):
        return views
    return Views({name: block.astype(np.float32) for name, block in blocks.items()})


def loses_nothing(block: Any) -> bool:
    """Whether every column (n, d) keeps its spread in float32; NaN, of a row that is missing, stays what it is."""
    if isinstance(block, Tensor):
        return False
    if sparse.issparse(block):
        block = block.data[:, None]
    n_columns = block.shape[1]
    low, high, lost = np.full(n_columns, np.inf), np.full(n_columns, -np.inf), np.zeros(n_columns)
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(block), ROWS):
            rows = np.asarray(block[start : start + ROWS], dtype=np.float64)
            low, high = np.fmin(low, np.nanmin(rows, axis=0)), np.fmax(high, np.nanmax(rows, axis=0))
            lost = np.fmax(lost, np.nanmax(np.abs(rows - rows.astype(np.float32)), axis=0))
        kept = (lost <= LEAST_LOSS * (high - low)) | (low == high)
    return bool((np.isfinite(lost) & kept).all())
