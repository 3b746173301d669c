"""Whatever the bytes, a document is read: nothing raises, and every string can be stored."""

from hypothesis import assume, given
from hypothesis import strategies as some
from tests.bodies import Bytes

from gossamer.config import ProcessConfig, UrlConfig
from gossamer.model import Document, Extraction
from gossamer.process import Registry, Tools, decode
from gossamer.process.references import refresh_url, script_urls, srcset_urls, text_urls
from gossamer.process.stylesheets import css_urls
from gossamer.urls import parse

RULES = UrlConfig()
REGISTRY = Registry.load(Tools(urls=RULES, process=ProcessConfig(), robots_agent="gossamer"))
TYPES = some.sampled_from(
    [
        *("", "text/html", "text/plain", "text/css", "text/xml", "application/json"),
        *("application/rss+xml", "application/gzip", "application/feed+json", "text/csv"),
        *("application/sitemap+xml", "image/png", "image/gif", "application/octet-stream"),
    ]
)
SCRAPS = some.sampled_from(
    [
        *(b"<a href=", b"<a ", b"x", b"'", b'"', b">", b"<", b"</a>", b"<base href=//", b"<svg>"),
        *(b"<template>", b"<style>url(", b"<script>location='", b"<!--", b"-->", b"\x00", b"\xff"),
        *(
            b"<meta http-equiv=refresh content=",
            b"srcset=",
            b"&#xd800;",
            b"\xed\xa0\x80",
            b"=",
            b" ",
        ),
        *(b"<url><loc>", b"</loc>", b"<item><link>", b"<![CDATA[", b"]]>", b"{", b"[", b"\\ud800"),
    ]
)
BODIES = some.one_of(some.binary(max_size=300), some.lists(SCRAPS, max_size=40).map(b"".join))
TEXTS = some.text(max_size=50)


def read(body: bytes, media_type: str, charset: str, header: str) -> Extraction:
    url = parse("http://h.test/dir/sitemap", RULES)
    assert url is not None
    document = Document(
        url=url,
        status=200,
        head=b"",
        headers=(("link", header), ("x-robots-tag", header), ("refresh", header)),
        body=Bytes(body),
        request=b"",
        address="127.0.0.1",
        fetched_at=0.0,
        latency_s=0.0,
        media_type=media_type,
        charset=charset,
    )
    return REGISTRY.read(document, REGISTRY.media_type(document))


@given(BODIES, TYPES, TEXTS, TEXTS)
def test_any_bytes_are_read(body: bytes, media_type: str, charset: str, header: str) -> None:
    found = read(body, media_type, charset, header)
    assert all(error.startswith(("image:", "pdf:", "csv:")) for error in found.errors)
    for text in (found.title, found.text, *(link.text for link in found.links)):
        text.encode()


@given(BODIES, TYPES)
def test_no_target_is_named_twice_in_one_way(body: bytes, media_type: str) -> None:
    links = read(body, media_type, "", "").links
    named = [(link.target.text, link.kind) for link in links]
    assert len(named) == len(set(named))


@given(some.lists(some.sampled_from(["/a", "b", "../c?d", "e#f", "#g", "http://i.test/"])))
def test_every_page_that_is_linked_is_found(hrefs: list[str]) -> None:
    body = "".join(f'<p><a href="{href}">x</a>' for href in hrefs).encode()
    found = {link.target.text for link in read(body, "text/html", "", "").links}
    expected = {"http://h.test/a", "http://h.test/dir/b", "http://h.test/c?d"}
    expected |= {"http://h.test/dir/e", "http://i.test/"}
    assert found <= expected
    assert len(found) == len(set(hrefs) - {"#g"})


@given(some.text(max_size=200), some.sampled_from(["utf-8", "utf-16", "utf-32", "utf-8-sig"]))
def test_unicode_survives_with_its_mark_or_its_name(text: str, encoding: str) -> None:
    assume(encoding != "utf-16" or not text.startswith("\0"))  # its mark is then UTF-32's
    assume(encoding != "utf-8" or "\0" not in text)  # NULs may be those of UTF-16
    body = text.encode(encoding, "replace")
    declared = "utf-8" if encoding == "utf-8" else ""
    wanted = body.decode(encoding).removeprefix("\ufeff")
    assert decode(body, declared)[0] == wanted


@given(some.text(), some.text())
def test_scanners_take_any_text(first: str, second: str) -> None:
    for text in (first, f"url({first}", f"location='{first}'", f"{first} 2x,{second}"):
        for scanner in (
            css_urls,
            script_urls,
            srcset_urls,
            text_urls,
        ):
            assert all(isinstance(href, str) for href in scanner(text))
        refresh_url(text)
