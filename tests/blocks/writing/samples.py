"""Rows cut into blocks as a test wants them, and what other libraries find in the files that were written."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow.dataset
import pytest
import zarr

from gramless.blocks.formats import RowLayout
from gramless.blocks.writing import write_rows
from gramless.errors import DataError

SUFFIXES = [".npy", ".zarr", ".parquet"]
every_format = pytest.mark.parametrize("suffix", SUFFIXES)
known_or_not = pytest.mark.parametrize("counted", [True, False], ids=["counted", "uncounted"])


@dataclass
class CutRows:
    """Rows in blocks that end where it says. Their last bits tell the block's length, as those of real ones may.

    failures : what is raised instead of the block that starts at that row
    computed : first and last row of all blocks that were asked for
    """

    values: np.ndarray
    ends: list[int]
    counted: bool = True
    failures: dict[int, BaseException] = field(default_factory=dict)
    computed: list[tuple[int, int]] = field(default_factory=list)
    what = "testing"
    reads_from = ()

    @property
    def n_rows(self):
        return len(self.values) if self.counted else None

    @property
    def width(self):
        return None if self.values.ndim == 1 else self.values.shape[1]

    @property
    def dtype(self):
        return self.values.dtype

    def blocks(self, first_row=0):
        for start, end in zip([0, *self.ends], self.ends, strict=False):
            if end <= first_row:
                continue
            start = max(start, first_row)
            if start in self.failures:
                raise self.failures[start]
            self.computed.append((start, end))
            block = self.values[start:end]
            if block.dtype.kind == "f":
                block = (block * (1 + 1e-6 * ((end - start) % 50))).astype(block.dtype)
            yield block

    @property
    def expected(self):
        return np.concatenate(list(self.blocks()) or [self.values])


def random_values(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(0, 2 if np.dtype(dtype).kind == "b" else 1000, shape).astype(dtype)


def complete_before(row, values, n_rows=None):
    """How many rows are in whole pieces when the run is stopped at that row."""
    size = RowLayout(values.shape[1:], values.dtype, n_rows).piece_rows
    return row - row % size


def random_ends(n_rows, rng, longest=60):
    ends = [0]
    while ends[-1] < n_rows:
        ends.append(min(n_rows, ends[-1] + int(rng.integers(1, longest))))
    return ends[1:]


def found_in(path: Path):
    """The rows, as the library reads them that the format comes from."""
    if path.suffix == ".npy":
        return np.array(np.load(path, mmap_mode="r"))
    if path.suffix == ".zarr":
        return zarr.open_array(path, mode="r")[:]
    table = pyarrow.dataset.dataset(path, format="parquet").to_table()
    if "values" in table.column_names:
        return table["values"].to_numpy()
    return np.array(table["vectors"].to_pylist()).reshape(len(table), table["vectors"].type.list_size)


def written(values, path, step=30, counted=True):
    """Rows in blocks of so many, in a file."""
    ends = [min(end, len(values)) for end in range(step, len(values) + step, step)]
    return write_rows(CutRows(values, ends, counted), path)


def stop_at(row, values, ends, path, failure=None, counted=True):
    """A run that ends there, and with what."""
    failure = failure or DataError(f"row {row} holds NaN.")
    with pytest.raises(type(failure)) as stopped:
        write_rows(CutRows(values, ends, counted, failures={row: failure}), path)
    return stopped.value


def written_in_one_go(rows, path):
    """The bytes of a file or folder of that name that no run was stopped in."""
    path.parent.joinpath("one").mkdir()
    return bytes_of(write_rows(rows, path.parent / "one" / path.name))


def bytes_of(path: Path):
    if path.is_file():
        return path.read_bytes()
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}
