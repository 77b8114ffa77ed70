"""The routes: answers compared with what the model says itself, and everything that must be refused."""

from __future__ import annotations

import base64
import io
import re
import socket
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from PIL import Image

from gramless.errors import DataError
from gramless.pictures.page.app import STATIC, make_app
from gramless.pictures.page.uploads import LIMITS, Limits
from tests.pictures.page.apart import run_apart
from tests.pictures.page.stand_in import BLUE, GREEN, RED, ColourModel, picture_bytes


class AppClient:
    """Asks an application without a network between."""

    def __init__(self, app) -> None:
        self._app = app

    def get(self, path, **more) -> httpx.Response:
        return self._ask("GET", path, **more)

    def post(self, path, **more) -> httpx.Response:
        return self._ask("POST", path, **more)

    def options(self, path, **more) -> httpx.Response:
        return self._ask("OPTIONS", path, **more)

    def _ask(self, method, path, **more) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8765") as client:
                return await client.request(method, path, **more)

        return run_apart(ask())


def client_of(model, limits=LIMITS, **more) -> AppClient:
    return AppClient(make_app(model, limits, **more))


def as_form(*pictures: tuple[str, bytes]) -> list:
    return [("pictures", (name, content, "application/octet-stream")) for name, content in pictures]


def test_answers_are_what_the_model_says_in_the_order_sent():
    model = ColourModel()
    sent = (("b.jpg", BLUE), ("r.jpg", RED), ("g.png", picture_bytes((0, 255, 0), "PNG")))
    reply = client_of(model).post("/annotate", files=as_form(*sent))
    assert reply.status_code == 200
    answers = reply.json()["pictures"]
    assert [answer["name"] for answer in answers] == ["b.jpg", "r.jpg", "g.png"]
    assert [answer["keywords"][0]["keyword"] for answer in answers] == ["blue", "red", "green"]
    for (_, content), answer in zip(sent, answers, strict=True):
        look = ColourModel().look(content)
        assert [(k["keyword"], k["score"]) for k in answer["keywords"]] == [
            (keyword, pytest.approx(float(score))) for keyword, score in look.suggestions
        ]
        near, bare = answer["neighbours"]
        assert (near["name"], near["similarity"], near["keywords"]) == ("sea/été.jpg", 0.875, ["red", "green"])
        kind, _, encoded = near["thumbnail"].partition(",")
        assert kind == "data:image/jpeg;base64"
        assert Image.open(io.BytesIO(base64.b64decode(encoded))).format == "JPEG"
        assert bare == {"name": "no-thumbnail.jpg", "similarity": 0.5, "keywords": [], "thumbnail": ""}


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", "is empty"), (b"Dear diary,", "is no picture"), (RED[:300], "is cut off"), (b"\xff" * 900, "is no picture")],
)
def test_one_bad_file_does_not_spoil_the_others(content, reason):
    reply = client_of(ColourModel()).post(
        "/annotate", files=as_form(("a.jpg", RED), ("bad.jpg", content), ("c.jpg", BLUE))
    )
    first, bad, last = reply.json()["pictures"]
    assert first["keywords"][0]["keyword"] == "red"
    assert last["keywords"][0]["keyword"] == "blue"
    assert set(bad) == {"name", "error"}
    assert bad["name"] == "bad.jpg"
    assert reason in bad["error"]


@pytest.mark.parametrize(
    ("error", "shown"), [(DataError("too odd a shape."), "too odd"), (ZeroDivisionError(), "terminal")]
)
def test_a_model_that_fails_is_an_answer_too(error, shown, caplog):
    class Failing(ColourModel):
        def look(self, picture, n_neighbours=2):
            if picture == BLUE:
                raise error
            return super().look(picture, n_neighbours)

    bad, good = client_of(Failing()).post("/annotate", files=as_form(("a", BLUE), ("b", RED))).json()["pictures"]
    assert shown in bad["error"]
    assert good["keywords"]
    assert ("ZeroDivisionError" in caplog.text) == isinstance(error, ZeroDivisionError)


@pytest.mark.parametrize("name", ["été 日本 🐈.jpg", 'a"b.jpg', "../../etc/passwd", "<script>.png", "a;b=c.jpg", ""])
def test_hostile_names_come_back_as_they_were(name):
    boundary = "lim"
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="p"; filename="{quoted}"\r\n\r\n'
    body = head.encode() + RED + f"\r\n--{boundary}--\r\n".encode()
    reply = client_of(ColourModel()).post(
        "/annotate", content=body, headers={"content-type": f"multipart/form-data; boundary={boundary}"}
    )
    assert [answer["name"] for answer in reply.json()["pictures"]] == [name]


def test_the_model_and_its_limits_are_told():
    reply = client_of(ColourModel(), Limits(picture_bytes=7, pictures=3, request_bytes=50)).get("/model").json()
    assert reply == {
        "keywords": ["red", "green", "blue"],
        "limits": {"picture_bytes": 7, "pictures": 3, "request_bytes": 50, "requests": 16},
        "folder": False,
    }


def test_the_page_its_files_and_nothing_else():
    client = client_of(ColourModel())
    assert client.get("/healthz").json() == {"status": "ok"}
    assert "<h1" in client.get("/").text
    for file in STATIC.iterdir():
        assert client.get(f"/{file.name}").content == file.read_bytes()
    for path in ("/redoc", "/folder/status", "/../app.py", "/%2e%2e/app.py", "/..%2fapp.py", "/favicon.ico"):
        assert client.get(path).status_code == 404, path


