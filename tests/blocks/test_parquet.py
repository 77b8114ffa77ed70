"""Tables whose columns cannot be samples as they are."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

import gramless as gl
from gramless.blocks import Block


def first_view(block: Block) -> np.ndarray:
    return next(iter(block.views[name] for name in block.views.names))


def read(path, rows=None, **options):
    return np.asarray(gl.in_blocks(path, rows=rows, **options).mapped(first_view, 2, np.float64, "reading"))


def written(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


@pytest.fixture
def path(tmp_path):
    return tmp_path / "table.parquet"


@pytest.mark.parametrize("kind", [pa.list_(pa.float64()), pa.large_list(pa.float64())])
@pytest.mark.parametrize(
    ("lists", "told"),
    [
        ([[1, 2], [3], [4, 5, 6]], "1 numbers at row 1"),
        ([[1, 2], None, [4, 5, 6, 7]], "0 numbers at row 1"),
        ([[1, 2], [3, 4], []], "0 numbers at row 2"),
        ([[1, 2], [3, 4], [5, 6, 7]], "3 numbers at row 2"),
    ],
)
def test_lists_of_other_lengths_are_refused_with_their_row(kind, lists, told, path):
    written(path, v=pa.array(lists, kind))
    with pytest.raises(gl.DataError, match=rf"block that starts at row 0: column 'v' has a list of {told}"):
        read(path)
    row = told[-1]
    with pytest.raises(gl.DataError, match=rf"block that starts at row {row}: column 'v' .*at row {row}"):
        read(path, rows=1)


def test_a_list_of_fixed_length_that_is_missing_is_refused(path):
    written(path, v=pa.array([[1, 2], None, [4, 5]], pa.list_(pa.float64(), 2)))
    with pytest.raises(gl.DataError, match="at row 1"):
        read(path)


def test_lists_of_one_length_are_read(path):
    lists = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    np.testing.assert_array_equal(read(written(path, v=lists), rows=2), lists)


def test_a_number_that_is_missing_in_a_list_is_told(path):
    with pytest.raises(gl.DataError, match="NaN or infinity, first at row 1, column 0"):
        read(written(path, v=[[1.0, 2.0], [None, 4.0]]))


@pytest.mark.parametrize("lists", [[None, [1.0]], [[], [1.0]], []])
def test_a_first_row_without_a_list_is_told(lists, path):
    written(path, v=pa.array(lists, pa.list_(pa.float64())))
    with pytest.raises(gl.DataError, match=r"column 'v' .* no list in its first row"):
        gl.in_blocks(path)


def test_tables_without_features_are_refused(path, tmp_path):
    written(path, label=[1, 2])
    with pytest.raises(gl.DataError, match="no columns of features; its columns are label"):
        gl.in_blocks(path, "label")
    (tmp_path / "empty").mkdir()
    with pytest.raises(gl.DataError, match="no columns of features; its columns are none"):
        gl.in_blocks(tmp_path / "empty")


def test_tables_without_rows_are_refused(path):
    empty = gl.in_blocks(written(path, a=pa.array([], pa.float64()), label=pa.array([], pa.int64())), "label")
    with pytest.raises(gl.DataError, match="no samples"):
        gl.DeepKernelNetwork(learning=None).fit(empty)


@pytest.mark.parametrize("rows", [0, -3, 1.5, float("nan"), "many"])
def test_blocks_without_rows_are_refused(rows, path):
    with pytest.raises(ValueError, match=f"'rows' parameter of in_blocks .* Got {rows!r} instead"):
        gl.in_blocks(written(path, a=[1.0]), rows=rows)


def test_a_block_has_at_most_65536_rows(path):
    written(path, a=np.zeros(150_000))
    assert [len(block) for block in gl.in_blocks(path).blocks()] == [65_536, 65_536, 18_928]
