"""Packets as programs write them, and what is in a packet by another XML library."""

from __future__ import annotations

from xml.dom import minidom

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
   crs:Exposure='+0.50'
   photoshop:Instructions="first&#xA;second > &quot;line&quot;&#9;end">
   <crs:Look><crs:Name>a &lt; b&#xD;&#xA;c<!-- inside --></crs:Name></crs:Look>
   <crs:Empty/>
  </r:Description>
 </r:RDF>
</x:xmpmeta>
<?xpacket end="w"?>
""".encode()

BILLION_LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY a{i} "{("&a" + (str(i - 1) if i else "") + ";") * 10}">' for i in range(9))
    + "]><x>&a8;</x>"
).encode()


def packet(contents: str, description: str = "") -> bytes:
    return (
        f'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="{RDF}">'
        f'<rdf:Description rdf:about="" xmlns:dc="{DC}" xmlns:digiKam="{DIGIKAM}" xmlns:lr="{LIGHTROOM}" {description}>'
        f"{contents}</rdf:Description></rdf:RDF></x:xmpmeta>"
    ).encode()


def bag(name: str, *entries: str, kind: str = "Bag") -> str:
    return f"<{name}><rdf:{kind}>{''.join(f'<rdf:li>{entry}</rdf:li>' for entry in entries)}</rdf:{kind}></{name}>"


def entries_of(data: bytes, namespace: str = DC, name: str = "subject") -> list[str]:
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