def test_the_routes_are_documented_without_another_place():
    client = client_of(ColourModel())
    page = client.get("/docs")
    assert page.text == (STATIC / "docs.html").read_text()
    described = client.get("/openapi.json").json()
    annotate = described["paths"]["/annotate"]["post"]
    files = annotate["requestBody"]["content"]["multipart/form-data"]["schema"]["properties"]["pictures"]
    assert files == {"type": "array", "items": {"type": "string", "format": "binary"}}
    assert {"200", "400", "401", "413"} <= annotate["responses"].keys()
    reply = client.post("/annotate", files=as_form(("a.jpg", RED), ("b.jpg", b""))).json()
    answer = described["components"]["schemas"]["PictureAnswer"]["properties"]
    assert {key for picture in reply["pictures"] for key in picture} == answer.keys()


def test_the_page_names_no_other_place():
    for file in STATIC.iterdir():
        named = set(re.findall(r"\w+://[^'\"\s]+", file.read_text()))
        assert named <= {"http://www.w3.org/2000/svg"}, file.name  # the name of a language, never fetched


@pytest.mark.parametrize("path", ["/", "/page.js", "/model", "/healthz", "/nothing", "/annotate"])
def test_every_answer_has_the_strict_headers(path):
    client = client_of(ColourModel())
    for reply in (client.get(path), client.post(path), client.get(path, headers={"host": "evil.example"})):
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert not any(name.startswith("access-control") for name in reply.headers)


@pytest.mark.parametrize(
    ("host", "is_ours"),
    [
        ("localhost", True),
        ("LOCALHOST:8765", True),
        ("127.0.0.1:1", True),
        ("[::1]:8765", True),
        ("evil.example", False),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example:8765", False),
        ("", False),
        ("local host", False),
    ],
)
def test_a_foreign_host_is_refused(host, is_ours):
    model = ColourModel()
    client = client_of(model)
    assert client.get("/model", headers={"host": host}).status_code == (200 if is_ours else 400)
    client.post("/annotate", files=as_form(("a.jpg", RED)), headers={"host": host})
    assert len(model.seen) == is_ours


def test_any_host_where_the_caller_said_so():
    client = client_of(ColourModel(), hosts=("*",))
    assert client.get("/healthz", headers={"host": "studio.lan"}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:9999", "http://[broken"])
def test_a_page_from_elsewhere_cannot_make_the_model_work(origin):
    model = ColourModel()
    reply = client_of(model).post("/annotate", files=as_form(("a.jpg", RED)), headers={"origin": origin})
    assert reply.status_code == 403
    assert not model.seen


def test_our_own_page_can():
    reply = client_of(ColourModel()).post(
        "/annotate", files=as_form(("a.jpg", RED)), headers={"origin": "http://localhost:8765"}
    )
    assert reply.status_code == 200


def test_a_preflight_from_elsewhere_gets_no_leave():
    asked = {"origin": "http://evil.example", "access-control-request-method": "POST"}
    reply = client_of(ColourModel()).options("/annotate", headers=asked)
    assert "access-control-allow-origin" not in reply.headers
    assert reply.status_code == 405


def test_the_server_answers_while_the_model_looks_at_one_picture_at_a_time(served):
    model = ColourModel()
    model.gate.clear()
    address = served(model)
    with ThreadPoolExecutor(3) as people, httpx.Client(base_url=address, trust_env=False, timeout=120) as client:
        asked = [
            people.submit(client.post, "/annotate", files=as_form((f"{i}.jpg", RED), (f"{i}+.jpg", BLUE)))
            for i in range(3)
        ]
        assert model.began.wait(timeout=120)
        assert client.get("/healthz").json() == {"status": "ok"}
        assert not any(request.done() for request in asked)
        model.gate.set()
        for i, request in enumerate(asked):
            answers = request.result().json()["pictures"]
            assert [answer["name"] for answer in answers] == [f"{i}.jpg", f"{i}+.jpg"]
            assert [answer["keywords"][0]["keyword"] for answer in answers] == ["red", "blue"]
    assert model.most_at_once == 1


def test_a_request_that_was_given_up_is_not_looked_at(served):
    model = ColourModel()
    model.gate.clear()
    address = served(model)
    with ThreadPoolExecutor(1) as people, httpx.Client(base_url=address, trust_env=False, timeout=120) as client:
        first = people.submit(client.post, "/annotate", files=as_form(("1.jpg", RED)))
        assert model.began.wait(timeout=120)
        with pytest.raises(httpx.TimeoutException):
            client.post("/annotate", files=as_form(("given-up.jpg", GREEN)), timeout=0.5)
        model.gate.set()
        assert first.result().status_code == 200
        assert client.post("/annotate", files=as_form(("3.jpg", BLUE))).status_code == 200
    assert model.seen == [RED, BLUE]


def test_a_real_server_refuses_a_body_that_is_still_coming(served):
    host, _, port = served(ColourModel(), Limits(picture_bytes=100_000)).removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=120) as client:
        client.sendall(
            b"POST /annotate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
            b"Content-Type: multipart/form-data; boundary=lim\r\n\r\n"
        )
        for piece in (b'--lim\r\nContent-Disposition: form-data; name="p"; filename="a"\r\n\r\n', b"x" * 100_001):
            client.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
        reply = b""
        while not reply.endswith(b"}"):  # the body never ends, and yet the answer comes
            piece = client.recv(4096)
            assert piece
            reply += piece
    assert reply.startswith(b"HTTP/1.1 413")
    assert b"larger than 0.1 MB" in reply
