"""Pictures that arrive in a folder, once they are all there."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

Stamp = tuple[int, int]


class Arrivals:
    """Looks at files again and again, and gives each once, when it has not changed between two looks.

    A file that is copied grows from look to look; one that was changed later arrives anew.
    """

    def __init__(self) -> None:
        self._seen: dict[Path, Stamp] = {}
        self._given: dict[Path, Stamp] = {}

    def pass_over(self, paths: Iterable[Path]) -> None:
        """These are no arrivals, as they are now."""
        self._seen = _stamps(paths)
        self._given = dict(self._seen)

    def look(self, paths: Iterable[Path]) -> list[Path]:
        """Those that have arrived since the last look."""
        now = _stamps(paths)
        arrived = [path for path, stamp in now.items() if self._seen.get(path) == stamp != self._given.get(path)]
        self._seen = now
        self._given = {path: stamp for path, stamp in self._given.items() if path in now}
        self._given |= {path: now[path] for path in arrived}
        return arrived


def _stamps(paths: Iterable[Path]) -> dict[Path, Stamp]:
    stamps = {}
    for path in paths:
        try:
            status = path.stat()
        except OSError:  # gone already
            continue
        stamps[path] = (status.st_mtime_ns, status.st_size)
    return stamps
