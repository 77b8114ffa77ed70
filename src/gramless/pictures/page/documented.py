"""What /annotate takes and gives, for its documentation."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

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
