"""The token of a page that is served to a network."""

from __future__ import annotations

import pytest

from tests.pictures.page.stand_in import RED, ColourModel
from tests.pictures.page.test_app import as_form, client_of

TOKEN = "a-token_of-our-own"


def guarded(model=None):
    return client_of(model or ColourModel(), hosts=("*",), token=TOKEN)


@pytest.mark.parametrize("path", ["/", "/page.js", "/model", "/healthz", "/nothing"])
@pytest.mark.parametrize(
    "headers", [{}, {"authorization": "Bearer wrong"}, {"authorization": TOKEN}, {"cookie": "gramless-token=\xe9"}]
)
def test_nothing_is_answered_without_it(path, headers):
    for query in ("", "?token=", "?token=wrong", f"?token={TOKEN}x", "?token=%ff"):
        reply = guarded().get(path + query, headers=[(k, v.encode("latin-1")) for k, v in headers.items()])
        assert reply.status_code == 401
        assert "set-cookie" not in reply.headers
        assert TOKEN not in reply.text


def test_the_model_does_not_work_without_it():
    model = ColourModel()
    assert guarded(model).post("/annotate", files=as_form(("a.jpg", RED))).status_code == 401
    assert not model.seen


def test_the_link_leaves_it_in_a_cookie_that_scripts_and_other_pages_cannot_use():
    reply = guarded().get(f"/?token={TOKEN}&a=b")
    assert reply.status_code == 303
    assert reply.headers["location"] == "/?a=b"
    cookie = reply.headers["set-cookie"]
    assert cookie.startswith(f"gramless-token={TOKEN};")
    assert {"httponly", "samesite=strict"} <= {part.strip().lower() for part in cookie.split(";")}
    assert "no-referrer" in reply.headers["referrer-policy"]
    cookies = {"cookie": f"gramless-token={TOKEN}"}
    assert guarded().get("/", headers=cookies).status_code == 200
    assert guarded().post("/annotate", files=as_form(("a.jpg", RED)), headers=cookies).status_code == 200


def test_a_program_gives_it_in_a_header():
    assert guarded().get("/model", headers={"authorization": f"bearer {TOKEN}"}).status_code == 200


@pytest.mark.parametrize("path", ["//evil.example/", "///evil.example"])
def test_the_link_leads_nowhere_else(path):
    assert guarded().get(f"http://localhost{path}?token={TOKEN}").headers["location"] == "/" + path.lstrip("/")
