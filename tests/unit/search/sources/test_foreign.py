"""WET, WARC and JSONL files that others wrote, packed in any way, sound or not."""

import gzip
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from gossamer.search.page import IndexPage
from gossamer.search.sources import Bad, ForeignPages, SkippedPages, foreign_pages
from gossamer.search.sources.foreign_languages import two_letters
from gossamer.store import foreign as warcs
from gossamer.store.unpacking import Unpacked
from tests.examples import examples

A, B, C = (f"http://{name}.test/" for name in "abc")
HTML = b"<html lang=en><title>Zebras</title><h1>Stripes</h1><p>They graze all day long.</p></html>"
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "members": lambda data: gzip.compress(data[:50]) + gzip.compress(data[50:]),
    "zstd": zstandard.compress,
    "frames": lambda data: zstandard.compress(data[:50]) + zstandard.compress(data[50:]),
}


def record(kind: str, url: str, block: bytes, version: str = "1.0", **headers: str) -> bytes:
    lines = [f"WARC/{version}", f"WARC-Type: {kind}", "WARC-Date: 2024-05-01T10:00:00Z"]
    lines += [f"WARC-Target-URI: {url}"] if url else []
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    lines += [f"Content-Length: {len(block)}", "", ""]
    return "\r\n".join(lines).encode() + block + b"\r\n\r\n"


def read(path: Path) -> list[IndexPage | Bad | SkippedPages]:
    return list(ForeignPages().of(str(path)))


def only_page(path: Path) -> IndexPage:
    (found,) = read(path)
    assert isinstance(found, IndexPage)
    return found


def http(body: bytes, *lines: str, status: str = "200 OK") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode() + body


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_wet_file_is_read_however_it_is_packed(packing: str, tmp_path: Path) -> None:
    info = record("warcinfo", "", b"software: somebody's\r\n")
    first = record(
        "conversion", A, b"Zebras\nThey graze.\n",
        WARC_Identified_Content_Language="eng,deu",
    )  # fmt: skip
    (tmp_path / "x").write_bytes(
        PACKINGS[packing](info + first + record("conversion", B, b"Lions"))
    )
    one, other = read(tmp_path / "x")
    assert isinstance(one, IndexPage)
    assert (one.url, one.title, one.text, one.language) == (A, "Zebras", "They graze.\n", "en")
    assert one.at == 1714557600.0
    assert isinstance(other, IndexPage)
    assert other.url == B


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_jsonl_file_is_read_however_it_is_packed(packing: str, tmp_path: Path) -> None:
    lines = [
        {"url": A, "title": "Zebras", "text": "They graze.", "language": "en", "at": 12, "x": [1]},
        {"url": B, "text": "no title", "date": "2024-05-01", "type": "text/plain"},
    ]
    text = "\ufeff" + "\n".join(map(json.dumps, lines))
    (tmp_path / "x").write_bytes(PACKINGS[packing](text.encode()))
    one, other = read(tmp_path / "x")
    assert isinstance(one, IndexPage)
    assert isinstance(other, IndexPage)
    assert (one.url, one.title, one.text, one.language, one.at) == (
        A, "Zebras", "They graze.", "en", 12.0,
    )  # fmt: skip
    assert (other.media_type, other.at > 1.7e9) == ("text/plain", True)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of its writer
def test_a_warc_file_of_another_program_is_read(tmp_path: Path) -> None:
    with (tmp_path / "x.warc.gz").open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        head = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
        writer.write_record(
            writer.create_warc_record(A, "response", payload=io.BytesIO(HTML), http_headers=head)
        )
    found = only_page(tmp_path / "x.warc.gz")
    assert (found.title, found.headings, found.media_type) == ("Zebras", ("Stripes",), "text/html")
    assert "They graze all day long." in found.text


def test_bodies_in_chunks_and_codings_are_decoded(tmp_path: Path) -> None:
    packed = gzip.compress(HTML)
    chunked = f"{len(packed):x}\r\n".encode() + packed + b"\r\n0\r\n\r\n"
    answer = http(
        chunked, "Content-Type: text/html", "Transfer-Encoding: chunked", "Content-Encoding: gzip"
    )
    (tmp_path / "x").write_bytes(record("response", A, answer, version="1.1"))
    assert only_page(tmp_path / "x").title == "Zebras"


