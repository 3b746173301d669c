"""What one turn becomes: whole records, byte for byte."""

import base64
import gzip
import hashlib
import io
import random
import tracemalloc
from uuid import UUID

import msgspec
import pytest
from msgspec.structs import replace
from store_samples import AT, HEAD, REQUEST, Sent, document, gzipped, turn, url, writer

from gossamer.model import (
    CLOCK_SET_BACK,
    CopyOf,
    Extraction,
    Failed,
    FailureKind,
    Link,
    LinkKind,
    Redirected,
    RefusalKind,
    Refused,
    RevisitResult,
    Task,
)
from gossamer.store import ArchiveEntry, LinksRecord, TurnWriter
from gossamer.store.entry import decode_all_links, decode_links
from gossamer.store.warc import (
    date_text,
    digest_of,
    pack_stored,
    plain,
    stamp_text,
)


def slow_digest(block: bytes) -> str:
    """Return the digest as the standard library makes it, to judge ours by."""
    return f"sha1:{base64.b32encode(hashlib.sha1(block).digest()).decode()}"


def record_id(count: int) -> str:
    ids = TurnWriter(software="", rng=random.Random(1))._ids
    for _ in range(count):
        last = ids.next()
    return last


def record(*lines: str, block: bytes) -> bytes:
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + block + b"\r\n\r\n"


def test_a_page_becomes_a_request_and_a_response_exactly_as_received() -> None:
    entry = writer().entry(turn())
    page = gzip.decompress(entry.pages[entry.page_offset :])
    assert page == record(
        "WARC/1.1",
        "WARC-Type: response",
        f"WARC-Record-ID: {record_id(1)}",
        "WARC-Date: 2023-11-14T22:13:20.250000Z",
        "WARC-Target-URI: http://one.test/a",
        "WARC-IP-Address: 127.0.0.1",
        f"WARC-Block-Digest: {slow_digest(HEAD + b'<p>Hello')}",
        f"WARC-Payload-Digest: {slow_digest(b'<p>Hello')}",
        "Content-Type: application/http;msgtype=response",
        "Content-Length: 52",
        block=HEAD + b"<p>Hello",
    )
    request = gzip.decompress(entry.pages[: entry.page_offset])
    assert request == record(
        "WARC/1.1",
        "WARC-Type: request",
        f"WARC-Record-ID: {record_id(2)}",
        "WARC-Date: 2023-11-14T22:13:20.250000Z",
        "WARC-Target-URI: http://one.test/a",
        "WARC-IP-Address: 127.0.0.1",
        f"WARC-Concurrent-To: {record_id(1)}",
        f"WARC-Block-Digest: {digest_of(REQUEST)}",
        "Content-Type: application/http;msgtype=request",
        f"Content-Length: {len(REQUEST)}",
        block=REQUEST,
    )
    assert entry.page_length == len(entry.pages) - entry.page_offset
    assert entry.record_id == record_id(1)
    assert entry.payload_digest == slow_digest(b"<p>Hello")


def test_extracted_text_becomes_a_conversion_record() -> None:
    entry = writer().entry(turn())
    assert gzip.decompress(entry.text) == record(
        "WARC/1.1",
        "WARC-Type: conversion",
        f"WARC-Record-ID: {record_id(3)}",
        "WARC-Date: 2023-11-14T22:13:20.250000Z",
        "WARC-Target-URI: http://one.test/a",
        f"WARC-Refers-To: {record_id(1)}",
        "WARC-Identified-Content-Language: en",
        f"WARC-Block-Digest: {digest_of(b'Hello')}",
        "Content-Type: text/plain",
        "Content-Length: 5",
        block=b"Hello",
    )


def test_every_final_turn_leaves_one_links_record_that_names_its_page() -> None:
    entry = writer().entry(turn())
    block = (
        b'{"url":"http://one.test/a","outcome":"fetched","reason":"","detail":"","depth":2,'
        b'"via":"http://one.test/","kind":"seed","at":1700000001.25,"attempt":0,"hops":0,"nesting":0,'
        b'"status":200,"media_type":"text/html","html":true,"page":"' + record_id(1).encode() + b'"'
        b',"copy_of":"","fp":null,"words":null,"truncated":"","oddities":[],"title":"Hello",'
        b'"headings":[],"language":"en",'
        b'"canonical":"","robots":[],"notes":{},"errors":[],'
        b'"links":[["http://two.test/b","a","two","nofollow"]],"label":"","took_ms":100}'
    )
    assert gzip.decompress(entry.links) == record(
        "WARC/1.1",
        "WARC-Type: metadata",
        f"WARC-Record-ID: {record_id(4)}",
        "WARC-Date: 2023-11-14T22:13:21.250000Z",
        "WARC-Target-URI: http://one.test/a",
        f"WARC-Refers-To: {record_id(1)}",
        f"WARC-Block-Digest: {digest_of(block)}",
        "Content-Type: application/json",
        f"Content-Length: {len(block)}",
        block=block,
    )


