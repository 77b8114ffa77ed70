"""The contract of blocks, for every source of them."""

import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import gramless as gl
from gramless.blocks import Block
from gramless.support.packages import MissingPackageError
from tests.contracts.blocks import LOCAL, SOURCES, iterator_function

N, ROWS = 230, 64


@pytest.fixture
def samples(rng):
    views = {"left": rng.random((N, 5)).astype(np.float32), "right": rng.random((N, 4)).astype(np.float32)}
    return views, rng.integers(0, 3, N)


def column_sums(block: Block) -> np.ndarray:
    return np.concatenate([block.views[name].sum(0, dtype=np.float64) for name in block.views.names])


def row_sums(block: Block) -> np.ndarray:
    return block.views["left"].sum(1, dtype=np.float64) + 100 * block.labels


def row_numbers(block: Block) -> np.ndarray:
    return np.column_stack([np.arange(block.start, block.stop), block.labels])


@pytest.mark.parametrize("source", SOURCES)
def test_sums_and_rows_are_those_of_the_whole(source, samples, tmp_path):
    views, labels = samples
    blocks = source(views, labels, tmp_path, ROWS)
    assert blocks.layout == {"left": 5, "right": 4}
    assert blocks.has_labels
    assert blocks.n_samples in (N, None)
    expected = np.concatenate([view.sum(0, dtype=np.float64) for view in views.values()])
    np.testing.assert_allclose(blocks.total(column_sums, "sums"), expected, rtol=1e-12)
    rows = np.asarray(blocks.mapped(row_sums, None, np.float64, "rows"))
    np.testing.assert_array_equal(rows, views["left"].sum(1, dtype=np.float64) + 100 * labels)
    numbers = np.asarray(blocks.mapped(row_numbers, 2, np.int64, "numbers"))
    np.testing.assert_array_equal(numbers, np.column_stack([np.arange(N), labels]))


@pytest.mark.parametrize("source", SOURCES)
def test_the_sample_is_the_same_from_every_source(source, samples, tmp_path):
    views, labels = samples
    expected = gl.in_blocks(views, labels, rows=N).sample(40, seed=7)
    drawn = source(views, labels, tmp_path, ROWS).sample(40, seed=7)
    np.testing.assert_array_equal(drawn.rows, expected.rows)
    np.testing.assert_array_equal(drawn.labels, labels[expected.rows])
    for name, view in views.items():
        np.testing.assert_array_equal(drawn.views[name], view[expected.rows])


@pytest.mark.parametrize("source", SOURCES)
def test_views_are_chosen_and_ordered_as_a_network_knows_them(source, samples, tmp_path):
    blocks = source(*samples, tmp_path, ROWS)
    matched = blocks.match({"right": 4})
    assert matched.layout == {"right": 4}
    np.testing.assert_allclose(matched.total(column_sums, "sums"), samples[0]["right"].sum(0, dtype=np.float64))
    assert list(blocks.match({"right": 4, "left": 5}).layout) == ["right", "left"]
    with pytest.raises(gl.DataError, match=r"'middle'.* missing"):
        blocks.match({"middle": 3})
    with pytest.raises(gl.DataError, match=r"has 4 features.* fitted on 9"):
        blocks.match({"right": 9})


@pytest.mark.parametrize("source", SOURCES)
def test_a_nan_is_told_with_its_block_and_row(source, samples, tmp_path):
    views, labels = samples
    views["right"][201, 2] = np.nan
    blocks = source(views, labels, tmp_path, ROWS)
    with pytest.raises(gl.DataError, match=r"block that starts at row 1\d\d.*'right'.*first at row 201, column 2"):
        blocks.total(column_sums, "sums")


@pytest.mark.parametrize("source", LOCAL)
@pytest.mark.parametrize("first_row", [0, 1, 63, 64, 130, 229])
def test_a_pass_from_a_row_on(source, samples, tmp_path, first_row):
    views, labels = samples
    blocks = list(source(views, labels, tmp_path, ROWS).blocks(first_row))
    assert blocks[0].start == first_row
    assert all(block.stop == after.start for block, after in pairwise(blocks))
    np.testing.assert_array_equal(np.concatenate([block.views["left"] for block in blocks]), views["left"][first_row:])
    np.testing.assert_array_equal(np.concatenate([block.labels for block in blocks]), labels[first_row:])