def test_what_is_no_page_for_an_index_is_left_out_with_its_reason(tmp_path: Path) -> None:
    html = "Content-Type: text/html"
    (tmp_path / "x").write_bytes(
        record("request", A, b"GET / HTTP/1.1\r\n\r\n")
        + record("response", A, http(b"gone", html, status="404 Not Found"))
        + record("response", B, http(HTML, html, "X-Robots-Tag: noindex"))
        + record("response", C, http(b"", html))
    )
    assert read(tmp_path / "x") == [
        SkippedPages("not 2xx"),
        SkippedPages("noindex"),
        SkippedPages("no text"),
    ]


def test_a_pdf_is_read_where_it_can_be_killed(tmp_path: Path) -> None:
    answer = http(b"%PDF-1.4 rubbish", "Content-Type: application/pdf")
    (tmp_path / "x").write_bytes(record("response", A, answer) + record("conversion", B, b"Lions"))
    bad, lions = read(tmp_path / "x")
    assert not isinstance(bad, IndexPage)
    assert isinstance(lions, IndexPage)


BAD_LINES = {
    "no JSON": b"{nonsense",
    "no URL": b'{"text": "x"}',
    "not a URL": b'{"url": "somewhere", "text": "x"}',
    "a list": b"[1, 2]",
    "wrong type": b'{"url": "http://a.test/", "text": 5.5e300, "headings": 3}',
    "not UTF-8": b'{"url": "http://a.test/", "text": "\xff"}',
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("kind", BAD_LINES)
def test_a_bad_line_is_told_with_its_place_and_the_rest_is_read(kind: str, tmp_path: Path) -> None:
    good = json.dumps({"url": A, "text": "fine"}).encode() + b"\n"
    (tmp_path / "x").write_bytes(good + BAD_LINES[kind] + b"\n\n" + good)
    one, bad, other = read(tmp_path / "x")
    assert isinstance(one, IndexPage)
    assert isinstance(bad, Bad)
    assert bad.at == len(good)
    assert other == one


def test_a_line_that_is_too_long_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign_pages, "MOST_LINE_BYTES", 100)
    good = json.dumps({"url": A, "text": "fine"}).encode()
    (tmp_path / "x").write_bytes(b'{"url": "' + b"x" * 300_000 + b'"}\n' + good)
    bad, page = read(tmp_path / "x")
    assert isinstance(bad, Bad)
    assert isinstance(page, IndexPage)


def test_a_record_that_is_too_long_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warcs, "MOST_BLOCK_BYTES", 1000)
    long = record("conversion", A, b"x" * 300_000)
    (tmp_path / "x").write_bytes(long + record("conversion", B, b"Lions"))
    bad, page = read(tmp_path / "x")
    assert isinstance(bad, Bad)
    assert isinstance(page, IndexPage)


BAD_RECORDS = {
    "rubbish": b"rubbish\r\nmore\r\n\r\n",
    "no length": b"WARC/1.0\r\nWARC-Type: conversion\r\n\r\nsome text\r\n\r\n",
    "a negative length": b"WARC/1.0\r\nContent-Length: -5\r\n\r\nsome text\r\n\r\n",
    "a length of 5,000 digits": b"WARC/1.0\r\nContent-Length: "
    + b"9" * 5000
    + b"\r\n\r\nx\r\n\r\n",
    "no URL": record("conversion", "", b"text"),
    "an unknown kind": record("song", A, b"la la la"),
}


@pytest.mark.parametrize("kind", BAD_RECORDS)
def test_a_bad_record_is_told_with_its_place_and_the_rest_is_read(
    kind: str, tmp_path: Path
) -> None:
    good = record("conversion", A, b"Lions")
    (tmp_path / "x").write_bytes(good + BAD_RECORDS[kind] + good)
    one, bad, other = read(tmp_path / "x")
    assert isinstance(bad, Bad)
    assert bad.at == len(good)
    assert one == other
    assert isinstance(one, IndexPage)


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_millions_of_empty_lines_are_passed_over_at_once(ending: bytes, tmp_path: Path) -> None:
    lines = b'{"url": "%s", "text": "Lions"}\n'
    for number, (one, other) in enumerate(
        [
            (lines % A.encode(), lines % B.encode()),
            (record("conversion", A, b"Lions"), record("conversion", B, b"Lions")),
        ]
    ):
        path = tmp_path / f"{number}"
        path.write_bytes(gzip.compress(one + ending * 5_000_000 + other))
        assert [found.url for found in read(path) if isinstance(found, IndexPage)] == [A, B]


