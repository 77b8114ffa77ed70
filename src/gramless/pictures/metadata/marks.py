"""Keywords that the machine gave, marked as such in an XMP packet, so that exactly those can be taken back.

They stand where programs look for keywords. A description of our own says which they are, and by which model, when, and
how probable each was; lists that the packet lacked stand in it too, and begin with the keywords of the owner that the
picture carries elsewhere, since a program that finds a list there looks no further.

A keyword of ours that a person has struck from its list is not given again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from gramless.pictures.metadata.fields import (
    DIGIKAM,
    DUBLIN_CORE,
    LIGHTROOM,
    SEPARATORS,
    SUBJECT,
    TAGS,
    TREE,
    Entries,
    clean,
    clean_path,
    entries_of,
    entry_for,
    keywords_in,
    leaf,
    lineage,
    unique,
    without,
)
from gramless.pictures.metadata.packet import (
    ABOUT,
    CONTAINERS,
    DESCRIPTION,
    ENTRY,
    RDF,
    Change,
    Element,
    Packet,
    PacketError,
    texts_of,
)

OURS = "urn:gramless:keywords:1.0/"
MODEL, DATE, WHOLE, STARTED = (f"{{{OURS}}}{name}" for name in ("Model", "Date", "Whole", "Started"))
GIVEN, CARRIED, STRUCK = (f"{{{OURS}}}{name}" for name in ("Keywords", "Carried", "Struck"))
KEYWORD, PROBABILITY = f"{{{OURS}}}Keyword", f"{{{OURS}}}Probability"
NOTED = {SUBJECT: "Subject", TREE: "Tree", TAGS: "Tags"}
"""Attributes that note what was added to which list."""
WRITTEN = {SUBJECT: "dc:subject", TREE: "lr:hierarchicalSubject"}
"""Lists that are started where they are missing: Immich does not read dc:subject, others read nothing else."""
NAMESPACES = {"rdf": RDF, "dc": DUBLIN_CORE, "lr": LIGHTROOM, "digiKam": DIGIKAM, "gramless": OURS}


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
    items = [item for owner in packet.properties(GIVEN) for item in _items(owner)]
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


def give(
    content: bytes, given: Sequence[Given], stamp: Stamp, carried: Sequence[str] = (), new: bool = False
) -> bytes | None:
    """A packet with these keywords as the machine's in the place of those that it gave before; None where it is empty.

    What the owner has already, here or in `carried`, and what a person has struck, is not given.

    carried : the owner's keywords that stand elsewhere in the picture, for lists that are started
    new : whether the packet is started for these keywords, and goes when they do
    """
    before = marks_of(Packet(content))
    base = take_back(content)
    if base is None:
        base, new = _bare(content), True
    packet = Packet(base)
    there = entries_of(packet)
    owners = unique((*keywords_in(there), *map(clean_path, carried), *sorted(before.carried)))
    known = {part for keyword in owners for part in (*lineage(keyword), *keyword.split("|"))}
    wanted = [
        Given(keyword, probability)
        for keyword, probability in _cleaned(given)
        if keyword not in known and leaf(keyword) not in owners and keyword not in before.struck
    ]
    if not wanted and not before.struck:
        return None if new else base
    changes, notes = _additions(packet, there, [each.keyword for each in wanted])
    missing = [name for name in WRITTEN if name not in there] if wanted else []
    for keyword in (each.keyword for each in wanted):
        for name in missing:
            notes.setdefault(keyword, {})[name] = entry_for(keyword, name)
    block = _block(packet, base, wanted, notes, stamp, missing, owners, before.struck, new)
    return packet.changed([*changes, _insertion(packet, packet.rdf, block)])


def take_back(content: bytes) -> bytes | None:
    """The packet without the machine's keywords; None where it was started for them and holds nothing else."""
    packet = Packet(content)
    marks = marks_of(packet)
    bare = _bare(content)
    return None if marks.whole and hashlib.sha256(bare).hexdigest() == marks.whole else bare


