"""What a document's header says to a crawler: Link, Refresh, X-Robots-Tag."""

import re

from gossamer.model import EMBEDDED, Document, LinkKind
from gossamer.process.api import RawLink
from gossamer.process.markup import scan
from gossamer.process.markup.rel import kind_of

_PARAMETER = re.compile(
    r""";\s*+(rel|as|type)\s*+=\s*+(?:"([^"]{0,200})"|([^";,\s]{0,200}))""", re.IGNORECASE
)
_VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
"""Directives with a value of their own after a colon; any other word before a colon is an agent."""


def header_links(document: Document) -> tuple[list[RawLink], str]:
    """Return the links in a document's header, and the canonical reference among them or ""."""
    found: list[RawLink] = []
    for name, value in document.headers:
        if name == "link":
            found += _link_field(value)
        elif name == "refresh" and (href := scan.refresh_url(value)):
            found.append((href, LinkKind.REFRESH, "", ""))
    canonical = next((href for href, _, _, rel in found if "canonical" in rel.split()), "")
    return found, canonical


def _link_field(value: str) -> list[RawLink]:
    found: list[RawLink] = []
    for piece in value.split("<")[1 : scan.MAX_FINDS]:
        href, closed, parameters = piece.partition(">")
        if closed:
            said = {m[1].lower(): m[2] or m[3] or "" for m in _PARAMETER.finditer(parameters)}
            rel = said.get("rel", "").lower()
            kind = kind_of(rel, said.get("as", ""), said.get("type", ""))
            if kind is not None:
                kept = kind if kind in EMBEDDED or kind in _RECORDED else LinkKind.HEADER
                found.append((href.strip(), kept, "", rel))
    return found


_RECORDED = frozenset({LinkKind.FORM, LinkKind.TEXT})


def directives(value: str) -> tuple[str, ...]:
    """Return the words of a robots directive list, lower case."""
    return tuple(word for part in value.lower().split(",") if (word := part.strip()))


def header_robots(document: Document, agent: str) -> tuple[str, ...]:
    """Return the X-Robots-Tag directives that are addressed to everybody or to us."""
    found: list[str] = []
    for name, value in document.headers:
        if name == "x-robots-tag":
            addressee = ""
            for word in directives(value):
                before, colon, after = word.partition(":")
                directive = word
                if colon and before.strip() not in _VALUED:
                    addressee, directive = before.strip(), after.strip()
                if directive and addressee in {"", "*", agent.lower()}:
                    found.append(directive)
    return tuple(found)
