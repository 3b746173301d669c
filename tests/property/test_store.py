"""Whatever strangers send, the archive stays one record per record, for every reader."""

import base64
import gzip
import io
import random
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from warcio.archiveiterator import ArchiveIterator

from gossamer.config import StoreConfig
from gossamer.model import (
    CopyOf,
    Document,
    Extraction,
    Failed,
    FailureKind,
    Fetched,
    Link,
    LinkKind,
    Redirected,
    RefusalKind,
    Refused,
    Task,
    Turn,
    Url,
)
from gossamer.store import (
    Archive,
    ArchiveEntry,
    ArchiveName,
    CrawlFolder,
    Records,
    TurnWriter,
    iter_links,
    surt,
)
from gossamer.store.reader import decoded
from gossamer.store.warc import (
    digest_of,
    digest_texts,
    pack_stored,
    plain,
    store_stream,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # FastWARC warns of its own old names when imported
    from fastwarc.warc import ArchiveIterator as FastIterator

LINE_BREAKERS = ["\r\n", "\n", "\r", "\x00", "\r\n\r\n", "WARC/1.1\r\n", ": ", " ", "\u2028", "é"]
texts = st.one_of(
    st.text(max_size=30),
    st.lists(st.sampled_from([*LINE_BREAKERS, "http://a.test/", "x"]), max_size=6).map("".join),
    st.text(st.characters(), max_size=10),
)
payloads = st.one_of(
    st.binary(max_size=300),
    st.lists(
        st.sampled_from(
            [b"\r\n\r\n", b"WARC/1.1\r\n", b"WARC-Type: response\r\n", b"\x1f\x8b", b"x"]
        ),
        max_size=8,
    ).map(b"".join),
    st.binary(max_size=50).map(gzip.compress),
)
moments = st.floats(allow_nan=False, allow_infinity=False)


class Sent:
    def __init__(self, data: bytes, *, is_spooled: bool) -> None:
        self.data = data
        self.is_spooled = is_spooled
        self.sent_bytes = len(data)

    def open_sent(self) -> io.BytesIO:
        return io.BytesIO(self.data)

    def sent(self) -> bytes:
        return self.data

    def decoded(self) -> bytes:
        return self.data

    def close(self) -> None:
        return


urls = texts.map(lambda text: Url(text, "a.test", "http://a.test", 1))


@st.composite
def documents(draw: st.DrawFn) -> Document:
    return Document(
        url=draw(urls),
        status=draw(st.integers(0, 999)),
        head=draw(st.one_of(st.just(b""), st.just(b"HTTP/1.1 200 OK\r\n\r\n"), payloads)),
        headers=tuple(draw(st.lists(st.tuples(st.just("content-encoding"), texts), max_size=1))),
        body=Sent(draw(payloads), is_spooled=draw(st.booleans())),
        request=draw(payloads),
        address=draw(texts),
        fetched_at=draw(moments),
        latency_s=0.1,
        media_type=draw(st.one_of(texts, st.just("image/png"))),
        truncated=draw(texts),
        oddities=tuple(draw(st.lists(texts, max_size=2))),
    )


@st.composite
def turns(draw: st.DrawFn) -> Turn:
    document = draw(documents())
    outcome = draw(
        st.sampled_from(
            [
                Fetched(document=document),
                Redirected(document=document, target=draw(texts)),
                Failed(kind=FailureKind.NOT_FOUND, document=document, detail=draw(texts)),
                Failed(kind=FailureKind.STALLED),
                Refused(kind=RefusalKind.BAD_PORT, detail=draw(texts)),
            ]
        )
    )
    digest = draw(st.sampled_from(["sha1:x", digest_of(document.body.sent())]))
    copy = CopyOf(draw(texts), draw(texts), digest, draw(moments))
    link = Link(draw(urls), draw(st.sampled_from(LinkKind)), draw(texts), draw(texts))
    found = Extraction(
        title=draw(texts),
        text=draw(texts),
        language=draw(texts),
        links=[link],
        notes={"n": draw(texts)},
    )
    return Turn(
        task=Task(document.url, via=draw(texts)),
        outcome=outcome,
        at=draw(moments),
        found=draw(st.sampled_from([None, found])),
        copy_of=draw(st.sampled_from([None, copy])),
        fingerprint=draw(st.one_of(st.none(), st.integers(0, 2**64 - 1))),
    )


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(st.lists(turns(), min_size=1, max_size=5))
def test_any_bytes_in_any_field_give_the_same_records_in_every_reader(group: list[Turn]) -> None:
    writer = TurnWriter(software="x\r\ny", rng=random.Random(1))
    with TemporaryDirectory() as root:
        folder = CrawlFolder(Path(root))
        archive = Archive.open(
            folder, 0, 1, StoreConfig(sync="never"), lambda name: writer.warcinfo(name, 0.0)
        )
        entries = [writer.entry(turn) for turn in group]
        endings = [entry.ending for entry in entries if entry.ending is not None]
        together = [ArchiveEntry(links=writer.endings(endings))] if endings else []
        archive.append([*entries, *together])
        archive.close()
        for name in folder.archive_names():
            path = folder.archive / name.file_name
            records = Records(path)
            ours = [(record.record_id, len(record.block)) for record in records]
            assert records.found == ""
            with path.open("rb") as file:
                theirs = [
                    (r.rec_headers.get_header("WARC-Record-ID"), len(r.raw_stream.read()))
                    for r in ArchiveIterator(file, no_record_parse=True)
                ]
            with path.open("rb") as file:
                fast = [
                    (r.headers["WARC-Record-ID"], len(r.reader.read()))
                    for r in FastIterator(file, parse_http=False)
                ]
            assert theirs == fast == ours
        told = list(iter_links(folder))
        moments = sorted(record.at for _, record in told)
        assert moments == pytest.approx(sorted(turn.at for turn in group), abs=0.001)
        for index in folder.archive.glob("*.cdxj"):
            assert all(line.count(b" {") == 1 for line in index.read_bytes().splitlines())


@given(st.lists(st.binary(min_size=20, max_size=20), min_size=1, max_size=4))
def test_digests_are_written_in_base_32_however_many_at_once(digests: list[bytes]) -> None:
    expected = [f"sha1:{base64.b32encode(digest).decode()}" for digest in digests]
    assert digest_texts(digests) == expected


@given(st.lists(st.binary(max_size=100_000), max_size=4))
@settings(max_examples=examples(50), deadline=None)
def test_a_stored_stream_unpacks_to_what_went_in(parts: list[bytes]) -> None:
    assert gzip.decompress(b"".join(store_stream(parts))) == b"".join(parts)


@given(st.binary(max_size=200), st.binary(max_size=200_000))
@settings(max_examples=examples(50), deadline=None)
def test_stored_members_unpack_to_what_went_in(opening: bytes, payload: bytes) -> None:
    assert gzip.decompress(pack_stored(opening, payload)) == opening + payload


@given(texts)
def test_a_header_value_is_one_line_of_printable_ascii(text: str) -> None:
    value = plain(text)
    assert value.isascii()
    assert value.isprintable()
    assert " " not in value
    assert plain(value) == value


@given(texts)
def test_a_sort_key_has_no_blank(text: str) -> None:
    assert not any(blank in surt(plain(text)) for blank in " \r\n")


@given(texts)
def test_only_our_own_names_are_archive_names(text: str) -> None:
    name = ArchiveName.parse(text)
    assert name is None or name.file_name == text


@given(payloads, st.sampled_from(["", "gzip", "deflate", "br", "zstd", "gzip, br"]))
def test_decoding_never_fails_and_never_exceeds_its_cap(sent: bytes, codings: str) -> None:
    for is_chunked in (False, True):
        body = decoded(
            sent, transfer="chunked" if is_chunked else "", codings=codings, max_bytes=100
        )
        assert len(body) <= 100
