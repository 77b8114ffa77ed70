"""`serve` as people run it: in a process of its own, stopped by Ctrl-C; and every way in which it cannot start."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import httpx
import pytest
import uvicorn

from gramless.pictures.page import ServeError, serve
from gramless.pictures.page.server import SECONDS_TO_FINISH
from gramless.support.packages import MissingPackageError
from tests.pictures.page.apart import run_apart
from tests.pictures.page.stand_in import RED, ColourModel


@contextmanager
def serving(arguments: str, before: str = "") -> Iterator[tuple[subprocess.Popen, str]]:
    """A process that runs serve(model, arguments), and the address that it printed; `before` is done first."""
    program = (
        "from gramless.pictures.page import deadlines, serve\nfrom tests.pictures.page.stand_in import *\n"
        f"model = ColourModel()\n{before}\nserve(model, {arguments})"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        line = process.stdout.readline()
        yield process, re.search(r"http://\S+", line).group()
    finally:
        process.kill()
        process.communicate()


def test_it_prints_where_it_is_serves_and_stops_at_ctrl_c():
    with serving("port=0") as (process, address):
        assert re.fullmatch(r"http://127\.0\.0\.1:[1-9]\d+", address)
        with httpx.Client(base_url=address, trust_env=False, timeout=120) as client:
            reply = client.post("/annotate", files={"p": ("r.jpg", RED)})
            assert reply.json()["pictures"][0]["keywords"][0]["keyword"] == "red"
            assert "server" not in reply.headers
            assert client.get("/model", headers={"host": "evil.example"}).status_code == 400
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0
    assert out.strip() == "Stopped."
    assert err == ""


UNFINISHED_HEAD = b"POST /annotate HTTP/1.1\r\nHost: localhost\r\n"
UNFINISHED_BODY = UNFINISHED_HEAD + b"Content-Length: 900\r\nContent-Type: multipart/form-data; boundary=x\r\n\r\n--x"


@pytest.mark.parametrize("begun", [b"", UNFINISHED_HEAD, UNFINISHED_BODY], ids=["nothing", "head", "body"])
def test_requests_that_never_end_are_given_up_and_the_others_answered(begun):
    quickly = "deadlines.HEAD_SECONDS = deadlines.BODY_SECONDS = 2"  # for an honest one on a busy machine, too
    with serving("port=0", quickly) as (_, address), ExitStack() as held:
        place = ("127.0.0.1", int(address.rpartition(":")[2]))
        unfinished = [held.enter_context(socket.create_connection(place, timeout=120)) for _ in range(50)]
        for connection in unfinished:
            connection.sendall(begun)
        reply = httpx.post(f"{address}/annotate", files={"p": ("r.jpg", RED)}, trust_env=False, timeout=120)
        assert reply.json()["pictures"][0]["keywords"][0]["keyword"] == "red"
        for connection in unfinished:
            assert connection.recv(1000).startswith(b"HTTP/1.1 408 ")
            assert connection.recv(1000) == b""


def test_a_body_that_comes_slowly_is_taken_and_keeps_its_connection():
    """More than the deadline in all, but always enough in a second."""
    body = b'--x\r\nContent-Disposition: form-data; name="p"; filename="r.jpg"\r\n\r\n' + RED + b"\r\n--x--\r\n"
    slowly = "deadlines.BODY_SECONDS = 0.5; deadlines.BODY_BYTES_PER_SECOND = 100"
    head = b"POST /annotate HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\n"
    with serving("port=0", slowly) as (_, address):
        place = ("127.0.0.1", int(address.rpartition(":")[2]))
        with socket.create_connection(place, timeout=120) as connection:
            for _ in range(2):
                connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body))
                for start in range(0, len(body), 300):
                    connection.sendall(body[start : start + 300])
                    time.sleep(0.3)
                reply = b""
                while b"red" not in reply:
                    piece = connection.recv(10_000)
                    assert piece
                    reply += piece
                assert reply.startswith(b"HTTP/1.1 200 ")
                while not reply.endswith(b"]}]}"):
                    reply += connection.recv(10_000)


def test_two_hundred_at_once_are_all_answered():
    async def ask(address: str) -> list[httpx.Response]:
        many = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=address, trust_env=False, timeout=120, limits=many) as client:
            return await asyncio.gather(*(client.post("/annotate", files={"p": ("r.jpg", RED)}) for _ in range(200)))

    with serving("port=0") as (_, address):
        assert [reply.status_code for reply in run_apart(ask(address))] == [200] * 200


def test_ctrl_c_does_not_wait_for_the_model_and_leaves_no_traceback():
    told = "Thread(target=lambda: model.began.wait() and print('began', flush=True), daemon=True).start()"
    stuck = f"from threading import Thread; model.gate.clear(); {told}"
    with serving("port=0", stuck) as (process, address), ThreadPoolExecutor(1) as people:
        asked = people.submit(httpx.post, f"{address}/annotate", files={"p": ("r", RED)}, trust_env=False, timeout=120)
        place = ("127.0.0.1", int(address.rpartition(":")[2]))
        with socket.create_connection(place) as stalled:
            stalled.sendall(UNFINISHED_BODY)
            assert process.stdout.readline() == "began\n"
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=120)
        assert asked.result().status_code == 503  # the model answers only after two minutes
    assert (process.returncode, out.strip(), err) == (0, "Stopped.", "")
    assert SECONDS_TO_FINISH < 5  # beside them it takes next to nothing, on a machine that nobody else uses


@pytest.mark.parametrize("host", ["", " "])
def test_an_empty_host_is_refused(host, monkeypatch):
    monkeypatch.setattr(uvicorn.Server, "run", lambda *_, **__: pytest.fail("it is served"))
    with pytest.raises(ServeError, match=r"--host is empty"):
        serve(ColourModel(), host=host, port=0)


def test_a_network_gets_a_token_and_nothing_is_answered_without():
    with serving("host='0.0.0.0', port=0") as (_, link):
        address, _, token = link.partition("/?token=")
        assert len(token) > 30
        assert httpx.get(f"{address}/model", trust_env=False, timeout=120).status_code == 401
        bearer = {"authorization": f"Bearer {token}"}
        assert httpx.get(f"{address}/model", trust_env=False, timeout=120, headers=bearer).status_code == 200


@pytest.mark.parametrize(
    ("host", "address", "warns"),
    [("127.0.0.1", "127.0.0.1", False), ("localhost", "127.0.0.1", False), ("0.0.0.0", "localhost", True)],
)
def test_the_network_is_let_in_only_with_a_warning(host, address, warns, monkeypatch, capsys):
    run = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda server, sockets: run.append((server.config, sockets)))
    serve(ColourModel(), host=host, port=0)
    ((config, (listener,)),) = run
    assert listener.fileno() == -1  # the port is free again
    out, err = capsys.readouterr()
    assert f"http://{address}:" in out
    assert ("anybody" in err) == ("?token=" in out) == warns
    (hosts,) = [m.kwargs["allowed_hosts"] for m in config.app.user_middleware if "allowed_hosts" in m.kwargs]
    assert ("*" in hosts) == warns


def test_a_busy_port_is_explained():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ServeError, match=rf"port {port} .*busy.*--port"):
            serve(ColourModel(), port=port)


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_does_not_exist_is_explained(port):
    with pytest.raises(ServeError, match=f"no port {port}"):
        serve(ColourModel(), port=port)


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid", "::2"])
def test_an_address_of_another_machine_is_explained(host):
    with pytest.raises(ServeError, match=f"cannot serve at {host}: .*--host"):
        serve(ColourModel(), host=host, port=0)


def test_a_port_that_is_not_ours_to_take_is_explained(monkeypatch):
    def refuse(*arguments, **more):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket, "create_server", refuse)  # root, who runs many tests, may take any port
    with pytest.raises(ServeError, match="port 80 may not be used"):
        serve(ColourModel(), port=80)


@pytest.mark.parametrize("package", ["fastapi", "uvicorn", "python_multipart"])
def test_a_missing_package_is_explained(package, monkeypatch):
    for module in [name for name in sys.modules if name.startswith("gramless.pictures.page.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match=rf"{package}.*pip install 'gramless\[page\]'"):
        serve(ColourModel())


def test_the_package_alone_does_not_load_the_web_server():
    program = "import sys, gramless.pictures.page; print({'fastapi', 'uvicorn', 'starlette', 'PIL'} & {*sys.modules})"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip() == "set()"
