"""The routes of an open folder: its pictures by position, what people say of them, and learning from it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from gramless.pictures.annotation.forms import as_csv
from gramless.pictures.correcting import orders
from gramless.pictures.correcting.labels import REST
from gramless.pictures.correcting.open_folder import OpenFolder
from gramless.pictures.datasets.keyword_files import clean_keywords
from gramless.pictures.features import PictureError
from gramless.pictures.metadata.files import sidecar_of
from gramless.pictures.metadata.writing import say_all
from gramless.pictures.page.security import refuse_foreign_origin
from gramless.pictures.page.threads import in_a_thread
from gramless.support.pages import COMMANDS

NOT_FOUND, BAD_REQUEST, NOT_MODIFIED = 404, 400, 304
MOST_AT_ONCE = 200  # pictures in one answer
MOST_KEYWORDS = 200  # of one picture that one request changes
LONGEST_KEYWORD = 100
PAUSE_SECONDS = 0.4  # between two looks at what has changed
HEARTBEAT = 15.0  # seconds after which a silent stream says that it is still there

Show = Literal["all", "next", "answered", "unanswered", "unreadable", "keyword", "like", "duplicates"]

WindowName = Annotated[
    str, Field(pattern=r"^[\w-]{1,64}$", description="which window says it: undo takes back its own steps")
]


class Correction(BaseModel):
    """What somebody says of one picture, in one step: yes, no, or nothing any more (null), by keyword."""

    model_config = ConfigDict(extra="forbid")

    picture: int
    window: WindowName
    keywords: dict[str, bool | None] = Field(max_length=MOST_KEYWORDS)
    done: bool | None = Field(default=None, description="true: it has no other keywords; false: it may; null: as it is")


class Window(BaseModel):
    model_config = ConfigDict(extra="forbid")

    window: WindowName


class Lesson(BaseModel):
    model_config = ConfigDict(extra="forbid")

    everything: bool = Field(default=False, description="the kernel and the map as well, which takes minutes")


def folder_router(folder: OpenFolder) -> APIRouter:
    """GET reads, POST changes; POST is refused from pages of other servers."""
    router = APIRouter(prefix="/folder", tags=["folder"])
    change: dict[str, Any] = {"dependencies": [Depends(refuse_foreign_origin)]}
    kept = orders.KeptOrders()
    turn = asyncio.Lock()  # one thumbnail at a time, or a scroll would start a hundred threads

    def checked(position: int) -> int:
        if not 0 <= position < len(folder.listing.paths):
            raise HTTPException(NOT_FOUND, f"There is no picture {position}.")
        return position

    @router.get("/status")
    async def status() -> dict[str, Any]:
        """How far describing and learning are."""
        return await in_a_thread(folder.status)

    @router.get("/events")
    async def events() -> StreamingResponse:
        """The status, again whenever it has changed, as server-sent events."""
        return StreamingResponse(_changes(folder), media_type="text/event-stream")

    @router.get("/keywords")
    async def keywords() -> dict[str, Any]:
        """The model's keywords, and those that people have added since."""
        said = {word for i in folder.spoken_of() for word, yes in folder.said(i).items() if yes}
        return {"keywords": list(folder.keywords), "new": sorted(said - {*folder.keywords})}

    @router.get("/pictures")
    async def pictures(
        show: Show = "all",
        keyword: Annotated[str, Query(max_length=LONGEST_KEYWORD)] = "",
        least: Annotated[float, Query(ge=0, le=1)] = 0.5,
        picture: int = 0,
        order: int | None = None,
        start: Annotated[int, Query(ge=0)] = 0,
        count: Annotated[int, Query(ge=1, le=MOST_AT_ONCE)] = 60,
    ) -> dict[str, Any]:
        """Some of the pictures. The answer names its order; with it, the next ones come from the same."""

        def answer() -> dict[str, Any]:
            found = None if order is None else kept.find(order)
            number = order
            if found is None:
                found = _order(folder, show, keyword, least, checked(picture))
                number = kept.keep(found)
            some = found.positions[start : start + count].tolist()
            folder.want(some)
            described = [folder.describe(i) for i in some]
            if found.values is not None:
                for entry, value in zip(described, found.values[start : start + count].tolist(), strict=True):
                    entry["value"] = value
            return {"order": number, "total": len(found.positions), "start": start, "pictures": described}

        return await in_a_thread(answer)

    @router.get("/pictures/{position}")
    async def picture(position: int) -> dict[str, Any]:
        return await in_a_thread(folder.describe, checked(position))

    @router.get("/thumbnails/{position}", response_class=Response)
    async def thumbnail(position: int, request: Request) -> Response:
        """A JPEG of at most 320 pixels."""
        etag = f'"{folder.listing.stamps[checked(position)]}"'
        if request.headers.get("if-none-match") == etag:
            return Response(status_code=NOT_MODIFIED, headers={"etag": etag})
        async with turn:
            return await _jpeg(folder.thumbnail, position, etag)

    @router.get("/previews/{position}", response_class=Response)
    async def preview(position: int) -> Response:
        """A JPEG of at most 1,280 pixels; never the file itself."""
        return await _jpeg(folder.preview, checked(position), f'"{folder.listing.stamps[position]}"')

    @router.post("/corrections", **change)
    async def correct(said: Correction) -> dict[str, Any]:
        """Write down what somebody says of a picture; answered once it is on the disk."""
        changes: dict[str, bool | None] = {_keyword(word): has for word, has in said.keywords.items()}
        if said.done is not None:
            changes[REST] = False if said.done else None
        position = checked(said.picture)
        await in_a_thread(folder.change, said.window, position, changes)
        return {"picture": await in_a_thread(folder.describe, position), "undo": folder.labels.can_undo(said.window)}

    @router.post("/undo", **change)
    async def undo(window: Window) -> dict[str, Any]:
        """Take back the last step of this window."""
        position = await in_a_thread(folder.undo, window.window)
        described = None if position is None else await in_a_thread(folder.describe, position)
        return {"picture": described, "undo": folder.labels.can_undo(window.window)}

    @router.post("/learn", **change)
    async def learn(lesson: Lesson) -> dict[str, bool]:
        """Begin to learn from what was said; the events say how far it is."""
        return {"began": folder.learn(lesson.everything)}

    @router.get("/keywords.csv", response_class=Response)
    async def export_csv() -> Response:
        """What people said, as a keyword file that `gramless annotate fit` reads."""
        content = await in_a_thread(lambda: as_csv(folder.annotations()))
        headers = {"content-disposition": 'attachment; filename="keywords.csv"'}
        return Response(content, media_type="text/csv; charset=utf-8", headers=headers)

    @router.post("/xmp", **change)
    async def export_xmp() -> dict[str, Any]:
        """What people said, into XMP sidecars beside the pictures: as their own words, over those of a model."""
        words = folder.words()
        done, failed = await in_a_thread(say_all, words)
        there = {writing.path for writing in done}
        written = sum(bool(said.has) and sidecar_of(picture) in there for picture, said in words)
        reasons = [f"{Path(problem.name).name}: {problem.reason}" for problem in failed[:10]]
        return {"written": written, "failed": len(failed), "reasons": reasons}

    return router


