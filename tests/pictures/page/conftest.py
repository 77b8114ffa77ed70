"""A running server for a model, and a real browser that may talk to nobody else."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Thread

import pytest
import uvicorn

from gramless.pictures.correcting import OpenFolder
from gramless.pictures.page.answers import PageModel
from gramless.pictures.page.app import make_app
from gramless.pictures.page.uploads import LIMITS, Limits

Serve = Callable[..., str]
PATIENCE = 60_000  # milliseconds for one step in the browser: others may be busy with the processor and the disk
QUIET = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]


@pytest.fixture
def served() -> Iterator[Serve]:
    """served(model, limits, folder) starts a server in a thread and gives its address; it stops with the test."""
    with ExitStack() as servers:

        def start(model: PageModel, limits: Limits = LIMITS, folder: OpenFolder | None = None) -> str:
            return servers.enter_context(_running(model, limits, folder))

        yield start


@contextmanager
def _running(model: PageModel, limits: Limits, folder: OpenFolder | None) -> Iterator[str]:
    listener = socket.create_server(("127.0.0.1", 0))  # a connection waits in its queue until the server runs
    app = make_app(model, limits, folder=folder)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off", ws="none"))
    thread = Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def intercept(page, pattern: str, handler: Callable) -> None:
    """Hand requests to a handler, of the page loaded anew: one that is open may send its next request past it."""
    page.route(pattern, handler)
    page.reload(wait_until="domcontentloaded")


@pytest.fixture(scope="module")
def browser() -> Iterator:
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium here")
    playwright.expect.set_options(timeout=PATIENCE)
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=chromium, args=[*QUIET, "--no-first-run"])
        yield started
        started.close()


@pytest.fixture
def open_page(browser) -> Iterator[Callable]:
    """open_page(address, **context) opens the page; at the end nothing may have gone elsewhere or gone wrong."""
    contexts, requests, complaints = [], [], []

    def open_at(address: str, **settings: object):
        context = browser.new_context(**settings)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("request", lambda request: requests.append((address, request.url)))
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address)
        return page

    yield open_at
    for context in contexts:
        context.close()
    assert requests
    assert [url for address, url in requests if not url.startswith((f"{address}/", f"blob:{address}/", "data:"))] == []
    assert complaints == []