@pytest.mark.parametrize("source", SOURCES)
def test_nothing_of_the_callers_changes(source, samples, tmp_path):
    views, labels = samples
    before = {name: view.copy() for name, view in views.items()}
    blocks = source(views, labels, tmp_path, ROWS)
    blocks.sample(30, 0)
    blocks.total(column_sums, "sums")
    for name, view in views.items():
        np.testing.assert_array_equal(view, before[name])


def test_blocks_of_other_columns_are_named(samples):
    views, _ = samples

    def start():
        yield views
        yield {"left": views["left"], "right": views["right"][:, :3]}

    with pytest.raises(gl.DataError, match=r"starts at row 230: view 'right' has 3 features"):
        gl.in_blocks(start).total(column_sums, "sums")


def test_an_iterator_is_for_one_pass(samples, tmp_path):
    views, labels = samples
    start = iterator_function(views, labels, tmp_path, ROWS).start
    blocks = gl.in_blocks(start(), True)
    assert blocks.layout == {"left": 5, "right": 4}  # looked at, and still there
    np.testing.assert_array_equal(np.asarray(blocks.mapped(row_numbers, 2, np.int64, "numbers"))[:, 0], np.arange(N))
    with pytest.raises(gl.DataError, match=r"another pass.*a function that starts them anew"):
        blocks.total(column_sums, "sums")


def test_labels_must_be_as_many_as_samples(samples):
    views, labels = samples
    with pytest.raises(gl.DataError, match="230 samples and 229 labels"):
        gl.in_blocks(views, labels[1:])
    with pytest.raises(gl.DataError, match="Give one for each"):
        gl.in_blocks(lambda: [views, views], labels).total(column_sums, "sums")
    with pytest.raises(gl.DataError, match="starts at row 0: it has 230 samples and 3 labels"):
        gl.in_blocks(lambda: [(views, [1, 2, 3])], True).total(column_sums, "sums")
    too_many = gl.in_blocks(lambda: [views, views], np.zeros(3 * N))
    with pytest.raises(gl.DataError, match="460 samples and 690 labels"):
        too_many.total(column_sums, "sums")
    with pytest.raises(gl.DataError, match="460 samples and 690 labels"):
        list(too_many.blocks(300))


@pytest.mark.parametrize("labels", [True, "label", 7])
@pytest.mark.parametrize("source", ["in memory", "Dask"])
def test_what_is_no_array_of_labels_is_refused(labels, source, samples):
    import dask.array

    views = samples[0] if source == "in memory" else {k: dask.array.from_array(v) for k, v in samples[0].items()}
    with pytest.raises(gl.DataError, match=f"labels={labels}: give an array with one row for each sample"):
        gl.in_blocks(views, labels)
    with pytest.raises(gl.DataError, match="one row for each sample"):
        gl.DeepMapClassifier().fit(gl.in_blocks(views), labels)


def test_samples_with_labels_and_several_views_are_told_apart(samples):
    views, labels = samples
    indicator = np.column_stack([labels == 0, labels == 1])
    with pytest.raises(
        gl.DataError, match=r"starts at row 0: got a pair. Say labels=True .* or give two views as a list"
    ):
        gl.in_blocks(lambda: [(views["left"], indicator)]).total(column_sums, "sums")
    with pytest.raises(gl.DataError, match="starts at row 0: got a dict instead of a pair"):
        gl.in_blocks(lambda: [views], True).total(column_sums, "sums")
    assert gl.in_blocks(lambda: [[views["left"], indicator]]).layout == {"view0": 5, "view1": 2}


def test_views_keep_their_names_and_rows(samples):
    views, labels = samples
    blocks = gl.in_blocks(gl.Views(views), labels, rows=ROWS)
    assert (blocks.layout, blocks.n_samples) == ({"left": 5, "right": 4}, N)
    expected = np.concatenate([view.sum(0, dtype=np.float64) for view in views.values()])
    np.testing.assert_allclose(blocks.total(column_sums, "sums"), expected)
    with pytest.raises(gl.DataError, match="Give one or the other"):
        gl.in_blocks(gl.Views(views["left"]), views={"left": slice(2)})


def test_tables_and_sparse_matrices_in_memory(samples):
    left, _ = samples[0].values()
    for whole in (pd.DataFrame(left), sparse.coo_array(left), sparse.csc_array(left)):
        blocks = gl.in_blocks({"left": whole}, sparse.coo_array(np.eye(N)[:, :2]))
        np.testing.assert_allclose(blocks.total(column_sums, "sums"), left.sum(0), rtol=1e-5)
        assert blocks.sample(N, 0).labels.shape == (N, 2)


