"""Rows that were computed before, by the content of a picture and the recipe: one SQLite file in a folder."""

from __future__ import annotations

import os
import sqlite3
import warnings
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np

from gramless.errors import DataError
from gramless.features.histograms import Floats

FILE_NAME = "features.sqlite"
FORMAT_VERSION = 1  # of the file; a file of another version is put aside
AT_ONCE = 500  # keys in one query
PATIENCE_SECONDS = 30.0  # for another process that is writing

SCHEMA = "CREATE TABLE IF NOT EXISTS rows (recipe TEXT, content BLOB, numbers BLOB, PRIMARY KEY (recipe, content))"


class FeatureCache:
    """Rows of float32 numbers by recipe (a text) and content (a hash), in the file features.sqlite of a folder.

    A cache never stops the work. Where its file is damaged or of another version, it is renamed and a new one begins;
    where it cannot be used, on a full disk for one, the work goes on without it. Either is said once, by a warning.
    Several processes may share a folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._waiting: list[tuple[str, bytes, bytes]] = []
        self._writable = True
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"the cache {folder} cannot be made ({error}). Name another folder, or none.") from error
        self._open()

    def find(self, recipe: str, contents: Collection[bytes]) -> Iterator[tuple[bytes, Floats]]:
        """The contents that have a row of this recipe, and their rows."""
        wanted = list(contents)
        for start in range(0, len(wanted), AT_ONCE):
            keys = wanted[start : start + AT_ONCE]
            places = ", ".join("?" * len(keys))
            query = f"SELECT content, numbers FROM rows WHERE recipe = ? AND content IN ({places})"
            try:
                found = self._connection.execute(query, (recipe, *keys)).fetchall()
            except sqlite3.OperationalError as error:
                self._do_without(error)
                return
            except sqlite3.DatabaseError as error:
                self._put_aside(error)
                return
            for content, numbers in found:
                row = _row(numbers)
                if row is not None:
                    yield content, row

    def keep(self, recipe: str, content: bytes, row: Floats) -> None:
        """Take a row; `save` writes those that were taken."""
        self._waiting.append((recipe, content, zlib.compress(row.astype("<f4").tobytes(), level=1)))

    def save(self) -> None:
        """Write the rows that wait, all or none."""
        self._write("INSERT OR REPLACE INTO rows VALUES (?, ?, ?)", self._waiting)
        self._waiting = []

    def forget(self, recipe: str) -> None:
        """Make room: drop all rows of a recipe."""
        self._write("DELETE FROM rows WHERE recipe = ?", [(recipe,)])

    def close(self) -> None:
        self.save()
        self._connection.close()

    def _write(self, statement: str, parameters: Collection[tuple]) -> None:
        if not self._writable or not parameters:
            return
        try:
            with self._connection:  # one transaction
                self._connection.executemany(statement, parameters)
        except sqlite3.DatabaseError as error:
            self._do_without(error)

    @property
    def _path(self) -> Path:
        return self.folder / FILE_NAME

    def _open(self) -> None:
        try:
            self._connection = _connected(self._path)
        except sqlite3.OperationalError as error:
            self._do_without(error)
        except sqlite3.DatabaseError as error:
            self._put_aside(error)

    def _put_aside(self, error: Exception) -> None:
        """Begin a new file, and keep the damaged one under another name."""
        old = self._path.with_suffix(".old")
        try:
            os.replace(self._path, old)
        except OSError:
            self._do_without(error)
            return
        warnings.warn(
            f"{self._path} is no cache to use ({error}). It is now {old}, and a new one begins.", stacklevel=4
        )
        self._open()

    def _do_without(self, error: Exception) -> None:
        self._writable = False
        self._connection = _connected(":memory:")
        warnings.warn(
            f"features are computed, but not kept in {self._path} ({error}). Make room or name another folder, and the "
            "next run keeps them.",
            stacklevel=4,
        )


def _connected(path: Path | str) -> sqlite3.Connection:
    """Open the file, or make it; an error where it is no cache of this version."""
    connection = sqlite3.connect(path, timeout=PATIENCE_SECONDS, check_same_thread=False)
    try:
        (n_tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if n_tables == 0:
            with connection:
                connection.execute("BEGIN IMMEDIATE")  # both or none: a table without a version is no cache
                connection.execute(SCHEMA)
                connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
        elif version != FORMAT_VERSION:
            raise sqlite3.DatabaseError(f"it is of version {version}, not {FORMAT_VERSION}")
    except BaseException:
        connection.close()
        raise
    return connection


def _row(numbers: bytes) -> Floats | None:
    """The numbers, or None where the bytes are damaged."""
    try:
        return np.frombuffer(zlib.decompress(numbers), dtype="<f4")
    except zlib.error:
        return None
