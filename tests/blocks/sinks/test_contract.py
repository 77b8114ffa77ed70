"""What every sink does, whatever its format."""

import os
import shutil

import numpy as np
import pytest

from gramless.blocks.sinks import base
from gramless.blocks.sinks.base import RowForm
from gramless.errors import DataError
from tests.blocks.sinks.samples import (
    SUFFIX,
    SUFFIXES,
    append_rest,
    blocks_after,
    bytes_of,
    found_in,
    random_ends,
    random_values,
    values_of,
    written_in_one_go,
)

N = 300
FORMS = [
    RowForm(5, np.dtype(np.float32), N),
    RowForm(5, np.dtype(np.float32), None),
    RowForm(3, np.dtype(np.float64), N),
    RowForm(None, np.dtype(np.float64), None),
    RowForm(None, np.dtype(np.int64), N),
    RowForm(4, np.dtype(bool), N),
]
VECTORS = FORMS[0]

every_kind = pytest.mark.parametrize("kind", SUFFIX, ids=SUFFIXES)
every_form = pytest.mark.parametrize("form", FORMS, ids=lambda f: f"{f.dtype}-{f.width}-{f.n_rows}")


@pytest.fixture
def partial(tmp_path, kind):
    return tmp_path / f"rows{SUFFIX[kind]}.partial"


@pytest.fixture
def target(tmp_path, kind):
    return tmp_path / f"rows{SUFFIX[kind]}"


@pytest.fixture
def _never_by_itself(monkeypatch):
    monkeypatch.setattr(base, "SYNC_SECONDS", float("inf"))


@pytest.fixture
def _after_every_block(monkeypatch):
    monkeypatch.setattr(base, "SYNC_SECONDS", 0.0)
    monkeypatch.setattr(base, "SYNC_SHARE", 0)


@every_kind
@every_form
def test_rows_are_read_back_and_put_in_their_place(kind, form, partial, target, tmp_path):
    values, rng = values_of(form), np.random.default_rng(1)
    with kind(partial, form) as sink:
        append_rest(sink, values, random_ends(N, rng))
        sink.sync()
        assert sink.n_rows == N
        for first, last in [(0, N), (0, 1), (N - 1, N), (7, 7), *np.sort(rng.integers(0, N + 1, (10, 2)))]:
            np.testing.assert_array_equal(sink.read(first, last), values[first:last], strict=True)
        assert not target.exists()
        sink.finish(target)
    np.testing.assert_array_equal(found_in(target), values)
    assert list(tmp_path.iterdir()) == [target]


@every_kind
@every_form
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.usefixtures("_never_by_itself")
def test_stopped_and_continued_it_is_the_same_to_the_byte(kind, form, seed, partial, target, tmp_path):
    values, rng = values_of(form), np.random.default_rng(seed)
    ends = random_ends(N, rng)
    complete = 0
    while complete < N:
        with kind(partial, form) as sink:
            assert sink.n_rows == complete
            for block in blocks_after(complete, values, ends)[: rng.integers(1, 6)]:
                sink.append(block)
                if rng.random() < 0.5:
                    sink.sync()
            complete = sink.n_rows
        assert complete in (0, *ends)
        assert partial.exists() == (complete > 0)
        if complete:
            np.testing.assert_array_equal(found_in(partial), values[:complete])
    with kind(partial, form) as sink:
        sink.finish(target)
    assert bytes_of(target) == written_in_one_go(kind, form, values, ends, tmp_path / "one")


@every_kind
@pytest.mark.parametrize("form", [FORMS[1], FORMS[4]], ids=["vectors", "values"])
@pytest.mark.usefixtures("_after_every_block")
def test_killed_before_any_write_it_is_usable_and_continues(kind, form, partial, target, tmp_path, monkeypatch):
    """A copy of what is there before every fsync and every rename is what kill -9 leaves at that moment."""
    values = values_of(form, 160)
    ends = random_ends(len(values), np.random.default_rng(5))
    sinks, copies = [], []

    def copied_before(call):
        def copying(*arguments, **options):
            if partial.exists():
                copies.append((tmp_path / f"{len(copies)}-{partial.name}", sinks[0].n_rows if sinks else 0))
                (shutil.copytree if partial.is_dir() else shutil.copy)(partial, copies[-1][0])
            return call(*arguments, **options)

        return copying

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", copied_before(os.fsync))
        patched.setattr(os, "replace", copied_before(os.replace))
        with kind(partial, form) as sink:
            sinks.append(sink)
            append_rest(sink, values, ends)
            sink.finish(target)
    assert len(copies) > len(ends)
    for copy, complete in copies:
        if complete:
            np.testing.assert_array_equal(found_in(copy)[:complete], values[:complete])
            assert len(found_in(copy)) in ends
        with kind(copy, form) as continued:
            assert continued.n_rows >= complete
            append_rest(continued, values, ends)
            continued.finish(copy.with_suffix(""))
        assert bytes_of(copy.with_suffix("")) == bytes_of(target)


