"""A token that lets in whoever was given the link, where the page is served to a network."""

from __future__ import annotations

import hmac
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import URL
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

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
        rest = urlencode([(name, value) for name, value in parse_qsl(asked.query) if name != "token"])
        path = "/" + asked.path.lstrip("/")  # //elsewhere would be another server
        response = RedirectResponse(f"{path}?{rest}" if rest else path, SEE_OTHER)
        response.set_cookie(COOKIE, self._token, httponly=True, samesite="strict")
        return response
