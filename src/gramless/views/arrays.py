"""What a block of features may be: any kind of array becomes one of three, or is refused in words.

A block is a NumPy array, a canonical CSR matrix of scipy's, or a dense torch tensor, of real and finite numbers that
float64 holds; a row of NaN is that of a sample which lacks the view. The caller's memory is shared where it can be, and
never changed.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from gramless.errors import DataError

SHORT_FLOATS = (torch.bfloat16, torch.float16)
PLAIN = (np.dtype(np.float32), np.dtype(np.float64))
FEW_VALUES = 1 << 14  # that are looked at one by one as fast as their sum is
THREAD_BYTES = 64 << 20  # of numbers that are worth a thread


def as_block(name: str, block: Any) -> Any:
    """Anything that holds numbers by rows and columns, as a block."""
    if type(block) is np.ndarray and block.dtype in PLAIN and block.ndim == 2 and block.size:
        return block
    if hasattr(block, "to_numpy"):
        block = block.to_numpy()
    if isinstance(block, Tensor):
        block = _tensor_block(name, block)
    elif sparse.issparse(block):
        block = _sparse_block(name, block)
    else:
        block = _array_block(name, block)
    if block.ndim != 2:
        raise DataError(
            f"view {name!r} must be 2-D, one row per sample, but has shape {tuple(block.shape)}. "
            "Reshape a single feature with x.reshape(-1, 1), a single sample with x.reshape(1, -1)."
        )
    if 0 in block.shape:
        raise DataError(
            f"view {name!r} is empty: its shape is {tuple(block.shape)}. "
            "Every view needs at least one sample and one feature."
        )
    return block


def missing_rows(name: str, block: Any, first_row: int) -> np.ndarray | None:
    """Mask (n,) of the rows that are NaN in every column; None if there are none. NaN and infinity elsewhere are
    refused.
    """
    bad = _not_finite(block)
    if not len(bad):
        return None
    rows = bad[:, 0][_nan_at(block, bad)]
    missing = np.bincount(rows, minlength=block.shape[0]) == block.shape[1]
    bad = bad[~missing[bad[:, 0]]]
    if len(bad):
        row, column = (int(i) for i in bad[0])
        raise DataError(
            f"view {name!r} contains NaN or infinity, first at row {first_row + row}, column {column} "
            f"({len(bad)} in all). Impute or drop those samples, or make the whole row NaN: then the sample lacks the "
            "view."
        )
    return missing


def refuse_masked(what: str, array: Any) -> None:
    """A masked array with masked entries: its numbers are there, but not meant."""
    if isinstance(array, np.ma.MaskedArray) and np.ma.getmaskarray(array).any():
        n_masked = int(np.ma.getmaskarray(array).sum())
        raise DataError(
            f"{what} is a masked array, and {n_masked} of its entries are masked: there is no value to use for them. "
            "Fill them (array.filled(0.0), an imputer), or drop those samples."
        )


def dense(block: Any) -> np.ndarray:
    """A block as an array in memory."""
    if isinstance(block, Tensor):
        block = block.detach().cpu()
        return (block.float() if block.dtype == torch.bfloat16 else block).numpy()
    return block.toarray() if sparse.issparse(block) else block


def in_type(name: str, array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The numbers of a view in a type, C-contiguous, in place where they are so; those beyond the type are refused."""
    try:
        with np.errstate(over="raise"):
            return np.ascontiguousarray(array, dtype)
    except FloatingPointError:
        raise DataError(
            f"view {name!r}: values up to {np.nanmax(np.abs(array)):.6g} are too large: they overflow in {dtype}. "
            "Scale the features down, for instance to unit variance."
        ) from None


def as_tensor(array: np.ndarray) -> Tensor:
    """Of the same memory, or of a copy where that cannot be written or runs backwards, which PyTorch does not share."""
    if any(stride < 0 for stride in array.strides) or not array.flags.writeable:
        array = array.copy()
    return torch.from_numpy(array)


def with_rows(block: Any, missing: np.ndarray, rows: Tensor) -> Any:
    """A copy of a block with other rows where the mask says so."""
    places = np.flatnonzero(missing)
    if isinstance(block, Tensor):
        return block.index_put((torch.from_numpy(places).to(block.device),), rows.to(block))
    if sparse.issparse(block):
        order = np.arange(len(missing))
        order[places] = len(missing) + np.arange(len(places))
        return sparse.vstack([block, type(block)(rows.numpy().astype(block.dtype))], format="csr")[order]
    filled = block.copy()
    filled[places] = rows.numpy()
    return filled


def lowest(block: Any) -> float:
    """The least number of a block, 0 of one without numbers; NaN where any is."""
    if not min(block.shape) or (isinstance(block, Tensor) and not block.dtype.is_signed):
        return 0.0  # PyTorch has no minimum of some unsigned types, and what matters is whether it is negative
    return float(block.min())


def numpy_dtype(dtype: torch.dtype) -> np.dtype:
    return np.dtype(np.float16) if dtype in SHORT_FLOATS else np.dtype(str(dtype).removeprefix("torch."))


