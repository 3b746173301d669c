"""SpooledBody, decoding and chunk framing: as sent, as written, and never an exception."""

import gzip
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from gossamer.fetch.body import PLAIN, BodyMemory, BodySpool, Framing, SpooledBody
from gossamer.fetch.decoding import (
    COMPILED_FROM_CHUNKS,
    KEPT_BYTES,
    Caps,
    Dechunker,
    codings_of,
    decode,
    has_many_chunks,
)

TEXT = b"What the author wrote. " * 500
CAPS = Caps(64 * 2**20, 200)


def raw_deflate(data: bytes) -> bytes:
    engine = zlib.compressobj(wbits=-15)
    return engine.compress(data) + engine.flush()


@pytest.mark.parametrize(
    ("header", "sent"),
    [
        ("", TEXT),
        ("identity", TEXT),
        ("gzip", gzip.compress(TEXT, mtime=0)),
        ("X-GZIP", gzip.compress(TEXT, mtime=0)),
        ("gzip", gzip.compress(TEXT[:99], mtime=0) + gzip.compress(TEXT[99:], mtime=0)),
        ("gzip", gzip.compress(TEXT, mtime=0) + b"\0" * 20),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", raw_deflate(TEXT)),
        ("br", brotli.compress(TEXT)),
        ("zstd", zstandard.compress(TEXT)),
        ("gzip, br", brotli.compress(gzip.compress(TEXT, mtime=0))),
        ("deflate, gzip, zstd", zstandard.compress(gzip.compress(zlib.compress(TEXT), mtime=0))),
    ],
)
def test_codings_are_undone(header: str, sent: bytes) -> None:
    decoded = decode(sent, codings_of(header), CAPS.limit(len(sent)))
    assert (decoded.data, decoded.note) == (TEXT, "")


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd"])
def test_a_bomb_is_cut_at_the_ratio(name: str) -> None:
    zeros = bytes(64 * 2**20)
    pack = {
        "gzip": gzip.compress,
        "deflate": zlib.compress,
        "br": lambda data: brotli.compress(data, quality=4),
        "zstd": zstandard.compress,
    }[name]
    sent = pack(zeros)
    limit = Caps(2**30, 20).limit(len(sent))
    decoded = decode(sent, (name,), limit)
    assert decoded.is_cut
    assert len(decoded.data) == min(limit, KEPT_BYTES)


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd"])
def test_a_large_body_that_is_no_bomb_is_decoded_whole(name: str) -> None:
    data = b"".join(b"%d some words to compress\n" % n for n in range(400_000))
    pack = {"gzip": gzip.compress, "deflate": zlib.compress, "zstd": zstandard.compress}
    sent = brotli.compress(data, quality=1) if name == "br" else pack[name](data)
    decoded = decode(sent, (name,), CAPS.limit(len(sent)))
    assert decoded.data == data
    assert (decoded.note, decoded.is_cut) == ("", False)


def test_a_bomb_within_a_bomb_is_cut_too() -> None:
    sent = gzip.compress(gzip.compress(bytes(64 * 2**20), mtime=0))
    decoded = decode(sent, ("gzip", "gzip"), 2**20)
    assert decoded.is_cut
    assert len(decoded.data) == 2**20


def test_a_small_body_may_grow_to_a_megabyte() -> None:
    assert Caps(64 * 2**20, 200).limit(100) == 2**20
    assert Caps(64 * 2**20, 200).limit(10_000) == 2_000_000
    assert Caps(1000, 200).limit(10_000) == 1000


