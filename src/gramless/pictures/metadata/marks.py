"""Which keywords of an XMP packet the machine gave: a description of our own says so.

They stand where programs look for keywords. The description says which they are, and by which model, when, and how
probable each was, so that exactly those can be taken back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from gramless.pictures.metadata.fields import (
    SUBJECT,
    TAGS,
    TREE,
    Entries,
    entries_of,
    keywords_in,
    without,
)
from gramless.pictures.metadata.packet import DESCRIPTION, Element, Packet, items_of, texts_of

OURS = "urn:gramless:keywords:1.0/"
MODEL, DATE, WHOLE, STARTED = (f"{{{OURS}}}{name}" for name in ("Model", "Date", "Whole", "Started"))
GIVEN, CARRIED, STRUCK = (f"{{{OURS}}}{name}" for name in ("Keywords", "Carried", "Struck"))
KEYWORD, PROBABILITY = f"{{{OURS}}}Keyword", f"{{{OURS}}}Probability"
NOTED = {SUBJECT: "Subject", TREE: "Tree", TAGS: "Tags"}
"""Attributes that note what was added to which list."""


class Given(NamedTuple):
    """A keyword that the machine gives, and the probability that it is right."""

    keyword: str
    probability: float


@dataclass(frozen=True)
class Stamp:
    """Who gave keywords, and when (ISO 8601)."""

    model: str
    date: str


@dataclass(frozen=True, eq=False)
class Marks:
    """What a packet says of the machine's keywords."""

    stamp: Stamp
    given: tuple[Given, ...]
    entries: Entries  # of ours, by list, as they were written
    carried: frozenset[str]
    struck: frozenset[str]
    started: frozenset[str]  # lists, as WRITTEN calls them
    whole: str | None  # the digest of the packet that was started for our keywords, without them


def marks_of(packet: Packet) -> Marks:
    """Of the packet's keywords those that are the machine's; nothing where none are."""
    texts: dict[str, str] = {}
    for description in packet.descriptions:
        texts |= {name: text for name, text in description.attributes.items() if name.startswith(f"{{{OURS}}}")}
        texts |= {child.name: child.text for child in description.named(MODEL, DATE, WHOLE, STARTED)}
    items = [item for owner in packet.properties(GIVEN) for item in items_of(owner)]
    fields = [_fields(item) for item in items]
    entries: Entries = {
        name: [values[f"{{{OURS}}}{note}"] for values in fields if f"{{{OURS}}}{note}" in values]
        for name, note in NOTED.items()
    }
    given = tuple(Given(values[KEYWORD], _number(values.get(PROBABILITY))) for values in fields if KEYWORD in values)
    there = entries_of(packet)
    gone = {
        values[KEYWORD]
        for values in fields
        for name, note in NOTED.items()
        if KEYWORD in values and values.get(f"{{{OURS}}}{note}", "") not in ("", *there.get(name, ()))
    }
    struck = gone.union(*(texts_of(owner) or () for owner in packet.properties(STRUCK)))
    carried = frozenset().union(*(texts_of(owner) or () for owner in packet.properties(CARRIED)))
    started = frozenset(texts.get(STARTED, "").split())
    stamp = Stamp(texts.get(MODEL, ""), texts.get(DATE, ""))
    return Marks(stamp, given, entries, carried, frozenset(struck), started, texts.get(WHOLE))


def owners_keywords(packet: Packet) -> list[str]:
    """The keywords of a packet that a person has given, or another program."""
    return keywords_in(without(entries_of(packet), marks_of(packet).entries))


def _fields(item: Element) -> dict[str, str]:
    """Of a structure, written as attributes or, as other programs do when they write it again, as elements."""
    inner = [item, *item.named(DESCRIPTION)]
    found: dict[str, str] = {}
    for element in inner:
        found |= element.attributes
        found |= {child.name: child.text for child in element.children}
    return found


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")
