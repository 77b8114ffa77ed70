"""The forms in which rows lie on disk, and what may be there before them."""

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import zarr
from pyarrow import parquet as pq

import gramless as gl
from gramless.blocks import formats, writing
from gramless.blocks.writing import write_rows
from gramless.errors import DataError
from tests.blocks.writing.samples import SUFFIXES, CutRows, bytes_of, random_values, written


@pytest.mark.parametrize("n", [0, 1, 999, 12345])
@pytest.mark.parametrize("width", [None, 1, 7])
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, bool])
def test_an_array_file_is_what_numpy_saves(n, width, dtype, tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "PIECE_BYTES", 20_000)
    values = random_values((n,) if width is None else (n, width), dtype)
    saved = io.BytesIO()
    np.save(saved, values)
    path = written(values, tmp_path / "rows.npy", step=1000)
    assert path.read_bytes() == saved.getvalue()


@pytest.mark.parametrize("step", [30, 40, 150])
def test_pandas_reads_the_parts_in_the_order_of_the_rows(step, tmp_path):
    values = random_values((500, 5), np.int32)  # of which 40 are a piece
    path = written(values, tmp_path / "rows.parquet", step=step)
    parts = sorted(path.iterdir())
    assert [part.name for part in parts] == [f"part-{i:06d}.parquet" for i in range(13)]
    assert [pq.read_metadata(part).num_rows for part in parts] == [40] * 12 + [20]
    np.testing.assert_array_equal(np.stack(pd.read_parquet(path)["vectors"].to_numpy()), values)
    assert pq.read_schema(parts[0]).field("vectors").type == pa.list_(pa.int32(), 5)


def test_pandas_reads_single_numbers(tmp_path):
    values = random_values((500,), np.int64)
    path = written(values, tmp_path / "rows.parquet")
    np.testing.assert_array_equal(pd.read_parquet(path)["values"].to_numpy(), values, strict=True)


@pytest.mark.parametrize("counted", [True, False])
def test_a_zarr_array_has_chunks_of_whole_rows(counted, tmp_path):
    values = random_values((500, 5), np.float32)
    array = zarr.open_array(written(values, tmp_path / "rows.zarr", counted=counted), mode="r")
    assert array.chunks == (40, 5)
    assert array.metadata.zarr_format == 3


def test_a_small_zarr_array_takes_little_room(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "PIECE_BYTES", 16 << 20)
    path = written(random_values((50, 5), np.float32), tmp_path / "rows.zarr")
    assert sum(file.stat().st_size for file in path.iterdir()) < 3000


def test_narrow_rows_are_complete_after_seconds_too():
    assert formats.RowLayout((), np.dtype(np.int8)).piece_rows <= 65_536
    assert formats.RowLayout((1 << 40,), np.dtype(np.float64)).piece_rows == 1


def test_zeros_are_zeros_in_zarr(tmp_path):
    path = written(np.zeros((200, 5), np.float32), tmp_path / "rows.zarr")
    np.testing.assert_array_equal(
        zarr.open_array(path, mode="r")[:], CutRows(np.zeros((200, 5), np.float32), []).values
    )


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
    monkeypatch.setattr(writing, "LOOKED_AT", 10)
    path = tmp_path / f"x{suffix}"
    with pytest.raises(KeyboardInterrupt):
        write_rows(CutRows(VALUES, ENDS, failures={600: KeyboardInterrupt()}), path)
    changed = VALUES.copy()
    changed[first:last] += 1
    with pytest.raises(DataError, match=r"left by another run: its row \d+ begins .* computed anew"):
        write_rows(CutRows(changed, ENDS), path)
