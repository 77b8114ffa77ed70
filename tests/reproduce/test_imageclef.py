"""ImageCLEF's layout: halves, concepts by sign and by threshold, and the web's pictures where there are some."""

import numpy as np
import pytest

from gramless.metrics import mf_samples
from gramless.reproduce import imageclef, imageclef_discrimination
from gramless.reproduce.imageclef import open_imageclef, plan_imageclef
from tests.reproduce.samples import small_collection, write_imageclef


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


def test_plans_have_as_much_as_there_is(tmp_path):
    write_imageclef(tmp_path, n_web=25)
    few = open_imageclef(tmp_path)
    plan = imageclef.plan_for(few, 2)
    assert (plan.n_landmarks, plan.n_tuning) == ((40,), ())
    assert imageclef.errors_plan_for(few, 2) is None
    many = small_collection(n=1000, n_train=500, n_unlabelled=2500)
    assert imageclef.plan_for(many, 2).n_landmarks == (500, 1000)
    assert imageclef.plan_for(many, 2).n_tuning == (2000, 3000)
    assert imageclef.errors_plan_for(many, 2).n_samples == (2000, 3000)


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
