"""Sitemaps, good and bad."""

import gzip
from collections.abc import Callable

import pytest

from gossamer.model import Document, Extraction, LinkKind
from gossamer.process import Registry

MakeDocument = Callable[..., Document]

TYPE = "application/sitemap+xml"
HEAD = '<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'


def read(
    document: MakeDocument, registry: Registry, body: str | bytes, media_type: str = TYPE
) -> Extraction:
    page = document(body, url="http://h.test/sitemap.xml", media_type="application/xml")
    return registry.read(page, media_type)


def test_entries_become_links_with_their_hints(document: MakeDocument, registry: Registry) -> None:
    found = read(
        document,
        registry,
        HEAD
        + "<url><loc> http://h.test/a?x=1&amp;y=2 </loc><lastmod>2024-05-06</lastmod>"
        + "<changefreq>daily</changefreq><priority>0.8</priority></url>"
        + "<url><loc><![CDATA[http://h.test/b]]></loc></url></urlset>",
    )
    assert [(link.target.text, link.kind, link.text) for link in found.links] == [
        (
            "http://h.test/a?x=1&y=2",
            LinkKind.SITEMAP,
            "lastmod=2024-05-06 changefreq=daily priority=0.8",
        ),
        ("http://h.test/b", LinkKind.SITEMAP, ""),
    ]
    assert found.notes == {"sitemap": "urls", "entries": 2}


def test_an_index_names_further_sitemaps(document: MakeDocument, registry: Registry) -> None:
    body = "<sitemapindex><sitemap><loc>http://h.test/s1.xml</loc></sitemap></sitemapindex>"
    found = read(document, registry, body)
    assert [(link.target.text, link.rel) for link in found.links] == [
        ("http://h.test/s1.xml", "sitemap")
    ]
    assert found.notes["sitemap"] == "index"


def test_alternates_and_media_are_kept_by_kind(document: MakeDocument, registry: Registry) -> None:
    found = read(
        document,
        registry,
        HEAD
        + '<url><loc>http://h.test/a</loc><xhtml:link rel="alternate" hreflang="de" '
        + 'href="http://h.test/de/a"/><image:image><image:loc>http://h.test/i.png</image:loc>'
        + "</image:image></url></urlset>",
    )
    assert [(link.target.text, link.kind, link.text) for link in found.links] == [
        ("http://h.test/a", LinkKind.SITEMAP, ""),
        ("http://h.test/de/a", LinkKind.ALTERNATE, "de"),
        ("http://h.test/i.png", LinkKind.IMAGE, ""),
    ]


def test_a_gzipped_one_is_read(document: MakeDocument, registry: Registry) -> None:
    body = gzip.compress(f"{HEAD}<url><loc>http://h.test/a</loc></url></urlset>".encode())
    assert len(read(document, registry, body).links) == 1


def test_a_damaged_gzip_file_gives_what_comes_before(
    document: MakeDocument, registry: Registry
) -> None:
    entries = "".join(f"<url><loc>http://h.test/{i:08x}</loc></url>" for i in range(20_000))
    body = gzip.compress((HEAD + entries).encode())
    assert 0 < len(read(document, registry, body[: len(body) // 2]).links) < 20_000


def test_a_list_of_addresses_is_read(document: MakeDocument, registry: Registry) -> None:
    found = read(
        document, registry, "http://h.test/a\r\n\n# note\nhttp://h.test/b", "text/x-sitemap"
    )
    assert [link.target.text for link in found.links] == ["http://h.test/a", "http://h.test/b"]


@pytest.mark.parametrize(
    "body",
    [
        "<urlset><url><loc>http://h.test/a</loc></url>",
        "<url><loc>http://h.test/a</loc></url>",
        "<urlset><url><loc>http://h.test/a</url></urlset>",
        "<URLSET><URL><LOC>http://h.test/a</LOC></URL></URLSET>",
        "<s:urlset><s:url><s:loc>http://h.test/a</s:loc></s:url></s:urlset>",
        "<urlset><url>junk & <loc>http://h.test/a</loc><lastmod></url></urlset>",
        "\n\n<?xml version='1.0'?><urlset><url><loc>\nhttp://h.test/a\n</loc></url></urlset>",
    ],
)
def test_a_sloppy_one_is_read(
    document: MakeDocument, registry: Registry, body: str | bytes
) -> None:
    assert [x.target.text for x in read(document, registry, body).links] == ["http://h.test/a"]


def test_entities_are_not_expanded(document: MakeDocument, registry: Registry) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + "".join(
        f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(9)
    )
    body = f"{bomb}]><urlset><url><loc>http://h.test/&j;</loc></url></urlset>"
    found = read(document, registry, body)
    assert all(len(link.target.text) < 100 for link in found.links)


def test_external_entities_are_not_opened(document: MakeDocument, registry: Registry) -> None:
    body = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><urlset><url><loc>http://h.test/&e;</loc></url></urlset>'
    assert "root" not in str(read(document, registry, body).links)


@pytest.mark.slow
def test_no_more_entries_are_read_than_the_protocol_allows(
    document: MakeDocument, registry: Registry
) -> None:
    body = HEAD + "".join(f"<url><loc>http://h.test/{i}</loc></url>" for i in range(60_000))
    assert read(document, registry, body).notes["entries"] == 50_000
