"""SQLite files that say of which version they are."""

from __future__ import annotations

import sqlite3
from pathlib import Path


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
