"""Rows into files: continued after a stop, refused where they are of another run, and what is said about it."""

import json
import os
import shutil
import sys
from collections import namedtuple

import numpy as np
import pytest

from gramless.blocks import writing
from gramless.blocks.writing import PROGRESS, write_rows
from gramless.errors import DataError
from gramless.support.packages import MissingPackageError
from tests.blocks.writing.samples import (
    CutRows,
    bytes_of,
    complete_before,
    every_format,
    found_in,
    known_or_not,
    random_ends,
    random_values,
    stop_at,
    written_in_one_go,
)

N = 700


@pytest.fixture
def ends():
    return random_ends(N, np.random.default_rng(0))


@pytest.fixture
def values():
    return random_values((N, 6), np.float32)


@every_format
@known_or_not
@pytest.mark.parametrize("seed", range(4))
def test_continues_after_bad_blocks_with_the_same_bytes(suffix, counted, seed, path, partial, values, monkeypatch):
    monkeypatch.setattr(writing, "LOOKED_AT", 1)
    monkeypatch.setattr(writing, "PLACES", 2)
    rng = np.random.default_rng(seed)
    ends = random_ends(N, rng)
    for row in sorted(rng.choice(ends[3:-1], 3, replace=False).tolist()):
        error = stop_at(row, values, ends, path)
        kept = complete_before(row, values, N)
        assert f"row {row} holds NaN. The {kept:,} rows before that are kept in {partial}" in str(error)
        assert "the same call continues there" in str(error)
        assert not path.exists()
    rows = CutRows(values, ends, counted)
    write_rows(rows, path)
    assert all(last >= kept for _, last in rows.computed[2:])  # but for a look at either end
    assert bytes_of(path) == written_in_one_go(CutRows(values, ends, counted), path)
    assert not partial.exists()


@every_format
@pytest.mark.parametrize("failure", [KeyboardInterrupt(), MemoryError("no more"), OSError(5, "Input/output error")])
def test_whatever_stops_it_what_was_computed_is_kept(suffix, failure, path, partial, values, ends):
    error = stop_at(ends[4], values, ends, path, failure)
    assert error is failure
    kept = complete_before(ends[4], values, N)
    assert json.loads((partial / PROGRESS).read_text())["rows"] == kept
    assert any(f"The {kept:,} rows before that are kept" in note for note in error.__notes__)


@every_format
def test_nothing_is_left_where_nothing_was_complete(suffix, path, values, ends, tmp_path):
    error = stop_at(0, values, ends, path)
    assert "nothing is kept" in str(error)
    assert list(tmp_path.iterdir()) == []