def test_columns_by_a_mask(samples):
    left, _ = samples[0].values()
    mask = np.array([True, False, True, True, False])
    blocks = gl.in_blocks(left, views={"some": mask, "last": [-1]})
    assert blocks.layout == {"some": 3, "last": 1}
    np.testing.assert_allclose(blocks.total(column_sums, "sums"), left[:, [0, 2, 3, 4]].sum(0, dtype=np.float64))
    with pytest.raises(gl.DataError, match="'far' asks for columns"):
        gl.in_blocks(left, views={"far": [5]})


def test_blocks_are_of_some_bytes_and_not_too_many_rows():
    narrow, wide = np.zeros((70_000, 1), np.float32), np.zeros((70_000, 1_000), np.float32)
    assert [len(block) for block in gl.in_blocks(narrow).blocks()] == [65_536, 70_000 - 65_536]
    assert next(gl.in_blocks(wide).blocks()).stop == (32 << 20) // 4_000


def test_what_is_no_data_is_refused(samples, tmp_path):
    views, _ = samples
    da = pytest.importorskip("dask.array")
    (tmp_path / "text.parquet").write_text("no table")
    refused = [
        (lambda: gl.in_blocks({"left": views["left"], "right": views["right"][:9]}), "row counts differ"),
        (lambda: gl.in_blocks({"left": np.zeros(5)}), "one row per sample"),
        (lambda: gl.in_blocks({}), "at least one array"),
        (lambda: gl.in_blocks(views, views={"left": slice(2)}), "Give one or the other"),
        (lambda: gl.in_blocks(views, rows=0), "'rows' parameter of in_blocks"),
        (lambda: gl.in_blocks(tmp_path / "text.parquet"), "cannot be read as Parquet"),
        (lambda: gl.in_blocks(tmp_path / "absent.parquet"), r"no file or folder .*absent\.parquet\. Check the path"),
        (lambda: gl.in_blocks(list).layout, "got no blocks"),
        (lambda: gl.in_blocks(lambda: [views], rows=10), "come as they are"),
        (lambda: gl.in_blocks(da.zeros((9, 3)), rows=10), "come as they are"),
        (lambda: gl.in_blocks(np.zeros((0, 3))).sample(5, 0), "no samples"),
        (lambda: gl.DeepKernelNetwork(learning=None).fit(gl.in_blocks(np.zeros((0, 3)))), "no samples"),
        (lambda: gl.in_blocks(views).sample(0, 0), "at least one row"),
    ]
    for make, reason in refused:
        with pytest.raises(ValueError, match=reason):
            make()


def test_columns_of_a_table_are_checked(samples, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet

    path = tmp_path / "table.parquet"
    pyarrow.parquet.write_table(pa.table({"a": [1.0, None], "b": [1, 2], "text": ["x", "y"]}), path)
    with pytest.raises(gl.DataError, match="no column 'c'; its columns are a, b, text"):
        gl.in_blocks(path, views={"v": ["c"]})
    with pytest.raises(gl.DataError, match=r"'text'.* holds string"):
        gl.in_blocks(path)
    with pytest.raises(gl.DataError, match="NaN or infinity, first at row 1, column 0"):
        gl.in_blocks(path, "text", views={"v": ["a", "b"]}).total(column_sums, "sums")
    assert gl.in_blocks(path, "text", views={"v": "b"}).sample(2, 0).labels.tolist() == ["x", "y"]


def test_what_was_changed_in_a_private_memory_map_stays(samples, tmp_path):
    views, labels = samples
    np.save(tmp_path / "left.npy", views["left"])
    private = np.load(tmp_path / "left.npy", mmap_mode="c")
    private[3] = 9.0
    gl.in_blocks({"left": private}, labels, rows=50).total(column_sums, "sums")
    assert (private[3] == 9.0).all()


@pytest.mark.parametrize("call", [gl.in_blocks, lambda path: gl.write_partitions(None, path)], ids=["read", "write"])
def test_without_pyarrow_the_error_says_what_to_install(call, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingPackageError, match=r"package pyarrow, .*: pip install 'gramless\[scale\]'"):
        call(tmp_path / "rows.parquet")
