"""Disks that really are full, and a limit on the size of files."""

import resource
import subprocess
from contextlib import contextmanager

import numpy as np
import pytest

from gramless.blocks.writing import write_rows
from gramless.errors import GramlessError
from tests.blocks.writing.samples import SUFFIXES, CutRows, bytes_of, found_in, random_values
from tests.blocks.writing.test_killed import complete_rows

MIB = 1 << 20
ENDS = list(range(10_000, 200_001, 10_000))


@pytest.fixture
def tiny_disk(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", place], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a small disk is not permitted here")
    yield place
    subprocess.run(["umount", place], check=True)


@contextmanager
def no_file_larger_than(n_bytes):
    """Python ignores the signal, so that writing fails with EFBIG."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def _pieces(monkeypatch):
    monkeypatch.setattr("gramless.blocks.formats.PIECE_BYTES", MIB // 4)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.usefixtures("_pieces")
def test_a_disk_that_fills_up(suffix, tiny_disk, tmp_path):
    values = random_values((200_000, 4), np.float32)  # 3.1 MiB
    filler = tiny_disk / "filler"
    filler.write_bytes(bytes(2 * MIB))
    path = tiny_disk / f"rows{suffix}"
    rows = CutRows(values, ENDS, counted=False)
    with pytest.raises(GramlessError, match=r"No space left on device\. Make room on the disk and call again") as full:
        write_rows(rows, path)
    kept = complete_rows(tiny_disk / f"rows{suffix}.partial")
    assert kept > 40_000
    assert f"The {kept:,} rows before that are kept in" in str(full.value)
    filler.unlink()
    again = CutRows(values, ENDS, counted=False)
    write_rows(again, path)
    assert sum(last - first for first, last in again.computed) < len(values) - kept + 8 * 10_000
    assert bytes_of(path) == bytes_of(write_rows(CutRows(values, ENDS, counted=False), tmp_path / path.name))


@pytest.mark.usefixtures("_pieces")
def test_a_file_that_may_not_grow_further(tmp_path):
    values = random_values((200_000, 4), np.float32)
    rows = CutRows(values, ENDS)
    path = tmp_path / "rows.npy"
    with no_file_larger_than(MIB), pytest.raises(GramlessError, match=r"File too large\. .*ulimit.*The 49,152 rows"):
        write_rows(rows, path)
    write_rows(rows, path)
    np.testing.assert_array_equal(found_in(path), rows.expected)


@pytest.mark.parametrize("suffix", [".zarr", ".parquet"])
@pytest.mark.usefixtures("_pieces")
def test_a_first_file_that_is_too_large_leaves_nothing(suffix, tmp_path):
    rows = CutRows(random_values((200_000, 4), np.float32), ENDS)
    with no_file_larger_than(MIB // 8), pytest.raises(GramlessError, match=r"File too large.*nothing is kept"):
        write_rows(rows, tmp_path / f"rows{suffix}")
    assert list(tmp_path.iterdir()) == []
