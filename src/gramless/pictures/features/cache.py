"""Rows that were computed before, by the content of a picture and the recipe: one SQLite file in a folder."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import warnings
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np

from gramless.errors import DataError
from gramless.pictures.features.histograms import Floats


def open_database(path: Path | str, schema: str, version: int, *, patience: float) -> sqlite3.Connection:
    """Open a file, or make it; an error of sqlite3 where it is none of this version.

    schema : statements, each with a semicolon
    patience : seconds to wait for another process that is writing
    """
    connection = sqlite3.connect(path, timeout=patience, check_same_thread=False)
    try:
        (n_tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        if n_tables == 0:
            with connection:  # both or none: a table without a version is of no version
                connection.executescript(f"BEGIN IMMEDIATE; {schema} PRAGMA user_version = {version}; COMMIT;")
        elif found != version:
            raise sqlite3.DatabaseError(f"it is of version {found}, not {version}")
    except BaseException:
        connection.close()
        raise
    return connection


FILE_NAME = "features.sqlite"
FORMAT_VERSION = 2  # of the file; a file of another version is put aside
AT_ONCE = 500  # keys in one query
PATIENCE_SECONDS = 30.0  # for another process that is writing
SEAL = 16  # bytes of a hash before every row
NOT_OURS = frozenset(
    {
        *(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY),
        *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM),
    }
)
"""Errors of the disk, the system and other processes; at all others the file is what is wrong."""

SCHEMA = "CREATE TABLE IF NOT EXISTS rows (recipe TEXT, content BLOB, numbers BLOB, PRIMARY KEY (recipe, content));"


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
        self._connection = _connected(":memory:")
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
            except Exception as error:  # sqlite3 raises all sorts of things on damaged files
                self._meet(error)
                return
            for content, sealed in found:
                row = _unsealed(recipe, content, sealed)
                if row is not None:
                    yield content, row

    def keep(self, recipe: str, content: bytes, row: Floats) -> None:
        """Take a row; `save` writes those that were taken."""
        numbers = zlib.compress(row.astype("<f4").tobytes(), level=1)
        self._waiting.append((recipe, content, _seal(recipe, content, numbers) + numbers))

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

    def _write(self, statement: str, parameters: Collection[tuple[object, ...]]) -> None:
        if not self._writable or not parameters:
            return
        try:
            with self._connection:  # one transaction
                self._connection.executemany(statement, parameters)
        except Exception as error:
            self._meet(error)
            if self._writable:  # into the new file, which is whole
                self._write(statement, parameters)

    @property
    def _path(self) -> Path:
        return self.folder / FILE_NAME

    def _open(self) -> None:
        try:
            self._connection = _connected(self._path)
        except Exception as error:
            self._meet(error)

    def _meet(self, error: Exception) -> None:
        """Go on without a file, or with a new one, as it is the system or the file that is at fault."""
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code in NOT_OURS or not self._put_aside(error):
            self._do_without(error)

    def _put_aside(self, error: Exception) -> bool:
        """Begin a new file, and keep the damaged one under another name; whether that could be."""
        old = self._path.with_suffix(".old")
        journal = self._path.with_name(f"{FILE_NAME}-journal")
        try:
            self._connection.close()
            journal.unlink(missing_ok=True)  # or it would be played back into the new file
            os.replace(self._path, old)
            self._connection = _connected(self._path)
        except (OSError, sqlite3.Error):
            return False
        warnings.warn(
            f"{self._path} is no cache to use ({error}). It is now {old}, and a new one begins.", stacklevel=5
        )
        return True

    def _do_without(self, error: Exception) -> None:
        self._writable = False
        self._connection.close()
        self._connection = _connected(":memory:")
        warnings.warn(
            f"features are computed, but not kept in {self._path} ({error}). Make room or name another folder, and the "
            "next run keeps them.",
            stacklevel=5,
        )


def _connected(path: Path | str) -> sqlite3.Connection:
    return open_database(path, SCHEMA, FORMAT_VERSION, patience=PATIENCE_SECONDS)


def _seal(recipe: str, content: bytes, numbers: bytes) -> bytes:
    """A hash of a row and of what it is a row of: a damaged file can give the row of another picture."""
    return hashlib.sha256(b"\0".join((recipe.encode(), content, numbers))).digest()[:SEAL]


def _unsealed(recipe: str, content: object, sealed: object) -> Floats | None:
    """The numbers of a row, or None where anything about it is damaged."""
    if not isinstance(content, bytes) or not isinstance(sealed, bytes):
        return None
    numbers = sealed[SEAL:]
    if sealed[:SEAL] != _seal(recipe, content, numbers):
        return None
    return np.frombuffer(zlib.decompress(numbers), dtype="<f4")
