"""The paper's numbers, some of them copied from its tables by hand."""

import pytest

from reproduction import paper


def test_discrimination_has_the_rows_of_both_tables():
    assert len(paper.discrimination("corel5k")) == 11
    assert len(paper.discrimination("imageclef")) == 10
    tuned = paper.discrimination_row("corel5k", "fine-tuned DMN", 700, 4999)
    assert (tuned["R"], tuned["P"], tuned["N+"]) == (33.30, 20.18, 158)
    assert tuned["F1"] == pytest.approx(25.13, abs=0.005)
    assert paper.discrimination_row("imageclef", "2-layer DKN") == {"MF-S": 44.96, "MF-C": 25.77, "MAP": 53.95}
    assert paper.discrimination_row("corel5k", "initial DMN", 2000) == {}


@pytest.mark.parametrize(
    ("data_set", "n_landmarks", "n_tuning", "n_samples", "percent"),
    [
        ("corel5k", 500, None, 2000, 2.45),
        ("corel5k", 700, 700, 4999, 1.51),
        ("corel5k", 700, 4999, 4999, 1.08),
        ("corel5k", 1000, 2000, 2000, None),
        ("corel5k", 500, None, 2500, None),
        ("imageclef", 1000, 4000, 10_000, 0.44),
        ("imageclef", 500, None, 10_000, 1.71),
    ],
)
def test_relative_errors(data_set, n_landmarks, n_tuning, n_samples, percent):
    assert paper.relative_error(data_set, n_landmarks, n_tuning, n_samples) == percent


def test_comparison_field_and_times():
    best = [row for row in paper.compared() if row.model == "3-layer DKN + SVM" and row.learned_features]
    assert [dict(row.measures, F1=None) for row in best] == [{"R": 42.6, "P": 24.9, "N+": 180, "F1": None}]
    assert next(row.model for row in paper.field()) == "JEC (2008)"
    assert paper.seconds_per_picture("corel5k", None) == 10.39
    assert paper.seconds_per_picture("corel5k", 1200) == 3.67
    assert paper.seconds_per_picture("corel5k", 2000) is None
    assert paper.hours_at_scale(100_000, None) == 160.3
    assert paper.hours_at_scale(50_000, 1000) == 1.3
    assert paper.hours_at_scale(70_000, 500) is None
    assert paper.error_at_scale(100_000, 500) == 0.46