def test_after_a_damaged_member_the_next_one_is_read(tmp_path: Path) -> None:
    members = [gzip.compress(record("conversion", url, b"Lions" * 50)) for url in (A, B, C)]
    members[1] = members[1][:20] + b"\xff" * 12 + members[1][32:]
    (tmp_path / "x").write_bytes(b"".join(members))
    found = read(tmp_path / "x")
    assert [one.url for one in found if isinstance(one, IndexPage)] == [A, C]
    assert any(isinstance(one, Bad) for one in found)


@pytest.mark.parametrize("packing", ["plain", "gzip", "zstd"])
def test_a_file_that_ends_in_the_middle_gives_what_it_has(packing: str, tmp_path: Path) -> None:
    first = record("conversion", A, b"Lions")
    both = PACKINGS[packing](first) + PACKINGS[packing](record("conversion", B, b"Zebras" * 100))
    (tmp_path / "x").write_bytes(both[:-20])
    found = read(tmp_path / "x")
    assert isinstance(found[0], IndexPage)
    assert isinstance(found[-1], Bad)


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    line = json.dumps({"url": A, "text": "fine"}).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(line))))
    (found,) = ForeignPages().of("-")
    assert isinstance(found, IndexPage)


@pytest.mark.parametrize(
    ("said", "language"),
    [("eng,deu", "en"), ("zho", "zh"), ("en-US", "en"), ("de", "de"), ("xxx", ""), ("", "")],
)
def test_languages_have_two_letters(said: str, language: str) -> None:
    assert two_letters(said) == language


@pytest.fixture(scope="module")
def reader() -> ForeignPages:
    return ForeignPages()


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=60),
            st.sampled_from([b"WARC/1.0\r\n", b"\r\n\r\n", b"\n", b"Content-Length: 9\r\n", b"{}"]),
            st.sampled_from([record("conversion", A, b"Lions"), record("response", B, b"x")]),
        ),
        max_size=8,
    ),
    st.sampled_from(list(PACKINGS)),
)
@settings(max_examples=examples(150), deadline=None)
def test_no_bytes_make_it_fail(
    reader: ForeignPages, tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], packing: str
) -> None:
    path = tmp_path_factory.mktemp("any") / "x"
    path.write_bytes(PACKINGS[packing](b"".join(parts)))
    for found in reader.of(str(path)):
        assert isinstance(found, IndexPage | Bad | SkippedPages)


@given(st.binary(max_size=2000), st.binary(min_size=1, max_size=3), st.integers(1, 300))
@settings(max_examples=examples(100), deadline=None)
def test_a_stream_is_taken_up_to_a_mark_as_a_plain_split_would(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, mark: bytes, most: int
) -> None:
    path = tmp_path_factory.mktemp("any") / "x"
    path.write_bytes(gzip.compress(data))
    stream = Unpacked(str(path))
    before, found, _ = data.partition(mark)
    expected = before + found if found and len(before + found) <= most else None
    assert stream.take_until(mark, most) == expected
    stream.close()


GERMAN = "Zebras fressen den ganzen Tag lang Gras und laufen vor den Löwen davon."


def test_a_line_without_a_language_gets_that_of_its_text(tmp_path: Path) -> None:
    lines = [{"url": A, "text": GERMAN}, {"url": B, "text": GERMAN, "language": "nl"}]
    path = tmp_path / "pages.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    pages = [one for one in read(path) if isinstance(one, IndexPage)]
    assert [one.language for one in pages] == ["de", "nl"]


def test_a_wet_record_without_a_language_gets_that_of_its_text(tmp_path: Path) -> None:
    path = tmp_path / "pages.wet"
    path.write_bytes(record("conversion", A, f"Zebras\n{GERMAN}".encode()))
    assert only_page(path).language == "de"


def test_a_response_without_a_language_gets_that_of_its_text(tmp_path: Path) -> None:
    path = tmp_path / "pages.warc"
    body = f"<title>Zebras</title><p>{GERMAN}</p>".encode()
    path.write_bytes(record("response", A, http(body, "Content-Type: text/html; charset=utf-8")))
    assert only_page(path).language == "de"
