"""Made-up features and what is measured on them, against the estimator's own relative error."""

import numpy as np
import pytest
import torch

import gramless as gl
from reproduction import scale
from reproduction.cells import CellStore, collect, compute_missing
from reproduction.timing import device_name

PLAN = scale.Grid((60, 130), (10, 20), 40, 80)


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setattr(scale, "WIDTHS", (6, 9))
    monkeypatch.setattr(scale, "CHUNK", 50)
    monkeypatch.setattr(scale, "SIDE", 48)


def test_rows_are_histograms_and_the_first_ones_stay_the_same():
    few, many = scale.made_up_views(70, 0), scale.made_up_views(130, 0)
    assert many.layout == {"view 1": 6, "view 2": 9}
    for name in many.names:
        np.testing.assert_array_equal(few[name], many[name][:70])
        np.testing.assert_allclose(many[name].sum(1), 1.0, rtol=1e-5)
        assert (many[name] >= 0).all()
    assert (scale.made_up_views(70, 1)["view 1"] != few["view 1"]).any()


def test_relative_errors_are_the_packages_own():
    X = scale.made_up_views(130, 0)
    kernel = gl.DeepKernelNetwork(hidden=(4,), learning=None, random_state=0).fit(X).kernel_
    dmn = gl.DeepMapNetwork(kernel, 10, random_state=0).fit(X)
    errors, seconds = scale.relative_errors(kernel, X, {"one": torch.from_numpy(dmn.transform(X))})
    assert errors["one"] == pytest.approx(gl.relative_error(dmn, kernel, X), rel=1e-4)
    assert seconds > 0


def test_tables_hold_every_size_and_say_that_features_are_made_up(tmp_path):
    cells = scale.cells(PLAN)
    store = CellStore(tmp_path)
    compute_missing(cells, store, lambda line: None)
    computed = collect(cells, store)
    errors, times = scale.error_table(computed, PLAN), scale.time_table(computed, PLAN)
    figure = scale.time_figure(computed, PLAN)
    assert all("MADE-UP" in part.caption for part in (errors, times, figure))
    assert [row.label for row in errors.rows] == [
        "initial DMN, S = 10",
        "fine-tuned DMN, S = 10, S' = 40",
        "initial DMN, S = 20",
        "fine-tuned DMN, S = 20, S' = 40",
    ]
    models = [f"{model}, {device_name()}" for model in ("DKN", "DMN, S = 10", "DMN, S = 20")]
    assert [row.label for row in times.rows] == models
    assert all(entry.mean > 0 for part in (errors, times) for row in part.rows for entry in row.entries)
    assert [curve.label for curve in figure.curves] == models


def test_published_figures_stand_beside_the_same_sizes(tmp_path):
    grid = scale.Grid((10_000, 100_000), (500,), 4000, 5000)
    nothing = collect(scale.cells(grid), CellStore(tmp_path))
    initial, tuned = scale.error_table(nothing, grid).rows
    assert [entry.paper for entry in initial.entries] == [1.71, None]
    assert [entry.paper for entry in tuned.entries] == [0.46, 0.46]
    kernel, _ = scale.time_table(nothing, grid).rows
    assert [entry.paper for entry in kernel.entries] == [None, pytest.approx(160.3 * 3600)]