@pytest.mark.parametrize("name", ["gzip", "deflate", "br"])
def test_what_came_before_a_defect_is_kept(name: str) -> None:
    noise = bytes(range(256)) * 200
    sent = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress}[name](noise)
    decoded = decode(sent[: len(sent) // 2], (name,), CAPS.limit(len(sent)))
    assert decoded.note
    assert noise.startswith(decoded.data)


@pytest.mark.parametrize("header", ["compress", "gzip,gzip,gzip,gzip", "nonsense, gzip"])
def test_what_cannot_be_decoded_stays_as_it_is(header: str) -> None:
    decoded = decode(TEXT, codings_of(header), CAPS.limit(len(TEXT)))
    assert decoded.data == TEXT
    assert decoded.note


@given(st.binary(max_size=300), st.lists(st.sampled_from(["gzip", "deflate", "br", "zstd"])))
def test_decoding_never_raises(data: bytes, codings: list[str]) -> None:
    decoded = decode(data, tuple(codings), 2**20)
    assert len(decoded.data) <= 2**20


@given(st.lists(st.binary(min_size=1, max_size=50)), st.integers(1, 20), st.binary(max_size=5))
def test_chunks_give_back_what_was_put_in(parts: list[bytes], step: int, extra: bytes) -> None:
    framed = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    dechunker = Dechunker()
    found = b""
    for at in range(0, len(framed + extra), step):
        found += b"".join(dechunker.feed((framed + extra)[at : at + step]))
    assert found == b"".join(parts)
    assert (dechunker.end, dechunker.error, dechunker.oddities) == (len(framed), "", set())


SIZES = st.sampled_from(
    [b"1", b"2", b"3", b"A", b"a", b"0", b"", b"g", b"1g", b" 1", b"1 ", b"1\t", b"fffffffffffff"]
)
LONG_SIZES = st.sampled_from(
    [b"0000000000000002", b"00000000000000001", b"fffffffffffffff1", b"4000000000000000"]
)
EXTENSIONS = st.sampled_from(
    [b"", b"", b";a", b";a=b", b" ; a = b", b';a="b;\\"c"', b';a="b', b';a="\\', b";", b";;a"]
)
ODD_EXTENSIONS = st.sampled_from(
    [b";a=", b';a="b"c', b";a;b", b";a=b;c=\x7f", b";^_`|~!#$%&'*+-.=1", b";@", b";[", b";{"]
)
BLANKS_AND_QUOTES = st.sampled_from(
    [b";a ", b';a="\r"', b";(", b";,", b";/", b";:", b';a="\\\r"', b"\t;\ta\t=\tb"]
)
LINE_ENDS = st.sampled_from([b"\r\n", b"\r\n", b"\r\n", b"\n", b"\r\r\n", b"\r", b""])
CHUNKS = st.tuples(
    SIZES | LONG_SIZES,
    EXTENSIONS | ODD_EXTENSIONS | BLANKS_AND_QUOTES,
    LINE_ENDS,
    st.binary(max_size=3),
    LINE_ENDS,
).map(b"".join)
GOOD_CHUNKS = st.binary(min_size=1, max_size=40).map(lambda b: b"%x\r\n%b\r\n" % (len(b), b))


@given(st.lists(GOOD_CHUNKS | CHUNKS), st.integers(1, 200))
def test_machine_code_reads_chunks_as_python_does(parts: list[bytes], step: int) -> None:
    framed = b"".join(parts)
    found = []
    for compiled_from in (0, 1, 10**9):
        dechunker = Dechunker(compiled_from=compiled_from)
        payload = b""
        for at in range(0, len(framed), step):
            payload += b"".join(dechunker.feed(framed[at : at + step]))
        found.append((payload, dechunker.end, dechunker.error, dechunker.oddities))
    assert found[0] == found[1] == found[2]


def test_a_size_that_no_machine_word_holds_is_read_on_in_python() -> None:
    dechunker = Dechunker(compiled_from=1)
    assert dechunker.feed(b"fffffffffffffff1\r\nab") == [b"ab"]
    assert dechunker.feed(b"cd") == [b"cd"]
    assert (dechunker.end, dechunker.error) == (None, "")


@pytest.mark.parametrize(
    ("sent", "are_many"),
    [
        (b"1\r\nx\r\n" * (COMPILED_FROM_CHUNKS + 1), True),
        (b"1\r\nx\r\n" * COMPILED_FROM_CHUNKS + b"0\r\n\r\n", False),
        (b"1;a=b\nx\r\n" * (COMPILED_FROM_CHUNKS + 1), True),
        (b"1000\r\n" + b"\r\n" * 0x800 + b"\r\n0\r\n\r\n", False),
        (b"", False),
        (b"<html>\r\n" * 1000, False),
    ],
)
def test_it_is_known_beforehand_whether_machine_code_will_read_a_body(
    sent: bytes, *, are_many: bool
) -> None:
    assert has_many_chunks(sent) is are_many


def test_a_megabyte_of_one_byte_chunks_is_left_to_machine_code() -> None:
    framed = b"1\r\nx\r\n" * 170_000 + b"0\r\n\r\n"
    dechunker = Dechunker()
    pieces = dechunker.feed(framed)
    assert b"".join(pieces) == b"x" * 170_000
    assert len(pieces) == COMPILED_FROM_CHUNKS + 1
    assert (dechunker.end, dechunker.error, dechunker.oddities) == (len(framed), "", set())


@given(st.binary(max_size=200))
def test_dechunking_never_raises(data: bytes) -> None:
    dechunker = Dechunker()
    dechunker.feed(data)
    assert dechunker.end is None or dechunker.end <= len(data)


@pytest.mark.parametrize(
    ("framed", "oddity"),
    [
        (b"5 \r\nhello\r\n0\r\n\r\n", "malformed chunk size line"),
        (b"5;\r\nhello\r\n0\r\n\r\n", "malformed chunk size line"),
        (b"5\nhello\n0\n\n", "chunk line ends with a bare LF"),
        (b'5;a="b\r\nhello\r\n0\r\n\r\n', "malformed chunk size line"),
    ],
)
def test_sloppy_framing_is_read_and_marked(framed: bytes, oddity: str) -> None:
    dechunker = Dechunker()
    assert b"".join(dechunker.feed(framed)) == b"hello"
    assert oddity in dechunker.oddities


@pytest.mark.parametrize("framed", [b"x\r\nhello\r\n", b"5\r\nhelloEvil\r\n0\r\n\r\n", b"-5\r\n"])
def test_broken_framing_is_an_error(framed: bytes) -> None:
    dechunker = Dechunker()
    dechunker.feed(framed)
    assert dechunker.error


@pytest.mark.parametrize("size", [10, 64 * 1024, 64 * 1024 + 1, 1_000_000])
def test_every_reader_starts_at_the_beginning(size: int) -> None:
    data = bytes(range(250)) * (size // 250) + bytes(size % 250)
    spool = BodySpool(64 * 1024)
    for at in range(0, size, 10_000):
        spool.add(data[at : at + 10_000])
    body = SpooledBody(spool.contents(), spool.size, PLAIN, CAPS)
    assert body.is_spooled is (size > 64 * 1024)
    assert body.sent_bytes == size
    for _ in range(2):
        with body.open_sent() as reader, body.open_sent() as other:
            assert reader.read(100) == data[:100]
            assert other.read() == data
        assert body.sent() == data
        assert body.decoded() == data
    body.close()
    body.close()


def test_bytes_after_the_last_chunk_are_not_kept() -> None:
    for size in (10, 100_000):
        payload = b"x" * size
        framed = b"%x\r\n%b\r\n0\r\n\r\n" % (size, payload)
        spool = BodySpool(1000)
        spool.add(framed + b"Evil")
        body = SpooledBody(spool.contents(), spool.size, Framing(is_chunked=True), CAPS)
        assert body.decoded() == payload
        assert body.sent() == framed
        assert body.sent_bytes == len(framed)
        body.close()


def test_a_larger_body_stays_in_memory_while_there_is_room_and_gives_it_back() -> None:
    room = BodyMemory(250_000)
    first, second = BodySpool(1000, room), BodySpool(1000, room)
    for spool in (first, second):
        for _ in range(20):
            spool.add(b"x" * 10_000)
    bodies = [SpooledBody(s.contents(), s.size, PLAIN, CAPS, s.claim()) for s in (first, second)]
    assert [body.is_spooled for body in bodies] == [False, True]
    assert room.free_bytes == 50_000
    assert {body.sent() for body in bodies} == {b"x" * 200_000}
    for body in bodies:
        body.close()
    assert room.free_bytes == 250_000


def test_a_body_that_nobody_takes_gives_its_room_back() -> None:
    room = BodyMemory(250_000)
    spool = BodySpool(1000, room)
    spool.add(b"x" * 200_000)
    assert room.free_bytes == 50_000
    del spool
    assert room.free_bytes == 250_000


def test_a_body_of_more_than_a_megabyte_lies_in_a_file_whatever_the_room() -> None:
    room = BodyMemory(1 << 30)
    spool = BodySpool(1000, room)
    for _ in range(30):
        spool.add(b"x" * 100_000)
    assert room.free_bytes == 1 << 30
    body = SpooledBody(spool.contents(), spool.size, PLAIN, CAPS, spool.claim())
    assert body.is_spooled
    assert body.sent() == b"x" * 3_000_000
    body.close()
