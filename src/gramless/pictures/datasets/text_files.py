"""Text files that people wrote, read with errors that people understand."""

from __future__ import annotations

from pathlib import Path

from gramless.errors import DataError

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
