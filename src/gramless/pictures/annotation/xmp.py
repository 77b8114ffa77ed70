"""Keywords in XMP sidecar files, where photo managers look for them.

A sidecar lies beside its picture and leaves the picture alone. `sea.jpg` gets `sea.jpg.xmp`: the name that digiKam,
darktable, Immich and PhotoPrism look for, and that keeps `sea.jpg` and `sea.png` apart. Lightroom writes `sea.xmp`, but
for raw files only; of a JPEG it reads what is embedded, whatever lies beside it.

Keywords stand in the bag `dc:subject` (XMP specification, part 1, section 8.3). Where a sidecar also has a tree of
tags, as digiKam and Lightroom keep it, keywords go in there too: digiKam and darktable read it instead of the bag.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element
from xml.parsers import expat

from gramless.errors import FileFormatError
from gramless.pictures.annotation.suggestions import Annotation
from gramless.support.atomic import write_atomically
from gramless.support.ordinary import OddFileError, open_ordinary

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
DUBLIN_CORE = "http://purl.org/dc/elements/1.1/"
PACKET, DESCRIPTION, ENTRY = f"{{{RDF}}}RDF", f"{{{RDF}}}Description", f"{{{RDF}}}li"
CONTAINERS = {f"{{{RDF}}}Bag", f"{{{RDF}}}Seq"}
SUBJECT = f"{{{DUBLIN_CORE}}}subject"
TAG_TREES = {
    "{http://www.digikam.org/ns/1.0/}TagsList": "/",
    "{http://ns.adobe.com/lightroom/1.0/}hierarchicalSubject": "|",
}
"""Lists of paths such as Places/Sea, and what separates the steps of a path."""
EMPTY = f"""<?xml version="1.0" encoding="UTF-8"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
 <rdf:RDF xmlns:rdf="{RDF}">
  <rdf:Description rdf:about="" xmlns:dc="{DUBLIN_CORE}">
   <dc:subject>
    <rdf:Bag>
    </rdf:Bag>
   </dc:subject>
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
""".encode()
CONTROL = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 forbids or advises against (section 2.2)."""
MOST_BYTES = 10**7  # of a sidecar; those of photo managers have thousands
DEEPEST = 100  # levels of nesting; real sidecars have ten or so


class SidecarProblem(NamedTuple):
    """A sidecar that was left as it is, and why."""

    path: Path
    reason: str


class SidecarError(FileFormatError):
    """There is a sidecar already, and keywords cannot be added to it without harm."""


def sidecar_of(picture: Path) -> Path:
    """Where the keywords of a picture lie: beside it, .xmp appended to its name."""
    return picture.with_name(f"{picture.name}.xmp")


def write_sidecars(annotations: Iterable[Annotation]) -> tuple[SidecarProblem, ...]:
    """Put the keywords of every picture into its sidecar; what could not be done is returned, and spoils no other.

    The sidecar of a picture without keywords is not looked at.
    """
    problems = []
    for annotation in annotations:
        if not annotation.keywords:
            continue
        sidecar = sidecar_of(annotation.path)
        try:
            add_to_sidecar(sidecar, annotation.keywords)
        except SidecarError as error:
            problems.append(SidecarProblem(sidecar, str(error)))
        except OSError as error:
            problems.append(SidecarProblem(sidecar, f"cannot be written ({error.strerror})."))
    return tuple(problems)


def add_to_sidecar(sidecar: Path, keywords: Sequence[str]) -> None:
    """Add keywords to a sidecar, or start one; everything else in it stays, and nothing stands in it twice.

    A file that is there and cannot be understood is left alone: SidecarError.
    """
    before = _read(sidecar)
    after = merge_keywords(before, keywords)
    if after != before:
        write_atomically(sidecar, lambda file: file.write(after))


def _read(sidecar: Path) -> bytes:
    try:
        with open_ordinary(sidecar, MOST_BYTES) as file:
            return file.read()
    except FileNotFoundError:
        return EMPTY
    except (OddFileError, IsADirectoryError) as error:
        raise _left_alone(str(error.strerror)) from error


def merge_keywords(packet: bytes, keywords: Sequence[str]) -> bytes:
    """An XMP packet with keywords added to its dc:subject; the same bytes if it had them all.

    Prefixes, comments, unknown contents and whatever surrounds the root stay; only the spelling of quotes, empty
    elements and character references may change.
    """
    read = _PacketReader(packet)
    wanted = list(dict.fromkeys(filter(None, map(_clean, keywords))))
    properties = [element for description in read.children(read.packet, DESCRIPTION) for element in description]
    if wanted and not any(read.names.get(element) == SUBJECT for element in properties):
        properties.append(_start_subject(read))
    lists = [element for element in properties if read.names.get(element) in (SUBJECT, *TAG_TREES)]
    added = [_extend(element, read, wanted) for element in lists]
    if not any(added):
        return packet
    # ElementTree writes carriage returns as they are, and the next reader would take them for line ends.
    text = ElementTree.tostring(read.root, encoding="unicode").replace("\r", "&#13;")
    return read.before_root + text.encode() + read.after_root


