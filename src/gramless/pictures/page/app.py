"""The web application: the page, the route that looks at pictures, and those of an open folder."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import Depends, FastAPI, Request
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles

from gramless.errors import GramlessError
from gramless.pictures.page.answers import FORM, PageModel, PictureAnswer, Reply, answer_for
from gramless.pictures.page.security import LOCAL_HOSTS, SecurityHeaders, SmallBodies, TokenGate, refuse_foreign_origin
from gramless.pictures.page.threads import in_a_thread
from gramless.pictures.page.uploads import BAD_REQUEST, LIMITS, Limits, read_uploads
from gramless.version import __version__

if TYPE_CHECKING:
    from gramless.pictures.correcting import OpenFolder

STATIC = Path(__file__).parent / "static"


def make_app(
    model: PageModel,
    limits: Limits = LIMITS,
    hosts: Sequence[str] = LOCAL_HOSTS,
    token: str | None = None,
    folder: OpenFolder | None = None,
) -> FastAPI:
    """The application for one model. `hosts` are the names by which it may be called ("*": any).

    With a token, nothing is answered without it. Requests over what can be held at once wait for their turn.

    GET /          the page
    GET /healthz   {"status": "ok"}
    GET /model     {"keywords": [...], "limits": {...}, "folder": whether one is open}
    POST /annotate multipart/form-data with one or more files; {"pictures": [...]} with one answer per file, in order:
                   {name, keywords: [{keyword, score}], neighbours: [{name, similarity, keywords, thumbnail}]} or
                   {name, error}. A request over a limit gets 413 and a message in "detail".
    /folder/...    an open folder, where there is one (folder_routes.py)
    GET /docs      all of this, from /openapi.json, in a page of our own: FastAPI's loads its parts from elsewhere

    A foreign host name is refused because a page elsewhere could point its own name at this machine (DNS rebinding).
    """
    app = FastAPI(title="Gramless", version=__version__, docs_url=None, redoc_url=None)
    app.add_middleware(SmallBodies, but=("/annotate",))
    if token is not None:
        app.add_middleware(TokenGate, token=token)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)
    app.add_middleware(SecurityHeaders)
    held = asyncio.Semaphore(limits.requests)  # in memory; the others wait, unread
    turn = asyncio.Lock()  # a look takes all cores, so two at once would only slow each other down

    @app.exception_handler(GramlessError)
    async def refused(request: Request, error: GramlessError) -> JSONResponse:
        """What cannot be done, in words."""
        return JSONResponse({"detail": str(error)}, BAD_REQUEST)

    @app.get("/healthz")
    async def is_well() -> dict[str, str]:
        """Whether the server answers."""
        return {"status": "ok"}

    @app.get("/model")
    async def describe_model() -> dict[str, Any]:
        """The model's keywords, how much one request may bring, and whether a folder is open."""
        return {"keywords": list(model.keywords), "limits": asdict(limits), "folder": folder is not None}

    @app.get("/docs", include_in_schema=False)
    async def documentation() -> FileResponse:
        return FileResponse(STATIC / "docs.html")

    @app.post(
        "/annotate",
        dependencies=[Depends(refuse_foreign_origin)],
        response_model_exclude_unset=True,
        openapi_extra=FORM,
    )
    async def annotate(request: Request) -> Reply:
        """Keywords of pictures: one answer per file, in order. A file that is no picture says so in its "error"."""
        answers: list[PictureAnswer] = []
        async with held:
            for upload in await read_uploads(request, limits):
                async with turn:
                    if await request.is_disconnected():  # cancelled while it waited: nobody reads the answer
                        break
                    answers.append(await in_a_thread(answer_for, model, upload))
        return Reply(pictures=answers)

    if folder is not None:
        from gramless.pictures.page.folder_routes import folder_router

        app.include_router(folder_router(folder))
    app.mount("/", StaticFiles(directory=STATIC, html=True))
    return app
