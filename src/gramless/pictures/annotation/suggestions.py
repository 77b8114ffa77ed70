"""What annotation answers: keywords with scores, picture by picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


class Suggestion(NamedTuple):
    """A keyword, and how sure of it the model is: near 0 not at all, near 1 very."""

    keyword: str
    score: float


@dataclass(frozen=True)
class Annotation:
    """The keywords chosen for one picture, best first, and the true ones where somebody knows them.

    `name` is what people are shown; `path` is where the picture lies.
    """

    path: Path
    name: str
    suggestions: tuple[Suggestion, ...]
    truth: tuple[str, ...] | None = None

    @property
    def keywords(self) -> tuple[str, ...]:
        """The chosen keywords, best first."""
        return tuple(suggestion.keyword for suggestion in self.suggestions)

    @property
    def right(self) -> frozenset[str]:
        """Chosen and true; nothing where the truth is not known."""
        return frozenset(self.keywords) & frozenset(self.truth or ())

    @property
    def missed(self) -> tuple[str, ...]:
        """True and not chosen, in the order of the truth; nothing where the truth is not known."""
        chosen = frozenset(self.keywords)
        return tuple(keyword for keyword in self.truth or () if keyword not in chosen)
