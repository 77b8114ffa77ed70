"""Running the page's server until Ctrl-C."""

from __future__ import annotations

import errno
import logging
import secrets
import socket
import sys
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING

from gramless.errors import GramlessError
from gramless.support.packages import needed

if TYPE_CHECKING:
    from gramless.pictures.correcting import OpenFolder
    from gramless.pictures.page.answers import PageModel

HIGHEST_PORT = 65535
SECONDS_TO_FINISH = 3  # what is being answered at Ctrl-C


class ServeError(GramlessError):
    """The page cannot be served; the message says why and what to do."""


def serve(model: PageModel, host: str = "127.0.0.1", port: int = 8765, folder: OpenFolder | None = None) -> None:
    """Serve the page for a model, and for an open folder, until Ctrl-C, and print its address. Port 0 takes any."""
    for package in ("fastapi", "python_multipart", "uvicorn"):
        needed(package)
    import uvicorn

    from gramless.pictures.page.app import make_app
    from gramless.pictures.page.deadlines import PunctualProtocol
    from gramless.pictures.page.security import LOCAL_HOSTS

    with _listen(host, port) as listener:
        address, port = listener.getsockname()[:2]
        is_local = ip_address(address).is_loopback
        token = None if is_local else secrets.token_urlsafe()
        app = make_app(
            model, hosts=(*LOCAL_HOSTS, _in_url(address)) if is_local else ("*",), token=token, folder=folder
        )
        link = _url(address, port) + ("" if folder is None else "/folder.html")
        if token is not None:
            link += f"{'/' if folder is None else ''}?token={token}"
        print(f"The page is at {link} (Ctrl-C stops it)", flush=True)
        if not is_local:
            print(
                f"Warning: anybody who has this link and can reach {address} over the network can send pictures and "
                "see the keywords and thumbnails of the training pictures"
                f"{'' if folder is None else ', and see and correct those of the folder'}; it is sent unencrypted. "
                "Leave --host away to serve this machine only.",
                file=sys.stderr,
                flush=True,
            )
        config = uvicorn.Config(
            app,
            log_level="warning",
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            ws="none",
            http=PunctualProtocol,
            timeout_graceful_shutdown=SECONDS_TO_FINISH,
        )
        logging.getLogger("uvicorn.error").addFilter(_is_news)
        with suppress(KeyboardInterrupt):  # uvicorn raises it again once the last answer was sent
            uvicorn.Server(config).run(sockets=[listener])
    print("Stopped.", flush=True)


def _is_news(record: logging.LogRecord) -> bool:
    """At Ctrl-C, that unfinished answers are given up is no error."""
    return not record.getMessage().endswith("timeout graceful shutdown exceeded")


def _listen(host: str, port: int) -> socket.socket:
    if not host.strip():
        raise ServeError(
            "--host is empty. Give an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all that it has."
        )
    if not 0 <= port <= HIGHEST_PORT:
        raise ServeError(f"there is no port {port}: give a number from 1 to {HIGHEST_PORT}, or 0 for any that is free.")
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise ServeError(_why_not(error, host, port)) from error


def _why_not(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is busy: something else, perhaps another such page, uses it. " + (
            "Stop that, or give another --port (0 takes any that is free)."
        )
    if error.errno == errno.EACCES:
        return f"port {port} may not be used by this account. Give a --port above 1023, or 0 for any that is free."
    return f"cannot serve at {host}: {error.strerror}. Give an address of this machine as --host, such as 127.0.0.1."


def _url(address: str, port: int) -> str:
    reachable = "localhost" if ip_address(address).is_unspecified else _in_url(address)
    return f"http://{reachable}:{port}"


def _in_url(address: str) -> str:
    return f"[{address}]" if ":" in address else address
