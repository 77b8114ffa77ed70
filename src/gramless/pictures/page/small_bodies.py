"""Requests that bring a few words have small bodies."""

from __future__ import annotations

from collections.abc import Collection

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 100_000
TOO_LARGE = 413


class SmallBodies:
    """ASGI middleware that reads a body before anybody parses it, and refuses one that is too large.

    but : paths whose bodies are limited elsewhere
    """

    def __init__(self, app: ASGIApp, but: Collection[str] = ()) -> None:
        self._app = app
        self._but = but

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD") or scope["path"] in self._but:
            await self._app(scope, receive, send)
            return
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return  # gone before it was all there
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > MOST_BYTES:
                refusal = {"detail": f"The request has more than {MOST_BYTES:,} bytes. Send less at a time."}
                await JSONResponse(refusal, TOO_LARGE)(scope, receive, send)
                return
        first: Message | None = {"type": "http.request", "body": body, "more_body": False}

        async def again() -> Message:
            nonlocal first
            if first is None:
                return await receive()
            message, first = first, None
            return message

        await self._app(scope, again, send)
