"""Keyword files, CSV or JSON: which keywords each named picture has."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from typing import Any

from gramless.errors import DataError
from gramless.pictures.metadata.fields import clean_path

MOST_BYTES = 10**9


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, with or without a byte order mark."""
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise DataError(f"there is no file {path}. Check the path.") from error
    except IsADirectoryError as error:
        raise DataError(f"{path} is a folder, but a file is needed here. Name a file in it.") from error
    except PermissionError as error:
        raise DataError(f"{path} may not be read: no permission. Change its permissions, or copy it.") from error
    if len(raw) > MOST_BYTES:  # a device such as /dev/zero never ends
        raise DataError(f"{path} has more than {MOST_BYTES:,} bytes, too many for a file that people wrote. Cut it up.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path} is not UTF-8 text: byte 0x{raw[error.start]:02x} in line {line} cannot be read. "
            "Save it again with the encoding UTF-8 (in a spreadsheet: 'CSV UTF-8')."
        ) from error


def read_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 file without surrounding blanks; blank lines are left out."""
    return [line.strip() for line in read_text(path).splitlines() if line.strip()]


DELIMITERS = ",;\t"
NAME_TITLES = {"file", "filename", "name", "picture", "image", "photo", "path"}
KEYWORD_TITLES = ("keyword", "tag", "label", "concept")  # "keywords", "keyword 1", "tag2" count as well

_FIRST_FIELD = re.compile(r'\s*(?:"(?:[^"]|"")*"|[^,;\t]*)\s*([,;\t])')

Keywords = dict[str, tuple[str, ...]]
"""Names of pictures as the file writes them, and the keywords of each, without repetition."""


def read_keyword_file(path: Path) -> Keywords:
    """The keywords of every picture that a keyword file names.

    CSV (any suffix but .json; UTF-8; columns separated by comma, semicolon or tab): the first column is the picture,
    the others are keywords, one in a cell or several with ; between them. A picture may have several rows. The
    first row may hold titles, the first of them one of NAME_TITLES; where other titles begin with one of
    KEYWORD_TITLES, only those columns are keywords, so that a column of scores does no harm.

    JSON: {"a.jpg": ["cat", "dog"], ...}, or [{"file": "a.jpg", "keywords": ["cat", "dog"]}, ...] with "name" or
    "picture" in place of "file"; a keyword may be {"keyword": "cat", ...}, as `gramless annotate predict` writes it.

    In both, "animal|cat" is the keyword cat below the keyword animal.
    """
    text = read_text(path)
    if not text.strip():
        raise DataError(f"{path} is empty. Write one row for each picture: its file name, then its keywords.")
    pairs = _from_json(path, text) if path.suffix.lower() == ".json" else _from_csv(path, text)
    found: dict[str, dict[str, None]] = {}  # a dict keeps the order that a set would lose
    for name, keywords in pairs:
        found.setdefault(name, {}).update(dict.fromkeys(clean_keywords(keywords)))
    return {name: tuple(keywords) for name, keywords in found.items()}


def clean_keywords(keywords: Iterable[str]) -> list[str]:
    """Keywords as they are compared, paths such as "animal | cat" step by step; empty ones are left out."""
    return list(filter(None, map(clean_path, keywords)))


def _from_csv(path: Path, text: str) -> list[tuple[str, list[str]]]:
    reader = csv.reader(StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    try:
        rows = [row for row in reader if row and row[0].strip()]
    except csv.Error as error:
        raise DataError(
            f"{path} is not a correct CSV file: {error}, in line {reader.line_num} or before. "
            'Check that every " has its partner.'
        ) from error
    titles = [_title(cell) for cell in rows[0]] if rows else []
    columns: list[int] = []
    if titles and titles[0] in NAME_TITLES:
        columns = [i for i, title in enumerate(titles) if i > 0 and title.startswith(KEYWORD_TITLES)]
        rows = rows[1:]
    pairs = []
    for row in rows:
        cells = [row[i] for i in columns if i < len(row)] if columns else row[1:]
        pairs.append((row[0].strip(), [keyword for cell in cells for keyword in cell.split(";")]))
    return pairs


def _title(cell: str) -> str:
    """A title without case, blanks and underscores: "File name" and "file_name" are "filename"."""
    return re.sub(r"[\s_]", "", cell).lower()


def _delimiter(text: str) -> str:
    """The delimiter that ends the first field of most lines: a ; later in the line separates keywords in a cell."""
    votes = Counter(match[1] for line in text.splitlines() if (match := _FIRST_FIELD.match(line)))
    return max(DELIMITERS, key=lambda delimiter: votes[delimiter])


def _from_json(path: Path, text: str) -> list[tuple[str, list[str]]]:
    def without_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """JSON readers keep the last of two equal keys; here that would lose a picture's keywords without a word."""
        for key, count in Counter(key for key, _ in pairs).items():
            if count > 1:
                raise DataError(f"{path} names {key!r} twice in one object. Give each picture once.")
        return dict(pairs)

    try:
        content = json.loads(text, object_pairs_hook=without_repeated_keys)
    except json.JSONDecodeError as error:
        raise DataError(
            f"{path} is not correct JSON: {error.msg} in line {error.lineno}, column {error.colno}. Correct it there."
        ) from error
    except RecursionError as error:
        raise DataError(f"{path} is nested too deeply to be a list of keywords.") from error
    if isinstance(content, dict):
        entries = list(content.items())
    elif isinstance(content, list):
        entries = [_name_and_keywords(path, i, entry) for i, entry in enumerate(content, 1)]
    else:
        raise DataError(
            f'{path} holds {type(content).__name__}, but keywords are {{"a.jpg": ["cat", "dog"], ...}} '
            'or [{"file": "a.jpg", "keywords": ["cat", "dog"]}, ...].'
        )
    return [(name.strip(), _json_keywords(path, name, keywords)) for name, keywords in entries]


def _name_and_keywords(path: Path, position: int, entry: Any) -> tuple[str, Any]:
    names = [entry[title] for title in ("file", "name", "picture") if title in entry] if isinstance(entry, dict) else []
    if not names or not isinstance(names[0], str):
        raise DataError(
            f'{path}: entry {position} does not name its picture. Write {{"file": "a.jpg", "keywords": ["cat"]}}.'
        )
    return names[0], entry.get("keywords", [])


def _json_keywords(path: Path, name: str, keywords: Any) -> list[str]:
    if isinstance(keywords, str):
        return keywords.split(";")
    items = keywords if isinstance(keywords, list) else [keywords]
    texts = [item.get("keyword") if isinstance(item, dict) else item for item in items]
    written = [text for text in texts if isinstance(text, str)]
    if len(written) < len(texts):
        raise DataError(f'{path}: the keywords of {name!r} are not a list of texts. Write ["cat", "dog"].')
    return written