def test_a_links_record_has_the_lines_of_links_and_the_fragments_that_there_are() -> None:
    links = [
        Link(url("http://two.test/b"), LinkKind.ANCHOR, "b", line=7),
        Link(url("http://two.test/c"), LinkKind.ANCHOR, "c", line=9, fragment="x"),
    ]
    entry = writer().entry(turn(found=Extraction(links=links)))
    stored = decode_links(gzip.decompress(entry.links).partition(b"\r\n\r\n")[2].strip())
    assert (stored.lines, stored.fragments) == ([7, 9], {1: "x"})


def test_a_copy_becomes_a_revisit_with_header_and_without_payload_or_text() -> None:
    digest = writer().entry(turn()).payload_digest
    original = CopyOf("http://one.test/first", "<urn:uuid:1>", digest, AT - 100)
    entry = writer().entry(turn(copy_of=original))
    assert entry.is_revisit
    assert entry.text == b""
    assert gzip.decompress(entry.pages[entry.page_offset :]) == record(
        "WARC/1.1",
        "WARC-Type: revisit",
        f"WARC-Record-ID: {record_id(1)}",
        "WARC-Date: 2023-11-14T22:13:20.250000Z",
        "WARC-Target-URI: http://one.test/a",
        "WARC-IP-Address: 127.0.0.1",
        "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
        "WARC-Refers-To: <urn:uuid:1>",
        "WARC-Refers-To-Target-URI: http://one.test/first",
        "WARC-Refers-To-Date: 2023-11-14T22:11:40.250000Z",
        f"WARC-Block-Digest: {digest_of(HEAD)}",
        f"WARC-Payload-Digest: {digest}",
        "Content-Type: application/http;msgtype=response",
        f"Content-Length: {len(HEAD)}",
        block=HEAD,
    )
    assert links(entry).copy_of == "http://one.test/first"


def test_a_copy_of_a_page_whose_text_is_not_here_keeps_the_text() -> None:
    digest = writer().entry(turn()).payload_digest
    original = CopyOf("http://one.test/first", "<urn:uuid:1>", digest, AT - 100)
    apart = TurnWriter(software="test", rng=random.Random(1), lacks=lambda one: "one" in one.url)
    entry = apart.entry(turn(copy_of=original))
    assert entry.is_revisit
    assert gzip.decompress(entry.text).endswith(b"Hello\r\n\r\n")
    assert entry.plain_text == b""  # whoever looks for near-duplicates is offered the first page
    assert not apart.entry(turn(copy_of=replace(original, url="http://two.test/"))).text


def test_a_copy_that_was_sent_in_other_bytes_is_stored_in_full() -> None:
    original = CopyOf("http://one.test/first", "<urn:uuid:1>", digest_of(b""), AT - 100)
    entry = writer().entry(turn(copy_of=original))
    assert not entry.is_revisit
    assert b"WARC-Type: response" in gzip.decompress(entry.pages)
    assert entry.text


def links(entry: ArchiveEntry) -> LinksRecord:
    if entry.ending is not None:
        return entry.ending
    block = gzip.decompress(entry.links).partition(b"\r\n\r\n")[2]
    return msgspec.json.decode(block[:-4], type=LinksRecord)


def test_a_turn_that_is_tried_again_leaves_nothing() -> None:
    entry = writer().entry(turn(retry_at=AT + 60))
    assert entry.pages == entry.text == entry.links == b""
    assert entry.size == 0


def test_a_failure_without_an_answer_leaves_only_its_links_record() -> None:
    outcome = Failed(kind=FailureKind.CONNECT_TIMEOUT, detail="10 s")
    entry = writer().entry(turn(outcome=outcome, found=None))
    assert entry.pages == entry.text == b""
    told = links(entry)
    assert (told.outcome, told.reason, told.detail) == ("failed", "connect_timeout", "10 s")
    assert (told.page, told.status, told.links) == ("", 0, [])
    assert entry.links == b"", "it is recorded with others of its commit"
    assert b"WARC-Refers-To" not in gzip.decompress(writer().endings([told]))


