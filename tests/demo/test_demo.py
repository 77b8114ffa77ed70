"""The demo on reduced sizes: what it measures, what it may not look at, and what it writes down."""

import json
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

import gramless as gl
from gramless.demo.digits import DigitsViews, load_digits_views
from gramless.demo.experiment import (
    Outcome,
    compare_methods,
    draw_split,
    measure_errors,
    measure_times,
    pick_examples,
    run_demo,
)
from gramless.demo.figure import save_figure
from gramless.demo.result import TABLES, Accuracy, DemoResult, DemoSizes, Part, Timing, growth, summarise

SMALL = DemoSizes(
    n_digits=300,
    n_labelled=60,
    n_unlabelled=40,
    n_splits=2,
    n_landmarks=80,
    landmark_counts=(20, 80),
    timed_samples=(20, 40, 80),
    n_repeats=2,
)


@pytest.fixture(scope="module")
def digits():
    everything = load_digits_views()
    return DigitsViews(everything.views[:300], everything.target[:300], everything.images[:300])


@pytest.fixture(scope="module")
def steps():
    return []


@pytest.fixture(scope="module")
def result(steps):
    return run_demo(7, steps.append, SMALL)


def test_every_method_is_measured_on_every_split(result):
    assert [(a.split, a.method) for a in result.accuracies] == [
        (split, method)
        for split in (0, 1)
        for method in (
            "best single kernel",
            "average of 28 kernels",
            "DKN, untrained, + SVM",
            "DKN, learned, + SVM",
            "DMN + linear SVM",
        )
    ]
    assert {accuracy.n_tested for accuracy in result.accuracies} == {300 - 100}
    assert min(accuracy.percent for accuracy in result.accuracies) > 50  # 10 by chance
    assert result.complete
    assert result.seconds > 0


def test_steps_count_up_and_carry_what_was_measured_so_far(result, steps):
    assert [(step.part, step.done, step.total) for step in steps] == [
        *((Part.ACCURACY, done, 10) for done in range(11)),
        *((Part.ERROR, done, 2) for done in range(3)),
        *((Part.TIME, done, 3) for done in range(4)),
    ]
    assert [len(step.result.accuracies) for step in steps[:11]] == list(range(11))
    assert not any(step.result.complete for step in steps)
    assert steps[-1].result.timings == result.timings


def test_more_landmarks_make_a_smaller_error(result):
    few, many = result.approximations
    assert many.percent_all < few.percent_all < few.percent_outside
    assert many.n_outside == 300 - 80


def test_errors_are_the_relative_error_of_the_package(digits):
    views = digits.views[:150]
    kernel = gl.DeepKernelNetwork(hidden=(5,), learning=None, random_state=0).fit(views).kernel_
    (measured,) = measure_errors(kernel, views, [30], seed=3)
    mapped = gl.DeepMapNetwork(kernel, 30, random_state=3).fit(views)
    outside = [row for row in range(150) if row not in set(mapped.landmark_indices_)]
    assert measured.percent_all == pytest.approx(gl.relative_error(mapped, kernel, views), rel=1e-3)
    assert measured.percent_outside == pytest.approx(gl.relative_error(mapped, kernel, views[outside]), rel=1e-3)


def test_parts_of_a_split_are_disjoint_and_hold_every_digit(digits):
    split = draw_split(digits.target, SMALL, 0)
    parts = np.concatenate([split.labelled, split.unlabelled, split.tested])
    np.testing.assert_array_equal(np.sort(parts), np.arange(300))
    assert (np.bincount(digits.target[split.labelled], minlength=10) >= 5).all()


def test_another_seed_draws_another_split(digits):
    tested = [draw_split(digits.target, SMALL, seed).tested for seed in (5, 5, 6)]
    np.testing.assert_array_equal(tested[0], tested[1])
    assert not np.array_equal(tested[0], tested[2])


def test_answers_repeat_and_owe_nothing_to_labels_of_tested_or_unlabelled_digits(digits):
    split = draw_split(digits.target, SMALL, 1)
    hidden = digits.target.copy()
    hidden[split.tested] = hidden[split.unlabelled] = 0
    seen, blind = (list(compare_methods(digits.views, target, split, 80, 1)) for target in (digits.target, hidden))
    for first, second in zip(seen, blind, strict=True):
        assert first.setting == second.setting
        np.testing.assert_array_equal(first.predicted, second.predicted)


def test_times_are_of_the_sizes_asked_for(digits):
    kernel = gl.DeepKernelNetwork(hidden=(5,), learning=None, random_state=0).fit(digits.views[:100]).kernel_
    sizes = DemoSizes(n_landmarks=20, timed_samples=(30, 60), n_repeats=2)
    timings = list(measure_times(kernel, digits.views, sizes, seed=0))
    assert [(timing.n_samples, timing.n_runs) for timing in timings] == [(30, 2), (60, 2)]
    assert min(min(timing.kernel_seconds, timing.map_seconds) for timing in timings) > 0


def test_growth_of_exact_powers_is_their_exponent():
    slopes = growth([Timing(n, 1, 3e-9 * n**2, 2e-6 * n) for n in (100, 200, 800)])
    assert slopes.kernel == pytest.approx(2.0)
    assert slopes.map == pytest.approx(1.0)


def test_summary_is_mean_and_sample_standard_deviation():
    accuracies = [Accuracy(split, "a", f"C={split}", 10, percent) for split, percent in enumerate((90.0, 92.0, 97.0))]
    (summary,) = summarise(accuracies)
    assert summary.mean_percent == pytest.approx(93.0)
    assert summary.spread_percent == pytest.approx(13.0**0.5)
    assert summary.settings == ("C=0", "C=1", "C=2")
    assert summarise(accuracies[:1])[0].spread_percent == 0.0


def test_json_holds_numbers_versions_seed_and_cores(result):
    written = json.loads(result.to_json())
    assert written["seed"] == 7
    assert written["environment"]["gramless"] == gl.__version__
    assert {"torch", "numpy", "scikit-learn", "cores"} <= set(written["environment"])
    assert [a["percent"] for a in written["accuracies"]] == [a.percent for a in result.accuracies]
    assert len(written["accuracy_summary"]) == 5
    assert written["growth"]["kernel"] == growth(result.timings).kernel


def test_json_of_a_run_that_was_cut_short_says_so(steps, result):
    for step in steps:
        assert json.loads(step.result.to_json())["complete"] is False
    nothing = json.loads(DemoResult(0, SMALL, {}).to_json())
    assert nothing["accuracies"] == nothing["timings"] == []
    assert nothing["growth"] is None


def test_examples_are_different_digits_and_one_mistake():
    target = np.array([3, 3, 1, 4, 1, 5, 9, 2])
    predicted = np.array([3, 3, 1, 4, 7, 5, 9, 2])
    examples = pick_examples(Outcome("", "", np.arange(8), predicted), target)
    assert [example.truth for example in examples] == [3, 1, 4, 5, 9, 1]
    assert (examples[-1].row, examples[-1].predicted) == (4, 7)


@pytest.mark.parametrize("part", Part)
def test_tables_have_a_row_per_measurement(part, result):
    expected = {Part.ACCURACY: 5, Part.ERROR: 2, Part.TIME: 3}
    assert TABLES[part](result).row_count == expected[part]


def test_picture_is_a_small_png(result):
    file = BytesIO()
    save_figure(result, file)
    assert len(file.getvalue()) < 150_000
    picture = Image.open(file)
    assert (picture.format, picture.size) == ("PNG", (1600, 900))