@every_format
@known_or_not
def test_a_run_that_was_killed_before_the_very_last_step(suffix, counted, path, partial, values, ends, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(writing, "put_in_place", lambda *_: os.link("/nonexistent", "/nonexistent"))
        with pytest.raises(Exception, match=f"could not be written.*The {N} rows before that"):
            write_rows(CutRows(values, ends, counted), path)
    rows = CutRows(values, ends, counted)
    write_rows(rows, path)
    assert bytes_of(path) == written_in_one_go(CutRows(values, ends, counted), path)


@every_format
def test_another_machine_may_round_differently(suffix, path, values, ends):
    stop_at(ends[5], values, ends, path)
    write_rows(CutRows(values * np.float32(1 + 1e-5), ends), path)
    np.testing.assert_allclose(found_in(path), values, rtol=1e-3)


def another_first_row(values):
    return np.concatenate([values[:3], values[3:4] + 0.01, values[4:]])


def another_end(values):
    return np.concatenate([values[:296], values[296:297] + 0.01, values[297:]])


@every_format
@pytest.mark.parametrize(
    ("other", "why"),
    [
        (lambda values: values[::-1], "its row 0 begins .* and computed anew"),
        (another_first_row, "its row 3 begins"),
        (another_end, "its row 296 begins"),
        (lambda values: values[:200], "it holds 297 rows, and only 200 are to be written"),
        (lambda values: values.astype(np.float64), "float|double"),
        (lambda values: values[:, :5], "6.*5"),
        (lambda values: values[:, 0], r"6.*(\(\)|values)"),
    ],
)
def test_what_another_run_left_is_refused_and_kept(suffix, other, why, path, partial, values):
    ends = list(range(50, N + 1, 50))
    stop_at(300, values, ends, path)
    before = bytes_of(partial)
    changed = other(values)
    rows = CutRows(changed, [end for end in ends if end <= len(changed)])
    with pytest.raises(DataError, match=f"left by another run: .*({why}).*Remove it to begin anew, or choose another"):
        write_rows(rows, path)
    assert bytes_of(partial) == before
    assert not path.exists()


@every_format
def test_rows_that_became_fewer_where_only_a_pass_can_tell(suffix, path, partial, values):
    ends = list(range(50, N + 1, 50))
    stop_at(300, values, ends, path)
    with pytest.raises(DataError, match="it holds 297 rows, and now there are fewer"):
        write_rows(CutRows(values[:250], ends[:5], counted=False), path)
    assert json.loads((partial / PROGRESS).read_text())["rows"] == 297


@every_format
def test_fewer_rows_than_were_announced(suffix, path, partial, values):
    with pytest.raises(DataError, match=r"got 400 rows, and there should be 700.*The 400 rows before that are kept"):
        write_rows(CutRows(values, list(range(50, 401, 50))), path)
    assert not path.exists()


@every_format
def test_what_is_there_stays_until_the_new_one_is_complete(suffix, path, values, ends):
    write_rows(CutRows(values[:50], [50]), path)
    old = bytes_of(path)
    stop_at(ends[3], -values, ends, path)
    assert bytes_of(path) == old
    rows = CutRows(-values, ends)
    write_rows(rows, path)
    np.testing.assert_array_equal(found_in(path), rows.expected)


@every_format
def test_something_else_at_the_target_is_not_removed(suffix, path, values, ends):
    if suffix == ".npy":
        path.mkdir()
    elif suffix == ".zarr":
        path.write_text("letters")
    else:
        path.mkdir()
        (path / "letters.txt").write_text("letters")
    rows = CutRows(values, ends)
    with pytest.raises(DataError, match="holds something else"):
        write_rows(rows, path)
    assert not rows.computed
    assert path.exists()


@every_format
def test_a_link_leads_to_the_place(suffix, path, values, ends, tmp_path):
    (tmp_path / "far").mkdir()
    path.symlink_to(tmp_path / "far" / path.name)
    for _ in range(2):
        write_rows(CutRows(values, ends), path)
    assert path.is_symlink()
    assert os.listdir(tmp_path / "far") == [path.name]


@every_format
def test_too_little_room_is_said_before_anything_is_computed(suffix, path, values, ends, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: namedtuple("Usage", "free")(10_000))
    rows = CutRows(values, ends)
    with pytest.raises(DataError, match=r"needs 16\.4 KiB, and 9\.8 KiB are free"):
        write_rows(rows, path)
    assert not rows.computed
    assert list(tmp_path.iterdir()) == []


@every_format
def test_only_what_is_left_needs_room(suffix, path, partial, values, monkeypatch):
    ends = list(range(50, N + 1, 50))
    stop_at(500, values, ends, path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: namedtuple("Usage", "free")(205 * 24))
    write_rows(CutRows(values, ends), path)
    assert len(found_in(path)) == N


@pytest.mark.parametrize("name", ["rows.csv", "rows", "rows.npz"])
def test_an_unknown_suffix(name, tmp_path, values, ends):
    with pytest.raises(DataError, match=r"\.npy .*\.zarr .*\.parquet"):
        write_rows(CutRows(values, ends), tmp_path / name)


@every_format
def test_a_folder_that_is_not_there(suffix, tmp_path, values, ends):
    with pytest.raises(DataError, match=r"there is no folder .*nowhere\. Make it"):
        write_rows(CutRows(values, ends), tmp_path / "nowhere" / f"rows{suffix}")


@every_format
def test_a_folder_that_is_read_only(suffix, path, values, ends, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # for root everything is writable
    with pytest.raises(DataError, match="read-only"):
        write_rows(CutRows(values, ends), path)


@pytest.mark.parametrize(("suffix", "package"), [(".zarr", "zarr"), (".parquet", "pyarrow")])
def test_a_missing_package_is_named(suffix, package, path, values, ends, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match=rf"package {package}, .*: pip install 'gramless\[scale\]'"):
        write_rows(CutRows(values, ends), path)


@every_format
def test_letters_are_no_numbers(suffix, path, ends):
    with pytest.raises(DataError, match="numbers only"):
        write_rows(CutRows(np.array(["cat"] * N), ends), path)
