"""Written whole or not at all."""

import os
from unittest.mock import Mock

import pytest

from gramless.atomic import write_atomically


@pytest.mark.parametrize(
    "failure", [OSError("No space left on device"), KeyboardInterrupt()], ids=["disk full", "Ctrl-C"]
)
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, failure):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def write(file):
        file.write(b"half of the ne")
        raise failure

    with pytest.raises(type(failure)):
        write_atomically(path, write)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_is_whole_and_readable_by_others(tmp_path):
    path = tmp_path / "file"
    write_atomically(path, lambda file: file.write(b"new"))
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o044 == 0o044


def test_a_private_umask_is_kept_and_never_touched(tmp_path, monkeypatch):
    """The umask is the whole process's: changed for a moment, it would be changed for files of other threads."""
    path, before = tmp_path / "file", os.umask(0o077)
    try:
        with monkeypatch.context() as patched:
            patched.setattr(os, "umask", Mock(side_effect=AssertionError("other threads write files, too")))
            write_atomically(path, lambda file: file.write(b"new"))
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
