"""Sitemaps: XML, index, plain text, each also gzipped. Every entry becomes a link.

An entry's hints are kept in the link's text as "lastmod=... changefreq=... priority=..."; an
entry of an index has rel "sitemap". Whether a sitemap may speak for a host, and how deep indexes
may nest, is for whoever follows the links.
"""

import zlib

from turbohtml import TokenType

from gossamer.config import MIB
from gossamer.model import Document, Extraction, LinkKind
from gossamer.process import detect
from gossamer.process.api import PlainLink, Tools, processor
from gossamer.process.detect import decode
from gossamer.process.xml import local, xml_tokens

MAX_ENTRIES = 50_000
"""Entries that are read: the protocol's own limit."""
MAX_UNZIPPED_BYTES = 50 * MIB
"""Bytes that are unzipped: the protocol's own limit."""
_HINTS = ("lastmod", "changefreq", "priority")
_HINT_CHARS = 40
_LOCATIONS = {
    "loc": LinkKind.SITEMAP,
    "image:loc": LinkKind.IMAGE,
    "video:content_loc": LinkKind.MEDIA,
    "video:player_loc": LinkKind.MEDIA,
    "video:thumbnail_loc": LinkKind.IMAGE,
}
_ENTRIES = frozenset({"url", "sitemap"})


def read(document: Document, tools: Tools) -> Extraction:
    """Return the entries of a sitemap as links."""
    body = document.body.decoded()
    is_zipped = body[:2] == b"\x1f\x8b"
    if is_zipped:
        body = _unzipped(body)
    text, charset = decode(body, "" if is_zipped else document.charset, is_cut=True)
    is_markup = text.lstrip()[:1] == "<"
    raw = _entries(text) if is_markup else _lines(text)
    count = sum(kind is LinkKind.SITEMAP for _, kind, _, _ in raw)
    is_index = any(rel for _, kind, _, rel in raw if kind is LinkKind.SITEMAP)
    return Extraction(
        charset=charset,
        links=tools.links(document.url.text, raw),
        notes={"sitemap": "index" if is_index else "urls", "entries": count},
    )


def _unzipped(body: bytes) -> bytes:
    """Return what a gzip file holds, up to the cap; of a damaged one, what comes before."""
    inflater = zlib.decompressobj(wbits=31)
    parts: list[bytes] = []
    room = MAX_UNZIPPED_BYTES
    waiting = body
    try:
        while waiting and room > 0 and not inflater.eof:
            part = inflater.decompress(waiting[: 64 * 1024], room)
            waiting = inflater.unconsumed_tail + waiting[64 * 1024 :]
            parts.append(part)
            room -= len(part)
    except zlib.error:
        pass
    return b"".join(parts)


def _lines(text: str) -> list[PlainLink]:
    lines = (line.strip() for line in text.splitlines()[: 2 * MAX_ENTRIES])
    urls = [line for line in lines if line.lower().startswith("http")]
    return [(url, LinkKind.SITEMAP, "", "") for url in urls[:MAX_ENTRIES]]


def _entries(text: str) -> list[PlainLink]:
    """Return the entries of an XML sitemap, with alternates and media, up to the cap."""
    found: list[PlainLink] = []
    entry = _Entry()
    count = 0
    for token in xml_tokens(text):
        if token.kind is TokenType.TEXT:
            entry.says(token.text)
            continue
        is_entry = local(token.name) in _ENTRIES
        if token.kind is TokenType.START_TAG and not is_entry:
            entry.opens(token.name, token.attributes)
        elif token.kind is TokenType.END_TAG and not is_entry:
            entry.closes()
        else:
            found += entry.links()
            count += token.kind is TokenType.END_TAG
            entry = _Entry("sitemap" if local(token.name) == "sitemap" else "")
        if count >= MAX_ENTRIES:
            return found
    return found + entry.links()


class _Entry:
    """One <url> or <sitemap> while it is being read."""

    def __init__(self, rel: str = "") -> None:
        self._rel = rel
        self._tag = ""
        self._said: dict[str, str] = {}
        self._others: list[PlainLink] = []

    def opens(self, tag: str, attributes: dict[str, str]) -> None:
        self._tag = tag if tag in _LOCATIONS else local(tag)
        if self._tag == "loc" and tag.startswith(("image:", "video:")):
            self._tag = "image:loc"
        if self._tag == "link" and "href" in attributes:
            language = attributes.get("hreflang", "")[:_HINT_CHARS]
            self._others.append((attributes["href"], LinkKind.ALTERNATE, language, "alternate"))

    def says(self, text: str) -> None:
        if self._tag:
            self._said[self._tag] = self._said.get(self._tag, "") + text

    def closes(self) -> None:
        if self._tag in _LOCATIONS and self._tag != "loc":
            url = self._said.pop(self._tag, "").strip()
            self._others.append((url, _LOCATIONS[self._tag], "", ""))
        self._tag = ""

    def links(self) -> list[PlainLink]:
        url = self._said.get("loc", "").strip()
        found = [link for link in self._others if link[0]]
        if url:
            said = [
                f"{name}={value[:_HINT_CHARS]}"
                for name in _HINTS
                if (value := "".join(self._said.get(name, "").split()))
            ]
            found.insert(0, (url, LinkKind.SITEMAP, " ".join(said), self._rel))
        return found


PROCESSOR = processor(detect.SITEMAP, detect.SITEMAP_TEXT, name="sitemap")(read)
