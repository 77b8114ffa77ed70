"""`serve` as people run it: in a process of its own, stopped by Ctrl-C; and every way in which it cannot start."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
import uvicorn

from gramless.packages import MissingPackageError
from gramless.page import ServeError, serve
from tests.page.stand_in import RED, ColourModel


@contextmanager
def serving(arguments: str) -> Iterator[tuple[subprocess.Popen, str]]:
    """A process that runs serve(ColourModel(), arguments), and the address that it printed."""
    program = f"from gramless.page import serve; from tests.page.stand_in import *; serve(ColourModel(), {arguments})"
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
        with httpx.Client(base_url=address, trust_env=False, timeout=30) as client:
            reply = client.post("/annotate", files={"p": ("r.jpg", RED)})
            assert reply.json()["pictures"][0]["keywords"][0]["keyword"] == "red"
            assert "server" not in reply.headers
            assert client.get("/model", headers={"host": "evil.example"}).status_code == 400
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out.strip() == "Stopped."
    assert err == ""


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
    assert ("anybody" in err) == warns
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
    for module in [name for name in sys.modules if name.startswith("gramless.page.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match=rf"{package}.*pip install 'gramless\[page\]'"):
        serve(ColourModel())


def test_the_package_alone_does_not_load_the_web_server():
    program = "import sys, gramless.page; print({'fastapi', 'uvicorn', 'starlette', 'PIL'} & {*sys.modules})"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip() == "set()"