@every_kind
@pytest.mark.parametrize("form", [FORMS[0], FORMS[3]], ids=["vectors", "values"])
def test_a_disk_that_fails_costs_only_what_was_not_complete(kind, form, partial, target, tmp_path, monkeypatch):
    values, rng = values_of(form), np.random.default_rng(2)
    ends = random_ends(N, rng)
    really = os.fsync

    def failing(handle):
        if rng.random() < 0.3:
            raise OSError(28, "No space left on device")
        really(handle)

    while partial.exists() or not target.exists():
        with monkeypatch.context() as patched, kind(partial, form) as sink:
            patched.setattr(os, "fsync", failing)
            complete = sink.n_rows
            try:
                for block in blocks_after(complete, values, ends):
                    sink.append(block)
                    sink.sync()
                    complete += len(block)
                    assert sink.n_rows == complete
                sink.finish(target)
                break
            except OSError:
                assert sink.n_rows == complete
        if complete:  # and the block that failed may have got through
            found = found_in(partial)
            assert complete <= len(found)
            assert len(found) in ends
            np.testing.assert_array_equal(found, values[: len(found)])
    assert bytes_of(target) == written_in_one_go(kind, form, values, ends, tmp_path / "one")


@every_kind
@pytest.mark.parametrize("seed", range(12))
def test_a_file_that_was_cut_off_continues(kind, seed, partial, target, tmp_path):
    values, rng = values_of(VECTORS), np.random.default_rng(seed)
    ends = list(range(30, N + 1, 30))
    with kind(partial, VECTORS) as sink:
        append_rest(sink, values[:240], ends[:8])
        sink.sync()
    last = partial if partial.is_file() else max(partial.glob("[cp]*"), key=lambda path: path.stat().st_mtime_ns)
    with last.open("r+b") as file:
        file.truncate(int(rng.integers(0, last.stat().st_size)))
    with kind(partial, VECTORS) as sink:
        assert sink.n_rows < 240
        np.testing.assert_array_equal(sink.read(0, sink.n_rows), values[: sink.n_rows], strict=True)
        sink.append(values[sink.n_rows :])
        sink.finish(target)
    np.testing.assert_array_equal(found_in(target), values)


@every_kind
def test_a_file_of_an_earlier_part_that_is_lost_is_computed_again(kind, partial, target):
    values = values_of(VECTORS)
    with kind(partial, VECTORS) as sink:
        append_rest(sink, values, list(range(30, N + 1, 30)))
        sink.sync()
    if partial.is_dir():
        max(partial.glob("[cp]*")).unlink()
    else:
        os.truncate(partial, 150)
    with kind(partial, VECTORS) as sink:
        assert sink.n_rows < N
        sink.append(values[sink.n_rows :])
        sink.finish(target)
    np.testing.assert_array_equal(found_in(target), values)


@every_kind
@every_form
def test_no_rows_at_all(kind, form, partial, target):
    with kind(partial, form) as sink:
        sink.append(values_of(form, 0))
        sink.finish(target)
    assert found_in(target).shape[0] == 0
    assert not partial.exists()


@every_kind
def test_a_block_may_be_changed_once_it_is_appended(kind, partial, target):
    values = values_of(VECTORS)
    block = np.empty((30, 5), np.float32)
    with kind(partial, VECTORS) as sink:
        for start in range(0, N, 30):
            block[:] = values[start : start + 30]
            sink.append(block)
        sink.finish(target)
    np.testing.assert_array_equal(found_in(target), values)


@every_kind
def test_a_block_larger_than_all_buffers_and_one_by_columns(kind, partial, target):
    values = values_of(VECTORS, 5000)
    with kind(partial, VECTORS) as sink:
        sink.append(values[:4000])
        sink.append(np.asfortranarray(values[4000:]))
        sink.finish(target)
    np.testing.assert_array_equal(found_in(target), values)


@every_kind
@pytest.mark.parametrize("block", [np.zeros((3, 4), np.float32), np.zeros(3, np.float32), np.zeros((3, 5))])
def test_a_block_of_other_rows_is_refused(kind, partial, block):
    with kind(partial, VECTORS) as sink, pytest.raises(ValueError, match=r"must be of shape \(5,\) and float32"):
        sink.append(block)


@every_kind
@pytest.mark.parametrize(
    "other",
    [
        RowForm(5, np.dtype(np.float64), N),
        RowForm(4, np.dtype(np.float32), N),
        RowForm(None, np.dtype(np.float32), N),
        RowForm(5, np.dtype(np.int32), N),
    ],
    ids=lambda f: f"{f.dtype}-{f.width}",
)
def test_rows_of_another_form_are_not_continued_and_not_touched(kind, other, partial):
    with kind(partial, VECTORS) as sink:
        sink.append(values_of(VECTORS))
        sink.sync()
    before = bytes_of(partial)
    with pytest.raises(DataError, match=r"left by another run.*Remove it to begin anew"):
        kind(partial, other)
    assert bytes_of(partial) == before


@every_kind
def test_what_somebody_else_left_there_is_not_touched(kind, partial):
    if SUFFIX[kind] == ".npy":
        partial.write_bytes(b"letters" * 100)
    else:
        partial.mkdir()
        (partial / "letter.txt").write_text("letters")
    before = bytes_of(partial)
    with pytest.raises(DataError, match="left by another run"):
        kind(partial, VECTORS)
    assert bytes_of(partial) == before


@every_kind
def test_two_runs_at_once_are_told_apart(kind, partial):
    with kind(partial, VECTORS) as sink:
        sink.append(values_of(VECTORS, 10))
        with pytest.raises(DataError, match="another run is writing"):
            kind(partial, VECTORS)
        sink.sync()
    with kind(partial, VECTORS) as sink:
        assert sink.n_rows == 10


@every_kind
def test_what_was_there_is_replaced_by_what_is_complete(kind, partial, target, tmp_path):
    for seed in range(2):
        values = random_values((40 - 20 * seed, 5), np.float32, seed)
        with kind(partial, VECTORS) as sink:
            sink.append(values)
            sink.finish(target)
        np.testing.assert_array_equal(found_in(target), values)
        assert list(tmp_path.iterdir()) == [target]
