"""What it takes that files are there after a power cut, whole, and that one run writes them at a time."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from gramless.errors import DataError
from gramless.support.atomic import sync_folder

if sys.platform != "win32":
    import fcntl


def put_in_place(partial: Path, target: Path) -> None:
    """What is complete gets its name; what had it before is gone then.

    A file is replaced in one step. A folder cannot be, so the old one steps aside first: at any time the target is the
    old one, the new one, or not there.
    """
    aside = target.with_name(f"{target.name}.replaced")
    if target.is_dir():
        _remove(aside)
        os.rename(target, aside)
    os.replace(partial, target)
    sync_folder(target.parent)
    _remove(aside)


def lock(path: Path) -> int | None:
    """Keep other runs off a file or folder until the handle is closed or the process ends, however it ends."""
    if sys.platform == "win32":  # which has no locks of this kind
        return None
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(handle)
        raise DataError(
            f"another run is writing {path} at this moment. Wait until it is done, or choose another path."
        ) from error
    except OSError:  # a file system that knows no locks
        os.close(handle)
        return None
    return handle


def _remove(folder: Path) -> None:
    if folder.is_dir():
        shutil.rmtree(folder)
