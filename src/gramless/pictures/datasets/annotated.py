"""Picture files with keywords."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gramless.support.pages import Problem


@dataclass(frozen=True, eq=False)
class AnnotatedPictures:
    """Picture files and their keywords: path i, name i and row i of labels belong together.

    `pictures[rows]` takes a slice, positions or a mask, and keeps the vocabulary and the problems.
    """

    paths: tuple[Path, ...]
    names: tuple[str, ...]  # what people are shown: the path in its folder, with "/" between the parts
    keywords: tuple[str, ...]  # the vocabulary: the columns of labels
    labels: np.ndarray  # (n, n_keywords) int8, 1 where the picture has the keyword
    problems: tuple[Problem, ...]
    source: str = ""  # where the keywords are from, in words

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, rows: Any) -> AnnotatedPictures:
        chosen = np.atleast_1d(np.arange(len(self))[rows])
        return replace(
            self,
            paths=tuple(self.paths[i] for i in chosen),
            names=tuple(self.names[i] for i in chosen),
            labels=self.labels[chosen],
        )


def mark_keywords(keywords_of: Sequence[Collection[str]], vocabulary: Sequence[str]) -> np.ndarray:
    """Labels (n, n_keywords) int8: 1 where sample i has the keyword of column j; all keywords are in the vocabulary."""
    column = {keyword: j for j, keyword in enumerate(vocabulary)}
    labels = np.zeros((len(keywords_of), len(vocabulary)), dtype=np.int8)
    for row, keywords in zip(labels, keywords_of, strict=True):
        row[[column[keyword] for keyword in keywords]] = 1
    return labels
