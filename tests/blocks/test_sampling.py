"""Samples drawn in one pass: uniform, and the same however the rows are cut."""

from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats

import gramless as gl
from gramless.blocks import Block, draw
from gramless.blocks.base import row_keys


def pieces(array, cuts):
    bounds = [0, *sorted(cuts), len(array)]
    return [array[a:b] for a, b in pairwise(bounds) if b > a]


def iter_of_parts(array, labels, cuts):
    bounds = sorted({0, *cuts, len(array)})
    return [Block(a, gl.Views(array[a:b]), labels[a:b]) for a, b in pairwise(bounds)]


@given(
    seed=st.integers(0, 2**31),
    size=st.integers(1, 120),
    cuts=st.lists(st.integers(1, 99), max_size=8),
)
def test_the_rows_with_the_smallest_keys_however_they_are_cut(seed, size, cuts):
    array = np.arange(100.0)[:, None]
    expected = np.sort(np.argsort(row_keys(np.arange(100), seed), kind="stable")[:size])
    for blocks in (gl.in_blocks(array), gl.in_blocks(lambda: pieces(array, cuts))):
        drawn = blocks.sample(size, seed)
        np.testing.assert_array_equal(drawn.rows, expected)
        np.testing.assert_array_equal(drawn.views["view0"][:, 0], expected)
        assert drawn.labels is None


@given(order=st.permutations(range(5)))
def test_parts_may_be_added_in_any_order(order):
    array = np.arange(100.0)[:, None]
    contribution = draw(30, seed=2, n_samples=100)
    parts = [contribution(Block(start, gl.Views(array[start : start + 20]))) for start in range(0, 100, 20)]
    drawn = reduce(add, [parts[i] for i in order]).sorted()
    expected = gl.in_blocks(array).sample(30, 2)
    np.testing.assert_array_equal(drawn.rows, expected.rows)
    np.testing.assert_array_equal(drawn.views["view0"], expected.views["view0"])


def test_every_row_is_as_likely_as_any_other_and_so_is_every_pair():
    array = np.zeros((12, 1))
    drawn = [gl.in_blocks(array, rows=5).sample(4, seed).rows for seed in range(3000)]
    counts = np.bincount(np.concatenate(drawn), minlength=12)
    assert stats.chisquare(counts).pvalue > 1e-3
    together = np.zeros((12, 12))
    for rows in drawn:
        together[np.ix_(rows, rows)] += 1
    pairs = together[np.triu_indices(12, 1)]
    assert stats.chisquare(pairs).pvalue > 1e-3


def test_keys_do_not_repeat_and_fill_their_range():
    keys = row_keys(np.arange(200_000), seed=1)
    assert len(np.unique(keys)) == len(keys)
    assert stats.kstest(keys / 2.0**64, "uniform").pvalue > 1e-3


def test_large_data_passes_few_rows_and_the_sample_is_full():
    array = np.arange(200_000.0)[:, None]
    for seed in range(5):
        assert len(gl.in_blocks(array, rows=1000).sample(500, seed)) == 500


def test_sparse_views_stay_sparse():
    matrix = sparse.random_array((90, 6), density=0.3, rng=0, format="csr")
    drawn = gl.in_blocks(lambda: [{"words": matrix[:50]}, {"words": matrix[50:]}]).sample(20, 0)
    assert sparse.issparse(drawn.views["words"])
    np.testing.assert_array_equal(drawn.views["words"].toarray(), matrix[drawn.rows].toarray())


@given(cuts=st.lists(st.integers(1, 99), max_size=8), several=st.booleans())
def test_every_label_is_there_however_rows_are_cut(cuts, several):
    array, labels = np.arange(100.0)[:, None], np.r_[np.zeros(90), 1, 1, 1, np.full(7, 2)].astype(int)
    given = np.eye(3)[labels] if several else labels
    parts = iter_of_parts(array, given, cuts)
    drawn = reduce(add, [draw(20, 5, 100, of_each=2)(part) for part in parts]).sorted()
    keys = row_keys(np.arange(100), 5)
    expected = set(np.argsort(keys)[:20])
    for label in range(3):
        members = np.flatnonzero(labels == label)
        expected |= set(members[np.argsort(keys[members])[:2]])
    np.testing.assert_array_equal(drawn.rows, sorted(expected))
    np.testing.assert_array_equal(drawn.labels, given[drawn.rows])
    np.testing.assert_array_equal(drawn.views["view0"][:, 0], drawn.rows)
    assert (np.bincount(labels[drawn.rows], minlength=3) >= 2).all()


def test_no_rows_is_no_sample():
    with pytest.raises(gl.DataError, match="no samples"):
        gl.in_blocks(lambda: iter(())).total(len, "counting")
