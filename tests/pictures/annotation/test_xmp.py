"""Sidecars, looked at with another XML library: what is in them, what stays in them, and which are left alone."""

import os
import re
from pathlib import Path
from xml.dom import minidom

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramless.pictures.annotation.suggestions import Annotation, Suggestion
from gramless.pictures.annotation.xmp import (
    EMPTY,
    SidecarError,
    add_to_sidecar,
    merge_keywords,
    sidecar_of,
    write_sidecars,
)

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
DC = "http://purl.org/dc/elements/1.1/"
DIGIKAM, LIGHTROOM = "http://www.digikam.org/ns/1.0/", "http://ns.adobe.com/lightroom/1.0/"

LIGHTROOM_FILE = f"""<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<!-- before -->
<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="Adobe XMP Core 5.6">
 <r:RDF xmlns:r="{RDF}">
  <r:Description r:about=""
    xmlns:crs="http://ns.adobe.com/camera-raw-settings/1.0/"
    xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/"
   crs:Exposure="+0.50"
   photoshop:Instructions="first&#xA;second &quot;line&quot;&#9;end">
   <crs:Look><crs:Name>a &lt; b&#xD;&#xA;c<!-- inside --></crs:Name></crs:Look>
  </r:Description>
 </r:RDF>
</x:xmpmeta>
<?xpacket end="w"?>
"""


def packet(contents, description=""):
    return (
        f'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="{RDF}">'
        f'<rdf:Description rdf:about="" xmlns:dc="{DC}" xmlns:digiKam="{DIGIKAM}" xmlns:lr="{LIGHTROOM}" {description}>'
        f"{contents}</rdf:Description></rdf:RDF></x:xmpmeta>"
    ).encode()


def bag(name, *entries, kind="Bag"):
    return f"<{name}><rdf:{kind}>{''.join(f'<rdf:li>{entry}</rdf:li>' for entry in entries)}</rdf:{kind}></{name}>"


def entries_of(data, namespace=DC, name="subject"):
    """The entries of a list that stands exactly where XMP wants it: RDF > Description > property > Bag > li."""
    (owner,) = minidom.parseString(data).getElementsByTagNameNS(namespace, name)
    description = owner.parentNode
    assert (description.namespaceURI, description.localName) == (RDF, "Description")
    assert (description.parentNode.namespaceURI, description.parentNode.localName) == (RDF, "RDF")
    (container,) = [node for node in owner.childNodes if node.nodeType == node.ELEMENT_NODE]
    assert (container.namespaceURI, container.localName) in ((RDF, "Bag"), (RDF, "Seq"))
    items = [node for node in container.childNodes if node.nodeType == node.ELEMENT_NODE]
    assert {(item.namespaceURI, item.localName) for item in items} <= {(RDF, "li")}
    return ["".join(node.data for node in item.childNodes) for item in items]


def annotation(path, *keywords):
    return Annotation(path, path.name, tuple(Suggestion(keyword, 0.5) for keyword in keywords))


def test_a_sidecar_is_named_after_the_whole_picture():
    assert sidecar_of(Path("a/sea.tar.JPG")) == Path("a/sea.tar.JPG.xmp")


def test_a_new_sidecar_has_the_structure_of_the_specification(tmp_path):
    assert write_sidecars([annotation(tmp_path / "sea.jpg", "boat", "sky")]) == ()
    text = (tmp_path / "sea.jpg.xmp").read_text(encoding="utf-8")
    squeezed = re.sub(r">\s+<", "><", text.strip())
    assert squeezed == (
        '<?xml version="1.0" encoding="UTF-8"?><x:xmpmeta xmlns:x="adobe:ns:meta/">'
        f'<rdf:RDF xmlns:rdf="{RDF}"><rdf:Description rdf:about="" xmlns:dc="{DC}">'
        "<dc:subject><rdf:Bag><rdf:li>boat</rdf:li><rdf:li>sky</rdf:li></rdf:Bag></dc:subject>"
        "</rdf:Description></rdf:RDF></x:xmpmeta>"
    )
    assert os.listdir(tmp_path) == ["sea.jpg.xmp"]


def test_hostile_keywords_stay_keywords():
    keywords = ["a<b>", "c & d", "]]>", "</rdf:li>", "é", "🌊", "'\"", "&amp;"]
    assert entries_of(merge_keywords(EMPTY, keywords)) == keywords


