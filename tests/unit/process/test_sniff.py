"""What a document is, against what it is said to be."""

import gzip
from collections.abc import Callable

import pytest

from gossamer.model import Document
from gossamer.process import Registry

MakeDocument = Callable[..., Document]

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
PAGE = b"<!DOCTYPE html><title>x</title>"
RSS = b'<?xml version="1.0"?>\n<!-- a > b -->\n<rss version="2.0"><channel>'
ATOM = b'<feed xmlns="http://www.w3.org/2005/Atom">'
URLSET = b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
INDEX = b"\xef\xbb\xbf<sm:sitemapindex xmlns:sm='x'>"
XHTML = b'<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0//EN" "x"><html>'
SITEMAP = "application/sitemap+xml"


@pytest.mark.parametrize(
    ("declared", "body", "expected"),
    [
        ("text/html", PAGE, "text/html"),
        ("text/html", PNG, "image/png"),
        ("text/html", b"PK\x03\x04xxxx", "application/zip"),
        ("text/html", b"\xff\xd8\xff\xe0", "image/jpeg"),
        ("text/html", b"%PDF-1.7", "application/pdf"),
        ("text/html", RSS, "application/rss+xml"),
        ("text/html", XHTML, "text/html"),
        ("text/html", b"<!doctype html><html><rss>", "text/html"),
        ("text/html", b"<!doctype html><HTML>", "text/html"),
        ("text/html", b"words <html>", "text/html"),
        ("text/html", b"plain words", "text/html"),
        ("text/html", b"", "text/html"),
        ("text/plain", PAGE, "text/plain"),
        ("text/plain", b"a\x00\x01\x02b", "application/octet-stream"),
        ("text/plain", "ä".encode("utf-16"), "text/plain"),
        ("image/gif", PNG, "image/png"),
        ("image/png", b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        ("", PAGE, "text/html"),
        ("", b"\n  <div>x", "text/html"),
        ("", b"<?xml version='1.0'?><html>", "application/xhtml+xml"),
        ("", b"plain words", "text/plain"),
        ("", b"1 <a and b> 2", "text/plain"),
        ("", b"\x00\x01\x02", "application/octet-stream"),
        ("", b'{"a": 1}', "application/json"),
        ("", b"", "text/plain"),
        ("application/octet-stream", URLSET, SITEMAP),
        ("application/octet-stream", PAGE, "text/html"),
        ("application/xml", RSS, "application/rss+xml"),
        ("text/xml", ATOM, "application/atom+xml"),
        ("text/xml", URLSET, SITEMAP),
        ("application/xml", INDEX, SITEMAP),
        ("application/rss+xml", ATOM, "application/atom+xml"),
        ("application/xml", XHTML, "application/xhtml+xml"),
        ("application/xhtml+xml", XHTML, "application/xhtml+xml"),
        ("application/xml", b"<rdf:RDF xmlns='x'>", "application/rdf+xml"),
        ("text/xml", b"<other/>", "application/xml"),
        ("image/svg+xml", b"<svg xmlns='x'>", "image/svg+xml"),
        ("application/xml", '<?xml version="1.0"?><urlset>'.encode("utf-16"), SITEMAP),
        ("application/gzip", gzip.compress(URLSET, mtime=0), SITEMAP),
        ("application/x-gzip", gzip.compress(PAGE, mtime=0), "application/gzip"),
        ("application/gzip", URLSET, SITEMAP),
        ("text/xml", gzip.compress(URLSET * 99, mtime=0), SITEMAP),
        ("text/html", b"\x1f\x8b\x08damaged", "application/gzip"),
        (
            "application/json",
            b'{"version": "https://jsonfeed.org/version/1"',
            "application/feed+json",
        ),
        ("application/json", b"[1]", "application/json"),
        (
            "application/vnd.oasis.opendocument.text",
            b"PK\x03\x04",
            "application/vnd.oasis.opendocument.text",
        ),
        ("text/csv", b"a,b", "text/csv"),
    ],
)
def test_the_first_bytes_correct_the_declaration(
    document: MakeDocument, registry: Registry, declared: str, body: bytes, expected: str
) -> None:
    assert registry.media_type(document(body, media_type=declared)) == expected


@pytest.mark.parametrize("wrap", [bytes, gzip.compress])
def test_a_list_of_addresses_is_a_sitemap_if_it_is_called_so(
    document: MakeDocument, registry: Registry, wrap: Callable[[bytes], bytes]
) -> None:
    body = wrap(b"http://h.test/a\nhttp://h.test/b\n")
    named = document(body, url="http://h.test/sitemap.txt", media_type="text/plain")
    assert registry.media_type(named) == "text/x-sitemap"
    other = document(b"http://h.test/a\n", url="http://h.test/list.txt", media_type="text/plain")
    assert registry.media_type(other) == "text/plain"
