"""Packets: what is where in them, which cannot be read, and that nothing is changed that is not meant."""

import pytest

from gramless.pictures.metadata.packet import DEEPEST, MOST_BYTES, Change, Packet, PacketError, texts_of
from tests.pictures.metadata.packets import BILLION_LAUGHS, DC, LIGHTROOM_FILE, RDF, bag, packet


def test_elements_know_their_bytes():
    read = Packet(LIGHTROOM_FILE)
    for element in read.elements():
        text = LIGHTROOM_FILE[element.start : element.end]
        assert text.startswith(f"<{element.tag}".encode())
        assert text.endswith(b"/>" if element.closes_itself else f"</{element.tag}>".encode())
    (description,) = read.descriptions
    assert LIGHTROOM_FILE[: description.inner_start].endswith(b'&#9;end">')  # not the > inside of the value
    assert read.changed([]) == LIGHTROOM_FILE


def test_names_are_those_that_prefixes_stand_for():
    (description,) = Packet(f'<RDF xmlns="{RDF}"><Description xmlns:d="{DC}" d:title="x"/></RDF>'.encode()).descriptions
    assert description.attributes == {f"{{{DC}}}title": "x"}
    assert texts_of(Packet(packet(bag("dc:subject", "a", "b &amp; c"))).properties(f"{{{DC}}}subject")[0]) == [
        "a",
        "b & c",
    ]


def test_what_is_cut_goes_with_the_blanks_before_it():
    read = Packet(LIGHTROOM_FILE)
    look = next(element for element in read.elements() if element.tag == "crs:Look")
    empty = next(element for element in read.elements() if element.tag == "crs:Empty")
    changed = read.changed([read.cut(empty), read.cut(look), Change(0, 0, b"<!-- new -->")])
    assert b"Look" not in changed
    assert b'end">\n  </r:Description>' in changed
    assert changed.startswith(b"<!-- new --><?xpacket")
    assert Packet(changed).descriptions[0].children == []


def test_a_change_inside_of_what_is_cut_is_not_made():
    read = Packet(packet(bag("dc:subject", "a")))
    (subject,) = read.properties(f"{{{DC}}}subject")
    item = subject.children[0].children[0]
    assert read.changed([read.cut(subject), read.cut(item)]) == read.changed([read.cut(subject)])


@pytest.mark.parametrize(
    ("contents", "reason"),
    [
        (b"", "is no XML"),
        (b"not XML at all", "is no XML"),
        (LIGHTROOM_FILE[:400], "is no XML"),
        (b"\x00\xff" * 50, "is not in UTF-8"),
        (LIGHTROOM_FILE.decode().encode("utf-16"), "is not in UTF-8"),
        (b'<?xml version="1.0" encoding="ISO-8859-1"?><a>e</a>', "is in ISO-8859-1"),
        (b"<svg/>", "holds no XMP"),
        (BILLION_LAUGHS, "document type"),
        (b'<!DOCTYPE x SYSTEM "http://example.invalid/x.dtd"><x/>', "document type"),
        (b"<a>" * (DEEPEST + 1) + b"</a>" * (DEEPEST + 1), "nested"),
        (b" " * (MOST_BYTES + 1), "larger than 10 MB"),
    ],
)
def test_what_cannot_be_understood_is_refused(contents, reason):
    with pytest.raises(PacketError, match=reason):
        Packet(contents)
