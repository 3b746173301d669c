"""Feeds of four families."""

from collections.abc import Callable

import pytest

from gossamer.model import Document, Extraction, LinkKind
from gossamer.process import Registry

MakeDocument = Callable[..., Document]

RSS = """<?xml version="1.0"?><rss version="2.0"><channel><title>News &amp; more</title>
<link>http://h.test/</link><atom:link rel="self" href="http://h.test/feed"/>
<item><title>First</title><link>http://h.test/1</link><guid isPermaLink="false">abc</guid>
<description><![CDATA[<p>Some <b>bold</b> words</p>]]></description>
<enclosure url="http://h.test/1.mp3" type="audio/mpeg"/></item>
<item><guid>http://h.test/2</guid><title><![CDATA[Second]]></title></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>Notes</title>
<link href="http://h.test/"/><link rel="next" href="/feed?page=2"/>
<entry><title type="html">One &amp;amp; two</title><link rel="alternate" href="/1"/>
<summary>short</summary></entry></feed>"""
RDF = """<rdf:RDF><channel rdf:about="http://h.test/"><title>Old</title></channel>
<item rdf:about="http://h.test/1"><title>First</title><link>http://h.test/1</link></item></rdf:RDF>"""
JSON = """{"version": "https://jsonfeed.org/version/1.1", "title": "J", "home_page_url":
"http://h.test/", "items": [{"id": 1, "url": "/1", "title": "First", "content_html": "<p>x y</p>"},
null, {"external_url": 7}]}"""


def read(document: MakeDocument, registry: Registry, body: str, media_type: str) -> Extraction:
    page = document(body, url="http://h.test/feed", media_type=media_type)
    assert registry.media_type(page) == media_type
    return registry.read(page, media_type)


def entries(found: Extraction) -> list[tuple[str, LinkKind, str]]:
    return [(x.target.text, x.kind, x.text) for x in found.links]


def test_rss_entries_become_links(document: MakeDocument, registry: Registry) -> None:
    found = read(document, registry, RSS, "application/rss+xml")
    assert entries(found) == [
        ("http://h.test/", LinkKind.FEED, ""),
        ("http://h.test/1", LinkKind.FEED, "First"),
        ("http://h.test/1.mp3", LinkKind.MEDIA, "First"),
        ("http://h.test/2", LinkKind.FEED, "Second"),
    ]
    assert found.title == "News & more"
    assert "Some bold words" in found.text
    assert found.notes["entries"] == 2


def test_atom_entries_become_links(document: MakeDocument, registry: Registry) -> None:
    found = read(document, registry, ATOM, "application/atom+xml")
    assert entries(found) == [
        ("http://h.test/", LinkKind.FEED, ""),
        ("http://h.test/feed?page=2", LinkKind.NEXT, ""),
        ("http://h.test/1", LinkKind.FEED, "One & two"),
    ]
    assert found.title == "Notes"


def test_rdf_entries_become_links(document: MakeDocument, registry: Registry) -> None:
    found = read(document, registry, RDF, "application/rdf+xml")
    assert ("http://h.test/1", LinkKind.FEED, "First") in entries(found)


def test_json_entries_become_links(document: MakeDocument, registry: Registry) -> None:
    found = read(document, registry, JSON, "application/feed+json")
    assert entries(found) == [
        ("http://h.test/", LinkKind.FEED, ""),
        ("http://h.test/1", LinkKind.FEED, "First"),
    ]
    assert "x y" in found.text


@pytest.mark.parametrize("cut", range(0, len(RSS), 37))
def test_a_feed_may_end_anywhere(document: MakeDocument, registry: Registry, cut: int) -> None:
    page = document(RSS[:cut], media_type="application/rss+xml")
    assert registry.read(page, "application/rss+xml").errors == ()


@pytest.mark.parametrize("body", ["{", "[]", "null", '{"items": 3}', '{"title": []}', "[" * 9999])
def test_broken_json_does_no_harm(document: MakeDocument, registry: Registry, body: str) -> None:
    page = document(body, media_type="application/feed+json")
    assert registry.read(page, "application/feed+json").errors == ()
