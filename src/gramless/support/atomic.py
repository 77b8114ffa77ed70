"""Files are written whole or not at all; of those that strangers' folders hold, ordinary ones alone are read.

Others never end, or wait for a writer.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from gramless.errors import DataError

if sys.platform != "win32":
    import fcntl

TEMPORARY = ".gramless-"  # how the names of unfinished files begin
PLACES = 16  # for temporary files of one target: as many can be written at a time
PAUSE_SECONDS = 0.01  # before looking again for a free place


def write_atomically(path: str | os.PathLike[str], write: Callable[[BinaryIO], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then put it in its place in one step.

    If anything fails, a full disk or Ctrl-C included, the file that was there before is still there, whole. A new file
    has the mode of the one that it replaces; a link stays a link, to the new file; a device or a pipe is written to.
    What a killed process left behind is removed by the next one that writes the same file.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as device:  # a folder is refused here
            write(device)
        return
    target = Path(os.path.realpath(path))
    temporary, handle = _temporary_file(target)
    file = os.fdopen(handle, "wb")
    try:
        if target.exists():
            os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
        write(file)
        file.flush()
        os.fsync(handle)
        if sys.platform == "win32":  # where an open file stays where it is
            file.close()
        os.replace(temporary, target)
    except BaseException:
        if sys.platform == "win32":
            file.close()
        temporary.unlink(missing_ok=True)
        raise
    finally:
        file.close()  # not before: who finds the file without a lock takes it for left behind
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Names in a folder reach the disk: what was made, renamed or removed in it."""
    if sys.platform == "win32":  # which does it by itself
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def put_in_place(complete: Path, target: Path) -> None:
    """What is complete gets its name; what had it before is gone then.

    A file is replaced in one step. A folder cannot be, so the old one steps aside first: at any time the target is the
    old one, the new one, or not there.
    """
    aside = target.with_name(f"{target.name}.replaced")
    if target.is_dir():
        shutil.rmtree(aside, ignore_errors=True)
        os.rename(target, aside)
    os.replace(complete, target)
    sync_folder(target.parent)
    shutil.rmtree(aside, ignore_errors=True)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other runs off a folder, until the process ends at the latest, however it ends."""
    if sys.platform == "win32":  # which has no locks of this kind
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DataError(
                f"another run is writing {folder} at this moment. Wait until it is done, or choose another path."
            ) from error
        except OSError:  # a file system that knows no locks
            pass
        yield
    finally:
        os.close(handle)


def _temporary_file(target: Path) -> tuple[Path, int]:
    """A new file beside the target, open and locked for as long as it is open."""
    # The name is hashed: it may be as long as names can be. Few places, so that those left behind are soon found.
    hashed = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]
    places = [target.with_name(f"{TEMPORARY}{hashed}-{place}") for place in range(PLACES)]
    for place in places:
        _remove_if_left_behind(place)
    while True:
        for place in places:
            # Not by tempfile: it makes files private, and a saved model is an ordinary file, as the umask has it.
            with suppress(FileExistsError):
                handle = os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
                if _locked(handle):
                    return place, handle
                os.close(handle)
        time.sleep(PAUSE_SECONDS)


def _locked(handle: int) -> bool:
    """Lock a new file; False where somebody took it for left behind in the moment before."""
    if sys.platform == "win32":
        return True
    with suppress(OSError):  # of a file system that knows no locks
        fcntl.flock(handle, fcntl.LOCK_EX)
    return os.fstat(handle).st_nlink > 0


def _remove_if_left_behind(place: Path) -> None:
    """Remove a temporary file whose writer is gone: it is locked as long as that lives."""
    if sys.platform == "win32":  # where an open file cannot be removed
        with suppress(OSError):
            place.unlink()
        return
    try:
        handle = os.open(place, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:  # there is none, as a rule
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(handle), os.lstat(place)):
            place.unlink()
    except OSError:
        pass  # its writer lives, or has just finished
    finally:
        os.close(handle)


KINDS = {
    stat.S_IFIFO: "a fifo",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class OddFileError(OSError):
    """No ordinary file, or one that is too large; `strerror` finishes the sentence "this file ..."."""


def open_ordinary(path: Path, most_bytes: int) -> io.BufferedReader:
    """The file, opened for reading bytes; OddFileError, or what `open` raises, where it cannot be."""
    _check(path, os.stat(path), most_bytes)  # before it is opened: a device may do something then
    file = os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb")
    try:
        _check(path, os.fstat(file.fileno()), most_bytes)
    except BaseException:
        file.close()
        raise
    return file


def _check(path: Path, status: os.stat_result, most_bytes: int) -> None:
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, "is a folder", str(path))
    if kind != stat.S_IFREG:
        raise OddFileError(errno.EINVAL, f"is {KINDS.get(kind, 'something else')}, not an ordinary file", str(path))
    if status.st_size > most_bytes:
        raise OddFileError(errno.EFBIG, f"is larger than {most_bytes / 10**6:,.0f} MB", str(path))