def test_an_error_answer_is_stored_without_text() -> None:
    answer = document(status=404)
    outcome = Failed(kind=FailureKind.NOT_FOUND, document=answer)
    entry = writer().entry(turn(outcome=outcome))
    assert entry.page_length
    assert entry.text == b""
    assert links(entry).status == 404


def test_a_redirect_keeps_its_answer_and_its_location() -> None:
    entry = writer().entry(turn(outcome=Redirected(document=document(status=301), target="/b")))
    assert entry.page_length
    assert links(entry).outcome == "redirected"
    assert links(entry).detail == "/b"


def test_a_refusal_names_what_decided() -> None:
    outcome = Refused(kind=RefusalKind.ROBOTS_DISALLOWED, detail="Disallow: /a")
    entry = writer().entry(turn(outcome=outcome, found=None))
    assert entry.pages == b""
    assert links(entry).reason == "robots_disallowed"


def endings(count: int) -> list[LinksRecord]:
    return [
        LinksRecord(
            url=f"http://dead.test/{number}",
            outcome="failed",
            reason="dns_no_such_host",
            detail="no such name",
            depth=3,
            via="http://one.test/",
            kind="anchor",
            at=AT + number,
            label="news",
        )
        for number in range(count)
    ]


def block_of(member: bytes) -> bytes:
    return gzip.decompress(member).partition(b"\r\n\r\n")[2][:-4]


def test_urls_that_ended_without_a_document_share_a_record_that_gives_each_of_them_back() -> None:
    member = writer().endings(endings(200))
    assert decode_all_links(block_of(member)) == endings(200)
    assert len(member) < 30 * 200, "bytes for each"


def test_a_page_that_is_gone_has_a_record_of_its_own_though_no_answer_is_kept() -> None:
    outcome = Failed(kind=FailureKind.NOT_FOUND, detail="no such file")
    entry = writer().entry(turn(outcome=outcome, found=None, revisit=RevisitResult.GONE))
    assert entry.ending is None
    assert links(entry).outcome == "gone", "index and graph find it"


def test_one_url_that_ended_has_a_record_like_any_other() -> None:
    [told] = decode_all_links(block_of(writer().endings(endings(1))))
    assert told == endings(1)[0]
    assert decode_links(block_of(writer().endings(endings(1)))) == told


def test_who_reads_endings_as_a_links_record_finds_no_page_and_no_links() -> None:
    told = decode_links(block_of(writer().endings(endings(3))))
    assert (told.url, told.outcome, told.page, told.links) == ("", "endings", "", [])


def test_more_endings_than_fit_into_a_record_fill_several() -> None:
    members = writer().endings(endings(2500))
    found = [block for block in gzip.decompress(members).split(b"WARC/1.1\r\n") if block]
    assert len(found) == 3


def test_a_detail_that_json_cannot_hold_costs_no_other_ending() -> None:
    odd = msgspec.structs.replace(endings(1)[0], detail="half a pair: \ud800")
    told = decode_all_links(block_of(writer().endings([*endings(2), odd])))
    assert [one.url for one in told] == [one.url for one in (*endings(2), odd)]
    assert told[-1].detail == "half a pair: ?"


def test_a_seed_is_remembered_with_its_label() -> None:
    block = gzip.decompress(writer().seed_record("http://one.test/", "news", AT))
    told = msgspec.json.decode(block.partition(b"\r\n\r\n")[2][:-4], type=LinksRecord)
    assert (told.url, told.outcome, told.label, told.at) == ("http://one.test/", "seed", "news", AT)


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        ("length", "length"),
        ("time", "time"),
        ("disconnect", "disconnect"),
        ("x\r\ny", "unspecified"),
    ],
)
def test_a_cut_body_says_so_in_a_word_of_the_standard(said: str, stored: str) -> None:
    entry = writer().entry(turn(document(truncated=said)))
    assert f"\r\nWARC-Truncated: {stored}\r\n".encode() in gzip.decompress(entry.pages)


