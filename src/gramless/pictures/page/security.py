"""What keeps foreign pages away from a server that runs on somebody's own machine."""

from __future__ import annotations

import asyncio

from fastapi import HTTPException, Request
from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

FORBIDDEN, STOPPING = 403, 503
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")

HEADERS = {
    # Everything comes from the server itself; blob: and data: are the dropped pictures and the neighbours' thumbnails.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' blob: data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


class SecurityHeaders:
    """ASGI middleware that puts HEADERS on every response, those of refusals included.

    A request that the end of the server cancels is told so: a traceback would be all that the terminal gets.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def send_with_headers(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
                begun = True
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except asyncio.CancelledError:
            if not begun:
                await JSONResponse({"detail": "The server stops."}, STOPPING)(scope, receive, send_with_headers)


async def refuse_foreign_origin(request: Request) -> None:
    """A browser lets any page post a form to any address; only our own page may make the model work."""
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != request.headers.get("host"):
        raise HTTPException(FORBIDDEN, f"A page of {origin} may not send pictures here. Open the page of this server.")
