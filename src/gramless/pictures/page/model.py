"""What the page needs of a model; `gramless.pictures.annotation.Annotator` is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class ScoredKeyword(Protocol):
    """A keyword and its score, 0..1."""

    @property
    def keyword(self) -> str: ...

    @property
    def score(self) -> float: ...


class NearPicture(Protocol):
    """A training picture that is near under the learned kernel: its cosine, 0..1, its keywords, a small JPEG or b""."""

    @property
    def name(self) -> str: ...

    @property
    def similarity(self) -> float: ...

    @property
    def keywords(self) -> Sequence[str]: ...

    @property
    def thumbnail(self) -> bytes: ...


class PictureLook(Protocol):
    """What the model says about one picture, best and nearest first."""

    @property
    def suggestions(self) -> Sequence[ScoredKeyword]: ...

    @property
    def neighbours(self) -> Sequence[NearPicture]: ...


class PageModel(Protocol):
    """A model that looks at the bytes of a picture file; a GramlessError says why it cannot."""

    @property
    def keywords(self) -> Sequence[str]: ...

    def look(self, picture: bytes) -> PictureLook: ...
