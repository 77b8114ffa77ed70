"""A person's words in sidecars: as the person's own, over the machine's; undo and new runs leave them alone."""

import pytest

from gramless.pictures.metadata.giving import Said, say
from gramless.pictures.metadata.marks import OURS, Given, Stamp
from gramless.pictures.metadata.packet import PacketError
from gramless.pictures.metadata.reading import carried_keywords
from gramless.pictures.metadata.writing import plan_giving, plan_saying, plan_taking_back, say_all
from tests.pictures.metadata import photos
from tests.pictures.metadata.packets import BILLION_LAUGHS, LIGHTROOM, LIGHTROOM_FILE, bag, entries_of, packet
from tests.pictures.metadata.test_writing import CARRIED

STAMP = Stamp("m.gramless", "2026-01-02T03:04:05+00:00")
GIVEN = (Given("sea", 0.9), Given("boat", 0.6), Given("dog", 0.5))


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "a.jpg"
    path.write_bytes(photos.jpeg())
    return path


def sidecar(picture):
    return picture.with_name(f"{picture.name}.xmp")


def subject_and_tree(picture):
    content = sidecar(picture).read_bytes()
    return entries_of(content), entries_of(content, LIGHTROOM, "hierarchicalSubject")


@pytest.mark.parametrize("kind", CARRIED)
def test_words_stand_as_the_owners_beside_what_the_picture_carries(tmp_path, kind):
    picture = tmp_path / "a.jpg"
    picture.write_bytes(CARRIED[kind])
    before = carried_keywords(picture).keywords
    plan_saying(picture, Said(("sea", "animal|cat"), ("dog",), is_all=True)).do()
    assert subject_and_tree(picture) == ([*before, "sea", "cat"], [*before, "sea", "animal|cat"])
    assert set(carried_keywords(picture).keywords) == {*before, "sea", "animal|cat"}
    written = sidecar(picture).read_bytes()
    assert OURS.encode() not in written
    assert not plan_taking_back(sidecar(picture), "beside").changes
    assert not plan_saying(picture, Said(("sea", "animal|cat"), ("dog",), is_all=True)).changes  # once more
    plan_giving(picture, GIVEN, STAMP, "beside").do()
    plan_taking_back(sidecar(picture), "beside").do()
    assert sidecar(picture).read_bytes() == written
    assert picture.read_bytes() == CARRIED[kind]


def test_what_the_machine_gave_becomes_the_persons_goes_or_stays(picture):
    plan_giving(picture, GIVEN, STAMP, "beside").do()
    plan_saying(picture, Said(("sea", "harbour"), ("dog",))).do()
    assert {*subject_and_tree(picture)[0]} == {"sea", "harbour", "boat"}  # nobody spoke of the boat
    assert {*carried_keywords(picture).keywords} == {"sea", "harbour"}
    plan_giving(picture, GIVEN, STAMP, "beside").do()
    assert "dog" not in subject_and_tree(picture)[0]  # a person's no is not overruled
    plan_taking_back(sidecar(picture), "beside").do()
    assert subject_and_tree(picture) == (["sea", "harbour"], ["sea", "harbour"])


def test_whoever_has_said_everything_has_denied_the_rest_of_the_machines(picture):
    plan_giving(picture, GIVEN, STAMP, "beside").do()
    plan_saying(picture, Said(("boat",), is_all=True)).do()
    assert subject_and_tree(picture)[0] == ["boat"]
    assert plan_giving(picture, GIVEN, STAMP, "beside").come == ()


def test_a_sidecar_of_the_machines_alone_goes_by_undo_when_all_was_denied(picture):
    plan_giving(picture, GIVEN, STAMP, "beside").do()
    plan_saying(picture, Said((), (), is_all=True)).do()
    assert b"dc:subject" not in sidecar(picture).read_bytes()
    plan_taking_back(sidecar(picture), "beside").do()
    assert not sidecar(picture).exists()


def test_another_mind_takes_the_own_keyword_away_and_leaves_the_owners(picture):
    sidecar(picture).write_bytes(packet(bag("dc:subject", "mum", "cat") + bag("lr:hierarchicalSubject", "animal|cat")))
    plan_saying(picture, Said(("sea",))).do()
    assert subject_and_tree(picture) == (["mum", "cat", "sea"], ["animal|cat", "sea"])
    plan_saying(picture, Said((), ("sea", "cat"), is_all=True)).do()
    assert subject_and_tree(picture) == (["mum", "cat"], ["animal|cat"])  # the cat is a step of the animal


def test_every_other_byte_stays(picture):
    sidecar(picture).write_bytes(LIGHTROOM_FILE)
    plan_saying(picture, Said(("<b>&\"'",))).do()
    assert subject_and_tree(picture) == (["<b>&\"'"], ["<b>&\"'"])
    written = sidecar(picture).read_bytes()
    cut = written.index(b"<rdf:Description")
    end = written.index(b"</rdf:Description>") + len(b"</rdf:Description>")
    assert written[:cut].rstrip() + written[end:] == LIGHTROOM_FILE


def test_nothing_said_writes_nothing(picture):
    for said in (Said(()), Said((), ("sea",)), Said(("", "\x00")), Said((), is_all=True)):
        plan_saying(picture, said).do()
        assert not sidecar(picture).exists()


@pytest.mark.parametrize("content", [b"", b"no XML", BILLION_LAUGHS, "<x/>".encode("utf-16")])
def test_what_is_no_xmp_is_left_alone(picture, content):
    with pytest.raises(PacketError):
        say(content, Said(("sea",)))
    sidecar(picture).write_bytes(content)
    done, problems = say_all([(picture, Said(("sea",)))])
    assert (done, len(problems)) == ([], 1)
    assert sidecar(picture).read_bytes() == content
