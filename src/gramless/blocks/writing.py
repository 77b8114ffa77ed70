"""Rows that are computed block by block, written into a file or folder; a run that was stopped continues."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gramless.blocks.formats import RowFile, RowLayout, format_of
from gramless.errors import DataError, GramlessError
from gramless.support.atomic import TEMPORARY, locked, put_in_place, write_atomically
from gramless.support.budget import readable

if TYPE_CHECKING:
    from gramless.blocks.local import Rows

PROGRESS = "progress.json"
ADVICE = {
    errno.ENOSPC: "Make room on the disk and call again, or choose a path on another disk.",
    errno.EDQUOT: "Make room within your quota and call again, or choose a path on another disk.",
    errno.EFBIG: "Raise the limit on the size of files (ulimit -f), or choose a path on another disk.",
}


def write_rows(rows: Rows, path: Path) -> Path:
    """Write all rows, by the suffix of the path: .npy, .zarr (an array), or .parquet (a folder of files).

    They grow in a folder that is called like the path with .partial after it, beside a small file that says how many
    are complete; the path itself is there when all rows are, and what was there before is replaced then. A run that was
    stopped, by an error, Ctrl-C, kill -9 or a power cut, leaves its complete pieces; the same call continues after
    them, and the result is the same as without the stop.
    """
    kind, target = format_of(path), place_of(path)
    if rows.dtype.kind not in "biuf":
        raise DataError(f"got rows of {rows.dtype}, and {path} can hold numbers only. Write numbers, as of classes.")
    _check_sources(rows, target)
    check_place(kind, target)
    partial = partial_of(target)
    with _disk_trouble(partial):
        partial.mkdir(exist_ok=True)
    with locked(partial):
        progress = Progress.of(partial, RowLayout(() if rows.width is None else (rows.width,), rows.dtype, rows.n_rows))
        file = kind(partial / f"rows{path.suffix}", progress.layout)
        try:
            _open(rows, file, progress, target)
            with _telling_what_is_kept(progress):
                _write_rest(rows, file, progress, target)
        finally:
            if progress.rows == 0:  # nothing is worth keeping
                shutil.rmtree(partial, ignore_errors=True)
    return path


@dataclass
class Progress:
    """How far a run has got, in the folder in which its rows grow.

    rows : so many have reached the disk
    block : where the block begins that the next row is of. It is computed again, whole: the last bits of a row may
        depend on which others are computed with it
    """

    folder: Path
    layout: RowLayout
    rows: int = 0
    block: int = 0

    @classmethod
    def of(cls, folder: Path, layout: RowLayout) -> Progress:
        """What the run before has left."""
        if not (folder / PROGRESS).is_file():
            strangers = [entry.name for entry in folder.iterdir() if not entry.name.startswith(TEMPORARY)]
            if strangers:
                raise another_run(folder, f"it holds {min(strangers)} and no {PROGRESS}")
            return cls(folder, layout)
        try:
            told: dict[str, Any] = json.loads((folder / PROGRESS).read_text())
            found, rows, block = told["form"], int(told["rows"]), int(told["block"])
        except (ValueError, KeyError, TypeError) as error:
            raise another_run(folder, f"its {PROGRESS} cannot be read") from error
        if rows and found != str(layout):
            raise another_run(folder, f"it holds {found}, and {layout} is to be written")
        return cls(folder, layout, rows, block)

    def save(self, rows: int, block: int) -> None:
        text = json.dumps({"rows": rows, "block": block, "form": str(self.layout)})
        write_atomically(self.folder / PROGRESS, lambda file: file.write(text.encode()))
        self.rows, self.block = rows, block


def _open(rows: Rows, file: RowFile, progress: Progress, target: Path) -> None:
    with _disk_trouble(progress.folder):
        if progress.rows and not file.path.exists():  # killed in the moment after all had been put in its place
            os.replace(target, file.path)
        progress.save(progress.rows, progress.block)
        with _damage_told(progress):
            file.open(progress.rows)
    if progress.rows:
        reading = _damage_told(progress)(file.read)
        require_same_run(rows, progress.rows, reading, progress.folder)
    _require_space(progress, target)


def _write_rest(rows: Rows, file: RowFile, progress: Progress, target: Path) -> None:
    if progress.rows != rows.n_rows:
        with closing(rows.blocks(progress.block)) as blocks:
            for piece, block in _pieces(blocks, progress):
                with _disk_trouble(progress.folder):
                    file.append(piece)
                    progress.save(progress.rows + len(piece), block)
    if rows.n_rows is not None and progress.rows != rows.n_rows:
        raise DataError(
            f"got {progress.rows:,} rows, and there should be {rows.n_rows:,}. Look at where the data comes from."
        )
    with _disk_trouble(target):
        file.close(progress.rows)
        put_in_place(file.path, target)
        shutil.rmtree(progress.folder)


def _pieces(blocks: Iterator[np.ndarray], progress: Progress) -> Iterator[tuple[np.ndarray, int]]:
    """The rows that are missing in pieces of equal length, each with where the block of the row after it begins."""
    layout, begun = progress.layout, progress.block
    skipped = progress.rows - begun
    piece, filled = layout.empty(layout.piece_rows), 0
    for block in blocks:
        taken = min(skipped, len(block))
        skipped -= taken
        while taken < len(block):
            more = min(len(block) - taken, len(piece) - filled)
            piece[filled : filled + more] = block[taken : taken + more]
            taken, filled = taken + more, filled + more
            if filled == len(piece):
                yield piece, begun if taken < len(block) else begun + len(block)
                filled = 0
        begun += len(block)
    if filled:
        yield piece[:filled], begun


def partial_of(target: Path) -> Path:
    """Where rows grow until they are all there."""
    return target.with_name(f"{target.name}.partial")


def place_of(path: Path) -> Path:
    """Where a path leads to: what is written replaces what a link points to, not the link."""
    return path.resolve() if path.is_symlink() else path


def check_place(kind: type[RowFile], path: Path) -> None:
    """Whether rows can be written there, and whatever is there may be replaced by them."""
    if not path.parent.is_dir():
        raise DataError(f"there is no folder {path.parent}. Make it, or check the path.")
    if not os.access(path.parent, os.W_OK):
        raise DataError(f"the folder {path.parent} is read-only. Change its permissions, or choose another path.")
    if path.exists() and not kind.could_be(path):
        raise DataError(
            f"{path} is there and holds something else than rows which new ones could replace. Remove it, or choose "
            "another path."
        )
    if partial_of(path).is_file():
        raise another_run(partial_of(path), "it is a file, and rows grow in a folder")


def _check_sources(rows: Rows, path: Path) -> None:
    target = path.resolve()
    for source in (source.resolve() for source in rows.reads_from):
        if target == source or target in source.parents or source in target.parents:
            raise DataError(f"{path} cannot be written while the samples are read from {source}. Choose another path.")


def _require_space(progress: Progress, path: Path) -> None:
    if progress.layout.n_rows is None:
        return
    wanted = (progress.layout.n_rows - progress.rows) * progress.layout.row_bytes
    free = shutil.disk_usage(path.parent).free
    if wanted > free:
        raise DataError(
            f"{path} needs {readable(wanted)}, and {readable(free)} are free on its disk. Make room, or choose a path "
            "on another disk."
        )


@contextmanager
def _damage_told(progress: Progress) -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, TypeError) as error:  # of the library that reads the format
        raise another_run(progress.folder, f"it is damaged ({error})") from error


@contextmanager
def _disk_trouble(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        advice = ADVICE.get(error.errno or 0, "Look at the disk and at who may write there, or choose another path.")
        raise GramlessError(f"{path} could not be written: {error.strerror or error}. {advice}") from error


@contextmanager
def _telling_what_is_kept(progress: Progress) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        kept = (
            f"The {progress.rows:,} rows before that are kept in {progress.folder}; the same call continues there."
            if progress.rows
            else "No row before that was complete, so nothing is kept."
        )
        if isinstance(error, GramlessError):
            raise type(error)(f"{error} {kept}") from error
        error.add_note(kept)
        raise


LOOKED_AT = 256  # rows, at each place
PLACES = 6  # at the ends and evenly between
TOLERANCE = 1e-4  # of the largest number: another machine may round differently


def another_run(place: Path, why: str) -> DataError:
    """What is there cannot be continued."""
    return DataError(f"{place} was left by another run: {why}. Remove it to begin anew, or choose another path.")


def require_same_run(rows: Rows, n: int, read: Callable[[int, int], np.ndarray], place: Path) -> None:
    """Compute rows at a few places anew; an error that says what differs, if they do not agree.

    Data that was changed between these places alone is not noticed.

    n, read : how many rows there are, and those from one number to before another
    """
    if rows.n_rows is not None and n > rows.n_rows:
        raise another_run(place, f"it holds {n:,} rows, and only {rows.n_rows:,} are to be written")
    for first in places_in(max(1, n - LOOKED_AT + 1)):
        last = min(n, first + LOOKED_AT)
        now: list[np.ndarray] = []
        with closing(rows.blocks(first)) as blocks:
            while sum(map(len, now)) < last - first:
                if (block := next(blocks, None)) is None:
                    raise another_run(place, f"it holds {n:,} rows, and now there are fewer to be written")
                now.append(block)
        require_same_rows(place, first, read(first, last), np.concatenate(now)[: last - first])


def places_in(n: int) -> list[int]:
    """Numbers below n to be looked at: the first, the last, and some evenly between."""
    return sorted({round(i * (n - 1) / (PLACES - 1)) for i in range(PLACES)})


def require_same_rows(place: Path, first: int, there: np.ndarray, now: np.ndarray) -> None:
    """Whether rows from that number on are the same, there and computed now, but for rounding."""
    if there.shape != now.shape or there.dtype != now.dtype:
        raise another_run(
            place,
            f"it holds rows of {there.dtype} and shape {there.shape[1:]}, and rows of {now.dtype} and shape "
            f"{now.shape[1:]} are to be written",
        )
    differing = np.flatnonzero(~_agree(there, now).reshape(len(there), -1).all(axis=1))
    if len(differing):
        at = differing[0]
        told = f"its row {first + at:,} begins {_told(there[at])}, and computed anew {_told(now[at])}"
        raise another_run(place, told)


def _agree(there: np.ndarray, now: np.ndarray) -> np.ndarray:
    if there.dtype.kind != "f":
        return there == now
    largest = np.abs(there[np.isfinite(there)]).max(initial=0.0)
    return np.isclose(there, now, rtol=0.0, atol=TOLERANCE * float(largest), equal_nan=True)


def _told(row: np.ndarray) -> str:
    return " ".join(f"{number:.6g}" for number in np.atleast_1d(row)[:3])