def test_what_xml_cannot_hold_is_dropped_and_equal_keywords_are_written_once():
    keywords = ["x\x00y", "\x07", "", "  two \n words ", "two words", "e\u0301", "\xe9", "lone\ud800", "\ufffe", "\x85"]
    assert entries_of(merge_keywords(EMPTY, keywords)) == ["xy", "two words", "\xe9", "lone"]


@given(st.lists(st.text(max_size=8), max_size=6))
def test_any_keywords_give_a_file_that_parses_and_that_is_complete(keywords):
    merged = merge_keywords(EMPTY, keywords)
    entries = entries_of(merged)
    assert len(set(entries)) == len(entries) <= len(keywords)
    assert merge_keywords(merged, keywords) == merged


def test_keywords_join_those_that_are_there():
    merged = merge_keywords(packet(bag("dc:subject", "sky", "Über")), ["boat", "U\u0308ber", "sky", "Sky"])
    assert entries_of(merged) == ["sky", "Über", "boat", "Sky"]


def test_trees_of_tags_get_the_keywords_too_since_programs_read_them_first():
    tree = bag("digiKam:TagsList", "Places/sea", "a/b", kind="Seq") + bag("lr:hierarchicalSubject", "Sky|boat")
    merged = merge_keywords(packet(bag("dc:subject", "sea") + tree), ["sea", "boat", "a/b"])
    assert entries_of(merged) == ["sea", "boat", "a/b"]
    assert entries_of(merged, DIGIKAM, "TagsList") == ["Places/sea", "a/b", "boat"]
    assert entries_of(merged, LIGHTROOM, "hierarchicalSubject") == ["Sky|boat", "sea", "a/b"]
    assert merge_keywords(merged, ["sea", "boat", "a/b"]) == merged


def test_everything_else_in_a_sidecar_stays():
    merged = merge_keywords(LIGHTROOM_FILE.encode(), ["cat"]).decode()
    without = re.sub(r"<dc:subject.*</dc:subject>\s*", "", merged, flags=re.DOTALL)

    def tokens(text):
        return re.findall(
            r"[\w:.+]+=|<[/?!]?[\w:-]+|[^\s<>=]+", text.replace("&#xA;", "&#10;").replace("&#xD;", "&#13;")
        )

    before = tokens(LIGHTROOM_FILE.replace("&#9;", "&#09;"))
    assert tokens(without.replace("&#13;\n", "&#13;&#10;")) == before
    parsed = minidom.parseString(merged)
    (description,) = parsed.getElementsByTagNameNS(RDF, "Description")
    assert description.getAttribute("photoshop:Instructions") == 'first\nsecond "line"\tend'
    (name,) = parsed.getElementsByTagName("crs:Name")
    assert name.firstChild.data == "a < b\r\nc"
    assert merged.startswith('<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>\n<!-- before -->\n<x:xmpmeta ')
    assert merged.endswith('</x:xmpmeta>\n<?xpacket end="w"?>\n')
    assert entries_of(merged) == ["cat"]


def test_a_file_that_has_all_keywords_is_not_written_again(tmp_path):
    sidecar = tmp_path / "a.jpg.xmp"
    sidecar.write_bytes(packet(bag("dc:subject", "a", "b")))
    before = sidecar.stat()
    add_to_sidecar(sidecar, ["b", "a"])
    assert (sidecar.stat().st_ino, sidecar.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_no_keywords_no_file(tmp_path):
    assert write_sidecars([annotation(tmp_path / "sea.jpg")]) == ()
    assert not list(tmp_path.iterdir())


def test_what_lies_beside_a_picture_without_keywords_is_no_problem(tmp_path):
    (tmp_path / "sea.jpg.xmp").write_text("no xml")
    assert write_sidecars([annotation(tmp_path / "sea.jpg"), annotation(tmp_path / "gone" / "sky.jpg")]) == ()
    assert (tmp_path / "sea.jpg.xmp").read_text() == "no xml"


@pytest.mark.parametrize(
    "start",
    [
        f'<rdf:RDF xmlns:rdf="{RDF}"/>',
        f'<RDF xmlns="{RDF}"><Description/></RDF>',
        f'<rdf:RDF xmlns:rdf="{RDF}"><rdf:Description rdf:about="" xmlns:dc="urn:not-dublin-core"/></rdf:RDF>',
        f'<rdf:RDF xmlns:rdf="{RDF}"><rdf:Description xmlns:dc="{DC}"><dc:subject><rdf:Bag/></dc:subject>'
        "</rdf:Description></rdf:RDF>",
        f'<rdf:RDF xmlns:rdf="{RDF}"><rdf:Description xmlns:d="{DC}"><d:subject><rdf:Bag><!--x--></rdf:Bag></d:subject>'
        "</rdf:Description></rdf:RDF>",
    ],
)
def test_unusual_packets_get_their_keywords(start):
    assert entries_of(merge_keywords(start.encode(), ["x", "cat"])) == ["x", "cat"]


def test_subjects_of_something_else_are_not_touched():
    nested = packet(f"<dc:relation><rdf:Description>{bag('dc:subject', 'inner')}</rdf:Description></dc:relation>")
    merged = minidom.parseString(merge_keywords(nested, ["cat"]))
    inner, outer = merged.getElementsByTagNameNS(DC, "subject")
    assert "cat" not in inner.toxml()
    assert "cat" in outer.toxml()


BILLION_LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY a{i} "{("&a" + (str(i - 1) if i else "") + ";") * 10}">' for i in range(9))
    + "]><x>&a8;</x>"
)


