"""Vectors that a fit keeps in a folder: nothing of the caller's is touched, and what is complete is used again."""

import dask
import dask.array as da
import numpy as np
import pytest

import gramless as gl
from gramless.blocks import writing
from gramless.estimators.kept_vectors import OURS, kept_vectors

N, ROWS = 600, 100
SMALL = {
    "kernel": gl.DeepKernelNetwork(hidden=(4,), learning=None),
    "n_landmarks": 20,
    "C": 1.0,
    "head": "squared_hinge",
    "random_state": 0,
}


@pytest.fixture(scope="module", autouse=True)
def _in_this_process():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(autouse=True)
def _a_short_look(monkeypatch):
    monkeypatch.setattr(writing, "LOOKED_AT", 5)
    monkeypatch.setattr(writing, "PLACES", 2)


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, N)
    return (rng.random((3, 5))[y] + 0.8 * rng.random((N, 5))).astype(np.float32), y


@pytest.fixture(params=["here", "Dask"])
def blocks(request, samples):
    X, y = samples
    if request.param == "here":
        return gl.in_blocks({"a": X}, y, rows=ROWS)
    return gl.in_blocks({"a": da.from_array(X, chunks=(ROWS, 5))}, y)


@pytest.fixture
def fitted(blocks):
    return gl.DeepMapClassifier(**SMALL).fit(blocks)


@pytest.fixture
def computed(monkeypatch):
    """How many rows the map transformed."""
    counts, really = [], gl.DeepMapNetwork.transform

    def counting(self, X):
        if isinstance(X, gl.Views):
            counts.append(len(X))
        return really(self, X)

    monkeypatch.setattr(gl.DeepMapNetwork, "transform", counting)
    return counts


def fit(blocks, scratch, **options):
    return gl.DeepMapClassifier(scratch=scratch, **(SMALL | options)).fit(blocks)


def interrupt(blocks, scratch, monkeypatch, **options):
    """Ctrl-C when all vectors are written."""

    def stopped(block):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("gramless.estimators.kept_vectors.known_vectors", stopped)
        with pytest.raises(KeyboardInterrupt):
            fit(blocks, scratch, **options)


def same(model, other):
    np.testing.assert_allclose(model.head_.coefficients, other.head_.coefficients, rtol=1e-4, atol=1e-6)


def test_files_of_the_callers_in_the_folder_stay(blocks, fitted, tmp_path):
    names = ["vectors.npy", "labels.npy", "vectors.zarr/thesis.txt", "vectors.parquet/thesis.txt"]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("years of work")
    same(fit(blocks, tmp_path), fitted)
    assert [(tmp_path / name).read_text() for name in names] == ["years of work"] * 4
    assert not (tmp_path / OURS).exists()


def test_complete_vectors_are_not_computed_again(blocks, fitted, tmp_path, monkeypatch, computed):
    interrupt(blocks, tmp_path, monkeypatch)
    assert sum(computed) >= N
    computed.clear()
    same(fit(blocks, tmp_path), fitted)
    assert sum(computed) <= 2 * ROWS + 2 * 5 + 1  # a look at either end, and at what an answer looks like
    assert list(tmp_path.iterdir()) == []


def test_labels_are_those_of_now(samples, tmp_path, monkeypatch):
    X, y = samples
    untuned = {"tuning": None}  # vectors owe nothing to labels
    interrupt(gl.in_blocks({"a": X}, y, rows=ROWS), tmp_path, monkeypatch, **untuned)
    y = y.copy()
    y[100:500] = (y[100:500] + 1) % 3
    changed = gl.in_blocks({"a": X}, y, rows=ROWS)
    same(fit(changed, tmp_path, **untuned), gl.DeepMapClassifier(**SMALL, **untuned).fit(changed))


def test_vectors_that_other_labels_made_are_another_runs(samples, tmp_path, monkeypatch):
    X, y = samples
    interrupt(gl.in_blocks({"a": X}, y, rows=ROWS), tmp_path, monkeypatch)
    with pytest.raises(gl.DataError, match="left by another run: its row 0 begins"):
        fit(gl.in_blocks({"a": X}, (y + np.arange(N)) % 3, rows=ROWS), tmp_path)


def test_vectors_of_another_run_are_refused_and_kept(blocks, tmp_path, monkeypatch):
    interrupt(blocks, tmp_path, monkeypatch)
    with pytest.raises(gl.DataError, match="left by another run: its row 0 begins"):
        fit(blocks, tmp_path, random_state=1)
    assert list((tmp_path / OURS).iterdir())


def test_something_else_in_our_folder_is_refused_and_kept(blocks, tmp_path):
    (tmp_path / OURS).mkdir()
    (tmp_path / OURS / "thesis.txt").write_text("years of work")
    with pytest.raises(gl.DataError, match=r"holds thesis\.txt, which is no work of a fit"):
        fit(blocks, tmp_path)
    assert (tmp_path / OURS / "thesis.txt").read_text() == "years of work"


def test_a_file_is_no_folder(blocks, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(gl.DataError, match=r"scratch=.*Give a folder"):
        fit(blocks, tmp_path / "file")


def test_two_fits_do_not_share_a_folder(blocks, fitted, tmp_path):
    codes = blocks.mapped(lambda block: block.labels, None, np.int64, "labels")
    with kept_vectors(fitted.map_network_.transform(blocks), codes, tmp_path) as kept:
        with pytest.raises(gl.DataError, match=f"another run is writing .*{OURS}"):
            fit(blocks, tmp_path)
        assert kept.n_samples == N
    same(fit(blocks, tmp_path), fitted)
