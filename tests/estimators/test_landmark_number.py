"""n_landmarks as a wish: the number that fit chooses, what it chose from, and what it says where it cannot."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils import estimator_html_repr

import gramless as gl
from gramless.estimators.landmark_number import choose_number, interpolated, number_of, wished_error
from gramless.kernels import Gaussian
from gramless.maps.landmarks import SELECTORS
from gramless.network import Layer, ViewKernel, make_activation
from tests.networks import random_views

PLENTY = 1 << 30


SAME = Layer(np.ones((1, 1)), make_activation("identity"))
KERNEL = gl.DeepKernel((ViewKernel("view0", Gaussian(scale=1.0)),), (SAME,), {"view0": 5})  # exp(-|x - z|^2 / 2)


def chosen(X, wished, selector="uniform", n_components=None, seed=0, budget=PLENTY):
    views = KERNEL.views(X)
    generator = torch.Generator().manual_seed(seed)
    return choose_number(KERNEL, views, wished, SELECTORS[selector], n_components, generator, budget)


def naive_gram(A, B):
    return np.array([[np.exp(-((a - b) ** 2).sum() / 2) for b in B] for a in A])


def naive_error(X, landmarks, held_out, n_components=None):
    """The Nystrom approximation by its formula, and the mean over pairs one after the other, in percent."""
    values, vectors = np.linalg.eigh(naive_gram(X[landmarks], X[landmarks]))
    values, vectors = values[::-1][:n_components], vectors[:, ::-1][:, :n_components]
    kept = values > 1e-13 * values[0]
    responses = naive_gram(X[held_out], X[landmarks])
    approximate = responses @ (vectors[:, kept] / values[kept]) @ vectors[:, kept].T @ responses.T
    truth = naive_gram(X[held_out], X[held_out])
    n = len(held_out)
    errors = [
        abs(approximate[i, j] - truth[i, j]) / (abs(approximate[i, j]) + abs(truth[i, j]))
        for i in range(n)
        for j in range(n)
        if i != j
    ]
    return 100 * sum(errors) / len(errors)


@pytest.fixture
def samples(rng):
    return 3 * rng.random((300, 5))


@pytest.mark.parametrize("n_components", [None, 30])
def test_every_point_of_the_curve_is_the_error_of_a_nystrom_map_on_the_held_out_samples(samples, n_components):
    choice = chosen(samples, 1e-9, n_components=n_components)
    assert [number for number, _, _ in choice.curve] == [50, 100, 200, 250]
    assert len(choice.held_out) == 50
    order = chosen(samples, 1e-9).rows.numpy()  # all of them, in the order in which smaller maps take them
    for number, error, _ in choice.curve:
        expected = naive_error(samples, order[:number], choice.held_out.numpy(), n_components)
        assert error == pytest.approx(expected, rel=1e-9)  # float64, and eigenvalues of at least 1e-5 of the largest


@pytest.mark.parametrize("selector", SELECTORS)
def test_the_chosen_map_meets_the_wish_and_smaller_ones_do_not(samples, selector):
    wished = 15.0
    choice = chosen(samples, wished, selector)
    n_landmarks = len(choice.rows)
    assert choice.shortfall is None
    assert 50 < n_landmarks < 250
    assert naive_error(samples, choice.rows.numpy(), choice.held_out.numpy()) <= wished
    for number, error, _ in choice.curve:
        assert (error <= wished) == (number >= n_landmarks)
    assert len(set(choice.rows.tolist()) | set(choice.held_out.tolist())) == n_landmarks + 50
    costs = [cost for _, _, cost in choice.curve]
    assert costs == sorted(costs)
    assert len(choice.curve) >= 3  # the one between the last two was tried
    assert selector == "kmeans" or n_landmarks not in (100, 200)  # and is the one, unless clusters fall out unluckily


@pytest.mark.parametrize("power", [0.3, 0.5, 2.0])
def test_between_two_numbers_errors_that_fall_as_a_power_are_met_with_a_margin_of_a_twentieth(power):
    def point(number):
        return number, 100.0 * number**-power, 0.0

    for number in (101, 150, 190):
        assert 1.05 * number <= interpolated(point(100), point(200), point(number)[1]) <= 1.05 * number + 1
    assert interpolated(point(100), (200, 0.0, 0.0), 1e-300) <= 210  # an error of 0 has no logarithm


def test_cost_is_what_transforming_a_sample_takes(samples):
    dmn = gl.DeepMapNetwork(KERNEL, "15%", random_state=0).fit(samples)
    costs = {number: cost for number, _, cost in dmn.landmark_curve_}
    assert costs[dmn.n_landmarks_] == dmn.explain(1000).operations / 1000


def test_a_smaller_error_takes_no_fewer_landmarks(samples):
    numbers = [
        gl.DeepMapNetwork(KERNEL, w, random_state=0).fit(samples).n_landmarks_ for w in ("30%", "20%", "15%", "11%")
    ]
    assert numbers == sorted(numbers)
    assert numbers[0] < numbers[-1]


def test_the_same_seed_gives_the_same_map_bit_for_bit_and_another_does_not(samples):
    first, again, other = (gl.DeepMapNetwork(KERNEL, "15%", random_state=seed).fit(samples) for seed in (0, 0, 1))
    assert first.landmark_curve_ == again.landmark_curve_
    np.testing.assert_array_equal(first.transform(samples), again.transform(samples))
    assert first.landmark_curve_ != other.landmark_curve_


def test_the_map_is_that_of_its_landmarks_given_by_hand(samples):
    dmn = gl.DeepMapNetwork(KERNEL, "40%", n_components=40, random_state=0).fit(samples)
    assert dmn.n_landmarks_ == len(dmn.landmarks_) == len(dmn.landmark_indices_)
    by_hand = gl.DeepMapNetwork(KERNEL, landmarks=dmn.landmark_indices_, n_components=40).fit(samples)
    np.testing.assert_array_equal(dmn.transform(samples), by_hand.transform(samples))
    assert by_hand.n_landmarks_ == dmn.n_landmarks_
    assert by_hand.landmark_curve_ is None


def test_a_wish_beyond_the_samples_takes_all_that_can_be_had_and_says_so(samples):
    with pytest.warns(UserWarning, match=r"'0.0001 %' is not met: 250 landmarks reach 10\.6%. .* fit on more") as said:
        dmn = gl.DeepMapNetwork(KERNEL, "0.0001 %", random_state=0).fit(samples)
    assert dmn.n_landmarks_ == 250
    assert said[0].filename == __file__


def test_a_wish_beyond_the_memory_budget_takes_all_that_can_be_had_and_says_so(samples):
    words = r"70 landmarks reach .* memory budget of 195.3 KiB allows no more: raise"
    with gl.config_context(memory_budget=200_000), pytest.warns(UserWarning, match=words):
        dmn = gl.DeepMapNetwork(KERNEL, "0.1%", random_state=0).fit(samples)
    assert [number for number, _, _ in dmn.landmark_curve_] == [50, 70]
    words = r"50 landmarks reach .* leverage scores .* needs .* raise memory_budget, wish"
    with gl.config_context(memory_budget=500_000), pytest.warns(UserWarning, match=words):
        dmn = gl.DeepMapNetwork(KERNEL, "0.1%", landmarks="leverage", random_state=0).fit(samples)
    assert dmn.n_landmarks_ == 50
    with gl.config_context(memory_budget=1), pytest.raises(gl.MemoryBudgetError):
        gl.DeepMapNetwork(KERNEL, "1%", random_state=0).fit(samples)


def test_components_that_hold_the_error_up_are_named(samples):
    with pytest.warns(UserWarning, match=r"n_components=5 leaves out a part of the kernel"):
        gl.DeepMapNetwork(KERNEL, "1%", n_components=5, random_state=0).fit(samples)


def test_samples_that_occur_twice_are_neither_landmarks_twice_nor_judged_by_themselves(samples):
    twice = np.vstack([samples[:60], samples[:60], samples[:60]])
    choice = chosen(twice, 1e-9)
    assert len(choice.rows) == 50
    assert len(choice.held_out) == 10
    assert len({row % 60 for row in [*choice.rows.tolist(), *choice.held_out.tolist()]}) == 60
    assert choice.curve[-1][1] > 0.01


@pytest.mark.parametrize("n_samples", [1, 2, 3])
def test_too_few_samples_to_judge_by_are_all_landmarks(samples, n_samples):
    with pytest.warns(UserWarning, match=f"{n_samples} different samples are too few to hold some out"):
        dmn = gl.DeepMapNetwork(KERNEL, "1%", random_state=0).fit(samples[:n_samples])
    assert dmn.n_landmarks_ == n_samples
    assert dmn.landmark_curve_ == ()
    assert "chosen" not in str(dmn.explain(10))


@pytest.mark.parametrize(("n_samples", "n_landmarks"), [(4, 2), (7, 5), (30, 25), (60, 50)])
def test_few_samples(samples, n_samples, n_landmarks):
    with pytest.warns(UserWarning, match="is not met"):
        dmn = gl.DeepMapNetwork(KERNEL, "0.0001%", random_state=0).fit(samples[:n_samples])
    assert dmn.n_landmarks_ == n_landmarks
    assert len(dmn.landmark_curve_) == 1
    assert np.isfinite(dmn.transform(samples)).all()


def test_constant_views(samples):
    network = gl.DeepKernelNetwork(learning=None, random_state=0)
    with pytest.warns(UserWarning, match="1 different samples are too few"):
        dmn = gl.DeepMapNetwork(network, "1%", random_state=0).fit(np.ones((30, 5)))
    assert dmn.n_landmarks_ == 1
    beside = {"a": samples, "b": np.zeros((300, 2))}
    dmn = gl.DeepMapNetwork(network, "5%", random_state=0).fit(beside)
    assert {n: e for n, e, _ in dmn.landmark_curve_}[dmn.n_landmarks_] <= 5


def test_a_kernel_of_low_rank_is_met_at_once(samples):
    network = gl.DeepKernelNetwork("linear", (), output_activation="identity", learning=None)
    ((number, error, _),) = gl.DeepMapNetwork(network, "0.1%", random_state=0).fit(samples).landmark_curve_
    assert number == 50
    assert error < 1e-6


def test_only_the_map_that_is_kept_warns_of_a_clipped_spectrum(samples):
    network = gl.DeepKernelNetwork(
        ["linear"], (3,), hidden_gain=8.0, output_activation="identity", learning=None, normalize=False, random_state=0
    )
    with pytest.warns(UserWarning, match="is not met") as said:
        gl.DeepMapNetwork(network, "0.000001%", random_state=0).fit(samples[:, :2] / 3)
    assert sum(w.category is gl.ClippedSpectrumWarning for w in said) == 1


def test_of_many_samples_some_are_looked_at(samples, monkeypatch):
    monkeypatch.setattr("gramless.estimators.landmark_number.MOST_SAMPLES", 120)
    choice = chosen(samples, 1e-9)
    assert len(choice.rows) == 100
    assert len(choice.held_out) == 20
    assert choice.rows.max() > 120


def test_explain_says_what_the_number_was_chosen_from(samples):
    dmn = gl.DeepMapNetwork(KERNEL, "15%", random_state=0).fit(samples)
    said = str(dmn.explain(1_000)).splitlines()[-1]
    assert said.startswith(f"{dmn.n_landmarks_} landmarks, chosen by errors on held-out samples: ")
    for number, error, _ in dmn.landmark_curve_:
        assert f"{error:.3g}% with {number}" in said
    assert "chosen" not in str(gl.DeepMapNetwork(KERNEL, 20, random_state=0).fit(samples).explain(1_000))


def test_tuning_goes_on_from_the_map_that_met_the_wish(samples):
    plain = gl.DeepMapNetwork(KERNEL, "20%", random_state=0).fit(samples)
    tuned = gl.DeepMapNetwork(KERNEL, "20%", tuning="landmarks", random_state=0).fit(samples)
    assert tuned.landmark_curve_ == plain.landmark_curve_
    before, after = tuned.tuning_errors_
    assert after <= before
    assert len(tuned.landmarks_) == tuned.n_landmarks_


@pytest.mark.parametrize("tuning", ["auto", None])
def test_through_a_classifier_a_grid_search_and_a_file(rng, tmp_path, tuning):
    views = random_views(rng, 200, dtype=np.float32)
    y = (views["v0"][:, 0] > views["v0"][:, 1]).astype(int)
    clf = gl.DeepMapClassifier(gl.DeepKernelNetwork(("gaussian",), learning=None), "10%", tuning=tuning, random_state=0)
    assert clone(clf).get_params()["n_landmarks"] == "10%"
    assert "10%" in estimator_html_repr(clf)
    dmn = clf.fit(views, y).map_network_
    assert {n: e for n, e, _ in dmn.landmark_curve_}[dmn.n_landmarks_] <= 10
    gl.save(clf, tmp_path / "model")
    loaded = gl.load(tmp_path / "model")
    assert loaded.n_landmarks == "10%"
    assert loaded.map_network_.n_landmarks_ == dmn.n_landmarks_
    assert loaded.map_network_.landmark_curve_ == dmn.landmark_curve_
    np.testing.assert_array_equal(loaded.decision_function(views), clf.decision_function(views))
    grid = GridSearchCV(clone(clf).set_params(tuning=None), {"n_landmarks": ["20%", 60]}, cv=2).fit(views, y)
    assert np.isfinite(grid.cv_results_["mean_test_score"]).all()


def test_a_number_that_is_not_that_of_the_landmarks_is_refused(samples):
    dmn = gl.DeepMapNetwork(KERNEL, "20%", random_state=0).fit(samples)
    dmn.n_landmarks_ += 1
    with pytest.raises(gl.DataError, match="n_landmarks_ is"):
        dmn.check_fitted()


def test_of_data_in_blocks_the_number_is_chosen_on_a_sample(samples, monkeypatch):
    assert gl.DeepMapNetwork(KERNEL, "1%").sample_size() == 20_000
    monkeypatch.setattr("gramless.estimators.deep_map_network.MOST_SAMPLES", 200)
    X = {"view0": samples}
    dmn = gl.DeepMapNetwork(KERNEL, "20%", random_state=0).fit(gl.in_blocks(X, rows=70))
    assert {n: e for n, e, _ in dmn.landmark_curve_}[dmn.n_landmarks_] <= 20
    np.testing.assert_array_equal(dmn.landmarks_["view0"], samples[dmn.landmark_indices_])
    clf = gl.DeepMapClassifier(gl.DeepKernelNetwork(("gaussian",), learning=None), "10%", random_state=0)
    y = (samples[:, 0] > 1.5).astype(int)
    assert (np.asarray(clf.fit(gl.in_blocks(X, y, rows=70)).predict(X)) == y).mean() > 0.9


@pytest.mark.parametrize(
    ("text", "percent"), [("1%", 1.0), ("0.5 %", 0.5), (" .25% ", 0.25), ("99.9%", 99.9), ("5.%", 5.0)]
)
def test_wishes(text, percent):
    assert wished_error(text) == percent


@pytest.mark.parametrize(
    "wish",
    ["abc", "0%", "-1%", "150%", "100%", "nan%", "nan", "1", "%", "1%%", "1e400%", "0.0%", "", float("nan"), 0.5],
)
@pytest.mark.parametrize(
    "estimator", [gl.DeepMapNetwork(KERNEL), gl.DeepMapClassifier()], ids=["network", "classifier"]
)
def test_what_is_no_wish_is_refused_in_words(estimator, wish, samples):
    with pytest.raises(ValueError, match=r"'n_landmarks' parameter .* a relative error .* such as '1%'\. Got"):
        clone(estimator).set_params(n_landmarks=wish).fit(samples, np.arange(300) % 2)


def test_a_wish_that_contradicts_other_parameters_is_refused(samples):
    for landmarks in ([0, 1, 2], gl.Views({"view0": samples[:5]})):
        with pytest.raises(ValueError, match="lets fit choose how many"):
            gl.DeepMapNetwork(KERNEL, "1%", landmarks=landmarks).fit(samples)


def test_nothing_is_said_where_the_wish_is_met(samples):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gl.DeepMapNetwork(KERNEL, "20%", random_state=0).fit(samples)


def test_auto_is_all_samples_up_to_a_number_and_a_few_of_more():
    assert [number_of("auto", n) for n in (3, 2_500, 2_501, 10**6)] == [3, 2_500, 500, 500]
    assert [number_of(700, n) for n in (3, 10**6)] == [3, 700]


def test_as_it_comes_the_map_of_few_samples_is_the_kernel(rng):
    X, y = rng.random((60, 5)).astype(np.float32), np.arange(60) % 2
    clf = gl.DeepMapClassifier(random_state=0).fit(X, y)
    assert clf.map_network_.n_landmarks_ == 60
    new = gl.Views([rng.random((9, 5)).astype(np.float32)])
    phi, known = (clf.map_network_.transform(part) for part in (new, gl.Views([X])))
    np.testing.assert_allclose(phi @ known.T, clf.map_network_.kernel_(new, gl.Views([X])), rtol=1e-3)
