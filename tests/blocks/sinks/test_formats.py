"""What only one of the formats promises."""

import io
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import zarr
from pyarrow import parquet as pq

from gramless.blocks.sinks.base import RowForm
from gramless.blocks.sinks.npy import NpySink
from gramless.blocks.sinks.parquet import ParquetSink
from gramless.blocks.sinks.zarr import ZarrSink
from tests.blocks.sinks.samples import random_values


def written(kind, values, path, n_rows=None, step=30):
    width = None if values.ndim == 1 else values.shape[1]
    with kind(path.with_name("partial"), RowForm(width, values.dtype, n_rows)) as sink:
        for start in range(0, len(values), step):
            sink.append(values[start : start + step])
        sink.finish(path)
    return path


@pytest.mark.parametrize("n", [0, 1, 999, 12345])
@pytest.mark.parametrize("width", [None, 1, 7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8, bool])
def test_an_array_file_is_what_numpy_saves(n, width, dtype, tmp_path):
    values = random_values((n,) if width is None else (n, width), dtype)
    saved = io.BytesIO()
    np.save(saved, values)
    with NpySink(tmp_path / "partial", RowForm(width, values.dtype)) as sink:
        sink.append(values)
        sink.finish(tmp_path / "rows.npy")
    assert (tmp_path / "rows.npy").read_bytes() == saved.getvalue()


@pytest.mark.parametrize(("step", "sizes"), [(30, [90] * 5 + [50]), (25, [100] * 5), (150, [150] * 3 + [50])])
def test_pandas_reads_the_parts_in_the_order_of_the_rows(step, sizes, tmp_path):
    values = random_values((500, 5), np.float32)  # of which 100 fit in a part
    path = written(ParquetSink, values, tmp_path / "rows.parquet", step=step)
    parts = sorted(path.iterdir())
    assert [part.name for part in parts] == [f"part-{i:06d}.parquet" for i in range(len(parts))]
    assert [pq.read_metadata(part).num_rows for part in parts] == sizes
    np.testing.assert_array_equal(np.stack(pd.read_parquet(path)["vectors"].to_numpy()), values)
    assert pq.read_schema(parts[0]).field("vectors").type == pa.list_(pa.float32(), 5)


def test_pandas_reads_single_numbers(tmp_path):
    values = random_values((500,), np.int64)
    path = written(ParquetSink, values, tmp_path / "rows.parquet")
    np.testing.assert_array_equal(pd.read_parquet(path)["values"].to_numpy(), values, strict=True)


def test_rows_do_not_count_after_a_failed_fsync_though_the_next_one_succeeds(tmp_path, monkeypatch):
    values = random_values((60, 5), np.float32)
    with NpySink(tmp_path / "partial", RowForm(5, values.dtype)) as sink:
        sink.append(values[:30])
        sink.sync()
        sink.append(values[30:])
        with monkeypatch.context() as patched:
            patched.setattr("os.fsync", Mock(side_effect=OSError("EIO")))
            with pytest.raises(OSError, match="EIO"):
                sink.sync()
        sink.sync()
        assert sink.n_rows == 30
    np.testing.assert_array_equal(np.load(tmp_path / "partial"), values[:30])


@pytest.mark.parametrize("n_rows", [500, None])
def test_a_zarr_array_has_chunks_of_whole_rows(n_rows, tmp_path):
    values = random_values((500, 5), np.float32)
    array = zarr.open_array(written(ZarrSink, values, tmp_path / "rows.zarr", n_rows), mode="r")
    assert array.chunks == (40, 5)
    assert array.metadata.zarr_format == 3


def test_a_small_zarr_array_takes_little_room(tmp_path, monkeypatch):
    monkeypatch.setattr("gramless.blocks.sinks.zarr.CHUNK_BYTES", 16 << 20)
    path = written(ZarrSink, random_values((50, 5), np.float32), tmp_path / "rows.zarr", 50)
    assert sum(file.stat().st_size for file in path.iterdir()) < 3000


def test_chunks_of_zeros_are_files_too(tmp_path):
    path = written(ZarrSink, np.zeros((200, 5), np.float32), tmp_path / "rows.zarr")
    assert len(list(path.glob("c.*"))) == 5
