"""The routes of an open folder: what they answer, page by page, and everything that must be refused."""

from __future__ import annotations

import csv
import io
import json

import httpx
import pytest
from PIL import Image

from gramless.pictures.correcting import orders
from gramless.pictures.datasets import read_annotated
from gramless.pictures.metadata.files import sidecar_of
from gramless.pictures.page.app import make_app
from gramless.pictures.page.security import MOST_BYTES
from tests.pictures.correcting.conftest import opened, settled, studio, wait_until
from tests.pictures.page.test_app import AppClient

__all__ = ["opened", "studio"]  # fixtures


@pytest.fixture
def folder(opened):
    return settled(opened())


@pytest.fixture
def client(folder) -> AppClient:
    return AppClient(make_app(folder, folder=folder))


def correct(client, picture, keywords, window="me", done=None, **more):
    body = {"picture": picture, "window": window, "keywords": keywords, "done": done}
    return client.post("/folder/corrections", json=body, **more)


def test_pages_of_one_order_are_those_of_the_whole(client, folder):
    first = client.get("/folder/pictures?show=all&count=7").json()
    found, order = first["pictures"], first["order"]
    while len(found) < first["total"]:
        found += client.get(f"/folder/pictures?order={order}&start={len(found)}&count=7").json()["pictures"]
    assert [picture["id"] for picture in found] == list(range(40))
    assert [picture["name"] for picture in found] == list(folder.listing.names)
    assert client.get(f"/folder/pictures?order={order}&start=40").json()["pictures"] == []


def test_an_order_stays_while_others_answer(client):
    first = client.get("/folder/pictures?show=next").json()
    ids = [picture["id"] for picture in first["pictures"]]
    correct(client, ids[0], {"sea": True}, done=True)
    again = client.get(f"/folder/pictures?show=next&order={first['order']}").json()
    assert [picture["id"] for picture in again["pictures"]] == ids
    assert again["pictures"][0]["done"]
    anew = client.get("/folder/pictures?show=next").json()
    assert ids[0] not in {picture["id"] for picture in anew["pictures"]}
    forgotten = client.get("/folder/pictures?show=answered&order=12345").json()  # of a server that was here before
    assert [picture["id"] for picture in forgotten["pictures"]] == [ids[0]]


def test_a_correction_its_undo_and_another_window(client):
    reply = correct(client, 4, {"sea": True, "  new   word ": True}).json()
    assert {w["keyword"] for w in reply["picture"]["keywords"] if w["said"]} == {"sea", "new word"}
    assert reply["undo"]
    assert not client.post("/folder/undo", json={"window": "another"}).json()["picture"]
    correct(client, 5, {"sky": False}, window="another")
    undone = client.post("/folder/undo", json={"window": "me"}).json()
    assert undone["picture"]["id"] == 4
    assert not any(w["said"] for w in undone["picture"]["keywords"])
    assert not undone["undo"]
    assert client.get("/folder/status").json()["answered"] == 1
    assert client.get("/folder/keywords").json()["new"] == []


def test_thumbnails_and_previews_are_jpegs_and_are_not_sent_twice(client, folder):
    for kind, side in (("thumbnails", 192), ("previews", 192)):
        reply = client.get(f"/folder/{kind}/3")
        assert reply.headers["content-type"] == "image/jpeg"
        assert max(Image.open(io.BytesIO(reply.content)).size) == side
    etag = {"if-none-match": client.get("/folder/thumbnails/3").headers["etag"]}
    assert client.get("/folder/thumbnails/3", headers=etag).status_code == 304
    (folder.folder / folder.listing.names[9]).unlink()
    assert client.get("/folder/thumbnails/9").status_code == 404


@pytest.mark.parametrize("path", ["pictures/40", "pictures/-1", "thumbnails/99999999999", "previews/-5"])
def test_there_are_no_other_pictures(client, path):
    assert client.get(f"/folder/{path}").status_code == 404


@pytest.mark.parametrize(
    "path",
    ["thumbnails/../../etc/passwd", "thumbnails/..%2f..%2fetc%2fpasswd", "previews/a.jpg", "thumbnails/1e3", "x"],
)
def test_no_name_leads_anywhere(client, path):
    assert client.get(f"/folder/{path}").status_code in (404, 422)


@pytest.mark.parametrize("keyword", ["", "   ", "a;b", "x" * 101, "\x00\x1b", "\n"])
def test_keywords_that_are_none_are_refused(client, folder, keyword):
    assert correct(client, 1, {keyword: True}).status_code == 400
    assert folder.spoken_of() == []


@pytest.mark.parametrize(
    ("keyword", "kept"),
    [("e\u0301te\u0301", "\u00e9t\u00e9"), ("a\u202eb", "a b"), ("<b>&amp", "<b>&amp"), ("\ud800", "?")],
)
def test_keywords_are_kept_as_text(client, folder, keyword, kept):
    body = json.dumps({"picture": 1, "window": "me", "keywords": {keyword: True}})  # \ud800 is JSON, and no text
    reply = client.post("/folder/corrections", content=body, headers={"content-type": "application/json"})
    assert reply.status_code == 200
    assert folder.said(1) == {kept: True}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"picture": 1, "window": "me"},
        {"picture": "x", "window": "me", "keywords": {}},
        {"picture": 1, "window": "", "keywords": {}},
        {"picture": 1, "window": "a b;", "keywords": {}},
        {"picture": 1, "window": "me", "keywords": {"sea": "perhaps"}},
        {"picture": 1, "window": "me", "keywords": {f"{i}": True for i in range(201)}},
        {"picture": 1, "window": "me", "keywords": {}, "path": "/etc/passwd"},
        [],
        None,
    ],
)
def test_corrections_that_are_none_are_refused(client, folder, body):
    assert client.post("/folder/corrections", json=body).status_code == 422
    assert folder.labels.version() == 0


