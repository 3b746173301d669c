"""T19 to T22, T26: documents that are made to stop, to mislead or to exhaust whoever reads them."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gossamer.testing import CannedResponse, ScriptedHost, ScriptedWeb
from tests.integration.threats import Done, crawl, serving

TOP = '<!doctype html><title>Top</title><a href="/found">before</a>'
LINK = '<a href="/after">after</a>'
MILLION = 1_000_000
HOSTILE = {
    "div": "<div>" * 100_000,
    "div-million": "<div>" * 200_000,
    "attributes": "<p " + " ".join(f"a{n}=1" for n in range(50_000)) + ">",
    "same-attribute": "<p " + "a=1 " * 50_000 + ">",
    "comments": "<!--" * 1_250_000,
    "anchors": "<a href=/nested>" * 100_000,
    "formatting": "<b><i><u><s><em>" * 20_000,
    "tables": "<table><tr><td>" * 30_000,
    "misnested": "<b><p></b></p><table><a>" * 20_000,
    "options": "<select><option>" * 50_000,
    "svg": "<svg><math><mi>" * 30_000,
    "templates": "<template>" * 50_000,
    "quotes": '<a href="' + '"' * MILLION,
    "open-tag": "<a href='" + "x" * MILLION,
    "less-than": "<" * MILLION,
    "ampersands": "&" * MILLION,
    "entities": "&notanentity" * 80_000,
    "text": "word " * 200_000,
    "one-word": "w" * MILLION,
    "scripts": "<script>" + "<script" * 140_000,
    "script-strings": "<script>" + '"' * MILLION + "</script>",
    "script-slashes": "<script>" + "/" * MILLION + "</script>",
    "json": '<script type="application/ld+json">' + "[" * MILLION + "</script>",
    "styles": "<style>" + "@import " * 120_000 + "</style>",
    "css-urls": "<style>" + "url(" * 250_000 + "</style>",
    "brackets": "<style>" + "(" * MILLION + "</style>",
    "srcset": "<img srcset='" + "a b," * 250_000 + "'>",
    "refresh": "<meta http-equiv=refresh content='" + "0;url=" * 150_000 + "'>",
    "metas": "<meta name=robots content=all" + " " * MILLION,
    "base": "<base href='" + "http:" * 200_000 + "'>",
    "doctype": "<!DOCTYPE " * 100_000,
    "cdata": "<![CDATA[" * 100_000,
    "surrogates": "&#xD800;&#xDFFF;&#x110000;&#0;" * 20_000,
    "controls": "".join(map(chr, range(1, 32))) * 20_000,
}
KOREAN = "대한민국의 수도는 서울이며"
TEXTS = {
    "latin-as-utf-8": ("text/html; charset=utf-8", "Café".encode("latin-1"), "Caf\ufffd"),
    "utf-8-as-latin": ("text/html; charset=iso-8859-1", "Café".encode(), "CafÃ©"),
    "mark-beats-header": ("text/html; charset=latin1", "\ufeffCafé".encode(), "Café"),
    "utf-16-mark": ("text/html; charset=utf-8", "\ufeffCafé".encode("utf-16-le"), "Café"),
    "utf-16-big": ("text/html", "\ufeffCafé".encode("utf-16-be"), "Café"),
    "utf-32": ("text/html", "\ufeffCafé".encode("utf-32-le"), "Café"),
    "no-such-charset": ("text/html; charset=klingon", "Cafés".encode(), "Cafés"),
    "shift-jis": ("text/html; charset=shift_jis", "日本語".encode("shift_jis"), "日本語"),
    "euc-kr": ("text/html; charset=euc-kr", KOREAN.encode("euc-kr"), KOREAN),
    "gb18030": ("text/html; charset=gb18030", "汉语".encode("gb18030"), "汉语"),
    "koi8-r": ("text/html; charset=koi8-r", "Привет".encode("koi8-r"), "Привет"),
    "windows-1251": ("text/html; charset=windows-1251", "Привет".encode("cp1251"), "Привет"),
    "big5": ("text/html; charset=big5", "漢語".encode("big5"), "漢語"),
    "nul": ("text/html; charset=utf-8", b"Ca\x00f\x00e", "Ca"),
    "lone-surrogates": ("text/html; charset=utf-8", b"Caf\xed\xa0\x80 ok", "Caf"),
    "overlong": ("text/html; charset=utf-8", b"Caf\xc0\xaf ok", "Caf"),
    "utf-7": ("text/html; charset=utf-7", b"+ADw-script+AD4-", "+ADw-script+AD4-"),
    "huge-charset": ("text/html; charset=" + "x" * 5000, b"Cafe", "Cafe"),
}
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)) * 8
LIES = {
    "png-as-html": ("text/html", PNG, "image/png"),
    "zip-as-html": ("text/html", b"PK\x03\x04" + bytes(300_000), "application/zip"),
    "pdf-as-html": ("text/html", b"%PDF-1.7\n" + b"<a href=/found>" * 99, "application/pdf"),
    "gzip-as-html": ("text/html", b"\x1f\x8b\x08" + b"<a href=/found>" * 99, "application/gzip"),
    "elf-as-html": ("text/html", b"\x7fELF" + bytes(999), "application/octet-stream"),
    "html-as-png": ("image/png", TOP.encode() + b"1", "image/png"),
    "html-as-pdf": ("application/pdf", TOP.encode() + b"2", "application/pdf"),
    "html-as-text": ("text/plain", TOP.encode() + b"3", "text/plain"),
    "nonsense-type": ("text/html\x7f; ;;=", TOP.encode() + b"4", None),
    "no-type": ("", TOP.encode() + b"5", "text/html"),
    "broken-pdf": ("application/pdf", b"%PDF-1.4\n" + b"1 0 obj<<" * 20_000, "application/pdf"),
    "broken-jpeg": ("image/jpeg", b"\xff\xd8\xff" + b"\xff\xe0\xff\xff" * 9999, "image/jpeg"),
    "broken-gif": ("image/gif", b"GIF89a\xff\xff\xff\xff" + b"\x00" * 999, "image/gif"),
}


@dataclass(frozen=True)
class Read:
    done: Done
    web: ScriptedWeb

    def host(self, name: str) -> ScriptedHost:
        return self.web.host(f"{name}.test")

    def fate(self, name: str, path: str = "/") -> tuple[str, str]:
        return self.done.fate(self.host(name).url(path))

    def record(self, name: str) -> dict[str, object]:
        return self.done.records[self.host(name).url()]


def body_of(name: str) -> bytes:
    html = HOSTILE[name]
    return f"{TOP}{html}".encode("utf-8", "surrogatepass") + LINK.encode()


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Read]:
    web = ScriptedWeb()
    names = [*HOSTILE, *TEXTS, *LIES]
    for name in names:
        web.host(f"{name}.test").page("/next", text=f"{name} next").page("/found", text=name)
    for name in HOSTILE:
        web.host(f"{name}.test").file("/", body_of(name), "text/html; charset=utf-8")
    for name, (kind, sent, _) in TEXTS.items():
        web.host(f"{name}.test").file("/", sent, kind)
    for name, (kind, sent, _) in LIES.items():
        headers = (("Content-Type", kind),) if kind else ()
        web.host(f"{name}.test").on("/", CannedResponse(headers=headers, body=sent))
    with serving(web) as server:
        seeds = [web.host(f"{name}.test").url(path) for name in names for path in ("/", "/next")]
        yield Read(crawl(server, tmp_path_factory.mktemp("documents") / "c", *seeds), web)


def test_after_every_document_the_next_page_is_fetched(read: Read) -> None:
    assert read.done.ending.reason == "finished"
    for name in (*HOSTILE, *TEXTS, *LIES):
        assert read.done.asked[read.host(name).url("/next")] == 1
        assert "internal_error" not in str(read.record(name)["reason"])


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_markup_is_stored_whole_and_its_first_link_is_followed(
    name: str, read: Read
) -> None:
    assert read.done.response(read.host(name).url()).payload == body_of(name)
    assert read.record(name)["title"] == "Top"
    assert read.fate(name, "/found") == ("archived", "")


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_read_in_the_encoding_that_a_browser_would_choose(name: str, read: Read) -> None:
    kind, sent, shown = TEXTS[name]
    assert read.done.response(read.host(name).url()).payload == sent
    assert shown in read.done.archive.text_of(read.host(name).url())
    assert read.done.raw_blocks[read.host(name).url()].find(kind.encode()) > 0


@pytest.mark.parametrize("name", LIES)
def test_a_lie_about_the_type_is_stored_as_told_and_read_as_it_is(name: str, read: Read) -> None:
    kind, sent, read_as = LIES[name]
    block = read.done.raw_blocks[read.host(name).url()]
    assert block.endswith(b"\r\n\r\n" + sent)
    assert kind.encode() in block
    if read_as is not None:
        assert read.record(name)["media_type"] == read_as


def test_links_are_not_taken_from_what_is_not_a_page(read: Read) -> None:
    for name in ("pdf-as-html", "gzip-as-html", "html-as-png", "html-as-pdf", "html-as-text"):
        assert read.fate(name, "/found")[0] in {"unknown", "refused"}
        assert not read.done.asked[read.host(name).url("/found")]


def test_addresses_of_any_length_and_script_are_judged(tmp_path: Path) -> None:
    web = ScriptedWeb()
    host = web.host("a.test")
    long, longer = "/" + "x" * 3000, "/" + "y" * MILLION
    label = "http://" + "a" * 64 + ".test/"
    deep = "http://" + "a." * 200 + "test/"
    unicode = ["http://münchen.test:$PORT/", "http://аррӏе.test:$PORT/", "http://xn--zz-.test/"]
    bare = web.host("xn--mnchen-3ya.test").page("/", text="Munich")
    fake = web.host("xn--80ak6aa92e.test").page("/", text="not an apple")
    zone = ["http://[fe80::1%25eth0]/", "http://[::1%eth0]/", "http://a b.test/", "http://%zz/"]
    links = [long, longer, label, deep, *unicode, *zone, "http://a.test:99999/", "/last"]
    host.page("/", links=links).page("/last")
    with serving(web) as server:
        done = crawl(server, tmp_path / "c", host.url(), knobs={"limits": {"max_time_s": 1.0}})
        assert done.fate(host.url(long)) == ("refused", "too_long")
        assert done.ending.status.refused["too_long"] == 1
        assert done.fate(host.url(longer)) == ("unknown", "not_a_url")
        assert done.fate(host.url("/last")) == ("archived", "")
        assert done.fate(bare.url()) == done.fate(fake.url()) == ("archived", "")
        for text in (*zone, "http://a.test:99999/"):
            assert done.fate(text) == ("unknown", "not_a_url")
        for text in (label, deep):
            assert done.fate(text)[1] in {"dns_no_such_host", "not_a_url"}
        assert {v.target for v in server.requests_to("a.test")} == {"/", "/last"}


def test_a_page_that_takes_too_long_to_read_is_given_up_and_told_of(tmp_path: Path) -> None:
    web = ScriptedWeb()
    slow = b"%PDF-1.7\n" + b"1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj " * 100_000
    host = web.host("a.test").page("/", links=["/slow", "/next"]).page("/next")
    host.file("/slow", slow, "application/pdf")
    with serving(web) as server:
        began = time.process_time()
        knobs = {"process": {"helper_seconds": 0.0}}
        done = crawl(server, tmp_path / "c", host.url(), knobs=knobs)
        assert done.fate(host.url("/slow")) == ("archived", "")
        assert "helper: not finished after 0 s" in done.why(host.url("/slow"))["detail"]
        assert done.fate(host.url("/next")) == ("archived", "")
        assert done.response(host.url("/slow")).payload == slow
        assert time.process_time() - began < 30
