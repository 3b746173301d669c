"""Gopher (RFC 1436, RFC 4266): how a package of its own teaches Gossamer a scheme.

A URL is gopher://host/TYPE SELECTOR without the blank: the first character of the path says what
kind of thing it is, and the rest is what the server is asked for, followed by a line break.
"""

import mimetypes
import re
from collections.abc import Iterator
from urllib.parse import quote_from_bytes, unquote_to_bytes

from gossamer import Exchange, Failed, FailureKind, Resource, protocol
from gossamer.model import Document, Extraction, LinkKind
from gossamer.process import RawLink, Tools, decode, processor

PORT = 70
MENU_TYPE = "application/gopher-menu"
_ROBOTS = "/robots.txt"
_MENUS = b"17"
_KNOWN = {b"0": "text/plain", b"g": "image/gif", b"h": "text/html"}
_NO_DOCUMENT = b"i378T+2"
"""Items that lead to no document: words, errors, searches, terminals, mirrors, phone books."""
_ERROR = re.compile(rb"3([^\t\r\n]*)(\t[^\r\n]*)?\r?\n(\.\r?\n?)?")
"""An answer that is nothing but an error."""


async def fetch(exchange: Exchange) -> Resource | Failed:
    """Ask for a selector; what comes until the end of the connection is the document."""
    kind, selector = split(exchange.url.target)
    if re.search(rb"[\r\n\0]", selector):
        return Failed(kind=FailureKind.NOT_FOUND, detail="a selector is one line")
    wire = await exchange.connect()
    await wire.send(selector + b"\r\n")
    content = await wire.rest()
    if error := _ERROR.fullmatch(content.in_memory()):
        words = error[1].decode("utf-8", "replace").strip()
        return Failed(kind=FailureKind.NOT_FOUND, detail=words)
    return Resource(content, media_type(kind, selector))


def split(target: str) -> tuple[bytes, bytes]:
    """Return the type and the selector that a path means; "/" is the server's first menu."""
    if target == _ROBOTS:
        return b"0", _ROBOTS.encode()
    path = unquote_to_bytes(target[1:])
    return path[:1] or b"1", path[1:]


def media_type(kind: bytes, selector: bytes) -> str:
    """Return the media type of an item."""
    if kind in _MENUS:
        return MENU_TYPE
    name = selector.decode("utf-8", "replace")
    return _KNOWN.get(kind) or mimetypes.guess_type(name)[0] or "application/octet-stream"


PROTOCOL = protocol("gopher", port=PORT, name="gopher", has_robots=True)(fetch)


def read(document: Document, tools: Tools) -> Extraction:
    """Return what a menu says, and where its items lead."""
    data = document.body.decoded()
    text, charset = decode(data, document.charset)
    shown = [line[1:].partition("\t")[0] for line in text.splitlines() if line != "."]
    return Extraction(
        title=next((line.strip() for line in shown if line.strip()), ""),
        text="\n".join(shown)[: tools.process.max_text_chars],
        charset=charset,
        links=tools.links(document.url.text, list(_links(data))),
        notes={"items": len(shown)},
    )


def _links(data: bytes) -> Iterator[RawLink]:
    for line in data.split(b"\n"):
        kind = line[:1]
        name, *rest = line[1:].rstrip(b"\r").split(b"\t")
        if len(rest) < 3 or not kind or kind in _NO_DOCUMENT:  # noqa: PLR2004 -- selector, host, port
            continue
        selector, host, port = rest[:3]
        words = name.decode("utf-8", "replace").strip()
        if selector.startswith(b"URL:"):
            yield selector[4:].decode("utf-8", "replace"), LinkKind.ANCHOR, words, ""
        elif port.isdigit():
            at = b"" if int(port) == PORT else b":" + port
            place = (host + at).decode("ascii", "replace")
            path = quote_from_bytes(kind + selector) if selector or kind != b"1" else ""
            yield f"gopher://{place}/{path}", LinkKind.ANCHOR, words, ""


MENU = processor(MENU_TYPE, name="gopher-menu")(read)