def test_a_date_that_goes_back_is_marked_in_every_record_of_the_page() -> None:
    back = f"{CLOCK_SET_BACK}2030-01-01T00:00:00Z"
    entry = writer().entry(turn(document(oddities=("odd", back))))
    mark = b"\r\nWARC-Clock-Set-Back-From: 2030-01-01T00:00:00Z\r\n"
    assert gzip.decompress(entry.pages).count(mark) == 2  # the request's, and the response's
    plain_entry = writer().entry(turn(document(oddities=("odd",))))
    assert b"Clock-Set-Back" not in gzip.decompress(plain_entry.pages)


def test_what_is_odd_about_an_answer_stands_in_its_own_record_only() -> None:
    back = f"{CLOCK_SET_BACK}2030-01-01T00:00:00Z"
    odd = ("bare CR in the header", back, "bytes\r\nafter the änswer")
    stored = gzip.decompress(writer().entry(turn(document(oddities=odd))).pages)
    mark = b"\r\nWARC-Oddities: bare CR in the header; bytes after the %C3%A4nswer\r\n"
    assert stored.count(b"WARC-Oddities") == 1
    assert mark in stored.partition(b"WARC-Type: response")[2]
    usual = gzip.decompress(writer().entry(turn(document(oddities=(back,)))).pages)
    assert b"WARC-Oddities" not in usual


def test_a_protocol_without_headers_becomes_a_resource_record() -> None:
    answer = document(b"plain", head=b"", headers=(), request=b"", address="", media_type="")
    entry = writer().entry(turn(answer))
    page = gzip.decompress(entry.pages)
    assert entry.page_offset == 0
    assert b"WARC-Type: resource\r\n" in page
    assert b"Content-Type: application/octet-stream\r\nContent-Length: 5\r\n\r\nplain\r\n" in page


def test_a_copy_that_came_without_headers_becomes_a_revisit_record_without_a_block() -> None:
    answer = document(b"plain", head=b"", headers=(), request=b"", address="", media_type="")
    first = writer().entry(turn(answer))
    of = CopyOf("ftp://h.test/a", "<urn:uuid:0>", first.payload_digest, 0.0)
    entry = writer().entry(turn(answer, copy_of=of))
    page = gzip.decompress(entry.pages)
    assert entry.is_revisit
    assert b"WARC-Refers-To-Target-URI: ftp://h.test/a\r\n" in page
    assert b"Content-Type" not in page
    assert page.endswith(b"Content-Length: 0\r\n\r\n\r\n\r\n")


def test_a_redirect_of_a_protocol_without_headers_leaves_no_page() -> None:
    answer = document(b"", head=b"", headers=(), request=b"", address="", media_type="")
    entry = writer().entry(turn(outcome=Redirected(document=answer, target="/d/")))
    assert (entry.pages, entry.record_id) == (b"", "")
    assert b'"detail":"/d/"' in gzip.decompress(entry.links)


def test_a_body_that_came_compressed_is_not_compressed_again() -> None:
    noise = random.Random(3).randbytes(200_000)
    answer = gzipped(noise)
    entry = writer().entry(turn(answer))
    member = entry.pages[entry.page_offset :]
    assert answer.body.sent()[:60_000] in member
    assert gzip.decompress(member).endswith(answer.body.sent() + b"\r\n\r\n")


@pytest.mark.parametrize("size", [0, 1, 65534, 65535, 65536, 131069, 131070, 131071, 300_000])
def test_stored_blocks_hold_any_size(size: int) -> None:
    payload = random.Random(size).randbytes(size)
    assert gzip.decompress(pack_stored(b"opening", payload)) == b"opening" + payload


def test_a_spooled_body_gives_the_same_record_as_one_in_memory() -> None:
    payload = random.Random(1).randbytes(400_000)
    small = writer().entry(turn(document(payload)))
    large = writer().entry(turn(document(payload, is_spooled=True)))
    assert large.large is not None
    large.large.seek(0)
    packed = large.large.read()
    large.large.close()
    assert len(packed) == large.page_length
    assert gzip.decompress(packed) == gzip.decompress(small.pages[small.page_offset :])
    assert large.size == len(large.pages) + len(packed) + len(large.text) + len(large.links)


def test_a_spooled_body_that_packs_small_needs_no_file() -> None:
    entry = writer().entry(turn(document(b"again " * 100_000, is_spooled=True)))
    assert entry.large is None
    assert gzip.decompress(entry.pages[entry.page_offset :]).endswith(b"again \r\n\r\n")


