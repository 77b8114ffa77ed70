"""The web application: the page, and the one route that looks at pictures."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.staticfiles import StaticFiles

from gramless.pictures.page.answers import Answer, answer_for
from gramless.pictures.page.limits import LIMITS, Limits
from gramless.pictures.page.model import PageModel
from gramless.pictures.page.security import LOCAL_HOSTS, SecurityHeaders, refuse_foreign_origin
from gramless.pictures.page.threads import in_a_thread
from gramless.pictures.page.token import TokenGate
from gramless.pictures.page.uploads import read_uploads

STATIC = Path(__file__).parent / "static"


def make_app(
    model: PageModel, limits: Limits = LIMITS, hosts: Sequence[str] = LOCAL_HOSTS, token: str | None = None
) -> FastAPI:
    """The application for one model. `hosts` are the names by which it may be called ("*": any).

    With a token, nothing is answered without it. Requests over what can be held at once wait for their turn.

    GET /          the page
    GET /healthz   {"status": "ok"}
    GET /model     {"keywords": [...], "limits": {...}}
    POST /annotate multipart/form-data with one or more files; {"pictures": [...]} with one answer per file, in order:
                   {name, keywords: [{keyword, score}], neighbours: [{name, similarity, keywords, thumbnail}]} or
                   {name, error}. A request over a limit gets 413 and a message in "detail".

    A foreign host name is refused because a page elsewhere could point its own name at this machine (DNS rebinding).
    """
    app = FastAPI(title="Gramless", openapi_url=None)  # or there were /docs, a page that loads from elsewhere
    if token is not None:
        app.add_middleware(TokenGate, token=token)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)
    app.add_middleware(SecurityHeaders)
    held = asyncio.Semaphore(limits.requests)  # in memory; the others wait, unread
    turn = asyncio.Lock()  # a look takes all cores, so two at once would only slow each other down

    @app.get("/healthz")
    async def is_well() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/model")
    async def describe_model() -> dict[str, Any]:
        return {"keywords": list(model.keywords), "limits": asdict(limits)}

    @app.post("/annotate", dependencies=[Depends(refuse_foreign_origin)])
    async def annotate(request: Request) -> dict[str, list[Answer]]:
        answers: list[Answer] = []
        async with held:
            for upload in await read_uploads(request, limits):
                async with turn:
                    if await request.is_disconnected():  # cancelled while it waited: nobody reads the answer
                        break
                    answers.append(await in_a_thread(answer_for, model, upload))
        return {"pictures": answers}

    app.mount("/", StaticFiles(directory=STATIC, html=True))
    return app
