"""What we write into an XMP packet: lists of keywords, and a description that says which of them the machine gave.

They stand where programs look for keywords. The description says by which model, when, and how probable each was, so
that exactly those can be taken back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from gramless.pictures.metadata.fields import (
    DUBLIN_CORE,
    LIGHTROOM,
    SEPARATORS,
    SUBJECT,
    TAGS,
    TREE,
    Entries,
    entries_of,
    entry_for,
    keywords_in,
    unique,
    without,
)
from gramless.pictures.metadata.packet import (
    ABOUT,
    CONTAINERS,
    DESCRIPTION,
    RDF,
    Change,
    Element,
    Packet,
    items_of,
    texts_of,
)

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


WRITTEN = {SUBJECT: "dc:subject", TREE: "lr:hierarchicalSubject"}
"""Lists that are started where they are missing: Immich does not read dc:subject, others read nothing else."""
NAMESPACES = {"rdf": RDF, "dc": DUBLIN_CORE, "lr": LIGHTROOM, "gramless": OURS}


def additions(
    packet: Packet, there: Entries, keywords: Sequence[str]
) -> tuple[list[Change], dict[str, dict[str, str]]]:
    """Entries for the lists that are there, and by keyword what was added to which list."""
    changes: list[Change] = []
    notes: dict[str, dict[str, str]] = {}
    for name, entries in there.items():
        leaves = {entry.rpartition(SEPARATORS[name] or "\0")[2] for entry in entries}
        container = packet.properties(name)[0].named(*CONTAINERS)[0]
        added = []
        for keyword in keywords:
            entry = entry_for(keyword, name)
            if entry in entries or entry in added or ("|" not in keyword and entry in leaves):
                continue
            added.append(entry)
            notes.setdefault(keyword, {})[name] = entry
        if added:
            tag = re.sub("[^:]+$", "li", container.tag)
            items = [f"<{tag}>{escape(entry)}</{tag}>" for entry in added]
            changes.append(insertion(packet, container, *items))
    return changes, notes


def insertion(packet: Packet, parent: Element, *texts: str) -> Change:
    """Elements after the last one in a parent, each with the blanks before it that the last one has."""
    blanks = b""
    if parent.children:
        last = parent.children[-1]
        blanks = packet.content[packet.cut(last).start : last.start]
    text = b"".join(blanks + element.encode() for element in texts)
    if parent.closes_itself:
        return Change(parent.inner_start - 2, parent.inner_start, b">" + text + f"</{parent.tag}>".encode())
    place = parent.children[-1].end if parent.children else parent.inner_start
    return Change(place, place, text)


def description_of(packet: Packet, attributes: Mapping[str, str], parts: Iterable[str]) -> str:
    """Of the picture that the packet is about."""
    about = next((d.attributes[ABOUT] for d in packet.descriptions if ABOUT in d.attributes), "")
    text = "".join(parts)
    used = [prefix for prefix in NAMESPACES if f"{prefix}:" in text or any(f"{prefix}:" in name for name in attributes)]
    given = {f"xmlns:{prefix}": NAMESPACES[prefix] for prefix in ("rdf", *used)} | {"rdf:about": about, **attributes}
    return f"<rdf:Description {attributes_of(given)}>{text}</rdf:Description>"


def started(missing: Iterable[str], keywords: Sequence[str]) -> list[str]:
    """Lists that the packet lacks, with these keywords."""
    return [
        list_of(WRITTEN[name], map(entry_element, unique(entry_for(keyword, name) for keyword in keywords)))
        for name in missing
    ]


def entry_element(text: str) -> str:
    return f"<rdf:li>{escape(text)}</rdf:li>"


def list_of(name: str, items: Iterable[str]) -> str:
    text = "".join(items)
    return f"<{name}><rdf:Bag>{text}</rdf:Bag></{name}>" if text else ""


def attributes_of(values: Mapping[str, str]) -> str:
    return " ".join(f"{name}={quoteattr(value)}" for name, value in values.items())
