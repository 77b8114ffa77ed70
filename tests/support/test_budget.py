"""Sizes, refusals and blocks."""

import psutil
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import gramless as gl
from gramless.support.budget import readable, require, resolve_budget, row_blocks


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("256MiB", 256 << 20),
        ("2 GB", 2_000_000_000),
        ("1.5gib", 3 << 29),
        ("70000", 70_000),
        ("8kb", 8_000),
        (123, 123),
    ],
)
def test_sizes(text, size):
    assert resolve_budget(text) == size


@pytest.mark.parametrize(
    "bad", ["much", "-1", "", 0, -5, "0 MB", "9" * 400 + "GB", float("nan"), float("inf"), torch.zeros(2), b"1"]
)
def test_no_sizes(bad):
    with pytest.raises(ValueError, match="memory_budget"):
        resolve_budget(bad)


def test_a_quarter_of_what_is_free_by_default():
    assert 0 < resolve_budget(None) < psutil.virtual_memory().total / 4


@given(n=st.integers(1, 500), per_row=st.integers(1, 100), budget=st.integers(1, 5_000))
def test_blocks_cover_every_row_once_within_the_budget(n, per_row, budget):
    blocks = list(row_blocks(n, per_row, budget))
    assert [i for block in blocks for i in range(n)[block]] == list(range(n))
    assert all((b.stop - b.start) * per_row <= budget or b.stop - b.start == 1 for b in blocks)


def test_a_refusal_says_what_how_much_and_what_to_do():
    with pytest.raises(gl.MemoryBudgetError, match=r"A map needs 1.5 GiB, and the memory budget is 1.0 KiB. Use less."):
        require(3 << 29, 1024, what="A map", remedy="Use less.")
    require(1024, 1024, what="A map", remedy="Use less.")


def test_readable():
    assert [readable(s) for s in (10, 2048, 5 << 20, 3 << 29)] == ["10 bytes", "2.0 KiB", "5.0 MiB", "1.5 GiB"]
