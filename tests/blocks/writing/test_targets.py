"""What rows are not written over, and data that has changed since the rows before were written."""

import numpy as np
import pyarrow as pa
import pytest
import zarr
from pyarrow import parquet as pq

import gramless as gl
from gramless.blocks import same_run
from gramless.blocks.writing import write_rows
from gramless.errors import DataError
from tests.blocks.writing.samples import SUFFIXES, CutRows, bytes_of, random_values

VALUES = random_values((700, 6), np.float32)
ENDS = list(range(50, 701, 50))


def first_columns(block):
    return next(iter(block.views[name] for name in block.views.names))[:, :2]


def rows_from(source, **options):
    return gl.in_blocks(source, rows=100, **options).mapped(first_columns, 2, np.float32, "columns")


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("part-0.parquet", {"vectors": [[1.0]]}),
        ("part-00000-of-00002.parquet", {"vectors": [[1.0]]}),
        ("part-000000.parquet", {"customer": [1], "price": [9.5]}),
        ("part-000000.parquet", {"values": [1], "price": [9.5]}),
        ("part-000000.parquet", None),
    ],
)
def test_somebody_elses_parquet_files_are_not_replaced(name, table, tmp_path):
    path = tmp_path / "x.parquet"
    path.mkdir()
    if table is None:
        (path / name).write_bytes(b"something else")
    else:
        pq.write_table(pa.table(table), path / name)
    before, rows = bytes_of(path), CutRows(VALUES, ENDS)
    with pytest.raises(DataError, match="holds something else"):
        write_rows(rows, path)
    assert not rows.computed
    assert bytes_of(path) == before


def test_samples_are_not_replaced_by_what_is_computed_from_them(tmp_path):
    table = write_rows(CutRows(VALUES, ENDS), tmp_path / "x.parquet")
    np.save(tmp_path / "x.npy", VALUES)
    zarr.create_array(tmp_path / "x.zarr", data=VALUES)
    labels = np.lib.format.open_memmap(tmp_path / "y.npy", "w+", np.int64, (700,))
    before, link = bytes_of(tmp_path), tmp_path / "link.parquet"
    link.symlink_to(table)
    refused = [
        (rows_from(table), table),
        (rows_from(table), link),
        (rows_from(table / "part-000000.parquet"), table),
        (rows_from(table), table / "new.parquet"),
        (rows_from(np.load(tmp_path / "x.npy", mmap_mode="r")), tmp_path / "x.npy"),
        (rows_from(zarr.open_array(tmp_path / "x.zarr", mode="r")), tmp_path / "x.zarr"),
        (rows_from(VALUES, labels=labels), tmp_path / "y.npy"),
    ]
    for rows, target in refused:
        with pytest.raises(DataError, match=r"cannot be written while the samples are read from .*another path"):
            rows.write(target)
    link.unlink()
    assert bytes_of(tmp_path) == before
    np.testing.assert_array_equal(np.load(rows_from(table).write(tmp_path / "new.npy")), VALUES[:, :2])


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(("first", "last"), [(150, 450), (100, 220), (390, 480)])
def test_data_that_changed_in_the_middle_is_noticed(suffix, first, last, tmp_path, monkeypatch):
    monkeypatch.setattr(same_run, "LOOKED_AT", 10)
    path = tmp_path / f"x{suffix}"
    with pytest.raises(KeyboardInterrupt):
        write_rows(CutRows(VALUES, ENDS, failures={600: KeyboardInterrupt()}), path)
    changed = VALUES.copy()
    changed[first:last] += 1
    with pytest.raises(DataError, match=r"left by another run: its row \d+ begins .* computed anew"):
        write_rows(CutRows(changed, ENDS), path)
