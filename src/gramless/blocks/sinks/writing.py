"""Rows that are computed block by block, written into a file or folder; a run that was stopped continues."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gramless.blocks.sinks.base import RowForm, Sink
from gramless.blocks.sinks.same_run import require_same_run
from gramless.errors import DataError, GramlessError
from gramless.support.budget import readable
from gramless.support.packages import needed

if TYPE_CHECKING:
    from gramless.blocks.local import Rows

ADVICE = {
    errno.ENOSPC: "Make room on the disk and call again, or choose a path on another disk.",
    errno.EDQUOT: "Make room within your quota and call again, or choose a path on another disk.",
    errno.EFBIG: "Raise the limit on the size of files (ulimit -f), or choose a path on another disk.",
}


def write_rows(rows: Rows, path: Path) -> Path:
    """Write all rows, by the suffix of the path: .npy, .zarr (an array), or .parquet (a folder of files).

    While it grows it is called like the path with .partial after it; the path itself is there when all rows are, and
    what was there before is replaced then. A run that was stopped, by an error, Ctrl-C, kill -9 or a power cut, leaves
    its complete blocks, readable; the same call continues after them, and the result is the same as without the stop.
    """
    kind = _kind(path)
    target = place_of(path)
    if rows.dtype.kind not in "biuf":
        raise DataError(f"rows of {rows.dtype} came, and {path} can hold numbers only. Write numbers, as of classes.")
    _check_sources(rows, target)
    check_place(kind, target)
    partial = target.with_name(f"{target.name}.partial")
    with _disk_trouble(partial):
        sink = kind(partial, RowForm(rows.width, rows.dtype, rows.n_rows))
    with sink:
        if sink.n_rows:
            require_same_run(rows, sink)
        _require_space(sink, target)
        with _telling_what_is_kept(sink):
            if sink.n_rows != rows.n_rows:
                _fill(sink, rows)
            with _disk_trouble(target):
                sink.finish(target)
    return path


def _fill(sink: Sink, rows: Rows) -> None:
    n_rows = sink.n_rows
    with closing(rows.blocks(n_rows)) as blocks:
        for block in blocks:
            with _disk_trouble(sink.partial):
                sink.append(block)
            n_rows += len(block)
    if rows.n_rows is not None and n_rows != rows.n_rows:
        raise DataError(
            f"{n_rows:,} rows came, and there should be {rows.n_rows:,}. Look at where the data comes from."
        )


def _kind(path: Path) -> type[Sink]:
    if path.suffix == ".npy":
        from gramless.blocks.sinks.npy import NpySink

        return NpySink
    if path.suffix == ".zarr":
        needed("zarr")
        from gramless.blocks.sinks.zarr import ZarrSink

        return ZarrSink
    if path.suffix == ".parquet":
        needed("pyarrow")
        from gramless.blocks.sinks.parquet import ParquetSink

        return ParquetSink
    raise DataError(
        f"{path} does not say what to write by how it ends. Choose .npy (an array file), .zarr (a Zarr array) or "
        ".parquet (a folder of Parquet files)."
    )


def place_of(path: Path) -> Path:
    """Where a path leads to: what is written replaces what a link points to, not the link."""
    return path.resolve() if path.is_symlink() else path


def check_place(kind: type[Sink], path: Path) -> None:
    """Whether rows can be written there, and whatever is there may be replaced by them."""
    if not path.parent.is_dir():
        raise DataError(f"there is no folder {path.parent}. Make it, or check the path.")
    if not os.access(path.parent, os.W_OK):
        raise DataError(f"the folder {path.parent} is read-only. Change its permissions, or choose another path.")
    if path.exists() and not kind.could_have_written(path):
        raise DataError(
            f"{path} is there and holds something else than rows which new ones could replace. Remove it, or choose "
            "another path."
        )


def _check_sources(rows: Rows, path: Path) -> None:
    target = path.resolve()
    for source in (source.resolve() for source in rows.reads_from):
        if target == source or target in source.parents or source in target.parents:
            raise DataError(f"{path} cannot be written while the samples are read from {source}. Choose another path.")


def _require_space(sink: Sink, path: Path) -> None:
    if sink.form.n_rows is None:
        return
    wanted = (sink.form.n_rows - sink.n_rows) * sink.form.row_bytes
    free = shutil.disk_usage(path.parent).free
    if wanted > free:
        raise DataError(
            f"{path} needs {readable(wanted)}, and {readable(free)} are free on its disk. Make room, or choose a path "
            "on another disk."
        )


@contextmanager
def _disk_trouble(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        advice = ADVICE.get(error.errno or 0, "Look at the disk and at who may write there, or choose another path.")
        raise GramlessError(f"{path} could not be written: {error.strerror or error}. {advice}") from error


@contextmanager
def _telling_what_is_kept(sink: Sink) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        with suppress(OSError):  # on a full disk: the blocks since the last sync are lost
            sink.sync()
        kept = _kept(sink)
        if isinstance(error, GramlessError):
            raise type(error)(f"{error} {kept}") from error
        error.add_note(kept)
        raise


def _kept(sink: Sink) -> str:
    if sink.n_rows == 0:
        return "No row before that was complete, so nothing is kept."
    return (
        f"The {sink.n_rows:,} rows before that are kept in {sink.partial}, which {sink.reader} reads; "
        "the same call continues there."
    )
