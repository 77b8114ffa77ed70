"""ImageCLEF's layout: halves, concepts by sign and by threshold, and the web's pictures where there are some."""

import gzip

import numpy as np
import pytest

from gramless.errors import DataError
from gramless.metrics import mf_samples
from reproduction import imageclef, imageclef_discrimination, imageclef_files
from reproduction.imageclef import plan_imageclef
from reproduction.imageclef_files import open_imageclef
from tests.reproduction.samples import small_collection, write_imageclef


def test_the_development_set_is_cut_in_halves(tmp_path):
    original = write_imageclef(tmp_path)
    found = open_imageclef(tmp_path)
    assert (len(found), found.n_train, len(found.test)) == (40, 20, 20)
    order = [int(name.removeprefix("id")) for name in found.names]
    assert sorted(order) == list(range(40))
    assert order != list(range(40))
    np.testing.assert_array_equal(found.labels, original.labels[order])
    np.testing.assert_allclose(found.views["a"], original.views["a"][order], rtol=1e-6)


def test_pictures_of_the_web_come_after_the_labelled_ones(tmp_path):
    original = write_imageclef(tmp_path, n_web=25)
    found = open_imageclef(tmp_path)
    assert (len(found), len(found.labels), len(found.test)) == (65, 40, 20)
    np.testing.assert_allclose(found.views["b"][40:], original.views["b"][40:], rtol=1e-6)


def test_of_the_web_no_more_is_read_than_is_used(tmp_path, monkeypatch):
    monkeypatch.setattr(imageclef_files, "MOST_UNLABELLED", 10)
    original = write_imageclef(tmp_path, n_web=25)
    for view in ("a", "b"):
        path = tmp_path / f"webupv13_train_visual_{view}.feat"
        lines = path.read_text().splitlines()
        path.write_text("\n".join([*lines[:11], "what is not wanted is not looked at"]))
    found = open_imageclef(tmp_path)
    assert (len(found), len(found.labels), len(found.names)) == (50, 40, 40)
    np.testing.assert_allclose(found.views["b"][40:], original.views["b"][40:50], rtol=1e-6)


def test_the_web_counts_where_every_descriptor_has_its_features(tmp_path):
    original = write_imageclef(tmp_path, n_web=25)
    path = tmp_path / "webupv13_train_visual_a.feat"
    (tmp_path / "webupv13_train_visual_a.feat-old").write_text("25 3\n")  # before .feat.gz, where names are sorted
    with gzip.open(f"{path}.gz", "wb") as file:
        file.write(path.read_bytes())
    path.unlink()
    np.testing.assert_allclose(open_imageclef(tmp_path).views["a"][40:], original.views["a"][40:], rtol=1e-6)
    path.with_suffix(".feat.gz").unlink()
    assert len(open_imageclef(tmp_path)) == 40


def test_features_of_another_descriptor_are_refused(tmp_path):
    write_imageclef(tmp_path, n_web=2)
    (tmp_path / "webupv13_train_visual_a.feat").write_text("2 3\n0\n0\n")
    with pytest.raises(DataError, match=r"visual_a\.feat has vectors of 3 numbers, but .* have 7"):
        open_imageclef(tmp_path)


def test_plans_have_as_much_as_there_is(tmp_path):
    write_imageclef(tmp_path, n_web=25)
    few = open_imageclef(tmp_path)
    grid = imageclef.grid_for(few, 2, quick=False)
    assert (grid.n_landmarks, grid.n_tuning) == ((40,), ())
    assert imageclef.errors_grid_for(few, 2, quick=False) is None
    many = small_collection(n=1000, n_train=500, n_unlabelled=2500)
    grid, errors = imageclef.grid_for(many, 2, quick=False), imageclef.errors_grid_for(many, 2, quick=False)
    assert (grid.n_layers, grid.n_landmarks, grid.n_tuning, grid.seeds) == ((2, 3), (500, 1000), (2000, 3000), 2)
    assert (errors.n_samples, errors.n_tuning, errors.algorithm1_landmarks) == (
        (2000, 3000),
        (1000, 2000, 3000),
        (500,),
    )
    grid, errors = imageclef.grid_for(many, 2, quick=True), imageclef.errors_grid_for(many, 2, quick=True)
    assert (grid.n_layers, grid.n_landmarks, grid.n_tuning, grid.seeds) == ((3,), (500,), (2000,), 1)
    assert (errors.n_landmarks, errors.n_tuning, errors.n_samples) == ((500,), (2000,), (2000,))
    assert (errors.algorithm1_landmarks, errors.free_landmarks, errors.seeds) == ((), (), 1)


def test_concepts_are_those_with_positive_scores(tmp_path):
    write_imageclef(tmp_path)
    pictures = open_imageclef(tmp_path)
    noisy = pictures.labels - 0.5 + 0.4 * np.random.default_rng(0).normal(size=pictures.labels.shape)
    figures = imageclef_discrimination.judged(lambda fitted, asked: noisy[asked], pictures, 0)
    assert figures["paper"]["MF-S"] == pytest.approx(mf_samples(noisy[20:] > 0, pictures.labels[20:]))
    assert figures["paper"]["MAP"] == figures["ours"]["MAP"] > 70


def test_all_cells_and_the_report(tmp_path):
    write_imageclef(tmp_path)
    out = tmp_path / "out"
    experiment = plan_imageclef(open_imageclef(tmp_path), out, 1, generated=False, quick=False)
    lines = []
    experiment.run(lines.append)
    assert len(lines) == 3  # two kernels and one map
    report = experiment.report()
    (table,) = report.sections[0].tables
    assert [row.label for row in table.rows] == ["2-layer DKN", "3-layer DKN", "initial DMN, S = 40"]
    assert table.rows[1].entries[0].paper == 46.23
    assert all(entry.values for row in table.rows for entry in row.entries)
    again = plan_imageclef(open_imageclef(tmp_path), out, 1, generated=False, quick=False)
    again.run(lambda line: pytest.fail("all is computed"))
