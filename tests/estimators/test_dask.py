"""Estimators on a Dask cluster of real processes: the same answers as here, also when workers die."""

import os
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest

import gramless as gl
from gramless.blocks import writing
from tests.tolerances import of_sum

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

N, ROWS = 900, 150
SMALL = {"kernel": gl.DeepKernelNetwork(hidden=(4,), learning=None), "n_landmarks": 30, "random_state": 0}


@pytest.fixture(scope="module")
def cluster():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=None
        ) as workers,
        distributed.Client(workers) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, N)
    centres = rng.random((3, 9))
    views = {"colour": centres[y, :5] + rng.random((N, 5)), "shape": centres[y, 5:] + rng.random((N, 4))}
    return {name: view.astype(np.float32) for name, view in views.items()}, y


def on_cluster(X, chunks=ROWS):
    return {name: da.from_array(view, chunks=(chunks, 3)) for name, view in X.items()}


@pytest.fixture(scope="module")
def here(samples):
    X, y = samples
    return gl.DeepMapClassifier(**SMALL).fit(gl.in_blocks(X, y, rows=ROWS))


def test_the_whole_path_gives_what_one_machine_gives(cluster, samples, here):
    X, y = samples
    model = gl.DeepMapClassifier(**SMALL).fit(on_cluster(X), da.from_array(y, chunks=ROWS))
    scores = model.decision_function(on_cluster(X, 200))
    assert isinstance(scores, da.Array)
    assert scores.chunks == ((200, 200, 200, 200, 100), (3,))
    same_blocks = gl.in_blocks(X, rows=200)  # float32 rounds otherwise in blocks of other sizes
    np.testing.assert_allclose(scores.compute(), here.decision_function(same_blocks), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(model.predict(on_cluster(X)).compute(), here.predict(X))
    vectors = model.map_network_.transform(on_cluster(X)).compute()
    expected = here.map_network_.transform(X)
    deep_map = here.map_network_.map_
    n_terms = len(deep_map.landmarks) + 3 * 9  # of a response times a column, and of the distances of nine features
    sizes = np.abs(deep_map.kernel(X, deep_map.landmarks)) @ deep_map.projection.matrix.abs().numpy()
    assert (np.abs(vectors - expected) <= 2 * of_sum(n_terms, np.float32) * sizes).all()


def test_labels_may_stay_here_and_one_array_may_hold_all_views(cluster, samples, here):
    X, y = samples
    joint = da.from_array(np.hstack(list(X.values())), chunks=(ROWS, 4))
    model = gl.DeepMapClassifier(views={"colour": slice(0, 5), "shape": slice(5, 9)}, **SMALL).fit(joint, y)
    np.testing.assert_array_equal(model.predict(joint).compute(), here.predict(X))


def test_kept_vectors(cluster, samples, here, tmp_path):
    X, y = samples
    model = gl.DeepMapClassifier(scratch=tmp_path / "scratch", **SMALL).fit(on_cluster(X), y)
    np.testing.assert_allclose(model.head_.coefficients, here.head_.coefficients, rtol=1e-4, atol=1e-5)
    assert list((tmp_path / "scratch").iterdir()) == []


def test_the_relative_error(cluster, samples, here):
    X, _ = samples
    kernel = here.map_network_.kernel_
    expected = gl.sampled_relative_error(here.map_network_, kernel, X, 100)
    assert gl.sampled_relative_error(here.map_network_, kernel, on_cluster(X), 100) == expected


def fatal(block, sentinel):
    """The block, but the first process that asks for it dies."""
    try:
        Path(sentinel).touch(exist_ok=False)
    except FileExistsError:
        return block
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("a dead process goes on")


def test_workers_that_die_change_nothing(cluster, samples, here, tmp_path):
    X, y = samples
    whole = gl.DeepMapClassifier(**SMALL).fit(on_cluster(X), y)
    expected = whole.decision_function(on_cluster(X)).compute()
    mortal = on_cluster(X)
    unlike_a_call = np.empty((0, 0), np.float32)  # of the function here, to see what it returns
    third = mortal["shape"][2 * ROWS : 3 * ROWS].map_blocks(fatal, tmp_path / "first", meta=unlike_a_call)
    parts = [mortal["shape"][: 2 * ROWS], third, mortal["shape"][3 * ROWS :]]
    mortal["shape"] = da.concatenate([part.rechunk((ROWS, -1)) for part in parts])
    model = gl.DeepMapClassifier(**SMALL).fit(mortal, y)
    assert (tmp_path / "first").exists()
    np.testing.assert_array_equal(model.head_.coefficients, whole.head_.coefficients)
    (tmp_path / "first").unlink()
    np.testing.assert_array_equal(model.decision_function(mortal).compute(), expected)


def counted(block, folder):
    """The block, and a trace of having been computed."""
    (Path(folder) / f"{block[0, 0]:.9f}").touch()
    return block


def test_partitions_that_a_dead_client_has_written_are_not_computed_again(
    cluster, samples, here, tmp_path, monkeypatch
):
    X, _ = samples
    traces = tmp_path / "traces"
    traces.mkdir()
    monkeypatch.setattr(writing, "PLACES", 2)
    vectors = here.map_network_.transform(on_cluster(X))
    traced = vectors.map_blocks(counted, traces, meta=np.empty((0, 0), np.float32))
    whole = gl.write_partitions(traced, tmp_path / "whole.parquet")
    assert len(list(traces.iterdir())) == 6
    killed = tmp_path / "killed.parquet.partial"  # as kill -9 of the client leaves it: some parts, and one half written
    killed.mkdir()
    for number in (0, 2, 3):
        shutil.copy(whole / f"part-{number:06d}.parquet", killed)
    (killed / ".gramless-x1").write_bytes(b"half a part")
    for trace in traces.iterdir():
        trace.unlink()
    gl.write_partitions(traced, tmp_path / "killed.parquet")
    assert len(list(traces.iterdir())) == 5  # those that were missing, and two to see that they are the same
    for folder in (whole, tmp_path / "killed.parquet"):
        assert sorted(path.name for path in folder.iterdir()) == [f"part-{number:06d}.parquet" for number in range(6)]
    for part in whole.iterdir():
        assert (tmp_path / "killed.parquet" / part.name).read_bytes() == part.read_bytes()
    again = gl.in_blocks(tmp_path / "killed.parquet", views={"phi": "vectors"}).sample(N, 0).views["phi"]
    np.testing.assert_array_equal(again, vectors.compute())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["killed.parquet", "traces", "whole.parquet"]


def test_another_runs_partitions_are_not_continued(cluster, samples, here, tmp_path):
    X, _ = samples
    scores = here.decision_function(on_cluster(X))
    left = tmp_path / "scores.parquet.partial"
    path = gl.write_partitions(scores, tmp_path / "scores.parquet")
    for others, reason in [
        (scores + 1, "its row 0 begins"),
        (scores.rechunk((300, 3)), "is no part of it"),
        (scores.rechunk(((100, 200, 150, 150, 150, 150), 3)), "has not the rows of this partition"),
        (scores[:, 0], "holds rows of float32 and shape"),
    ]:
        shutil.copytree(path, left)
        with pytest.raises(gl.DataError, match=reason):
            gl.write_partitions(others, path)
        shutil.rmtree(left)
    with pytest.raises(gl.DataError, match=r"end in \.parquet"):
        gl.write_partitions(scores, tmp_path / "scores.npy")
    with pytest.raises(gl.DataError, match="there is no folder"):
        gl.write_partitions(scores, tmp_path / "absent" / "scores.parquet")


def test_a_nan_on_a_worker_is_told_with_its_row(cluster, samples, here):
    X, _ = samples
    spoilt = {**X, "shape": X["shape"].copy()}
    spoilt["shape"][433, 1] = np.nan
    with pytest.raises(gl.DataError, match=r"starts at row 300: view 'shape'.*row 433, column 1"):
        here.predict(on_cluster(spoilt)).compute()


def test_nothing_runs_where_partitions_differ(samples, here):
    X, y = samples
    uneven = {name: da.from_array(X[name], chunks=(rows, -1)) for name, rows in (("colour", 150), ("shape", 200))}
    with pytest.raises(gl.DataError, match=r"colour has 6 partitions \(150.*shape 5 partitions \(200.*rechunk"):
        here.predict(uneven)
    with pytest.raises(gl.DataError, match="their labels"):
        gl.DeepMapClassifier(**SMALL).fit(on_cluster(X), da.from_array(y, chunks=100))
    with pytest.raises(gl.DataError, match="900 samples and 10 labels"):
        gl.DeepMapClassifier(**SMALL).fit(on_cluster(X), y[:10])
    with pytest.raises(gl.DataError, match="'shape' is a ndarray beside Dask arrays"):
        here.predict({**on_cluster(X), "shape": X["shape"]})
    unknown = on_cluster(X)["colour"]
    with pytest.raises(gl.DataError, match="compute_chunk_sizes"):
        here.predict({"colour": unknown[unknown[:, 0] > 0.5], "shape": on_cluster(X)["shape"]})
    with pytest.raises(gl.DataError, match="empty partition"):
        here.predict(da.zeros((N, 9), chunks=((N, 0), 9)))
