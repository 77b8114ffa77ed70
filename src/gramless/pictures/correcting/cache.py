"""Vectors and thumbnails of the pictures in a folder: computed once, found by name and by the file's time and size."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock

import numpy as np

from gramless.pictures.features.cache import open_database

CACHE_FOLDER = ".gramless-cache"
FILE_NAME = "pictures.sqlite"
FORMAT_VERSION = 1
SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
    name TEXT, map TEXT, stamp TEXT, vector BLOB, PRIMARY KEY (name, map)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS thumbnails (name TEXT PRIMARY KEY, stamp TEXT, jpeg BLOB) WITHOUT ROWID;
"""


class PictureCache:
    """A SQLite file that can be deleted at any time; damaged or unwritable, it only makes things slower."""

    def __init__(self, folder: Path) -> None:
        self._turn = Lock()
        with suppress(OSError):
            folder.mkdir(exist_ok=True)
        path = folder / FILE_NAME
        try:
            self._connection = _connected(path)
        except sqlite3.Error:
            with suppress(OSError):
                path.unlink()
            try:
                self._connection = _connected(path)
            except sqlite3.Error:
                self._connection = _connected(Path(":memory:"))

    def close(self) -> None:
        with self._turn:
            self._connection.close()

    def vectors(self, map_key: str, stamps: Mapping[str, str], width: int) -> dict[str, np.ndarray]:
        """By name the vectors, float16, of files that are as they were; those of other maps go."""
        found = {}
        with self._turn, suppress(sqlite3.Error):
            with self._connection:
                self._connection.execute("DELETE FROM vectors WHERE map != ?", (map_key,))
            for name, stamp, content in self._connection.execute("SELECT name, stamp, vector FROM vectors"):
                if stamps.get(name) == stamp and len(content) == 2 * width:
                    found[name] = np.frombuffer(content, dtype="<f2")
        return found

    def keep_vectors(self, map_key: str, rows: Iterable[tuple[str, str, np.ndarray]]) -> None:
        """rows : names, stamps and vectors"""
        packed = [(name, map_key, stamp, vector.astype("<f2").tobytes()) for name, stamp, vector in rows]
        with self._turn, suppress(sqlite3.Error), self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)", packed)

    def thumbnail(self, name: str, stamp: str) -> bytes | None:
        with self._turn, suppress(sqlite3.Error):
            query = "SELECT jpeg FROM thumbnails WHERE name = ? AND stamp = ?"
            found = self._connection.execute(query, (name, stamp)).fetchone()
            return None if found is None else bytes(found[0])
        return None

    def keep_thumbnail(self, name: str, stamp: str, jpeg: bytes) -> None:
        with self._turn, suppress(sqlite3.Error), self._connection:
            self._connection.execute("INSERT OR REPLACE INTO thumbnails VALUES (?, ?, ?)", (name, stamp, jpeg))


def _connected(path: Path) -> sqlite3.Connection:
    connection = open_database(path, SCHEMA, FORMAT_VERSION, patience=5.0)
    connection.execute("PRAGMA synchronous = OFF")  # what is lost is made again
    return connection
