"""How much one request may bring."""

from __future__ import annotations

from dataclasses import dataclass, fields

MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Limits:
    """The most that is taken: bytes of one picture, pictures and bytes of one request, requests in memory at once."""

    picture_bytes: int = 64 * MEGABYTE
    pictures: int = 32
    request_bytes: int = 100 * MEGABYTE
    requests: int = 16

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) < 1:
                raise ValueError(
                    f"{field.name}={getattr(self, field.name)} would refuse every picture; give 1 or more."
                )


LIMITS = Limits()


def in_words(n_bytes: int) -> str:
    """A number of bytes as people say it: 25 MB, 1.5 MB, 800 bytes."""
    return f"{n_bytes / MEGABYTE:.3g} MB" if n_bytes >= MEGABYTE // 10 else f"{n_bytes} bytes"