class _PacketReader:
    """An XMP packet as a tree with names as they are written, and by element the names that they stand for.

    ElementTree's own parser forgets prefixes and what surrounds the root, so its tree is built here, straight from
    expat. A document type, which can hold entities that expand without end, is refused where it begins.
    """

    def __init__(self, packet: bytes) -> None:
        self.names: dict[Element, str] = {}
        self._packet = packet
        self._scopes: list[dict[str, str]] = [{}]
        self._builder = ElementTree.TreeBuilder(insert_comments=True, insert_pis=True)
        self._parser = expat.ParserCreate("utf-8")
        self._parser.XmlDeclHandler = self._declaration
        self._parser.StartDoctypeDeclHandler = self._document_type
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._builder.data
        self._parser.CommentHandler = self._builder.comment
        self._parser.ProcessingInstructionHandler = self._builder.pi
        if not _is_utf8(packet):  # expat would read UTF-16 all the same, and positions in it mean something else
            raise _left_alone("is not in UTF-8")
        try:
            self._parser.Parse(packet, True)
        except expat.ExpatError as error:
            raise _left_alone(f"is no XML ({error})") from error
        self.root: Element = self._builder.close()
        found = next((element for element, name in self.names.items() if name == PACKET), None)
        if found is None:
            raise _left_alone("is XML, but holds no XMP (there is no rdf:RDF in it)")
        self.packet: Element = found

    def children(self, parent: Element, *names: str) -> list[Element]:
        return [child for child in parent if self.names.get(child) in names]

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.lower() not in ("utf-8", "us-ascii"):
            raise _left_alone(f"is in {encoding} and not in UTF-8")

    def _document_type(self, *details: object) -> None:
        raise _left_alone("has a document type (DOCTYPE), which no XMP has")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self._scopes) == 1:
            self.before_root = self._packet[: self._parser.CurrentByteIndex]
        if len(self._scopes) > DEEPEST:
            raise _left_alone(f"is nested more than {DEEPEST} levels deep")
        declared = {key[6:]: uri for key, uri in attributes.items() if key.partition(":")[0] == "xmlns"}
        self._scopes.append(self._scopes[-1] | declared)
        if SUBJECT in map(self._qualified, attributes):
            raise _left_alone("has a dc:subject that is no list of keywords")
        self.names[self._builder.start(tag, attributes)] = self._qualified(tag)

    def _end(self, tag: str) -> None:
        self._builder.end(tag)
        self._scopes.pop()
        if len(self._scopes) == 1:
            self.after_root = self._packet[self._parser.CurrentByteIndex :].partition(b">")[2]

    def _qualified(self, name: str) -> str:
        prefix, _, local = name.rpartition(":")
        return f"{{{self._scopes[-1].get(prefix, '')}}}{local}"


def _is_utf8(packet: bytes) -> bool:
    try:
        return "\0" not in packet.decode()
    except UnicodeDecodeError:
        return False


def _left_alone(what: str) -> SidecarError:
    return SidecarError(f"{what}, so it is left alone. Repair or remove it to have keywords written.")


def _start_subject(read: _PacketReader) -> Element:
    """An empty dc:subject in the first description of the packet, which gets one if it has none."""
    rdf = read.packet.tag.removesuffix("RDF")  # the prefix that this file has for it, with its colon
    descriptions = read.children(read.packet, DESCRIPTION)
    if not descriptions:
        descriptions = [Element(f"{rdf}Description", {f"{rdf}about": ""})]
        _append(read.packet, descriptions[0])
    subject = Element("dc:subject", {"xmlns:dc": DUBLIN_CORE})
    bag = ElementTree.SubElement(subject, f"{rdf}Bag")
    _append(descriptions[0], subject)
    read.names |= {subject: SUBJECT, bag: f"{{{RDF}}}Bag"}
    return subject


def _extend(owner: Element, read: _PacketReader, wanted: Sequence[str]) -> bool:
    """Append the keywords that the list of a property lacks; whether there were any."""
    containers = read.children(owner, *CONTAINERS)
    if not containers:
        raise _left_alone(f"has a {owner.tag} that is no list of keywords")
    known = {_clean(entry.text or "") for entry in read.children(containers[0], ENTRY)}
    if separator := TAG_TREES.get(read.names[owner]):
        known |= {path.rpartition(separator)[2] for path in known}
    new = [keyword for keyword in wanted if keyword not in known]
    for keyword in new:
        entry = Element(re.sub("(Bag|Seq)$", "li", containers[0].tag))
        entry.text = keyword
        _append(containers[0], entry)
    return bool(new)


def _append(parent: Element, child: Element) -> None:
    """Add a child on a line of its own, where those before it have one."""
    last = parent[-1] if len(parent) else None
    opening, closing = parent.text or "", (parent.text if last is None else last.tail) or ""
    if not (opening + closing).strip():
        child.tail = closing
        if last is not None:
            last.tail = opening
        elif closing:
            parent.text = f"{closing} "
    parent.append(child)


def _clean(keyword: str) -> str:
    """A keyword as XML can hold it: no control characters, one space between words, composed accents."""
    return unicodedata.normalize("NFC", " ".join(CONTROL.sub("", keyword).split()))
