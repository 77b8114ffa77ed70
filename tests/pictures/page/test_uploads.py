"""Bodies that are too much or no form: refused while they stream. The oracle is a request written out by hand."""

from __future__ import annotations

import json
from itertools import pairwise, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramless.pictures.page.app import make_app
from gramless.pictures.page.uploads import LIMITS, Limits, in_words
from tests.pictures.page.apart import run_apart
from tests.pictures.page.stand_in import RED, ColourModel

FORM = "multipart/form-data; boundary=lim"
END = b"--lim--\r\n"


def part(content: bytes, disposition: str = 'form-data; name="p"; filename="a.jpg"') -> bytes:
    return b"--lim\r\nContent-Disposition: " + disposition.encode() + b"\r\n\r\n" + content + b"\r\n"


def post(chunks, limits: Limits = LIMITS, kind: str | None = FORM, length: int | None = None):
    """(status, reply, chunks taken, pictures seen) of a request whose body comes in these chunks, then breaks off."""
    headers = [(b"host", b"localhost")]
    if kind is not None:
        headers.append((b"content-type", kind.encode()))
    if length is not None:
        headers.append((b"content-length", str(length).encode()))
    chunks, taken, sent, model = iter(chunks), 0, [], ColourModel()

    async def receive():
        nonlocal taken
        chunk = next(chunks, None)
        if chunk is None:
            return {"type": "http.disconnect"}
        taken += 1
        return {"type": "http.request", "body": chunk, "more_body": chunk != b""}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/annotate",
        "raw_path": b"/annotate",
        "query_string": b"",
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8765),
    }
    run_apart(make_app(model, limits)(scope, receive, send))
    body = b"".join(message.get("body", b"") for message in sent)
    return sent[0]["status"], json.loads(body), taken, model.seen


def whole(body: bytes):
    """The body in one chunk, and the end of the request; the connection then stays open."""
    yield body
    yield b""
    while True:
        yield b""


def test_an_endless_body_is_refused_at_the_limit():
    limits = Limits(picture_bytes=10**9, pictures=9, request_bytes=10_000)
    opening = part(b"")[:-2]
    status, reply, taken, seen = post((opening, *[b"x" * 1000] * 10**4), limits)
    assert status == 413
    assert "10000 bytes" in reply["detail"]
    assert taken == 11
    assert not seen


def test_a_declared_length_over_the_limit_is_refused_before_anything_is_read():
    status, reply, taken, _ = post(repeat(b"x"), Limits(request_bytes=2_500_000), length=2_500_001)
    assert (status, taken) == (413, 0)
    assert "2.5 MB" in reply["detail"]


def test_a_length_that_lies_is_counted_all_the_same():
    limits = Limits(picture_bytes=10**9, request_bytes=5_000)
    status, _, taken, _ = post((part(b"")[:-2], *[b"x" * 1000] * 10**4), limits, length=10)
    assert (status, taken) == (413, 6)


@pytest.mark.parametrize("length", ["many", "-5", "1e99", "٣"])
def test_a_length_that_is_no_number_is_not_believed(length):
    status, _, _, seen = post(whole(part(RED) + END), length=length)
    assert status == 200
    assert seen == [RED]


def test_one_picture_over_its_limit_is_refused_while_it_comes():
    limits = Limits(picture_bytes=3_000)
    status, reply, taken, seen = post((part(b"")[:-2], *[b"x" * 1000] * 10**4), limits)
    assert (status, taken) == (413, 5)  # the opening, three that fit, and one that does not
    assert "a.jpg" in reply["detail"]
    assert "3000 bytes" in reply["detail"]
    assert not seen


def test_the_limits_themselves_are_still_taken():
    body = part(RED) * 3 + END
    limits = Limits(picture_bytes=len(RED), pictures=3, request_bytes=len(body))
    assert post(whole(body), limits, length=len(body))[0] == 200
    assert post(whole(body), Limits(len(RED) - 1, 3, len(body)))[0] == 413
    assert post(whole(body), Limits(len(RED), 2, len(body)))[0] == 413
    assert post(whole(body), Limits(len(RED), 3, len(body) - 1))[0] == 413


def test_too_many_pictures_are_refused_even_if_they_are_empty():
    status, reply, _, seen = post(whole(part(b"") * 4 + END), Limits(pictures=3))
    assert status == 413
    assert "Got more than 3 pictures" in reply["detail"]
    assert not seen


def test_other_fields_are_passed_over():
    body = part(b"hello", 'form-data; name="comment"') + part(RED) + END
    assert post(whole(body))[3] == [RED]


@given(cuts=st.lists(st.integers(0, 2 * len(RED) + 300), max_size=12))
def test_chunks_may_be_cut_anywhere(cuts):
    body = part(RED) + part(RED + b"\r\n--li") + END
    edges = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    chunks = [body[a:b] for a, b in pairwise(edges) if a < b]
    assert post((*chunks, *[b""] * 9))[3] == [RED, RED + b"\r\n--li"]


@pytest.mark.parametrize(
    ("chunks", "kind", "said"),
    [
        ([part(RED), b"", b""], FORM, "cut off"),
        ([part(RED)], FORM, "broken off"),
        ([b"", b""], FORM, "cut off"),
        ([b"\x00\xff garbage", b""], FORM, "cannot be read"),
        ([END, b""], FORM, "Got no picture"),
        ([part(b"x", 'form-data; name="comment"') + END, b""], FORM, "Got no picture"),
        ([b"--lim\r\n" + b"A: b\r\n" * 10**4 + b"\r\n", b""], FORM, "cannot be read"),
        ([b"--lim\r\nA: " + b"b" * 10**6, b""], FORM, "cannot be read"),
        ([part(RED) + END, b""], "multipart/form-data", "boundary"),
        ([part(RED) + END, b""], "multipart/form-data; boundary=" + "x" * 999, "cannot be read"),
        ([part(RED) + END, b""], "multipart/mixed; boundary=lim", "multipart/form-data"),
        ([RED, b""], "image/jpeg", "multipart/form-data"),
        ([b'{"a": 1}', b""], "application/json", "multipart/form-data"),
        ([b"", b""], None, "multipart/form-data"),
    ],
)
def test_what_is_no_form_is_refused_with_a_reason(chunks, kind, said):
    status, reply, _, seen = post(chunks, kind=kind)
    assert status == 400
    assert said in reply["detail"]
    assert not seen


@pytest.mark.parametrize("field", ["picture_bytes", "pictures", "request_bytes"])
def test_limits_that_refuse_everything_are_refused(field):
    with pytest.raises(ValueError, match=f"{field}=0"):
        Limits(**{field: 0})


@pytest.mark.parametrize(
    ("n_bytes", "said"), [(25_000_000, "25 MB"), (1_500_000, "1.5 MB"), (99_999, "99999 bytes"), (1, "1 bytes")]
)
def test_sizes_are_said_in_words(n_bytes, said):
    assert in_words(n_bytes) == said