def _order(folder: OpenFolder, show: Show, keyword: str, least: float, position: int) -> orders.Order:
    if show == "keyword":
        return orders.with_keyword(folder, keyword, least)
    if show == "duplicates":
        return orders.duplicates(folder, least)
    if show == "like":
        return orders.like(folder, position)
    simple = {
        "all": orders.every_picture,
        "next": orders.to_ask_next,
        "answered": orders.answered,
        "unanswered": orders.unanswered,
        "unreadable": orders.unreadable,
    }
    return simple[show](folder)


async def _changes(folder: OpenFolder) -> AsyncIterator[str]:
    before, silent = None, 0.0
    while True:
        status = await in_a_thread(folder.status)
        silent += PAUSE_SECONDS
        if status != before:
            yield f"data: {json.dumps(status)}\n\n"
            before, silent = status, 0.0
        elif silent > HEARTBEAT:
            yield ": still here\n\n"
            silent = 0.0
        await asyncio.sleep(PAUSE_SECONDS)


async def _jpeg(make: Any, position: int, etag: str) -> Response:
    try:
        return Response(await in_a_thread(make, position), media_type="image/jpeg", headers={"etag": etag})
    except PictureError as error:
        raise HTTPException(NOT_FOUND, f"This picture {error.reason}.") from error


def _keyword(given: str) -> str:
    """A keyword as it is kept: composed Unicode, single blanks, nothing that a terminal obeys."""
    cleaned = clean_keywords([COMMANDS.sub(" ", given.encode("utf-8", "replace").decode())])
    if not cleaned or len(cleaned[0]) > LONGEST_KEYWORD or ";" in cleaned[0]:
        raise HTTPException(
            BAD_REQUEST, f"A keyword has 1 to {LONGEST_KEYWORD} characters and no ; in it, which separates keywords."
        )
    return cleaned[0]
