"""Samples that lack a view: how they are told, and what is put there."""

import numpy as np
import pytest
import torch
from scipy import sparse

import gramless as gl
from gramless.views.completion import MOST_KNOWN, completed
from tests.oracles.completion import complete


def described(n, seed=0, dtype=np.float64):
    """Three views of the same few numbers; the second is not negative."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 2))
    mix = np.random.default_rng(7)
    views = {
        "a": np.tanh(hidden @ mix.normal(size=(2, 4))) * 50 + 1_000,
        "b": np.abs(hidden @ mix.normal(size=(2, 3))),
        "c": hidden @ mix.normal(size=(2, 1)) * 1e-3,
    }
    return {name: view.astype(dtype) for name, view in views.items()}


def without(views, seed=1, share=0.3):
    """Some rows made NaN; every sample keeps a view, every view a sample."""
    rng = np.random.default_rng(seed)
    n = len(views["a"])
    lacks = rng.random((n, 3)) < share
    lacks[lacks.all(1), 0] = False
    found = {}
    for name, lack in zip(views, lacks.T, strict=True):
        found[name] = views[name].copy()
        found[name][lack] = np.nan
    return found


@pytest.mark.parametrize("incomplete", [False, True])
def test_rows_are_those_of_the_oracle(incomplete):
    known = described(12)
    known = without(known, seed=3) if incomplete else known
    asked = without(described(9, seed=5))
    found = completed(gl.Views(asked), gl.Views(known))
    expected = complete(list(asked.values()), list(known.values()))
    assert any(np.isnan(view).any() for view in asked.values())
    for name, rows in zip(asked, expected, strict=True):
        # Solutions with a ridge of 1e-5 at least beside eigenvalues of 12 at most: 1e6 roundings of the spread.
        spread = np.nanmax(known[name]) - np.nanmin(known[name])
        np.testing.assert_allclose(found[name], rows, rtol=0, atol=1e-8 * spread)


def test_samples_complete_each_other():
    views = without(described(14))
    found = completed(gl.Views(views))
    for name, rows in zip(views, complete(list(views.values()), list(views.values())), strict=True):
        spread = np.nanmax(views[name]) - np.nanmin(views[name])
        np.testing.assert_allclose(found[name], rows, rtol=0, atol=1e-8 * spread)


def test_what_is_expected_is_closer_than_the_mean():
    truth = described(2 * MOST_KNOWN)
    views = without(truth)
    found = completed(gl.Views(views))
    for name in views:
        lacks = np.isnan(views[name]).any(1)
        error = np.square(found[name] - truth[name])[lacks].mean()
        assert error < 0.75 * np.square(np.nanmean(views[name], 0) - truth[name])[lacks].mean()
        np.testing.assert_array_equal(found[name][~lacks], views[name][~lacks])
        assert np.nanmin(views[name]) <= found[name].min()
        assert found[name].max() <= np.nanmax(views[name])


def test_rows_do_not_depend_on_what_else_is_asked_for():
    known, asked = gl.Views(described(40)), gl.Views(without(described(30, seed=2)))
    whole = completed(asked, known)
    for name in asked.names:
        parts = [completed(asked[i : i + 7], known)[name] for i in range(0, 30, 7)]
        np.testing.assert_allclose(np.concatenate(parts), whole[name], rtol=1e-10)


def test_where_nothing_is_missing_nothing_is_done():
    views = gl.Views(described(5))
    assert completed(views) is views
    assert completed(views, gl.Views(described(9))) is views


def test_nothing_that_was_passed_is_changed():
    given = without(described(20))
    before = {name: view.copy() for name, view in given.items()}
    completed(gl.Views(given))
    for name in given:
        np.testing.assert_array_equal(given[name], before[name])


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csr_array, torch.from_numpy])
def test_every_kind_of_block(make):
    plain = without(described(20))
    given = {**plain, "b": make(plain["b"])}
    found, expected = completed(gl.Views(given))["b"], completed(gl.Views(plain))["b"]
    assert type(found) is type(given["b"])
    np.testing.assert_allclose(found.toarray() if sparse.issparse(found) else found, expected, rtol=1e-12)


def test_types_stay():
    found = completed(gl.Views(without(described(20, dtype=np.float32))))
    assert {found[name].dtype for name in found.names} == {np.dtype(np.float32)}


def test_a_constant_view_and_few_samples():
    views = {"a": np.full((4, 2), 3.0), "b": np.arange(8.0).reshape(4, 2)}
    views["a"][1] = views["b"][2] = np.nan
    found = completed(gl.Views(views))
    np.testing.assert_array_equal(found["a"], np.full((4, 2), 3.0))
    assert np.isfinite(found["b"]).all()


def test_masks_go_with_rows():
    views = gl.Views(without(described(30)))
    lacks = views.missing_in("a")
    rows = np.random.default_rng(0).permutation(30)[:20]
    np.testing.assert_array_equal(views[rows].missing_in("a"), lacks[rows])
    np.testing.assert_array_equal(views[torch.from_numpy(rows)].missing_in("a"), lacks[rows])
    np.testing.assert_array_equal(gl.Views.stacked([views[:9], views[9:]]).missing_in("a"), lacks)
    assert not views[np.flatnonzero(~lacks)].missing_in("a").any()
    assert views.incomplete
    assert not gl.Views(described(4)).incomplete


class TestRefused:
    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_one_value(self, bad):
        views = without(described(20))
        row = int(np.flatnonzero(~np.isnan(views["a"]).any(1))[3])
        views["a"][row, 2] = bad
        with pytest.raises(gl.DataError, match=rf"'a' contains NaN or infinity, first at row {row}, column 2 \(1 in"):
            gl.Views(views)

    def test_infinity_in_a_row_of_nan(self):
        views = described(5)
        views["a"][2] = [np.nan, np.inf, np.nan, np.nan]
        with pytest.raises(gl.DataError, match="first at row 2, column 0"):
            gl.Views(views)

    def test_half_a_sparse_row(self):
        views = described(5)
        views["b"] = sparse.csr_matrix([[np.nan, np.nan, 0.0]] + [[1.0, 2.0, 3.0]] * 4)
        with pytest.raises(gl.DataError, match="first at row 0, column 0"):
            gl.Views(views)

    def test_a_sample_of_which_nothing_is_known(self):
        views = described(5)
        for view in views.values():
            view[3] = np.nan
        with pytest.raises(gl.DataError, match=r"row 3 is NaN in all of the views \['a', 'b', 'c'\]"):
            gl.Views(views)
        with pytest.raises(gl.DataError, match="row 103 is NaN"):
            gl.Views(views, first_row=100)

    def test_a_sample_that_has_only_views_that_nobody_knows(self):
        views = described(5)
        views["a"][3] = np.nan
        with pytest.raises(gl.DataError, match="row 3 is NaN in all"):
            gl.Views(views).match({"a": 4})

    def test_a_view_that_everybody_lacks(self):
        views = {**described(5), "c": np.full((5, 1), np.nan)}
        with pytest.raises(gl.DataError, match=r"view 'c' is missing .* for every sample"):
            completed(gl.Views(views))

    def test_a_kernel_needs_all_views(self):
        kernel = gl.DeepKernelNetwork(learning=None, random_state=0).fit(described(20)).kernel_
        with pytest.raises(gl.DataError, match=r"a kernel needs every view .* view '\w' is missing"):
            kernel(gl.Views(without(described(20))))
