"""HTTP with other programs: a small server of JSON, within limits and for those who have the key; and asking them."""

from __future__ import annotations

import hmac
import json
import logging
from base64 import b64decode
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from threading import Lock
from typing import Any
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from gramless.errors import DataError, GramlessError

MOST_BYTES = 100_000_000
SECONDS = 30.0  # that a connection may be silent
SECONDS_TO_ANSWER = 60.0  # that the other program may be silent
OK, BAD, UNAUTHORISED, MISSING, TOO_LARGE, FAILED = 200, 400, 401, 404, 413, 500

Route = Callable[[dict[str, Any]], dict[str, Any]]
"""From the body of a request to that of its answer; a GramlessError says why there is none."""
_log = logging.getLogger(__name__)


def json_server(routes: Mapping[tuple[str, str], Route], host: str, port: int, key: str = "") -> ThreadingHTTPServer:
    """A server that is ready to run: routes by method and path.

    What is posted is done one after the other; what is got is answered meanwhile, so that whoever asks after the
    server's health need not wait. A refusal says why and repeats its HTTP status, as PhotoPrism reads it there alone.

    key : asked for as a Bearer token or as the password of HTTP's basic authentication; needed beyond this computer
    """
    if not key and not _is_local(host):
        raise DataError(f"{host} lets in the whole network: give a --key that the other program sends as well.")
    turn = Lock()

    class Handler(BaseHTTPRequestHandler):
        timeout = SECONDS
        server_version, sys_version = "gramless", ""

        def do_GET(self) -> None:
            self._answer("GET")

        def do_POST(self) -> None:
            self._answer("POST")

        def _answer(self, method: str) -> None:
            code, body = self._found(method)
            body = body if code == OK else {"code": code} | body
            content = json.dumps(body).encode()
            self.close_connection = True
            with suppress(ConnectionError):  # whoever asked did not wait for what took long, and may ask again
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(content)

        def _found(self, method: str) -> tuple[int, dict[str, Any]]:
            route = routes.get((method, urlsplit(self.path).path.rstrip("/") or "/"))
            length = self.headers.get("Content-Length") or "0"
            if key and not _is_key(key, self.headers.get("Authorization", "")):
                return UNAUTHORISED, {"error": "Send the key that this server was started with."}
            if route is None:
                return MISSING, {"error": f"There is no {method} {self.path[:100]} here."}
            if not length.isdecimal() or int(length) > MOST_BYTES:
                return TOO_LARGE, {"error": f"A request has at most {MOST_BYTES:,} bytes, and says how many."}
            try:
                body = json.loads(self.rfile.read(int(length)) or b"{}")
            except (ValueError, RecursionError):
                return BAD, {"error": "The request is no JSON."}
            if not isinstance(body, dict):
                return BAD, {"error": "The request is no JSON object."}
            try:
                with turn if method == "POST" else nullcontext():
                    return OK, route(body)
            except GramlessError as error:
                return BAD, {"error": str(error)}
            except Exception:
                _log.exception("%s %s failed", method, self.path)
                return FAILED, {"error": "This failed; the terminal in which the server runs says more."}

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    return ThreadingHTTPServer((host, port), Handler)


def run(server: ThreadingHTTPServer, what: str) -> None:
    """Until Ctrl-C."""
    host, port = server.server_address[:2]
    print(f"{what} at http://{host!s}:{port} (Ctrl-C stops it)", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print("Stopped.", flush=True)
    finally:
        server.server_close()


class _Stay(HTTPRedirectHandler):
    def redirect_request(self, *details: Any) -> None:
        return None


def fetch(request: Request) -> bytes:
    """What is answered to a request with a key, which goes to the address that was given and nowhere else."""
    with build_opener(_Stay).open(request, timeout=SECONDS_TO_ANSWER) as reply:
        content: bytes = reply.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise DataError(f"{request.full_url} is answered with more than {MOST_BYTES:,} bytes.")
    return content


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _is_key(key: str, authorization: str) -> bool:
    kind, _, given = authorization.partition(" ")
    if kind.lower() == "basic":
        try:
            given = b64decode(given, validate=True).decode().partition(":")[2]
        except ValueError:
            return False
    return hmac.compare_digest(given.encode("utf-8", "replace"), key.encode())
