"""Exact content: one page is first, copies find it, it can be forgotten; and what words count."""

import io
from dataclasses import dataclass
from typing import BinaryIO

import pytest

from gossamer.config import UrlConfig
from gossamer.dedupe import ContentSeen, content_fingerprint, words_fingerprint
from gossamer.model import CopyOf, Document, Extraction, Link, LinkKind, Url
from gossamer.urls import parse


@dataclass
class MemoryBody:
    raw: bytes
    plain: bytes
    is_spooled: bool = False

    @property
    def sent_bytes(self) -> int:
        return len(self.raw)

    def open_sent(self) -> BinaryIO:
        return io.BytesIO(self.raw)

    def sent(self) -> bytes:
        return self.raw

    def decoded(self) -> bytes:
        return self.plain

    def close(self) -> None:
        pass


def document(plain: bytes, sent: bytes | None = None, truncated: str = "") -> Document:
    url = Url(text="http://a.test/", host="a.test", origin="http://a.test", key=1)
    return Document(
        url=url,
        status=200,
        head=b"",
        headers=(),
        body=MemoryBody(raw=plain if sent is None else sent, plain=plain),
        request=b"",
        address="127.0.0.1",
        fetched_at=0.0,
        latency_s=0.0,
        truncated=truncated,
    )


def page(url: str) -> CopyOf:
    return CopyOf(url=url, record_id="urn:uuid:1", payload_digest="sha1:A", fetched_at=12.5)


class Rows(dict[bytes, bytes]):
    def commit(self, seen: ContentSeen) -> None:
        for key, value in seen.rows_to_commit():
            if value is None:
                self.pop(key, None)
            else:
                self[key] = value


def test_equal_contents_have_equal_fingerprints_whatever_the_coding() -> None:
    one = content_fingerprint(document(b"hello", sent=b"\x1f\x8b..."))
    assert one is not None
    assert one == content_fingerprint(document(b"hello"))
    assert one != content_fingerprint(document(b"hullo"))


@pytest.mark.parametrize("truncated", ["length", "time", "disconnect", "unspecified"])
def test_a_truncated_document_has_no_fingerprint(truncated: str) -> None:
    assert content_fingerprint(document(b"hello", truncated=truncated)) is None


def test_an_empty_document_has_no_fingerprint() -> None:
    assert content_fingerprint(document(b"")) is None
    assert content_fingerprint(document(b"", sent=b"\x1f\x8b")) is None


def test_no_fingerprint_is_never_a_copy() -> None:
    assert ContentSeen(Rows().get).first_copy(None) is None


def test_a_page_of_the_same_commit_group_is_found() -> None:
    seen = ContentSeen(Rows().get)
    seen.remember(7, page("http://a.test/"))
    assert seen.first_copy(7) == page("http://a.test/")


def test_a_committed_page_is_found_after_a_restart() -> None:
    rows = Rows()
    first = ContentSeen(rows.get)
    first.remember(2**64 - 1, page("http://a.test/"))
    rows.commit(first)
    assert list(rows) == [b"x" + b"\xff" * 8]
    assert first.rows_to_commit() == []
    assert ContentSeen(rows.get).first_copy(2**64 - 1) == page("http://a.test/")
    assert ContentSeen(rows.get).first_copy(0) is None


def test_only_the_first_page_can_be_forgotten() -> None:
    rows = Rows()
    seen = ContentSeen(rows.get)
    seen.remember(7, page("http://a.test/"))
    rows.commit(seen)
    seen.forget(7, "http://b.test/")
    assert seen.rows_to_commit() == []
    seen.forget(7, "http://a.test/")
    assert seen.first_copy(7) is None
    rows.commit(seen)
    assert rows == {}
    seen.forget(7, "http://a.test/")
    assert seen.rows_to_commit() == []


def test_a_page_remembered_and_forgotten_in_one_group_leaves_nothing() -> None:
    rows = Rows()
    seen = ContentSeen(rows.get)
    seen.remember(7, page("http://a.test/"))
    seen.forget(7, "http://a.test/")
    rows.commit(seen)
    assert rows == {}


def test_a_forgotten_content_can_have_a_new_first_page() -> None:
    rows = Rows()
    seen = ContentSeen(rows.get)
    seen.remember(7, page("http://a.test/"))
    rows.commit(seen)
    seen.forget(7, "http://a.test/")
    seen.remember(7, page("http://b.test/"))
    rows.commit(seen)
    assert seen.first_copy(7) == page("http://b.test/")


def found(text: str = "one two", title: str = "t", *links: tuple[str, LinkKind]) -> Extraction:
    targets = [(parse(target, UrlConfig()), kind) for target, kind in links]
    made = [Link(target=url, kind=kind) for url, kind in targets if url is not None]
    return Extraction(text=text, title=title, links=made)


def test_text_title_and_links_to_pages_count() -> None:
    page = ("http://a.test/", LinkKind.ANCHOR)
    other = ("http://a.test/b", LinkKind.SITEMAP)
    prints = {
        words_fingerprint(found()),
        words_fingerprint(found("one three")),
        words_fingerprint(found("one two", "u")),
        words_fingerprint(found("one two", "t", page)),
        words_fingerprint(found("one two", "t", other)),
        words_fingerprint(found("one two", "t", page, other)),
    }
    assert len(prints) == 6


def test_parts_of_the_page_do_not_count() -> None:
    script = ("http://a.test/s.js?v=1", LinkKind.SCRIPT)
    newer = ("http://a.test/s.js?v=2", LinkKind.SCRIPT)
    one, two = (words_fingerprint(found("x", "t", link)) for link in (script, newer))
    assert one == two == words_fingerprint(found("x"))


def test_a_document_that_says_nothing_has_no_fingerprint() -> None:
    assert words_fingerprint(Extraction()) is None
    assert words_fingerprint(Extraction(text="\ud800")) is not None
