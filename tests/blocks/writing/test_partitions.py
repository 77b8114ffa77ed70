"""Partitions that workers write: what they may replace, and data that has changed since."""

import shutil

import dask.array as da
import numpy as np
import pytest

import gramless as gl
from gramless.blocks import writing
from tests.blocks.writing.samples import bytes_of, found_in, random_values

VALUES = random_values((120, 5), np.float32)


@pytest.fixture
def array():
    return da.from_array(VALUES, chunks=(10, 5))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.parquet"


@pytest.fixture
def never(array):
    def computed(block):
        raise AssertionError("nothing should be computed")

    return array.map_blocks(computed, meta=np.empty((0, 0), np.float32))


def test_rows_are_written_and_replaced(array, path, tmp_path):
    for values in (array, -array[:30], array[:, 0]):
        assert gl.write_partitions(values, path) == path
        np.testing.assert_array_equal(found_in(path), values.compute())
        assert list(tmp_path.iterdir()) == [path]


def test_a_link_leads_to_the_place(array, path, tmp_path):
    (tmp_path / "far").mkdir()
    path.symlink_to(tmp_path / "far" / "y.parquet")
    for _ in range(2):
        gl.write_partitions(array, path)
    assert path.is_symlink()
    np.testing.assert_array_equal(found_in(path.resolve()), VALUES)


@pytest.mark.parametrize("place", ["x.parquet", "x.parquet/thesis.txt"])
def test_something_else_is_not_replaced(place, never, path, tmp_path):
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text("years of work")
    before = bytes_of(tmp_path)
    with pytest.raises(gl.DataError, match="holds something else"):
        gl.write_partitions(never, path)
    assert bytes_of(tmp_path) == before


def test_something_else_where_it_grows_is_told(never, path):
    partial = path.with_name("x.parquet.partial")
    partial.mkdir()
    (partial / "thesis.txt").write_text("years of work")
    with pytest.raises(gl.DataError, match=r"holds thesis\.txt, which is no part of it"):
        gl.write_partitions(never, path)
    assert (partial / "thesis.txt").exists()


@pytest.mark.parametrize("what", ["rows", "array", "cube"])
def test_what_has_no_partitions_is_told_how_to_be_written(what, path, tmp_path):
    rows = gl.in_blocks(VALUES).mapped(lambda block: block.views["view0"], 5, np.float32, "rows")
    with pytest.raises(gl.DataError, match=r"got a .*, and partitions are those of a Dask array.*rows\.write\(path\)"):
        gl.write_partitions({"rows": rows, "array": VALUES, "cube": da.zeros((2, 3, 4))}[what], path)
    assert list(tmp_path.iterdir()) == []


def test_data_that_changed_in_the_middle_is_noticed(array, path, monkeypatch):
    monkeypatch.setattr(writing, "PLACES", 3)
    gl.write_partitions(array, path)
    shutil.move(path, path.with_name("x.parquet.partial"))
    changed = VALUES.copy()
    changed[40:80] += 1
    with pytest.raises(gl.DataError, match=r"left by another run: its row [45678]\d begins"):
        gl.write_partitions(da.from_array(changed, chunks=(10, 5)), path)
