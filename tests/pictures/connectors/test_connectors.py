"""Connectors over real HTTP on this machine, against counterparts that ask and answer as the programs do.

What Label Studio asks was recorded: label_studio.jsonl is what version 1.23.2 sent to this backend while it was
connected, predictions were fetched, and pictures annotated, changed, skipped and deleted (tokens left out). What Immich
is asked was recorded from its own client: immich.jsonl is what @immich/sdk 3.2.2 sent for the four things that are
needed; the answers are those of its types, and of server/src (tag.service.spec.ts). PhotoPrism's request is what the
client in its internal/ai/vision (api_request.go, api_client.go), compiled, sent to this service and got an answer to.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from uuid import uuid4
from zlib import crc32

import httpx
import pytest

from gramless.errors import DataError
from gramless.pictures.annotation.annotator import Look, Suggestion
from gramless.pictures.connectors import immich, label_studio, photoprism
from gramless.pictures.connectors.json_server import json_server
from gramless.pictures.correcting.labels import REST
from gramless.storage import load
from tests.pictures.correcting.conftest import studio

__all__ = ["studio"]  # a fixture


@contextmanager
def running(server: ThreadingHTTPServer) -> Iterator[str]:
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def up() -> Iterator[Callable[..., str]]:
    with ExitStack() as servers:
        yield lambda server: servers.enter_context(running(server))


@pytest.fixture
def ask() -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False, timeout=60) as client:
        yield client


def words(studio, picture: bytes) -> list[str]:
    return [keyword for keyword, _ in studio.annotator.look(picture).suggestions]


# ---- PhotoPrism


def test_photoprism_gets_labels_in_the_form_that_it_reads(studio, up, ask):
    address = up(json_server(photoprism.routes(studio.annotator), "127.0.0.1", 0, "secret"))
    picture = studio.test.paths[0].read_bytes()
    image = f"data:image/jpeg;base64,{b64encode(picture).decode()}"
    request = {"id": str(uuid4()), "model": "gramless:latest", "version": "latest", "suffix": "", "stream": False}
    request["images"] = [image]
    headers = {"authorization": "Bearer secret"}
    reply = ask.post(f"{address}/api/v1/vision/labels", json=request, headers=headers)
    assert reply.status_code == 200
    answer = reply.json()
    assert (answer["id"], answer["code"]) == (request["id"], 200)
    assert [label["name"] for label in answer["result"]["labels"]] == words(studio, picture)
    for label in answer["result"]["labels"]:
        assert label.keys() == {"name", "source", "confidence", "topicality"}
        assert 0.0 <= label["confidence"] <= 1.0
    refused = ask.post(f"{address}/api/v1/vision/labels", json=request)
    assert refused.status_code == refused.json()["code"] == 401  # PhotoPrism takes the reason where "code" says so


def test_photoprism_gets_parents_as_categories(studio, up, ask):
    class Cats:
        def look(self, picture, n_neighbours):
            return Look((Suggestion("animal|cat", 0.75), Suggestion("animal", 0.8)), ())

    address = up(json_server(photoprism.routes(Cats()), "127.0.0.1", 0))
    request = {"images": ["data:image/jpeg;base64," + b64encode(b"any").decode()]}
    cat, animal = ask.post(f"{address}/api/v1/vision/labels", json=request).json()["result"]["labels"]
    assert (cat["name"], cat["categories"], cat["confidence"]) == ("cat", ["animal"], 0.75)
    assert animal["name"] == "animal"
    assert "categories" not in animal


@pytest.mark.parametrize(
    "images", [None, [], "data:", ["http://127.0.0.1/x"], ["file:///etc/passwd"], ["data:image/jpeg;base64,*"], [{}]]
)
def test_photoprism_s_odd_requests_are_refused_with_a_reason(studio, up, ask, images):
    address = up(json_server(photoprism.routes(studio.annotator), "127.0.0.1", 0))
    reply = ask.post(f"{address}/api/v1/vision/labels", json={"images": images})
    assert reply.status_code == reply.json()["code"] == 400
    assert reply.json()["error"]


def test_what_is_no_picture_is_said(studio, up, ask):
    address = up(json_server(photoprism.routes(studio.annotator), "127.0.0.1", 0))
    image = "data:image/jpeg;base64," + b64encode(b"Dear diary").decode()
    assert "is no picture" in ask.post(f"{address}/api/v1/vision/labels", json={"images": [image]}).json()["error"]


# ---- the server of both


def test_the_server_refuses_what_it_does_not_know(up, ask):
    address = up(json_server({("POST", "/x"): lambda body: body}, "127.0.0.1", 0, "key"))
    key = {"authorization": "Bearer key"}
    assert ask.post(f"{address}/x", json={"a": 1}, headers=key).json() == {"a": 1}
    assert ask.post(f"{address}/x", json={}, auth=("any", "key")).status_code == 200
    assert ask.post(f"{address}/x", json={}, auth=("any", "wrong")).status_code == 401
    assert ask.get(f"{address}/x", headers=key).status_code == 404
    for content in (b"no json", b"[1]", b"[" * 100_000):
        assert ask.post(f"{address}/x", content=content, headers=key).status_code == 400
    for length in (b"many", b"-1", b"100000001"):
        with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=60) as client:
            client.sendall(b"POST /x HTTP/1.1\r\nAuthorization: Bearer key\r\nContent-Length: " + length + b"\r\n\r\n")
            assert client.recv(100).split()[1] == b"413"


def test_health_is_told_while_the_server_is_at_work(up, ask):
    """Label Studio waits one second for it, and learning takes longer."""
    at_work, told = Event(), Event()

    def work(body):
        at_work.set()
        assert told.wait(60)
        return body

    address = up(json_server({("POST", "/x"): work, ("GET", "/health"): lambda _: {"status": "UP"}}, "127.0.0.1", 0))
    with ThreadPoolExecutor() as threads:
        working = threads.submit(httpx.post, f"{address}/x", json={"a": 1}, timeout=60, trust_env=False)
        assert at_work.wait(60)
        assert ask.get(f"{address}/health").json() == {"status": "UP"}
        told.set()
        assert working.result().json() == {"a": 1}


def test_who_does_not_wait_for_the_answer_does_no_harm(up, ask, capfd):
    done, gone = Event(), Event()

    def work(body):
        assert gone.wait(60)
        done.set()
        return {"long": "x" * 10_000_000}

    address = up(json_server({("POST", "/x"): work, ("POST", "/y"): lambda body: body}, "127.0.0.1", 0))
    with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2]))) as client:
        client.sendall(b"POST /x HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
    gone.set()
    assert done.wait(60)
    assert ask.post(f"{address}/y", json={}).status_code == 200
    assert "Traceback" not in capfd.readouterr().err


def test_a_network_needs_a_key():
    with pytest.raises(DataError, match="--key"):
        json_server({}, "0.0.0.0", 0)


# ---- counterparts that we ask


def counterpart(answer: Callable[[str, str, dict, bytes], tuple[int, bytes]]) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def _do(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            code, content = answer(
                self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, body
            )
            self.send_response(code)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = _do

        def log_message(self, *details: object) -> None:
            pass

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


ASKED = [json.loads(line) for line in (Path(__file__).parent / "immich.jsonl").read_text().splitlines()]


class FakeImmich:
    """As its controllers and data transfer objects say: pages of assets, previews, tags by path, bulk answers."""

    def __init__(self, pictures: list[bytes]) -> None:
        self.pictures = {str(uuid4()): picture for picture in pictures}
        self.tags: dict[str, str] = {}
        self.tagged: dict[str, set[str]] = {}

    def answer(self, method, path, headers, body):
        if headers.get("x-api-key") != "key":
            return 401, b'{"message": "Invalid API key", "statusCode": 401}'
        parts = path.partition("?")[0].strip("/").split("/")
        given = json.loads(body) if body else {}
        if (method, path) == ("POST", "/api/search/metadata"):
            assert given.keys() == {"page", "size", "type"}
            ids = list(self.pictures)
            start, size = 2 * (given["page"] - 1), 2  # a server may give fewer than were asked for
            items = [{"id": asset, "type": "IMAGE", "originalFileName": "a.jpg"} for asset in ids[start : start + size]]
            more = str(given["page"] + 1) if start + size < len(ids) else None
            found = {"total": len(ids), "count": len(items), "items": items, "facets": []}
            found |= {"nextPage": more, "nextCursor": more and f"after-{start + size}"}
            return 200, json.dumps({"albums": {}, "assets": found}).encode()
        if method == "GET" and parts[:2] == ["api", "assets"] and parts[3:] == ["thumbnail"]:
            assert path.endswith("?size=preview")
            return 200, self.pictures[parts[2]]
        if (method, path) == ("PUT", "/api/tags"):
            made = []
            for name in dict.fromkeys("/".join(filter(None, name.split("/"))) for name in given["tags"]):
                tag, now = self.tags.setdefault(name, str(uuid4())), "2026-11-18T11:00:00.000Z"
                made.append({"id": tag, "name": name.split("/")[-1], "value": name, "createdAt": now, "updatedAt": now})
            return 200, json.dumps(made).encode()
        if method == "PUT" and parts[:2] == ["api", "tags"] and parts[3:] == ["assets"]:
            (name,) = [name for name, tag in self.tags.items() if tag == parts[2]]
            have = self.tagged.setdefault(name, set())
            answers = [
                {"id": i, "success": i not in have} | ({"error": "duplicate"} if i in have else {})
                for i in given["ids"]
            ]
            have.update(given["ids"])
            return 200, json.dumps(answers).encode()
        return 404, b"{}"


def test_immich_s_pictures_are_tagged_under_one_parent(studio, up):
    pictures = [path.read_bytes() for path in studio.test.paths[:5]]
    fake = FakeImmich([*pictures, b"no preview yet"])
    client = immich.Immich(up(counterpart(fake.answer)) + "/", "key")
    expected: dict[str, set[str]] = {}
    for asset, picture in list(fake.pictures.items())[:5]:
        for word in words(studio, picture):
            expected.setdefault(f"Gramless/{word}", set()).add(asset)
    would = immich.tag_all(studio.annotator, client, "Gramless", dry_run=True)
    assert would == {name: len(ids) for name, ids in expected.items()}
    assert not fake.tags
    assert immich.tag_all(studio.annotator, client, "Gramless") == would
    assert fake.tagged == expected
    assert not any(immich.tag_all(studio.annotator, client, "Gramless").values())  # nothing twice


def test_immich_is_asked_as_its_own_client_asks(up):
    asked = []

    def answer(method, path, headers, body):
        sent = {name: headers[name] for name in ("x-api-key", "content-type") if name in headers}
        asked.append({"method": method, "path": path, "headers": sent} | ({"body": json.loads(body)} if body else {}))
        return 200, b"[]" if method == "PUT" else b'{"assets": {"items": [], "nextPage": null}}'

    client = immich.Immich(up(counterpart(answer)), "key")
    (picture,) = ASKED[3]["body"]["ids"]
    assert not list(client.pictures())
    client.preview(picture)
    client.tag(ASKED[2]["body"]["tags"])
    client.put_tag(ASKED[3]["path"].split("/")[3], [picture])
    assert asked == ASKED


def test_immich_s_tags_have_no_empty_parts():
    assert immich.tag_name("/Mine/", "animal|cat") == "Mine/animal/cat"
    assert immich.tag_name("Gramless", "|either/or|") == "Gramless/either-or"


def test_immich_s_refusals_are_explained(studio, up):
    address = up(counterpart(FakeImmich([]).answer))
    with pytest.raises(immich.ImmichError, match=r"refuses POST.*401.*permissions"):
        immich.tag_all(studio.annotator, immich.Immich(address, "wrong"), "Gramless")
    with pytest.raises(immich.ImmichError, match="does not answer"):
        list(immich.Immich("http://127.0.0.1:9", "key").pictures())
    with pytest.raises(immich.ImmichError, match="no address"):
        immich.Immich("file:///etc/passwd", "key")
    other = up(counterpart(lambda *asked: (200, b"<html>")))
    with pytest.raises(immich.ImmichError, match="something else"):
        list(immich.Immich(other, "key").pictures())


# ---- Label Studio

EXCHANGE = [json.loads(line) for line in (Path(__file__).parent / "label_studio.jsonl").read_text().splitlines()]
PERSONAL = "head.body.signature"  # a personal access token


def recorded(path: str, action: str | None = None, skipped: bool = False) -> dict:
    """The body of a recorded request: what was asked there, or what was done in the event."""

    def is_meant(body: dict) -> bool:
        one = body.get("annotation")
        return body.get("action") == action and skipped == (isinstance(one, dict) and one["was_cancelled"])

    return next(
        deepcopy(asked["body"]) for asked in EXCHANGE if asked["path"] == path and is_meant(asked.get("body", {}))
    )


CONFIG = recorded("/predict")["label_config"]
LISTED = set(re.findall('Choice value="(.+?)"', CONFIG))


def task(number: int) -> dict:
    return {"id": 100 + number, "data": {"image": f"/data/upload/5/{number}-scene.jpg"}}


@pytest.fixture
def labelling(studio, up, tmp_path):
    """A backend and its Label Studio, which gives uploads only to those who have the token."""

    def give(method, path, headers, body):
        if (method, path) == ("POST", "/api/token/refresh") and json.loads(body) == {"refresh": PERSONAL}:
            return 200, b'{"access": "of.some.minutes"}'
        if headers.get("authorization") not in ("Token abc", "Bearer of.some.minutes"):
            return 401, b"{}"
        if path == task(99)["data"]["image"]:
            return 200, b"no picture"
        return 200, picture_at(studio, path)

    backend = label_studio.Backend(studio.annotator, up(counterpart(give)), "abc", tmp_path / "learned.gramless")
    return backend, up(json_server(backend.routes(), "127.0.0.1", 0))


def picture_at(studio, address: str) -> bytes:
    """Any picture will do for an uploaded one, but always the same."""
    assert address.startswith("/data/upload/5/")
    return studio.test.paths[crc32(address.encode()) % len(studio.test.paths)].read_bytes()


def test_all_that_label_studio_asked_is_answered(labelling, ask):
    _, address = labelling
    said = {}
    for asked in EXCHANGE:
        reply = ask.request(asked["method"], address + asked["path"], json=asked.get("body"))
        assert reply.status_code == 200, asked["path"]
        said[asked["path"]] = reply.json()
    assert said["/health"]["status"] == "UP"
    assert said["/versions"] == {"versions": [said["/setup"]["model_version"]]}


def test_label_studio_s_tasks_get_choices_that_it_lists(studio, labelling, ask):
    backend, address = labelling
    request = recorded("/predict")
    request["tasks"] += [task(99), task(3)]
    answer = ask.post(f"{address}/predict", json=request).json()
    assert answer["model_version"] == backend.version
    assert [len(found["result"]) for found in answer["results"]] == [1] * (len(request["tasks"]) - 2) + [0, 1]
    left_out = 0
    for asked, found in zip(request["tasks"], answer["results"], strict=True):
        assert 0.0 <= found["score"] <= 1.0
        for region in found["result"]:
            assert (region["from_name"], region["to_name"], region["type"]) == ("words", "image", "choices")
            suggested = words(studio, picture_at(studio, asked["data"]["image"]))
            assert region["value"]["choices"] == [word for word in suggested if word in LISTED]
            left_out += len(set(suggested) - LISTED)
    assert left_out


def test_choices_that_tasks_bring_are_not_left_out(studio, labelling, ask):
    _, address = labelling
    config = """<View><Image name="image" value="$image"/>
        <Choices name="words" toName="image" choice="multiple" value="$options"/></View>"""
    answer = ask.post(f"{address}/predict", json={"tasks": [task(3)], "label_config": config}).json()
    suggested = words(studio, picture_at(studio, task(3)["data"]["image"]))
    assert answer["results"][0]["result"][0]["value"]["choices"] == suggested


def test_label_studio_s_annotations_teach(studio, labelling, ask, tmp_path):
    backend, address = labelling
    before = backend.version
    for action in ("START_TRAINING", "ANNOTATIONS_DELETED"):
        ignored = ask.post(f"{address}/webhook", json=recorded("/webhook", action)).json()
        assert (ignored["status"], backend.version) == ("ignored", before)
    for action in ("ANNOTATION_CREATED", "ANNOTATION_UPDATED"):  # sea and harbour; then harbour alone
        assert ask.post(f"{address}/webhook", json=recorded("/webhook", action)).json()["status"] == "ok"
    assert backend.version != before
    learned = load(tmp_path / "learned.gramless")
    name = f"task {recorded('/webhook', 'ANNOTATION_UPDATED')['task']['id']}"
    assert learned.album.names == (*studio.annotator.album.names, name)  # once, however often it is updated
    assert dict(zip(learned.keywords, learned.album.labels[-1], strict=True))["harbour"]


def test_an_annotation_says_what_is_listed(studio):
    event = recorded("/webhook", "ANNOTATION_UPDATED")
    config = event["project"]["label_config"]
    number, address = event["task"]["id"], event["task"]["data"]["image"]
    harbour = {word: word == "harbour" for word in LISTED}
    assert set(studio.annotator.keywords) - LISTED
    for keywords, said in ((studio.annotator.keywords, harbour), (LISTED, harbour | {REST: False})):
        assert label_studio.lessons_in(event, keywords) == {f"task {number}": (address, said)}
    event["project"]["label_config"] = re.sub("<Choice value=.+?/>", "", config)
    said = {"harbour": True, REST: False}
    assert label_studio.lessons_in(event, studio.annotator.keywords) == {f"task {number}": (address, said)}


def test_what_was_skipped_teaches_nothing(labelling, ask):
    backend, address = labelling
    before = backend.annotator
    skipped = recorded("/webhook", "ANNOTATION_CREATED", skipped=True)
    assert ask.post(f"{address}/webhook", json=skipped).json()["status"] == "ignored"
    assert backend.annotator is before


def test_several_annotations_teach_at_once(labelling, ask):
    backend, address = labelling
    event = recorded("/webhook", "ANNOTATIONS_CREATED")
    event["annotation"][1]["result"][0]["value"]["choices"] = ["harbour"]
    event["task"].reverse()  # annotations say to which task they belong
    assert ask.post(f"{address}/webhook", json=event).json()["status"] == "ok"
    assert backend.annotator.album.names[-2:] == tuple(f"task {one['task']}" for one in event["annotation"])
    assert backend.annotator.album.labels[-2:, backend.annotator.keywords.index("harbour")].tolist() == [0, 1]
    unequal = event | {"task": event["task"][:1]}
    assert ask.post(f"{address}/webhook", json=unequal).status_code == 400


def test_a_personal_access_token_is_exchanged(labelling):
    backend, _ = labelling
    other = label_studio.Backend(backend.annotator, backend.studio + "/", PERSONAL)
    request = {"tasks": [task(0)], "label_config": CONFIG}
    assert other.predict(request)["results"] == backend.predict(request)["results"]
    with pytest.raises(DataError, match="Check --studio and --token"):
        label_studio.Backend(backend.annotator, backend.studio, "not.the.same").predict(request)


@pytest.mark.parametrize(
    "place", ["http://127.0.0.1:9/a.jpg", "//evil.example/a.jpg", "file:///etc/passwd", "s3://b/a.jpg"]
)
def test_pictures_of_other_servers_are_not_fetched(labelling, ask, place):
    _, address = labelling
    asked = {"tasks": [{"id": 1, "data": {"image": place}}], "label_config": CONFIG}
    reply = ask.post(f"{address}/predict", json=asked)
    assert reply.status_code == 400
    assert "nothing is fetched" in reply.json()["error"]


@pytest.mark.parametrize(
    "config",
    ["", "<View>", "<View/>", CONFIG.replace("$image", "image"), '<!DOCTYPE x [<!ENTITY a "b">]>' + CONFIG],
)
def test_configurations_that_are_none_are_refused(labelling, ask, config):
    _, address = labelling
    assert ask.post(f"{address}/predict", json={"tasks": [task(0)], "label_config": config}).status_code == 400


def test_events_that_are_none_are_refused(labelling, ask):
    _, address = labelling
    for event in ({}, {"task": {}}, {"task": task(1), "annotation": {"result": [{"type": "choices"}]}}):
        reply = ask.post(f"{address}/webhook", json={"action": "ANNOTATION_CREATED"} | event)
        assert reply.status_code == 400


@pytest.mark.parametrize("more", [["photoprism"], ["immich", "http://127.0.0.1:1", "--key=k"], ["label_studio", "-ox"]])
def test_a_model_that_is_not_there_is_told_without_a_traceback(more, tmp_path):
    name, *options = more
    command = [sys.executable, "-m", f"gramless.pictures.connectors.{name}", "nowhere.gramless", *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("there is no model file nowhere.gramless. Check the path")
    assert len(done.stderr.splitlines()) == 1
