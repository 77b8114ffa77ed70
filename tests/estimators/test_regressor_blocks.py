"""DeepMapRegressor on data in blocks, here and on a Dask cluster of real processes."""

import numpy as np
import pytest

import gramless as gl
from gramless.learning import LeaveOneOut
from tests.oracles import heads as oracle

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

N, ROWS = 900, 150
NETWORK = gl.DeepKernelNetwork(learning=LeaveOneOut(max_evaluations=5))
SMALL = {"kernel": NETWORK, "n_landmarks": 30, "tuning": None, "alpha": 0.1, "random_state": 0}
CLOSE = {"rtol": 1e-2, "atol": 1e-2}  # float32 vectors of other blocks, times coefficients up to 1 / alpha


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(5)
    X = {"colour": rng.random((N, 5)), "shape": rng.random((N, 4))}
    y = np.column_stack([np.sin(3 * X["colour"][:, 0]), X["shape"][:, 1] * X["colour"][:, 2]])
    return {name: view.astype(np.float32) for name, view in X.items()}, y + 0.1 * rng.normal(size=y.shape)


@pytest.fixture(scope="module")
def here(samples):
    X, y = samples
    return gl.DeepMapRegressor(**SMALL).fit(gl.in_blocks(X, y, rows=ROWS))


def test_the_ridge_is_that_of_all_samples(samples, here, monkeypatch):
    X, y = samples
    monkeypatch.setattr(gl.DeepMapNetwork, "sample_size", lambda self: 200)
    model = gl.DeepMapRegressor(**SMALL).fit(gl.in_blocks(X, y, rows=ROWS))
    phi = model.map_network_.transform(X).astype(np.float64)
    standard = model.targets_.standard(y)
    expected = np.linalg.solve(phi.T @ phi + 0.1 * np.eye(phi.shape[1]), phi.T @ standard)
    np.testing.assert_allclose(model.ridge_.coefficients.T, expected, rtol=1e-4, atol=1e-5)
    # The 200 that are left out in turn are left out of a regression on all 900.
    seed = int(np.random.RandomState(0).randint(np.iinfo(np.int32).max))
    rows = gl.in_blocks(X, rows=ROWS).sample(200, seed).rows
    missed = oracle.left_out(phi @ phi.T + 1e-9 * np.eye(N), standard, 0.1, np.ones(N))[0][rows]
    np.testing.assert_allclose(model.alpha_curve_[0, 1:], np.square(missed).mean(0), rtol=1e-4)


def test_answers_in_blocks_are_those_in_memory(samples, here):
    X, y = samples
    means, deviations = here.predict(gl.in_blocks(X, rows=200), return_std=True)
    expected = here.predict(X, return_std=True)
    np.testing.assert_allclose(np.asarray(means), expected[0], **CLOSE)
    np.testing.assert_allclose(np.asarray(deviations), expected[1], **CLOSE)
    assert here.score(X, y) > 0.5


def test_the_strength_is_chosen_on_blocks_too(samples):
    X, y = samples
    model = gl.DeepMapRegressor(**SMALL | {"alpha": "auto"}).fit(gl.in_blocks(X, y, rows=ROWS))
    assert model.score(X, y) > 0.5
    assert len(model.alpha_curve_) > 10


def test_one_target_keeps_its_shape(samples):
    X, y = samples
    model = gl.DeepMapRegressor(**SMALL).fit(gl.in_blocks(X, y[:, 0], rows=ROWS))
    assert np.asarray(model.predict(gl.in_blocks(X, rows=200))).shape == (N,)


def test_a_cluster_gives_what_one_machine_gives(samples, here):
    X, y = samples
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=None
        ) as workers,
        distributed.Client(workers),
    ):
        chunked = {name: da.from_array(view, chunks=(ROWS, 3)) for name, view in X.items()}
        model = gl.DeepMapRegressor(**SMALL).fit(chunked, da.from_array(y, chunks=(ROWS, 1)))
        means, deviations = model.predict(chunked, return_std=True)
        assert isinstance(means, da.Array)
        expected = here.predict(X, return_std=True)
        np.testing.assert_allclose(means.compute(), expected[0], **CLOSE)
        np.testing.assert_allclose(deviations.compute(), expected[1], **CLOSE)


def test_what_cannot_be_is_refused_with_its_place(samples):
    X, y = samples
    broken = y.copy()
    broken[400, 1] = np.nan
    with pytest.raises(ValueError, match=r"row 300.*NaN"):
        gl.DeepMapRegressor(**SMALL).fit(gl.in_blocks(X, broken, rows=ROWS))
    with pytest.raises(ValueError, match="sample_weight"):
        gl.DeepMapRegressor(**SMALL).fit(gl.in_blocks(X, y, rows=ROWS), sample_weight=np.ones(N))
    with pytest.raises(ValueError, match="requires y"):
        gl.DeepMapRegressor(**SMALL).fit(gl.in_blocks(X, rows=ROWS))
    with pytest.raises(ValueError, match="DeepMapRegressor"):
        gl.DeepKernelRegressor().fit(gl.in_blocks(X, y, rows=ROWS))