def _bare(content: bytes) -> bytes:
    packet = Packet(content)
    marks = marks_of(packet)
    changes = []
    cut: set[Element] = set()
    for name in SEPARATORS:
        for owner in packet.properties(name):
            ours = [item for item in _items(owner) if clean(item.text) in marks.entries.get(name, ())]
            left = [clean(item.text) for item in _items(owner) if item not in ours]
            carried = {entry_for(keyword, name) for keyword in marks.carried}
            if WRITTEN.get(name) in marks.started and set(left) == carried:
                cut.add(owner)
            else:
                changes += [packet.cut(item) for item in ours]
    for description in packet.descriptions:
        ours = [child for child in description.children if child.name.startswith(f"{{{OURS}}}")]
        cut.update(ours)
        rest = [child for child in description.children if child not in cut]
        names = {name for name in description.attributes if not name.startswith(f"{{{OURS}}}")} - {ABOUT}
        is_ours = bool(ours) or len(description.attributes) > len(names) + (ABOUT in description.attributes)
        if is_ours and not rest and not names:
            cut.add(description)
        elif is_ours:
            changes += _cut_attributes(packet, description)
    return packet.changed([*changes, *map(packet.cut, cut)])


def _cut_attributes(packet: Packet, element: Element) -> list[Change]:
    """Our attributes of a start tag, and the declarations of our namespace."""
    prefixes = [re.escape(prefix) for prefix, uri in element.prefixes.items() if uri == OURS]
    if not prefixes:
        return []
    ours = rf"(?:xmlns:(?:{'|'.join(prefixes)})|(?:{'|'.join(prefixes)}):[^\s=]+)"
    tag = packet.content[element.start : element.inner_start]
    found = re.finditer(rf"""\s+{ours}\s*=\s*("[^"]*"|'[^']*')""".encode(), tag)
    return [Change(element.start + match.start(), element.start + match.end()) for match in found]


def _additions(
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
            changes.append(_insertion(packet, container, *items))
    return changes, notes


def _insertion(packet: Packet, parent: Element, *texts: str) -> Change:
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


def _block(
    packet: Packet,
    base: bytes,
    wanted: Sequence[Given],
    notes: Mapping[str, Mapping[str, str]],
    stamp: Stamp,
    missing: Sequence[str],
    owners: Sequence[str],
    struck: Iterable[str],
    new: bool,
) -> str:
    """Our description: the lists that were missing, and the marks."""
    about = next((d.attributes[ABOUT] for d in packet.descriptions if ABOUT in d.attributes), "")
    attributes = {f"xmlns:{prefix}": uri for prefix, uri in NAMESPACES.items()}
    attributes |= {"rdf:about": about, "gramless:Model": clean(stamp.model), "gramless:Date": clean(stamp.date)}
    if missing:
        attributes["gramless:Started"] = " ".join(WRITTEN[name] for name in missing)
    if new:
        attributes["gramless:Whole"] = hashlib.sha256(base).hexdigest()
    parts = []
    for name in missing:
        entries = unique(entry_for(keyword, name) for keyword in (*owners, *(each.keyword for each in wanted)))
        parts.append(_list(WRITTEN[name], (f"<rdf:li>{escape(entry)}</rdf:li>" for entry in entries)))
    items = []
    for keyword, probability in wanted:
        noted = {f"gramless:{NOTED[name]}": entry for name, entry in notes.get(keyword, {}).items()}
        values = {"gramless:Keyword": keyword, "gramless:Probability": f"{probability:.4f}", **noted}
        items.append(f"<rdf:li {_attributes(values)}/>")
    parts.append(_list("gramless:Keywords", items))
    if missing:
        parts.append(_list("gramless:Carried", (f"<rdf:li>{escape(keyword)}</rdf:li>" for keyword in owners)))
    parts.append(_list("gramless:Struck", (f"<rdf:li>{escape(keyword)}</rdf:li>" for keyword in sorted(struck))))
    return f"<rdf:Description {_attributes(attributes)}>{''.join(parts)}</rdf:Description>"


def _list(name: str, items: Iterable[str]) -> str:
    text = "".join(items)
    return f"<{name}><rdf:Bag>{text}</rdf:Bag></{name}>" if text else ""


def _attributes(values: Mapping[str, str]) -> str:
    return " ".join(f"{name}={quoteattr(value)}" for name, value in values.items())


def _cleaned(given: Iterable[Given]) -> list[Given]:
    kept: dict[str, Given] = {}
    for keyword, probability in given:
        path = clean_path(keyword)
        if path:
            kept.setdefault(path, Given(path, probability))
    return list(kept.values())


def _items(owner: Element) -> list[Element]:
    return [item for container in owner.named(*CONTAINERS) for item in container.named(ENTRY)]


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


__all__ = ["Given", "Marks", "PacketError", "Stamp", "give", "marks_of", "owners_keywords", "take_back"]
