"""What people said of the pictures in a folder: one SQLite file beside them, and every step can be undone.

A correction is a transaction of its own: once it is answered for, it is on the disk, and neither kill -9 nor another
window loses it. The file has a rollback journal and no write-ahead log: that one is three files, and does not work on
network drives, where photographs often lie.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

from gramless.errors import DataError
from gramless.pictures.features.cache import open_database

LABEL_FILE = ".gramless-labels.sqlite"
FORMAT_VERSION = 1
PATIENCE_SECONDS = 30.0  # for another process that is writing
REST = ""
"""In place of a keyword: the picture has no other keywords than those that it was said to have."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    picture TEXT, keyword TEXT, has INTEGER NOT NULL, PRIMARY KEY (picture, keyword)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS log (
    id INTEGER PRIMARY KEY, step INTEGER NOT NULL, person TEXT NOT NULL, at REAL NOT NULL, picture TEXT NOT NULL,
    keyword TEXT NOT NULL, before INTEGER, after INTEGER, undone INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS steps ON log (step);
CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, content TEXT NOT NULL);
"""

Answers = dict[str, bool]
"""By keyword whether a picture has it; REST: False where it has no others."""

Execute = Callable[..., Any]


class LabelFile:
    """Answers by picture and keyword, and the log of all steps. Threads and processes may share the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._turn = RLock()
        try:
            self._connection = _connected(path)
        except sqlite3.Error as error:
            raise DataError(
                f"the labels {path} cannot be used ({error}). Name a folder that may be written to; a damaged file can "
                "be renamed, and a new one begins."
            ) from error

    def close(self) -> None:
        with self._turn:  # nobody is in the middle of it
            self._connection.close()

    def change(self, person: str, picture: str, changes: Mapping[str, bool | None]) -> bool:
        """One step: what a picture has (True), has not (False), or nothing is said of (None). Whether it said news."""
        with self._transaction() as execute:
            before = {keyword: bool(has) for keyword, has in execute(_ANSWERS_OF, (picture,))}
            news = {keyword: has for keyword, has in changes.items() if before.get(keyword) != has}
            (step,) = execute("SELECT coalesce(max(step), 0) + 1 FROM log").fetchone()
            for keyword, has in news.items():
                _write(execute, step, person, picture, keyword, before.get(keyword), has)
            return bool(news)

    def undo(self, person: str) -> str | None:
        """Take back the last step of a person (a window) that still stands; what others changed since stays.

        The picture that it was about, or None where there is no such step.
        """
        with self._transaction() as execute:
            (step,) = execute("SELECT max(step) FROM log WHERE person = ? AND NOT undone", (person,)).fetchone()
            if step is None:
                return None
            rows = execute("SELECT picture, keyword, before, after FROM log WHERE step = ? AND NOT undone", (step,))
            for picture, keyword, before, after in rows.fetchall():
                if dict(execute(_ANSWERS_OF, (picture,))).get(keyword) == after:
                    _write(execute, step, "", picture, keyword, after, before)
            execute("UPDATE log SET undone = 1 WHERE step = ?", (step,))
            return str(picture)

    def can_undo(self, person: str) -> bool:
        with self._turn:
            query = "SELECT 1 FROM log WHERE person = ? AND NOT undone LIMIT 1"
            return self._connection.execute(query, (person,)).fetchone() is not None

    def version(self) -> int:
        """Grows with every change, by whichever process."""
        with self._turn:
            return int(self._connection.execute("SELECT coalesce(max(id), 0) FROM log").fetchone()[0])

    def answers(self) -> dict[str, Answers]:
        """Of all pictures, in the order in which people began with them."""
        with self._turn:
            first = "SELECT picture, min(id) AS began FROM log GROUP BY picture"
            query = f"SELECT answers.picture, keyword, has FROM answers JOIN ({first}) USING (picture) ORDER BY began"
            found: dict[str, Answers] = {}
            for picture, keyword, has in self._connection.execute(query):
                found.setdefault(picture, {})[keyword] = bool(has)
            return found

    def answers_of(self, picture: str) -> Answers:
        with self._turn:
            return {keyword: bool(has) for keyword, has in self._connection.execute(_ANSWERS_OF, (picture,))}

    def changed_since(self, version: int) -> list[str]:
        """Pictures with steps after that version, in the order of the first ones."""
        with self._turn:
            query = "SELECT picture FROM log WHERE id > ? GROUP BY picture ORDER BY min(id)"
            return [picture for (picture,) in self._connection.execute(query, (version,))]

    def note(self, name: str, content: str) -> None:
        """Remember a text under a name, such as how good the model was when it last learned."""
        with self._transaction() as execute:
            execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, content))

    def noted(self, name: str) -> str | None:
        with self._turn:
            found = self._connection.execute("SELECT content FROM notes WHERE name = ?", (name,)).fetchone()
            return None if found is None else str(found[0])

    @contextmanager
    def _transaction(self) -> Iterator[Execute]:
        """All or nothing, on the disk at the end; others wait."""
        with self._turn:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._connection.execute
                except BaseException:
                    self._connection.rollback()
                    raise
                self._connection.commit()
            except sqlite3.Error as error:
                raise DataError(
                    f"nothing could be written to {self.path} ({error}). Make room, or let it be written to."
                ) from error


_ANSWERS_OF = "SELECT keyword, has FROM answers WHERE picture = ?"


def _write(
    execute: Execute, step: int, person: str, picture: str, keyword: str, before: bool | None, after: bool | None
) -> None:
    """One keyword of a step, into the log and into the answers."""
    log = (step, person, time.time(), picture, keyword, before, after)
    execute("INSERT INTO log (step, person, at, picture, keyword, before, after) VALUES (?,?,?,?,?,?,?)", log)
    if after is None:
        execute("DELETE FROM answers WHERE picture = ? AND keyword = ?", (picture, keyword))
    else:
        execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", (picture, keyword, after))


def _connected(path: Path) -> sqlite3.Connection:
    """Open the file, or make it; an error where it holds something else."""
    connection = open_database(path, SCHEMA, FORMAT_VERSION, patience=PATIENCE_SECONDS)
    connection.isolation_level = None  # transactions begin where this file says so
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")  # to find out whether it may be written to
        connection.rollback()
    except BaseException:
        connection.close()
        raise
    return connection
