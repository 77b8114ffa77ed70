"""Keywords that a person gives: they stand in a packet as the owner's own, without a mark of ours.

What the person says goes over what the machine gave: a keyword that both have is the person's from then on, one that
the person has denied is taken back, and noted, so that it is not given again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gramless.pictures.metadata.fields import (
    SEPARATORS,
    SUBJECT,
    clean,
    clean_path,
    entries_of,
    entry_for,
    keywords_in,
    lineage,
    unique,
)
from gramless.pictures.metadata.giving import is_known, marked, take_back, without_ours
from gramless.pictures.metadata.lists import WRITTEN, additions, description_of, insertion, started
from gramless.pictures.metadata.marks import marks_of
from gramless.pictures.metadata.packet import Packet, items_of


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
