"""What only one of the formats promises."""

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import zarr
from pyarrow import parquet as pq

from gramless.blocks import formats
from tests.blocks.writing.samples import CutRows, random_values, written


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
    assert formats.RowForm((), np.dtype(np.int8)).piece_rows <= 65_536
    assert formats.RowForm((1 << 40,), np.dtype(np.float64)).piece_rows == 1


def test_zeros_are_zeros_in_zarr(tmp_path):
    path = written(np.zeros((200, 5), np.float32), tmp_path / "rows.zarr")
    np.testing.assert_array_equal(
        zarr.open_array(path, mode="r")[:], CutRows(np.zeros((200, 5), np.float32), []).values
    )
