"""What every format does: stopped at any moment, damaged, met by another run."""

import json
import os
import shutil
from contextlib import suppress

import numpy as np
import pytest

from gramless.blocks.writing import PROGRESS, write_rows
from gramless.errors import DataError, GramlessError
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
    written,
    written_in_one_go,
)

N = 300
SHAPES = [((5,), np.float32), ((3,), np.float64), ((), np.float64), ((), np.int64), ((4,), bool)]

every_form = pytest.mark.parametrize(("shape", "dtype"), SHAPES, ids=str)


@every_format
@every_form
@known_or_not
def test_stopped_and_continued_it_is_the_same_to_the_byte(suffix, shape, dtype, counted, path, partial, tmp_path):
    values, rng = random_values((N, *shape), dtype), np.random.default_rng(1)
    ends = random_ends(N, rng)
    for row in sorted(rng.choice(ends[:-1], 4, replace=False).tolist()):
        stop_at(row, values, ends, path, KeyboardInterrupt(), counted)
        kept = complete_before(row, values, N if counted else None)
        assert json.loads((partial / PROGRESS).read_text())["rows"] == kept if kept else not partial.exists()
    assert write_rows(CutRows(values, ends, counted), path) == path
    assert list(tmp_path.iterdir()) == [path]
    assert bytes_of(path) == written_in_one_go(CutRows(values, ends, counted), path)
    np.testing.assert_array_equal(found_in(path), CutRows(values, ends).expected)


@every_format
@known_or_not
@pytest.mark.parametrize("shape", [(5,), ()], ids=["vectors", "values"])
def test_killed_before_any_write_it_continues(suffix, counted, shape, path, partial, tmp_path, monkeypatch):
    """A copy of what is there before every fsync and every rename is what kill -9 leaves at that moment."""
    values = random_values((160, *shape), np.float32)
    ends, copies = random_ends(len(values), np.random.default_rng(5)), []

    def copied_before(call):
        def copying(*arguments, **options):
            if partial.exists():
                copies.append(tmp_path / str(len(copies)))
                copies[-1].mkdir()
                shutil.copytree(partial, copies[-1] / partial.name)
                if path.exists():  # put in its place already
                    (shutil.copytree if path.is_dir() else shutil.copy)(path, copies[-1] / path.name)
            return call(*arguments, **options)

        return copying

    with monkeypatch.context() as patched:
        for name in ("fsync", "replace", "rename"):
            patched.setattr(os, name, copied_before(getattr(os, name)))
        write_rows(CutRows(values, ends, counted), path)
    assert len(copies) > 2 * len(values) / 50
    for copy in copies:
        write_rows(CutRows(values, ends, counted), copy / path.name)
        assert [entry.name for entry in copy.iterdir()] == [path.name]
        assert bytes_of(copy / path.name) == bytes_of(path)


@every_format
def test_a_disk_that_fails_costs_only_what_was_not_complete(suffix, path, partial, monkeypatch):
    values, rng = random_values((N, 5), np.float32), np.random.default_rng(2)
    ends, really, rows_before = random_ends(N, rng), os.fsync, 0

    def failing(handle):
        if rng.random() < 0.2:
            raise OSError(28, "No space left on device")
        really(handle)

    while not path.exists() or partial.exists():
        with monkeypatch.context() as patched, suppress(GramlessError):
            patched.setattr(os, "fsync", failing)
            write_rows(CutRows(values, ends), path)
        if (partial / PROGRESS).exists():
            rows = json.loads((partial / PROGRESS).read_text())["rows"]
            assert rows >= rows_before
            rows_before = rows
    assert bytes_of(path) == written_in_one_go(CutRows(values, ends), path)


@every_format
@pytest.mark.parametrize("seed", range(4))
def test_what_a_disk_has_damaged_is_refused_or_made_good(suffix, seed, path, partial):
    values, rng = random_values((N, 5), np.float32), np.random.default_rng(seed)
    ends = list(range(30, N + 1, 30))
    stop_at(240, values, ends, path)
    files = [file for file in partial.rglob("*") if file.is_file() and file.name != PROGRESS]
    last = max(files, key=lambda file: file.stat().st_mtime_ns)
    os.truncate(last, int(rng.integers(0, last.stat().st_size)))
    refused = False
    with suppress(DataError):
        refused = True
        write_rows(CutRows(values, ends), path)
        refused = False
    if refused:
        assert not path.exists()
        assert partial.exists()
    else:
        np.testing.assert_array_equal(found_in(path), CutRows(values, ends).expected)


@every_format
@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"rows": "many", "block": 0, "form": ""}', "\x00\xff"])
def test_damaged_progress_is_refused_and_kept(suffix, content, path, partial):
    values, ends = random_values((N, 5), np.float32), list(range(30, N + 1, 30))
    stop_at(240, values, ends, path)
    (partial / PROGRESS).write_text(content)
    before = bytes_of(partial)
    with pytest.raises(DataError, match=r"left by another run: its progress\.json cannot be read"):
        write_rows(CutRows(values, ends), path)
    assert bytes_of(partial) == before


@every_format
@every_form
@known_or_not
def test_no_rows_at_all(suffix, shape, dtype, counted, path, tmp_path):
    write_rows(CutRows(random_values((0, *shape), dtype), [], counted), path)
    assert found_in(path).shape[0] == 0
    assert list(tmp_path.iterdir()) == [path]


@every_format
def test_blocks_larger_than_a_piece_by_columns_and_in_memory_that_is_used_again(suffix, path):
    values = random_values((1000, 5), np.float32)

    class Rows(CutRows):
        def blocks(self, first_row=0):
            memory = np.empty((5, 200), np.float32).T
            for block in super().blocks(first_row):
                memory[: len(block)] = block
                yield memory[: len(block)]

    rows = Rows(values, list(range(200, 1001, 200)))
    write_rows(rows, path)
    np.testing.assert_array_equal(found_in(path), CutRows(values, rows.ends).expected)


@every_format
@pytest.mark.parametrize("how", ["file", "folder"])
def test_what_somebody_else_left_there_is_not_touched(suffix, how, path, partial):
    if how == "file":
        partial.write_bytes(b"letters" * 100)
    else:
        partial.mkdir()
        (partial / "letter.txt").write_text("letters")
    before = bytes_of(partial)
    with pytest.raises(DataError, match="left by another run"):
        written(random_values((N, 5), np.float32), path)
    assert bytes_of(partial) == before


@every_format
def test_two_runs_at_once_are_told_apart(suffix, path):
    values = random_values((N, 5), np.float32)

    class Rows(CutRows):
        def blocks(self, first_row=0):
            with pytest.raises(DataError, match="another run is writing"):
                written(values, path)
            yield from super().blocks(first_row)

    write_rows(Rows(values, [N]), path)
    assert len(found_in(path)) == N