def test_a_picture_that_is_none_cannot_be_corrected(client):
    assert correct(client, 40, {"sea": True}).status_code == 404
    assert correct(client, -1, {"sea": True}).status_code == 404


@pytest.mark.parametrize("path", ["corrections", "undo", "learn", "xmp"])
@pytest.mark.parametrize("origin", ["http://evil.example", "null"])
def test_a_page_from_elsewhere_changes_nothing(client, folder, path, origin):
    body = {"picture": 1, "window": "me", "keywords": {"sea": True}}
    assert client.post(f"/folder/{path}", json=body, headers={"origin": origin}).status_code in (403, 422)
    plain = client.post(
        f"/folder/{path}", content=json.dumps(body), headers={"origin": origin, "content-type": "text/plain"}
    )
    assert plain.status_code in (403, 422)
    assert folder.labels.version() == 0
    assert folder.learning.stage == ""


def test_nothing_is_answered_without_the_token(folder):
    guarded = AppClient(make_app(folder, hosts=("*",), token="token", folder=folder))
    for path in ("status", "events", "pictures", "thumbnails/0", "previews/0", "keywords.csv"):
        assert guarded.get(f"/folder/{path}").status_code == 401
    assert correct(guarded, 1, {"sea": True}).status_code == 401
    assert folder.labels.version() == 0
    assert correct(guarded, 1, {"sea": True}, headers={"authorization": "Bearer token"}).status_code == 200


def test_a_large_body_is_refused_before_it_is_parsed(client, folder):
    body = b'{"picture": 1, "window": "me", "keywords": {"' + b"x" * MOST_BYTES
    reply = client.post("/folder/corrections", content=body, headers={"content-type": "application/json"})
    assert reply.status_code == 413
    assert "Send less" in reply.json()["detail"]


def test_csv_can_be_learned_from_and_xmp_lies_beside(client, folder, studio, tmp_path):
    correct(client, 0, {"sea": True, "=SUM(A1)": True, "sky": False}, done=True)
    correct(client, 1, {"sea": False})
    reply = client.get("/folder/keywords.csv")
    rows = list(csv.reader(io.StringIO(reply.content.decode("utf-8-sig"))))
    assert rows[0] == ["file", "keywords", "scores"]
    assert len(rows) == 3
    (tmp_path / "keywords.csv").write_bytes(reply.content)
    read = read_annotated(folder.folder, tmp_path / "keywords.csv")
    assert (read.names, read.keywords) == ((folder.listing.names[0],), ("=SUM(A1)", "sea"))
    assert client.post("/folder/xmp").json() == {"written": 1, "failed": 0, "reasons": []}
    assert b"<rdf:li>sea</rdf:li>" in sidecar_of(folder.listing.paths[0]).read_bytes()
    assert b"gramless" not in sidecar_of(folder.listing.paths[0]).read_bytes()  # a person's own, which undo leaves
    assert not sidecar_of(folder.listing.paths[1]).exists()


def test_pictures_with_keywords_beside_them_are_counted(client, folder):
    correct(client, 4, {"sea": True})
    correct(client, 6, {"sea": False})
    sidecar_of(folder.listing.paths[6]).write_text("no xml")
    reply = client.post("/folder/xmp").json()
    assert (reply["written"], reply["failed"]) == (1, 1)


def test_the_picture_that_was_asked_for_is_first_among_its_likes(client):
    found = client.get("/folder/pictures?show=like&picture=12").json()
    assert found["pictures"][0]["id"] == 12
    assert found["pictures"][0]["value"] == pytest.approx(1.0)
    assert client.get("/folder/pictures?show=like&picture=40").status_code == 404


@pytest.mark.parametrize(
    "query", ["show=odd", "least=2", "least=nan", "start=-1", "count=0", "count=201", "keyword=" + "x" * 101]
)
def test_questions_that_make_no_sense_are_refused(client, query):
    assert client.get(f"/folder/pictures?{query}").status_code == 422


def test_events_tell_what_changes(folder, served):
    address = served(folder, folder=folder)
    with (
        httpx.Client(base_url=address, trust_env=False, timeout=120) as client,
        client.stream("GET", "/folder/events") as events,
    ):
        assert events.headers["content-type"].startswith("text/event-stream")
        lines = (json.loads(line.removeprefix("data: ")) for line in events.iter_lines() if line.startswith("data: "))
        assert next(lines)["answered"] == 0
        correct(client, 3, {"sea": True}, done=True)
        assert next(lines)["answered"] == 1
        client.post("/folder/learn", json={})
        seen = next(lines)
        while seen["model"] == 0 or seen["learning"]["stage"]:
            seen = next(lines)
        assert seen["learning"]["failed"] == ""
    wait_until(lambda: not folder.learning.stage)


def test_uploads_are_answered_by_the_model_that_has_learned(folder, client, studio):
    correct(client, 0, {"quite new": True}, done=True)
    client.post("/folder/learn", json={})
    wait_until(lambda: folder.model_version == 1)
    assert "quite new" in client.get("/model").json()["keywords"]
    assert client.get("/model").json()["folder"]
    picture = studio.test.paths[0].read_bytes()
    reply = client.post("/annotate", files={"p": ("a.jpg", picture)}).json()["pictures"][0]
    assert [word["keyword"] for word in reply["keywords"]] == [s.keyword for s in folder.look(picture).suggestions]
    settled(folder)
    assert orders.answered(folder).positions.tolist() == [0]