@pytest.mark.parametrize(
    ("contents", "reason"),
    [
        (b"", "is no XML"),
        (b"not XML at all", "is no XML"),
        (LIGHTROOM_FILE.encode()[:400], "is no XML"),
        (b"\x00\xff" * 50, "is not in UTF-8"),
        (LIGHTROOM_FILE.encode("utf-16"), "is not in UTF-8"),
        (LIGHTROOM_FILE.encode("utf-16-be").replace(b"\xfe\xff", b""), "is not in UTF-8"),
        (b'<?xml version="1.0" encoding="ISO-8859-1"?><a>e</a>', "is in ISO-8859-1"),
        (b"<svg/>", "holds no XMP"),
        (packet("<dc:subject>cat</dc:subject>"), "no list of keywords"),
        (packet("", 'dc:subject="cat"'), "no list of keywords"),
        (BILLION_LAUGHS.encode(), "document type"),
        (b'<!DOCTYPE x SYSTEM "http://example.invalid/x.dtd"><x/>', "document type"),
        (b"<a>" * 5000 + b"</a>" * 5000, "nested"),
    ],
)
def test_what_cannot_be_understood_is_left_alone_and_spoils_no_other(tmp_path, contents, reason):
    sidecar = tmp_path / "bad.jpg.xmp"
    sidecar.write_bytes(contents)
    problems = write_sidecars([annotation(tmp_path / "bad.jpg", "cat"), annotation(tmp_path / "good.jpg", "dog")])
    assert [problem.path for problem in problems] == [sidecar]
    assert reason in problems[0].reason
    assert "left alone" in problems[0].reason
    assert sidecar.read_bytes() == contents
    assert entries_of((tmp_path / "good.jpg.xmp").read_bytes()) == ["dog"]
    with pytest.raises(SidecarError, match=re.escape(reason)):
        add_to_sidecar(sidecar, ["cat"])


def test_what_is_no_ordinary_file_is_left_alone(tmp_path):
    os.mkfifo(tmp_path / "fifo.jpg.xmp")
    (tmp_path / "endless.jpg.xmp").symlink_to("/dev/zero")
    with open(tmp_path / "long.jpg.xmp", "wb") as file:
        file.truncate(10**11)
    names = ("fifo", "endless", "long", "good")
    problems = write_sidecars([annotation(tmp_path / f"{name}.jpg", "cat") for name in names])
    assert [problem.reason.partition(",")[0] for problem in problems] == [
        "is a fifo",
        "is a device",
        "is larger than 10 MB",
    ]
    assert entries_of((tmp_path / "good.jpg.xmp").read_bytes()) == ["cat"]


def test_a_place_that_cannot_be_written_is_a_problem(tmp_path):
    (tmp_path / "a.jpg.xmp").mkdir()
    problems = write_sidecars([annotation(tmp_path / "a.jpg", "cat"), annotation(tmp_path / "gone" / "b.jpg", "cat")])
    assert [problem.path.name for problem in problems] == ["a.jpg.xmp", "b.jpg.xmp"]
    assert problems[0].reason.startswith("is a folder, so it is left alone.")
    assert "No such file" in problems[1].reason
