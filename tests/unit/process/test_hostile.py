"""Pages that want to hang or crash the reader. Each must be read, whatever comes out."""

from collections.abc import Callable

import pytest

from gossamer.model import Document
from gossamer.process import Registry

MakeDocument = Callable[..., Document]

HOSTILE = {
    "nested": b"<div>" * 100_000 + b"<a href=x>x</a>",
    "attributes": b"<a href=x " + b" ".join(b"a%d=1" % i for i in range(50_000)) + b">x</a>",
    "comments": b"<!--" * 1_250_000,
    "quotes": b"<a href=" + b'"' * 1_000_000,
    "brackets": b"<style>" + b"(" * 1_000_000,
    "imports": b"<style>" + b"@import" * 150_000,
    "urls": b"<style>" + b"url(" * 250_000,
    "scripts": b"<script" * 150_000,
    "script tags": b"<script>" * 125_000,
    "nested links": b"<svg>" + b"".join(b"<a href=x%d>" % i for i in range(60_000)),
    "links in objects": b"".join(b"<a href=x%d><object>" % i for i in range(20_000)) + b"t" * 9_999,
    "templates": b"<template>" * 50_000,
    "frames in frames": b"<iframe srcdoc='" + b"&lt;iframe srcdoc=" * 20_000,
    "bad json": b'<script type="application/ld+json">' + b"[" * 500_000,
    "deep json": b'<script type="application/ld+json">' + b"[" * 900 + b"]" * 900,
    "zeroes": b"\x00" * 1_000_000,
    "long reference": b"<a href=" + b"a" * 1_000_000 + b">x</a>",
    "surrogates": b"<title>&#xd800;</title><a href=x>&#xdfff;</a>",
    "half utf-16": b"\xff\xfe<\x00a\x00\x00\xd8>",
    "half utf-32": b"\xff\xfe\x00\x00<\x00\x00\x00\xff\xff",
    "utf-7": b"<meta charset=utf-7>+ADw-a href=x+AD4-",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_is_read_without_harm(
    document: MakeDocument, registry: Registry, name: str
) -> None:
    page = document(HOSTILE[name])
    for media_type in ("text/html", "text/plain", "application/rss+xml", "application/sitemap+xml"):
        found = registry.read(page, media_type)
        assert found.errors == ()
        found.title.encode()
        found.text.encode()
        for link in found.links:
            link.text.encode()


def test_links_before_the_depth_limit_are_kept(document: MakeDocument, registry: Registry) -> None:
    page = b"<a href=early>x</a>" + b"<div>" * 100_000
    links = registry.read(document(page), "text/html").links
    assert [link.target.text for link in links] == ["http://h.test/dir/early"]


@pytest.mark.parametrize("media_type", ["application/pdf", "image/png", "image/jpeg"])
@pytest.mark.parametrize(
    "body", [b"", b"%PDF-1.4\n", b"\x89PNG\r\n\x1a\n" + b"\xff" * 99, b"x" * 999]
)
def test_a_broken_file_is_an_error_and_not_a_crash(
    document: MakeDocument, registry: Registry, media_type: str, body: bytes
) -> None:
    found = registry.read(document(body, media_type=media_type), media_type)
    assert found.text == ""
    assert all(error.startswith(("pdf:", "image:")) for error in found.errors)