def test_a_large_body_is_never_in_memory_as_a_whole() -> None:
    class Noise(io.RawIOBase):
        """Twenty megabytes that do not compress, made as they are read."""

        def __init__(self) -> None:
            self.left = 20_000_000
            self.rng = random.Random(5)

        def read(self, size: int = -1) -> bytes:
            size = min(size, self.left)
            self.left -= size
            return self.rng.randbytes(size)

    class NoiseBody(Sent):
        def open_sent(self) -> Noise:
            return Noise()

    answer = document(body=NoiseBody(b"", is_spooled=True))
    tracemalloc.start()
    entry = writer().entry(turn(answer, found=None))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert entry.large is not None
    entry.large.close()
    assert entry.page_length > 20_000_000
    assert peak < 1_500_000


def test_nothing_from_outside_can_start_a_header_line() -> None:
    evil = "http://one.test/\r\nWARC-Type: warcinfo\x00\n x"
    answer = document(address="1.2.3.4\r\nEvil: 1", truncated="length\r\nEvil: 1")
    answer.url = url(evil)
    copy = CopyOf(evil, "<x>\r\nEvil: 1", digest_of(b"<p>Hello"), AT)
    found = Extraction(text="t", language="en\r\nEvil: 1")
    for copy_of in (None, copy):
        entry = writer().entry(turn(answer, found=found, copy_of=copy_of))
        for packed in (entry.pages, entry.text, entry.links):
            for part in gzip.decompress(packed).split(b"WARC/1.1\r\n")[1:]:
                head = part.partition(b"\r\n\r\n")[0]
                names = [line.partition(b":")[0] for line in head.split(b"\r\n")]
                assert b"Evil" not in names
                assert len(names) == len(set(names))
                assert b"\n" not in head.replace(b"\r\n", b"")
                assert b"\x00" not in head


def test_a_body_that_looks_like_a_record_stays_a_body() -> None:
    payload = b"\r\n\r\nWARC/1.1\r\nWARC-Type: response\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
    entry = writer().entry(turn(document(payload)))
    assert gzip.decompress(entry.pages).endswith(HEAD + payload + b"\r\n\r\n")


def test_what_json_cannot_hold_is_kept_as_text() -> None:
    found = Extraction(
        title="lone \ud800 surrogate",
        text="lone \ud800",
        notes={"big": 2**70, "nan": float("nan"), "odd": {1, 2}},
        links=[Link(url("http://two.test/"), LinkKind.ANCHOR, "\udfff")],
    )
    told = links(writer().entry(turn(found=found)))
    assert told.title == "lone ? surrogate"
    assert told.notes["big"] == str(2**70)
    assert told.notes["nan"] is None
    assert told.links[0][2] == "?"


def test_record_ids_are_unique_and_valid_uuids() -> None:
    ids = TurnWriter(software="", rng=random.Random(8))._ids
    made = [ids.next() for _ in range(1000)]
    assert len(set(made)) == 1000
    for text in made:
        assert UUID(text.removeprefix("<urn:uuid:").removesuffix(">")).version == 8


@pytest.mark.parametrize(
    ("at", "date", "stamp"),
    [
        (0.0, "1970-01-01T00:00:00.000000Z", "19700101000000"),
        (-5.0, "1970-01-01T00:00:00.000000Z", "19700101000000"),
        (1700000000.999999, "2023-11-14T22:13:20.999999Z", "20231114221320"),
        (1e15, "9999-12-31T23:59:59.000000Z", "99991231235959"),
    ],
)
def test_dates_are_in_the_range_that_readers_accept(at: float, date: str, stamp: str) -> None:
    assert date_text(at) == date
    assert stamp_text(at) == stamp


def test_plain_values_are_left_alone() -> None:
    assert plain("http://one.test/?q=%20&b") == "http://one.test/?q=%20&b"
    assert plain("a b\x7f\u2028é") == "a%20b%7F%E2%80%A8%C3%A9"


def test_the_task_of_a_turn_is_told() -> None:
    task = Task(url(), depth=4, via="http://v.test/", kind=LinkKind.REDIRECT, attempt=2, hops=3)
    told = links(writer().entry(turn(task=task)))
    assert (told.depth, told.via, told.kind) == (4, "http://v.test/", "redirect")
    assert (told.attempt, told.hops) == (2, 3)
