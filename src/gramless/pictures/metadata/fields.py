"""The lists of an XMP packet that hold keywords, and what a person has written into them.

A keyword with parents is a path, "animal|cat". `dc:subject` holds names without their parents, `lr:hierarchicalSubject`
paths with | between the steps, `digiKam:TagsList` paths with /.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable

from gramless.pictures.metadata.packet import Packet, PacketError, texts_of

DUBLIN_CORE = "http://purl.org/dc/elements/1.1/"
LIGHTROOM = "http://ns.adobe.com/lightroom/1.0/"
DIGIKAM = "http://www.digikam.org/ns/1.0/"
SUBJECT = f"{{{DUBLIN_CORE}}}subject"
TREE = f"{{{LIGHTROOM}}}hierarchicalSubject"
TAGS = f"{{{DIGIKAM}}}TagsList"
SEPARATORS = {SUBJECT: None, TREE: "|", TAGS: "/"}
INTERNAL = {"darktable", "_Digikam_Internal_Tags_"}  # roots of what programs note for themselves

CONTROL = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 forbids or advises against (section 2.2)."""

Entries = dict[str, list[str]]
"""By the name of a list, its entries as they are compared."""


def clean(keyword: str) -> str:
    """A keyword as it is compared and written: no control characters, one space between words, composed accents."""
    return unicodedata.normalize("NFC", " ".join(CONTROL.sub("", keyword).split()))


def clean_path(keyword: str) -> str:
    """The same of every step of a path; empty steps are left out."""
    return "|".join(filter(None, map(clean, keyword.split("|"))))


def leaf(keyword: str) -> str:
    """A keyword without its parents."""
    return keyword.rpartition("|")[2]


def lineage(keyword: str) -> list[str]:
    """A keyword's parents from the root on, and the keyword: a, a|b, a|b|c."""
    steps = keyword.split("|")
    return ["|".join(steps[: n + 1]) for n in range(len(steps))]


def paths_of_names(keywords: Iterable[str]) -> dict[str, str]:
    """Of names without parents, each with the path that ends in it, where among these keywords is exactly one."""
    known = {part for keyword in keywords for part in lineage(keyword)}
    below = defaultdict(list)
    for path in known:
        if "|" in path:
            below[leaf(path)].append(path)
    roots = {path.split("|")[0] for path in known if "|" in path}
    return {name: paths[0] for name, paths in below.items() if len(paths) == 1 and name not in roots}


def entry_for(keyword: str, name: str) -> str:
    """What stands for a keyword in a list."""
    if name == SUBJECT:
        return leaf(keyword)
    return keyword.replace("|", SEPARATORS[name] or "|")


def entries_of(packet: Packet) -> Entries:
    """All lists that are there, with their entries; PacketError where one is no list."""
    found: Entries = {}
    for name in SEPARATORS:
        if any(name in description.attributes for description in packet.descriptions):
            raise PacketError(f"has a {_shown(name)} that is no list of keywords")
        for element in packet.properties(name):
            texts = texts_of(element)
            if texts is None:
                raise PacketError(f"has a {_shown(name)} that is no list of keywords")
            found.setdefault(name, []).extend(filter(None, map(clean, texts)))
    return found


def without(entries: Entries, others: Entries) -> Entries:
    """Entries that are not among the others."""
    return {name: [text for text in texts if text not in others.get(name, ())] for name, texts in entries.items()}


def keywords_in(entries: Entries) -> list[str]:
    """The keywords that lists say together: paths, and names that are no step of a path."""
    paths = [clean_path(text) for text in entries.get(TREE, ())]
    known = {path.replace("/", "|") for path in paths}  # a / in a step is no new path
    paths += [path for text in entries.get(TAGS, ()) if (path := clean_path(text.replace("/", "|"))) not in known]
    steps = {step for path in paths for step in path.split("|")}
    names = [clean_path(text) for text in entries.get(SUBJECT, ()) if text not in steps]
    return unique(path for path in (*paths, *names) if path.split("|")[0] not in INTERNAL)


def unique(keywords: Iterable[str]) -> list[str]:
    """Without empty and repeated ones, in their order."""
    return list(dict.fromkeys(filter(None, keywords)))


def _shown(name: str) -> str:
    return {SUBJECT: "dc:subject", TREE: "lr:hierarchicalSubject", TAGS: "digiKam:TagsList"}[name]
