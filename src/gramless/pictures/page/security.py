"""Who is let in, and with how much: headers, origins, a token for networks, and small bodies."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Collection

from fastapi import HTTPException
from starlette.datastructures import URL, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
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


UNAUTHORISED, SEE_OTHER = 401, 303
COOKIE = "gramless-token"


class TokenGate:
    """ASGI middleware that asks for a token: in the link, ?token=..., which leaves it in a cookie, or as a Bearer."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        kind, _, bearer = request.headers.get("authorization", "").partition(" ")
        if self._is_ours(request.cookies.get(COOKIE, "")) or (kind.lower() == "bearer" and self._is_ours(bearer)):
            await self._app(scope, receive, send)
        elif self._is_ours(request.query_params.get("token", "")):
            await self._remembered(request.url)(scope, receive, send)
        else:
            detail = "Open the link that the terminal shows: it holds the token that this page asks for."
            await JSONResponse({"detail": detail}, UNAUTHORISED, {"WWW-Authenticate": "Bearer"})(scope, receive, send)

    def _is_ours(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token.encode())

    def _remembered(self, asked: URL) -> Response:
        """The same page under an address without the token, which nobody sees in a history or over a shoulder."""
        rest = asked.remove_query_params("token").query
        path = "/" + asked.path.lstrip("/")  # //elsewhere would be another server
        response = RedirectResponse(f"{path}?{rest}" if rest else path, SEE_OTHER)
        response.set_cookie(COOKIE, self._token, httponly=True, samesite="strict")
        return response


MOST_BYTES = 100_000
TOO_LARGE = 413


class SmallBodies:
    """ASGI middleware that reads a body before anybody parses it, and refuses one that is too large.

    but : paths whose bodies are limited elsewhere
    """

    def __init__(self, app: ASGIApp, but: Collection[str]) -> None:
        self._app = app
        self._but = but

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD") or scope["path"] in self._but:
            await self._app(scope, receive, send)
            return
        body = b""
        try:
            async for chunk in Request(scope, receive).stream():
                body += chunk
                if len(body) > MOST_BYTES:
                    refusal = {"detail": f"The request has more than {MOST_BYTES:,} bytes. Send less at a time."}
                    await JSONResponse(refusal, TOO_LARGE)(scope, receive, send)
                    return
        except ClientDisconnect:
            return
        read: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def again() -> Message:
            return read.pop() if read else await receive()

        await self._app(scope, again, send)
