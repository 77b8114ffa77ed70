"""Adding keywords to the lists of an XMP packet, and starting lists that it lacks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

from gramless.pictures.metadata.fields import (
    DUBLIN_CORE,
    LIGHTROOM,
    SEPARATORS,
    SUBJECT,
    TREE,
    Entries,
    entry_for,
    unique,
)
from gramless.pictures.metadata.marks import OURS
from gramless.pictures.metadata.packet import ABOUT, CONTAINERS, RDF, Change, Element, Packet

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
