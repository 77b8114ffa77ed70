"""The model's answer for one uploaded picture: what the page and other programs get, and its documentation."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Protocol

from pydantic import BaseModel, Field

from gramless.errors import GramlessError
from gramless.pictures.annotation import Look, Neighbour
from gramless.pictures.features.pictures import PictureError, data_uri
from gramless.pictures.page.uploads import Upload

_FILES = {"type": "array", "items": {"type": "string", "format": "binary"}}
FORM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"multipart/form-data": {"schema": {"type": "object", "properties": {"pictures": _FILES}}}},
    },
    "responses": {
        "400": {"description": "The form cannot be read; `detail` says why."},
        "401": {"description": "Beyond this computer: the token of the link is missing (Authorization: Bearer ...)."},
        "413": {"description": "Too many pictures, or too large ones; `detail` says how much is taken."},
    },
}


class ScoredKeyword(BaseModel):
    keyword: str
    score: float = Field(description="the probability that a person would have given it, 0 to 1")


class NearPicture(BaseModel):
    name: str
    similarity: float
    keywords: list[str]
    thumbnail: str = Field(description="a data: URI of a small JPEG, or nothing")


class PictureAnswer(BaseModel):
    name: str = Field(description="the file name that was sent")
    keywords: list[ScoredKeyword] = Field(default=[], description="best first")
    neighbours: list[NearPicture] = Field(default=[], description="the nearest training pictures")
    error: str = Field(default="", description="instead of keywords: why there are none")


class Reply(BaseModel):
    pictures: list[PictureAnswer]


class PageModel(Protocol):
    """A model that looks at the bytes of a picture file; a GramlessError says why it cannot."""

    @property
    def keywords(self) -> Sequence[str]: ...

    def look(self, picture: bytes) -> Look: ...


_log = logging.getLogger(__name__)


def answer_for(model: PageModel, upload: Upload) -> PictureAnswer:
    """Keywords and neighbours, or the error where the model cannot look at the picture.

    Nothing that goes wrong with one picture may spoil the others, so an unforeseen exception becomes an answer too;
    the terminal shows where it came from.
    """
    try:
        look = model.look(upload.content)
        keywords = [ScoredKeyword(keyword=keyword, score=score) for keyword, score in look.suggestions]
        return PictureAnswer(name=upload.name, keywords=keywords, neighbours=list(map(_near, look.neighbours)))
    except PictureError as error:
        return PictureAnswer(name=upload.name, error=f"This file {error.reason}.")
    except GramlessError as error:
        return PictureAnswer(name=upload.name, error=str(error))
    except Exception:
        _log.exception("looking at %r failed", upload.name)
        failed = "The model failed on this picture. The terminal in which the server runs says more."
        return PictureAnswer(name=upload.name, error=failed)


def _near(picture: Neighbour) -> NearPicture:
    thumbnail = data_uri(picture.thumbnail) if picture.thumbnail else ""
    return NearPicture(**picture._asdict() | {"keywords": list(picture.keywords), "thumbnail": thumbnail})
