"""The machine's keywords in a packet: given, replaced and taken back, and a person's never touched."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramless.pictures.metadata.files import NEW_PACKET, NEW_SIDECAR
from gramless.pictures.metadata.giving import give, take_back
from gramless.pictures.metadata.marks import Given, Stamp, marks_of, owners_keywords
from gramless.pictures.metadata.packet import Packet, PacketError
from tests.pictures.metadata.packets import DIGIKAM, LIGHTROOM, LIGHTROOM_FILE, RDF, bag, entries_of, packet

STAMP = Stamp("holidays.gramless", "2026-01-02T03:04:05+00:00")


def wanted(*keywords):
    return [Given(keyword, 0.5) for keyword in keywords]


def given_in(content):
    return [each.keyword for each in marks_of(Packet(content)).given]


def owners(content):
    return owners_keywords(Packet(content))


def test_a_new_packet_holds_the_keywords_where_programs_look_and_says_whose_they_are():
    content = give(NEW_SIDECAR, [Given("sea", 0.93214), Given("sky & <sun>", 0.5)], STAMP, new=True)
    assert entries_of(content) == ["sea", "sky & <sun>"]
    assert entries_of(content, LIGHTROOM, "hierarchicalSubject") == ["sea", "sky & <sun>"]
    assert b'gramless:Model="holidays.gramless"' in content
    assert b'gramless:Date="2026-01-02T03:04:05+00:00"' in content
    assert marks_of(Packet(content)).given == (Given("sea", 0.9321), Given("sky & <sun>", 0.5))
    assert owners(content) == []
    assert take_back(content) is None


@pytest.mark.parametrize(
    "start",
    [
        LIGHTROOM_FILE,
        packet(bag("dc:subject", "mum", "dad")),
        packet(bag("dc:subject", "sea")),
        packet(bag("dc:subject", "family", "mum") + bag("lr:hierarchicalSubject", "family|mum")),
        packet(bag("digiKam:TagsList", "family/mum", kind="Seq")),
        packet(
            "<dc:subject>\n  <rdf:Bag>\n   <rdf:li>mum</rdf:li>\n   <rdf:li>dad</rdf:li>\n  </rdf:Bag>\n</dc:subject>"
        ),
        packet("<dc:subject><rdf:Bag></rdf:Bag></dc:subject>"),
        f'<rdf:RDF xmlns:rdf="{RDF}"><rdf:Description rdf:about="uuid:1" xmlns:a="urn:a" a:b="c"/></rdf:RDF>'.encode(),
        f'<RDF xmlns="{RDF}"><Description/></RDF>'.encode(),
        f'<RDF xmlns="{RDF}"></RDF>'.encode(),
    ],
)
def test_what_was_given_can_be_taken_back_byte_by_byte(start):
    first = give(start, wanted("sea", "animal", "animal|cat"), STAMP)
    assert set(given_in(first)) == {"sea", "animal", "animal|cat"} - set(owners(start))
    assert owners(first) == owners(start)
    again = give(first, wanted("moon"), STAMP)
    assert given_in(again) == ["moon"]
    assert owners(again) == owners(start)
    assert take_back(first) == take_back(again) == start
    assert give(first, wanted("sea", "animal", "animal|cat"), STAMP) == first
    assert give(again, [], STAMP) == start


def test_tags_that_close_themselves_are_opened():
    start = f'<rdf:RDF xmlns:rdf="{RDF}"/>'.encode()
    content = give(start, wanted("sea"), STAMP)
    assert entries_of(content) == ["sea"]
    assert take_back(content) == f'<rdf:RDF xmlns:rdf="{RDF}"></rdf:RDF>'.encode()
    empty = packet("<dc:subject><rdf:Bag/></dc:subject>")
    assert entries_of(give(empty, wanted("sea"), STAMP)) == ["sea"]
    assert take_back(give(empty, wanted("sea"), STAMP)) == empty.replace(b"<rdf:Bag/>", b"<rdf:Bag></rdf:Bag>")


def test_children_go_into_every_list_as_it_writes_them():
    lists = bag("digiKam:TagsList", "Places/sea", kind="Seq") + bag("lr:hierarchicalSubject", "Places|sea")
    content = give(packet(bag("dc:subject", "sea") + lists), wanted("animal", "animal|cat"), STAMP)
    assert entries_of(content) == ["sea", "animal", "cat"]
    assert entries_of(content, DIGIKAM, "TagsList") == ["Places/sea", "animal", "animal/cat"]
    assert entries_of(content, LIGHTROOM, "hierarchicalSubject") == ["Places|sea", "animal", "animal|cat"]


@pytest.mark.parametrize("known", ["sea", "Places|sea", "Places"])
def test_a_persons_keyword_is_not_given_and_not_taken(known):
    start = packet(bag("lr:hierarchicalSubject", "Places|sea") + bag("dc:subject", "sea", "Places"))
    assert give(start, wanted(known), STAMP) == start
    content = give(start, wanted(known, "boat"), STAMP)
    assert given_in(content) == ["boat"]


def test_a_list_that_is_started_begins_with_what_the_owner_has_elsewhere():
    content = give(NEW_PACKET, wanted("boat"), STAMP, carried=["Zürich", "family|mum"], new=True)
    assert entries_of(content) == ["Zürich", "mum", "boat"]
    assert entries_of(content, LIGHTROOM, "hierarchicalSubject") == ["Zürich", "family|mum", "boat"]
    assert owners(content) == ["Zürich", "family|mum"]
    again = give(content, wanted("sky"), STAMP)
    assert entries_of(again) == ["Zürich", "mum", "sky"] or set(entries_of(again)) == {"Zürich", "mum", "sky"}
    assert take_back(again) is None
    assert give(NEW_PACKET, wanted("mum"), STAMP, carried=["mum"], new=True) is None


def test_what_a_person_added_to_a_list_of_ours_stays():
    content = give(NEW_PACKET, wanted("boat"), STAMP, carried=["mum"], new=True)
    edited = content.replace(b"<rdf:li>boat</rdf:li>", b"<rdf:li>boat</rdf:li><rdf:li>Grandmother</rdf:li>")
    back = take_back(edited)
    assert entries_of(back) == ["mum", "Grandmother"]
    assert b"gramless" not in back
    assert owners(give(edited, wanted("sky"), STAMP)) == ["mum", "Grandmother"]


def test_what_a_person_struck_is_not_given_again():
    content = give(NEW_PACKET, wanted("boat", "sky"), STAMP, new=True)
    edited = content.replace(b"<rdf:li>boat</rdf:li>", b"")
    for _ in range(2):
        edited = give(edited, wanted("boat", "sky", "sun"), STAMP)
        assert given_in(edited) == ["sky", "sun"]
    assert take_back(edited) is None


def test_another_program_may_write_it_in_its_own_way():
    """As exiftool and exiv2 do: one description, structures as elements, other blanks."""
    content = give(packet(bag("dc:subject", "mum")), wanted("sea"), STAMP).decode()
    inner = re.findall(r"<rdf:Description[^>]*>(.*?)</rdf:Description>", content, flags=re.DOTALL)
    (item,) = re.findall(r"<rdf:li (gramless:[^>]*)/>", content)
    fields = "".join(f"\n<{name}>{value}</{name}>" for name, value in re.findall(r'(\S+)="([^"]*)"', item))
    merged = "\n".join(inner).replace(f"<rdf:li {item}/>", f'<rdf:li rdf:parseType="Resource">{fields}</rdf:li>')
    namespaces = 'xmlns:gramless="urn:gramless:keywords:1.0/" gramless:Started="lr:hierarchicalSubject"'
    other = packet(merged + "<gramless:Model>m</gramless:Model><dc:title>x</dc:title>", namespaces)
    assert given_in(other) == ["sea"]
    assert owners(other) == ["mum"]
    back = take_back(other)
    assert b"ramless" not in back
    assert b"<dc:title>x</dc:title>" in back
    assert entries_of(back) == ["mum"]
    assert b"hierarchicalSubject" not in back


def test_hostile_keywords_stay_keywords_and_what_xml_cannot_hold_is_dropped():
    keywords = [
        "a<b>",
        "]]>",
        "</rdf:li>",
        "é",
        "🌊",
        "'\"",
        "&amp;",
        "x\x00y",
        "\x07",
        "",
        " two \n words ",
        "lone\ud800",
    ]
    content = give(NEW_SIDECAR, wanted(*keywords), STAMP, new=True)
    assert entries_of(content) == ["a<b>", "]]>", "</rdf:li>", "é", "🌊", "'\"", "&amp;", "xy", "two words", "lone"]
    assert take_back(content) is None


@given(st.lists(st.text(max_size=8), max_size=5), st.lists(st.text(max_size=8), max_size=3))
def test_any_keywords_can_be_taken_back(keywords, carried):
    start = LIGHTROOM_FILE
    content = give(start, wanted(*keywords), STAMP, carried)
    assert take_back(content) == start
    assert give(content, wanted(*keywords), STAMP, carried) == content


@pytest.mark.parametrize("contents", [packet("<dc:subject>cat</dc:subject>"), packet("", 'dc:subject="cat"')])
def test_a_subject_that_is_no_list_is_left_alone(contents):
    with pytest.raises(PacketError, match="dc:subject that is no list"):
        give(contents, wanted("dog"), STAMP)


def test_subjects_of_something_else_are_not_touched():
    nested = packet(f"<dc:relation><rdf:Description>{bag('dc:subject', 'inner')}</rdf:Description></dc:relation>")
    assert owners(nested) == []
    assert b"<rdf:li>inner</rdf:li></rdf:Bag></dc:subject></rdf:Description>" in give(nested, wanted("cat"), STAMP)
