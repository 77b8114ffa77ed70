"""An XMP packet as a tree of elements that know where they stand in its bytes.

Changes are cuts and insertions at those places, so that every byte that is not meant stays as it was, and what was
inserted can be cut out again without a trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.parsers import expat

from gramless.errors import FileFormatError

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
ROOT, DESCRIPTION, ENTRY = f"{{{RDF}}}RDF", f"{{{RDF}}}Description", f"{{{RDF}}}li"
CONTAINERS = (f"{{{RDF}}}Bag", f"{{{RDF}}}Seq", f"{{{RDF}}}Alt")
ABOUT = f"{{{RDF}}}about"
MOST_BYTES = 10**7  # of a packet; those of photo managers have thousands
DEEPEST = 100  # levels of nesting; real packets have ten or so
WHITE = b" \t\r\n"


class PacketError(FileFormatError):
    """This is no XMP that keywords can be read from or added to; the message finishes the sentence "it ..."."""


class Change(NamedTuple):
    """Put `text` in the place of the bytes from `start` to `end`."""

    start: int
    end: int
    text: bytes = b""


@dataclass(eq=False)
class Element:
    """An element, from the < of its start tag to the > of its end tag; names are {namespace}local."""

    name: str
    tag: str  # the name as it is written
    attributes: Mapping[str, str]  # those of namespaces and xmlns:... apart, by their names
    prefixes: Mapping[str, str]  # declared here or further out: prefix to namespace
    parent: Element | None
    start: int
    inner_start: int  # after the start tag
    inner_end: int = 0  # before the end tag; as inner_start where the tag closes itself
    end: int = 0
    children: list[Element] = field(default_factory=list)
    text: str = ""  # directly in it

    @property
    def closes_itself(self) -> bool:
        return self.inner_end == self.end

    def named(self, *names: str) -> list[Element]:
        return [child for child in self.children if child.name in names]


class Packet:
    """The parsed packet: its rdf:RDF, the descriptions in it and their properties.

    Built straight from expat. A document type, which can hold entities that expand without end or lie elsewhere, is
    refused where it begins.
    """

    def __init__(self, content: bytes) -> None:
        if len(content) > MOST_BYTES:
            raise PacketError(f"is larger than {MOST_BYTES / 10**6:,.0f} MB")
        if not _is_utf8(content):  # expat would read UTF-16 all the same, and positions in it mean something else
            raise PacketError("is not in UTF-8")
        self.content = content
        self._open: list[Element] = []
        self._roots: list[Element] = []
        self._parser = expat.ParserCreate("utf-8")
        self._parser.XmlDeclHandler = _check_encoding
        self._parser.StartDoctypeDeclHandler = _refuse_document_type
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        try:
            self._parser.Parse(content, True)
        except expat.ExpatError as error:
            raise PacketError(f"is no XML ({error})") from error
        found = next((element for element in self.elements() if element.name == ROOT), None)
        if found is None:
            raise PacketError("is XML, but holds no XMP (there is no rdf:RDF in it)")
        self.rdf: Element = found

    @property
    def descriptions(self) -> list[Element]:
        return self.rdf.named(DESCRIPTION)

    def properties(self, *names: str) -> list[Element]:
        return [found for description in self.descriptions for found in description.named(*names)]

    def elements(self) -> Iterator[Element]:
        """All, each before those in it."""
        pending = list(reversed(self._roots))
        while pending:
            element = pending.pop()
            yield element
            pending += reversed(element.children)

    def changed(self, changes: Iterable[Change]) -> bytes:
        """The bytes with changes made, which must not overlap; of insertions at one place the first goes first."""
        pieces, done = [], 0
        for change in sorted(changes, key=lambda change: (change.start, change.end)):
            if change.end <= done and change.start < done:
                continue  # inside of what was cut already
            pieces += [self.content[done : change.start], change.text]
            done = change.end
        return b"".join([*pieces, self.content[done:]])

    def cut(self, element: Element) -> Change:
        """The element and the blanks before it, back to the tag or text that they follow."""
        start = element.start
        while start and self.content[start - 1] in WHITE:
            start -= 1
        return Change(start, element.end)

    def _start(self, tag: str, given: dict[str, str]) -> None:
        if len(self._open) >= DEEPEST:
            raise PacketError(f"is nested more than {DEEPEST} levels deep")
        parent = self._open[-1] if self._open else None
        prefixes = dict(parent.prefixes) if parent else {"xml": "http://www.w3.org/XML/1998/namespace"}
        prefixes |= {key.partition(":")[2]: uri for key, uri in given.items() if key.partition(":")[0] == "xmlns"}
        attributes = {
            _qualified(key, {**prefixes, "": ""}): value
            for key, value in given.items()
            if key.partition(":")[0] != "xmlns"
        }
        start = self._parser.CurrentByteIndex
        name = _qualified(tag, prefixes)
        element = Element(name, tag, attributes, prefixes, parent, start, _tag_end(self.content, start))
        (parent.children if parent else self._roots).append(element)
        self._open.append(element)

    def _end(self, tag: str) -> None:
        element = self._open.pop()
        if self.content[element.inner_start - 2 : element.inner_start] == b"/>":
            element.inner_end = element.end = element.inner_start
        else:
            element.inner_end = self._parser.CurrentByteIndex
            element.end = self.content.index(b">", element.inner_end) + 1

    def _text(self, text: str) -> None:
        if self._open:
            self._open[-1].text += text


def texts_of(owner: Element) -> list[str] | None:
    """The entries of the list that a property holds, in their order; None where it holds no list."""
    containers = owner.named(*CONTAINERS)
    if not containers:
        return None
    return [entry.text for entry in containers[0].named(ENTRY)]


def items_of(owner: Element) -> list[Element]:
    """The entries of all lists that a property holds, as elements."""
    return [item for container in owner.named(*CONTAINERS) for item in container.named(ENTRY)]


def _qualified(name: str, prefixes: Mapping[str, str]) -> str:
    prefix, _, local = name.rpartition(":")
    return f"{{{prefixes.get(prefix, '')}}}{local}"


def _tag_end(content: bytes, start: int) -> int:
    """After the > of the tag that starts there; a > in a quoted value is none."""
    quote = 0
    for position in range(start, len(content)):
        byte = content[position]
        if quote:
            quote = 0 if byte == quote else quote
        elif byte in b"\"'":
            quote = byte
        elif byte == 0x3E:
            return position + 1
    raise PacketError("is no XML (a tag does not end)")


def _is_utf8(content: bytes) -> bool:
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False


def _check_encoding(version: str, encoding: str | None, standalone: int) -> None:
    if encoding is not None and encoding.lower() not in ("utf-8", "us-ascii"):
        raise PacketError(f"is in {encoding} and not in UTF-8")


def _refuse_document_type(*details: object) -> None:
    raise PacketError("has a document type (DOCTYPE), which no XMP has")