def _array_block(name: str, block: Any) -> np.ndarray:
    refuse_masked(f"view {name!r}", block)
    try:
        array = np.asarray(block)
        if array.dtype == object:
            array = array.astype(np.float64)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise DataError(f"view {name!r} holds something that is not a number: {error}.") from error
    _check_kind(name, array.dtype)
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        with np.errstate(over="ignore"):
            return array.astype(np.float64)  # what it does not hold becomes infinite, and is found as such
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _sparse_block(name: str, block: Any) -> Any:
    """Sorted rows without duplicates, whatever order the entries are in; an index beyond the shape is refused."""
    _check_kind(name, block.dtype)
    if block.ndim != 2:
        return block
    _check_indices(name, block)
    rows = block.tocsr()
    if not _is_canonical(rows):
        rows = rows.copy()
        rows.sum_duplicates()
    return rows.astype(np.float64) if rows.dtype.kind == "f" and rows.dtype.itemsize > 8 else rows


def _check_indices(name: str, block: Any) -> None:
    """scipy trusts its indices, and writes outside of its memory where they are wrong."""
    sides: list[tuple[Any, int]] = []
    if block.format in ("csr", "csc", "bsr"):
        down, across = (1, 0) if block.format == "csc" else (0, 1)
        shape = [n // b for n, b in zip(block.shape, getattr(block, "blocksize", (1, 1)), strict=True)]
        starts, indices = np.asarray(block.indptr), np.asarray(block.indices)
        if (
            len(starts) != shape[down] + 1
            or starts[0] != 0
            or (np.diff(starts) < 0).any()
            or starts[-1] > min(len(indices), len(block.data))
        ):
            raise DataError(f"view {name!r} is a damaged {block.format} matrix: its indptr does not fit its entries.")
        sides = [(indices[: starts[-1]], shape[across])]
    elif block.format == "coo":
        if len({len(part) for part in (*block.coords, block.data)}) > 1:
            raise DataError(f"view {name!r} is a damaged coo matrix: its rows, columns and entries differ in number.")
        sides = list(zip(block.coords, block.shape, strict=True))
    for indices, n in sides:
        if len(indices) and not 0 <= int(indices.min()) <= int(indices.max()) < n:
            raise DataError(
                f"view {name!r} is a damaged {block.format} matrix: it has entries at {indices.min()} ... "
                f"{indices.max()} of {n} places."
            )


def _is_canonical(rows: Any) -> bool:
    """Whether indices ascend in every row; looked up here, since scipy's own answer may be a stale note."""
    steps = np.diff(rows.indices[: rows.indptr[-1]])
    row_starts = rows.indptr[1:-1]
    row_starts = row_starts[(row_starts > 0) & (row_starts < rows.indptr[-1])]
    inside = np.ones(len(steps), dtype=bool)
    inside[row_starts - 1] = False
    return bool((steps[inside] > 0).all())


def _tensor_block(name: str, block: Tensor) -> Tensor:
    if block.layout != torch.strided:
        raise DataError(
            f"view {name!r} is a sparse torch tensor ({block.layout}): give it dense, .to_dense(), or as a "
            "scipy.sparse matrix, which stays sparse."
        )
    if block.is_quantized or block.is_meta:
        kind = "quantised, which kernels do not compute with" if block.is_quantized else "on the meta device"
        raise DataError(f"view {name!r} is a torch tensor that is {kind}: give its numbers, in floating point.")
    if block.is_nested:
        raise DataError(f"view {name!r} is a nested torch tensor: give one row of equal length per sample.")
    try:
        _check_kind(name, numpy_dtype(block.dtype))
    except TypeError:
        raise DataError(f"view {name!r} must hold real numbers, but its dtype is {block.dtype}.") from None
    return block.detach().resolve_neg()


def _check_kind(name: str, dtype: np.dtype) -> None:
    if dtype.names is not None:
        raise DataError(
            f"view {name!r} is a structured array with the fields {', '.join(dtype.names)}: give one 2-D array of "
            "numbers, for instance by numpy.lib.recfunctions.structured_to_unstructured."
        )
    if dtype.kind not in "fiub":
        raise DataError(f"view {name!r} must hold real numbers, but its dtype is {dtype}.")


def _nan_at(block: Any, places: np.ndarray) -> np.ndarray:
    """Which of the entries at these rows and columns are NaN: (n_places,)."""
    if isinstance(block, Tensor):
        rows, columns = torch.from_numpy(places).to(block.device).T
        return block[rows, columns].isnan().cpu().numpy()
    return np.isnan(np.asarray(block[places[:, 0], places[:, 1]])).ravel()


def _total(values: np.ndarray) -> float:
    """Infinite or NaN if any value is, or if they are large: one pass that writes nothing, by threads if it is long."""
    n_parts = min(torch.get_num_threads(), 1 + values.nbytes // THREAD_BYTES)
    with np.errstate(over="ignore", invalid="ignore"):
        if n_parts == 1:
            return values.sum()
        with ThreadPoolExecutor(n_parts) as pool:
            return sum(pool.map(np.sum, np.array_split(values, n_parts)))


_NOWHERE = np.empty((0, 2), dtype=int)


def _not_finite(block: Any) -> np.ndarray:
    """Rows and columns of the entries that are NaN or infinite: (n_bad, 2)."""
    if isinstance(block, Tensor):
        return torch.argwhere(~block.isfinite()).cpu().numpy()
    values = block.data if sparse.issparse(block) else block
    summed = values.size > FEW_VALUES and values.dtype.kind == "f" and np.isfinite(_total(values))
    if summed or values.dtype.kind != "f" or np.isfinite(values).all():
        return _NOWHERE
    if sparse.issparse(block):
        block = block.tocoo()
        return np.column_stack(block.coords)[~np.isfinite(block.data)]
    return np.argwhere(~np.isfinite(block))
