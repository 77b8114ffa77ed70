"""Written whole or not at all."""

import os
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

import pytest

from gramless.support.atomic import put_in_place, write_atomically


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


def test_saving_again_keeps_the_mode_and_a_link_stays_a_link(tmp_path):
    real, link = tmp_path / "elsewhere" / "real", tmp_path / "link"
    real.parent.mkdir()
    real.write_bytes(b"old")
    link.symlink_to(real)
    for mode in (0o600, 0o640, 0o666, 0o444):
        real.chmod(mode)
        write_atomically(link, lambda file, mode=mode: file.write(b"new %o" % mode))
        assert link.is_symlink()
        assert real.read_bytes() == b"new %o" % mode
        assert real.stat().st_mode & 0o777 == mode
    assert list(real.parent.iterdir()) == [real]


def test_the_mode_is_kept_from_the_first_byte_on(tmp_path):
    path, seen = tmp_path / "secret", []
    path.write_bytes(b"old")
    path.chmod(0o600)

    def write(file):
        seen.extend(p.stat().st_mode & 0o777 for p in tmp_path.iterdir())
        file.write(b"new")

    write_atomically(path, write)
    assert seen == [0o600, 0o600]


def test_a_link_to_nothing_yet_gets_its_file(tmp_path):
    (tmp_path / "link").symlink_to("model")
    write_atomically(tmp_path / "link", lambda file: file.write(b"new"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "model").read_bytes() == b"new"


def test_a_pipe_is_written_to_and_a_folder_refused(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomically(pipe, lambda file: file.write(b"through"))
        assert os.read(reader, 99) == b"through"
    finally:
        os.close(reader)
    with pytest.raises(IsADirectoryError):
        write_atomically(tmp_path, lambda file: file.write(b"x"))
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_name_as_long_as_names_can_be(tmp_path):
    path = tmp_path / ("n" * 255)
    write_atomically(path, lambda file: file.write(b"new"))
    assert path.read_bytes() == b"new"


KILLED = """
import os, signal, sys
from gramless.support.atomic import write_atomically
def write(file):
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
write_atomically(sys.argv[1], write)
"""


def test_what_kill_9_leaves_behind_is_gone_after_the_next_save(tmp_path):
    path, other = tmp_path / "file", tmp_path / "other"
    for _ in range(2):
        assert subprocess.run([sys.executable, "-c", KILLED, path], check=False).returncode == -signal.SIGKILL
    assert not path.exists()
    (left,) = tmp_path.iterdir()
    write_atomically(other, lambda file: file.write(b"of another name"))
    assert left.exists()
    write_atomically(path, lambda file: file.write(b"new"))
    assert sorted(tmp_path.iterdir()) == [path, other]
    assert path.read_bytes() == b"new"


def test_one_that_is_still_writing_is_left_alone(tmp_path):
    path = tmp_path / "file"

    def write(file):
        file.write(b"outer")
        write_atomically(path, lambda inner: inner.write(b"inner"))
        assert path.read_bytes() == b"inner"

    write_atomically(path, write)
    assert path.read_bytes() == b"outer"
    assert list(tmp_path.iterdir()) == [path]


def test_many_at_once_leave_one_whole_file_and_nothing_else(tmp_path):
    path = tmp_path / "file"

    def save(number):
        for _ in range(5):
            write_atomically(path, lambda file: file.write(bytes([number]) * 10_000))

    with ThreadPoolExecutor(24) as pool:
        list(pool.map(save, range(24)))
    content = path.read_bytes()
    assert content == content[:1] * 10_000
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture
def synced(tmp_path, monkeypatch):
    """Of everything that is synced: whether it is a folder, and whether the file has its name by then."""
    path, synced = tmp_path / "file", []
    really = os.fsync

    def fsync(handle):
        synced.append((stat.S_ISDIR(os.fstat(handle).st_mode), path.exists()))
        really(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    return synced


def test_the_folder_is_synced_after_the_file_has_its_name(tmp_path, synced):
    write_atomically(tmp_path / "file", lambda file: file.write(b"new"))
    assert synced == [(False, False), (True, True)]


@pytest.mark.parametrize("is_folder", [False, True], ids=["file", "folder"])
def test_so_it_is_after_what_is_complete_has_its_name(is_folder, tmp_path, synced):
    complete = tmp_path / "complete"
    complete.mkdir() if is_folder else complete.touch()
    put_in_place(complete, tmp_path / "file")
    assert synced == [(True, True)]
