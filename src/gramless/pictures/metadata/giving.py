"""Keywords that the machine gives, and takes back without a trace; and those that a person gives.

Lists that the packet lacked stand in our description too, and begin with the keywords of the owner that the picture
carries elsewhere, since a program that finds a list there looks no further. A keyword of ours that a person has struck
from its list is not given again.

What a person says stands in the packet as the owner's own, without a mark of ours, and goes over what the machine gave:
a keyword that both have is the person's from then on, one that the person has denied is taken back, and noted.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gramless.pictures.metadata.fields import (
    SEPARATORS,
    SUBJECT,
    clean,
    clean_path,
    entries_of,
    entry_for,
    keywords_in,
    leaf,
    lineage,
    unique,
)
from gramless.pictures.metadata.marks import (
    NOTED,
    OURS,
    WRITTEN,
    Given,
    Stamp,
    additions,
    attributes_of,
    description_of,
    entry_element,
    insertion,
    list_of,
    marks_of,
    started,
)
from gramless.pictures.metadata.packet import ABOUT, Change, Element, Packet, items_of


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
        base, new = without_ours(content), True
    return marked(base, given, stamp, (*carried, *sorted(before.carried)), before.struck, new)


def marked(
    base: bytes, given: Sequence[Given], stamp: Stamp, carried: Sequence[str], struck: Iterable[str], new: bool
) -> bytes | None:
    """The same of a packet that holds none of ours."""
    packet = Packet(base)
    there = entries_of(packet)
    owners = unique((*keywords_in(there), *map(clean_path, carried)))
    struck = frozenset(struck)
    wanted = [each for each in _cleaned(given) if each.keyword not in struck and not is_known(each.keyword, owners)]
    if not wanted and not struck:
        return None if new else base
    changes, notes = additions(packet, there, [each.keyword for each in wanted])
    missing = [name for name in WRITTEN if name not in there] if wanted else []
    for keyword in (each.keyword for each in wanted):
        for name in missing:
            notes.setdefault(keyword, {})[name] = entry_for(keyword, name)
    # Our description: the lists that were missing, and the marks.
    attributes = {"gramless:Model": clean(stamp.model), "gramless:Date": clean(stamp.date)}
    if missing:
        attributes["gramless:Started"] = " ".join(WRITTEN[name] for name in missing)
    if new:
        attributes["gramless:Whole"] = hashlib.sha256(base).hexdigest()
    parts = started(missing, (*owners, *(each.keyword for each in wanted)))
    items = []
    for keyword, probability in wanted:
        noted = {f"gramless:{NOTED[name]}": entry for name, entry in notes.get(keyword, {}).items()}
        values = {"gramless:Keyword": keyword, "gramless:Probability": f"{probability:.4f}", **noted}
        items.append(f"<rdf:li {attributes_of(values)}/>")
    parts.append(list_of("gramless:Keywords", items))
    if missing:
        parts.append(list_of("gramless:Carried", map(entry_element, owners)))
    parts.append(list_of("gramless:Struck", map(entry_element, sorted(struck))))
    block = description_of(packet, attributes, parts)
    return packet.changed([*changes, insertion(packet, packet.rdf, block)])


def is_known(keyword: str, owners: Iterable[str]) -> bool:
    """Whether the owner has said so already: as a keyword, a parent of one, or a step of one."""
    return any(keyword in (*lineage(own), *own.split("|")) or leaf(keyword) == own for own in owners)


def take_back(content: bytes) -> bytes | None:
    """The packet without the machine's keywords; None where it was started for them and holds nothing else."""
    packet = Packet(content)
    marks = marks_of(packet)
    bare = without_ours(content)
    return None if marks.whole and hashlib.sha256(bare).hexdigest() == marks.whole else bare


def without_ours(content: bytes) -> bytes:
    """The packet without our keywords and marks, whoever it was started for."""
    packet = Packet(content)
    marks = marks_of(packet)
    changes = []
    cut: set[Element] = set()
    for name in SEPARATORS:
        for owner in packet.properties(name):
            ours = [item for item in items_of(owner) if clean(item.text) in marks.entries.get(name, ())]
            left = [clean(item.text) for item in items_of(owner) if item not in ours]
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


def _cleaned(given: Iterable[Given]) -> list[Given]:
    kept: dict[str, Given] = {}
    for keyword, probability in given:
        path = clean_path(keyword)
        if path:
            kept.setdefault(path, Given(path, probability))
    return list(kept.values())


class Said(NamedTuple):
    """What a person says of a picture."""

    has: tuple[str, ...]
    has_not: tuple[str, ...] = ()
    is_all: bool = False  # that it has, so that whatever else the machine gave is wrong


def say(content: bytes, said: Said, carried: Sequence[str] = (), new: bool = False) -> bytes | None:
    """A packet with what a person says of a picture; None where it is empty, and started for this.

    Keywords of the owner's go where they are denied by name, and are else left alone.

    carried : the owner's keywords that stand elsewhere in the picture, for lists that are started
    new : whether the packet was not there before
    """
    marks = marks_of(Packet(content))
    has = unique(map(clean_path, said.has))
    denied = {*map(clean_path, said.has_not)} - {part for keyword in has for part in lineage(keyword)}
    struck = {
        given.keyword
        for given in marks.given
        if given.keyword in denied or (said.is_all and not is_known(given.keyword, has))
    }
    left = [given for given in marks.given if given.keyword not in struck and not is_known(given.keyword, has)]
    carried = [keyword for keyword in (*carried, *sorted(marks.carried)) if clean_path(keyword) not in denied]
    bare = without_ours(content)
    base = _with(_without(bare, denied), has, carried)
    goes = base == bare and (new or take_back(content) is None)  # when nothing of the machine's is left in it
    return marked(base, left, marks.stamp, carried, (marks.struck | struck) - {*has}, goes)


def _without(content: bytes, denied: set[str]) -> bytes:
    """Without the entries of these keywords; a name stays where it is a step of another path."""
    packet = Packet(content)
    kept = {part for keyword in keywords_in(entries_of(packet)) if keyword not in denied for part in keyword.split("|")}
    changes = []
    for name in SEPARATORS:
        entries = {entry_for(keyword, name) for keyword in denied} - (kept if name == SUBJECT else set())
        for owner in packet.properties(name):
            changes += [packet.cut(item) for item in items_of(owner) if clean(item.text) in entries]
    return packet.changed(changes)


def _with(content: bytes, has: Sequence[str], carried: Sequence[str]) -> bytes:
    """With these keywords, in lists that are there and in those that are started."""
    packet = Packet(content)
    there = entries_of(packet)
    owners = unique((*keywords_in(there), *map(clean_path, carried)))
    wanted = [keyword for keyword in has if not is_known(keyword, owners)]
    if not wanted:
        return content
    changes, _ = additions(packet, there, wanted)
    missing = [name for name in WRITTEN if name not in there]
    if missing:
        lists = description_of(packet, {}, started(missing, (*owners, *wanted)))
        changes.append(insertion(packet, packet.rdf, lists))
    return packet.changed(changes)
