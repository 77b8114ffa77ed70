"""Reading files that strangers' folders hold: ordinary ones only, because others never end or wait for a writer."""

from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path

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
