"""Reading the archive again: single pages, whole files, torn tails, codings."""

import gzip
import os
import random
import signal
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path

import brotli
import pytest
import zstandard
from store_samples import AT, HEAD, Shard, document, gzipped, pages, turn, warcio_check

from gossamer.errors import CorruptFile
from gossamer.model import CopyOf, StoreRef
from gossamer.store import (
    BadRecord,
    CrawlFolder,
    Records,
    State,
    iter_links,
    iter_pages,
    read_page,
    record_ids,
    records,
    repair,
    surt,
)
from gossamer.store.reader import decoded
from gossamer.store.scanning import RecordIdSet
from gossamer.store.warc import RecordIds


@pytest.fixture
def shard(tmp_path: Path) -> Iterator[Shard]:
    shard = Shard(tmp_path)
    yield shard
    shard.archive.close()
    shard.state.close()


def test_a_page_comes_back_as_it_was_received(shard: Shard) -> None:
    (ref,) = shard.commit([turn(gzipped(b"<p>zipped" * 99, at="http://z.test/"))])
    page = read_page(shard.folder, ref)
    assert (page.url, page.status) == ("http://z.test/", 200)
    assert page.head.endswith(b"gzip\r\n\r\n")
    assert page.header("content-encoding") == "gzip"
    assert gzip.decompress(page.payload) == page.decoded() == b"<p>zipped" * 99
    assert page.warc_headers["warc-type"] == "response"


def test_a_revisit_is_followed_to_its_original(shard: Shard) -> None:
    first = shard.writer.entry(turn(document(b"same")))
    (original,) = shard.archive.append([first])
    copy = CopyOf("http://one.test/a", first.record_id, first.payload_digest, AT)
    (ref,) = shard.commit([turn(document(b"same", at="http://copy.test/"), copy_of=copy)])
    asked = []

    def find(url: str, record_id: str) -> StoreRef | None:
        asked.append((url, record_id))
        return original

    page = read_page(shard.folder, ref, find)
    assert asked == [("http://one.test/a", first.record_id)]
    assert (page.url, page.head, page.payload) == ("http://copy.test/", HEAD, b"same")
    assert page.original == original
    assert read_page(shard.folder, ref).payload == b""


def test_a_place_that_holds_no_record_is_named(shard: Shard) -> None:
    (ref,) = shard.commit([turn()])
    for wrong in (
        StoreRef(ref.file, ref.offset + 1, ref.length),
        StoreRef(ref.file, 10**9, 5),
        StoreRef("pages-00-0007-00000.warc.gz", 0, 5),
    ):
        with pytest.raises(CorruptFile, match=wrong.file):
            read_page(shard.folder, wrong)


@pytest.mark.parametrize("chunk_bytes", [1, 7, 100, 128 * 1024])
def test_members_are_found_however_the_file_is_read(
    shard: Shard, chunk_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard.commit(pages(5))
    path = shard.folder.archive / "pages-00-0001-00000.warc.gz"
    whole = [(r.offset, r.length, r.block) for r in Records(path)]
    monkeypatch.setattr(records, "CHUNK_BYTES", chunk_bytes)
    assert [(r.offset, r.length, r.block) for r in Records(path)] == whole
    assert len(whole) == 11


def test_reading_goes_on_to_the_end_and_names_what_was_cut(shard: Shard) -> None:
    shard.commit(pages(3))
    path = shard.folder.archive / "links-00-0001-00000.warc.gz"
    places = [ref for _, ref in record_ids(path)]
    for cut in (1, 9, 30, places[-1].length - 1):
        os.truncate(path, places[-1].offset + places[-1].length - cut)
        named: list[BadRecord] = []
        told = list(iter_links(shard.folder, named.append))
        assert len(told) == 2
        assert [(bad.file, bad.offset) for bad in named] == [(path.name, places[-1].offset)]
        assert named[0].url in {"http://one.test/2", ""}


def test_a_flipped_bit_is_noticed(shard: Shard) -> None:
    shard.commit(pages(3))
    path = shard.folder.archive / "pages-00-0001-00000.warc.gz"
    data = bytearray(path.read_bytes())
    _, victim = list(record_ids(path))[4]
    data[victim.offset + victim.length // 2] ^= 4
    path.write_bytes(data)
    records = Records(path)
    assert len(list(records)) == 4
    assert records.whole_until == victim.offset
    assert records.found


def test_pages_of_a_file_come_in_order_with_their_places(shard: Shard) -> None:
    refs = shard.commit(pages(3))
    found = list(iter_pages(shard.folder.archive / "pages-00-0001-00000.warc.gz"))
    assert [page.ref for page in found] == refs
    assert [page.url for page in found] == [f"http://one.test/{n}" for n in range(3)]


CODED = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.compress,
}


@pytest.mark.parametrize("coding", CODED)
def test_every_coding_is_undone_up_to_a_cap(coding: str) -> None:
    body = random.Random(1).randbytes(1000) * 60
    packed = CODED[coding](body)
    undo = {"transfer": "", "codings": coding}
    assert decoded(packed, max_bytes=10**6, **undo) == body
    assert decoded(packed, max_bytes=5000, **undo) == body[:5000]
    assert decoded(b"not coded at all", max_bytes=10**6, **undo) == b"not coded at all"


def test_raw_deflate_many_members_and_stacked_codings_are_undone() -> None:
    deflate = zlib.compressobj(wbits=-15)
    raw = deflate.compress(b"raw") + deflate.flush()
    undo = {"transfer": "", "max_bytes": 10**6}
    assert decoded(raw, codings="deflate", **undo) == b"raw"
    assert decoded(gzip.compress(b"a") + gzip.compress(b"b"), codings="gzip", **undo) == b"ab"
    assert decoded(gzip.compress(b"a") + b"rest", codings="gzip", **undo) == b"a"
    both = brotli.compress(gzip.compress(b"both"))
    assert decoded(both, codings="gzip, br", **undo) == b"both"
    assert decoded(b"as is", codings="unheard-of", **undo) == b"as is"


@pytest.mark.parametrize(
    ("sent", "body"),
    [
        (b"4\r\nWiki\r\n5\r\npedia\r\n0\r\n\r\n", b"Wikipedia"),
        (b"4;ext=1\r\nWiki\r\n0\r\nTrailer: x\r\n\r\n", b"Wiki"),
        (b"4\r\nWiki\r\n5\r\nped", b"Wikiped"),
        (b"4\nWiki\n0\n\n", b"Wiki"),
        (b"4\r\nWiki\r\nzz\r\n", b"Wiki"),
        (b"not chunked", b""),
        (b"not\nchunked", b"not\nchunked"),
        (b"", b""),
    ],
)
def test_chunk_framing_is_undone_as_far_as_it_goes(sent: bytes, body: bytes) -> None:
    assert decoded(sent, transfer="chunked", codings="", max_bytes=10**6) == body


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://www.example.org/", "org,example)/"),
        ("https://www2.example.org:443/A/b/?z=1&A=2", "org,example)/a/b?a=2&z=1"),
        ("http://example.org:8080/x", "org,example:8080)/x"),
        ("http://[::1]:81/", "::1:81)/"),
        ("http://user:pw@example.org/a%20b//c", "org,example)/a%20b/c"),
        ("http://example.org/?", "org,example)/"),
        ("http://example.org/p?sid=0123456789abcdef0123456789abcdef&q=1", "org,example)/p?q=1"),
        ("http://example.org/%2541%C3%A9", "org,example)/a%c3%a9"),
        ("mailto:x y", "mailto:x%20y"),
    ],
)
def test_a_url_sorts_by_its_reversed_host(url: str, key: str) -> None:
    assert surt(url) == key


def test_syncing_in_a_thread_while_appending_loses_nothing(tmp_path: Path) -> None:
    shard = Shard(tmp_path, file_bytes=4000)
    is_over = threading.Event()
    failures: list[BaseException] = []

    def keep_syncing() -> None:
        try:
            while not is_over.is_set():
                shard.archive.sync()
        except BaseException as error:  # noqa: BLE001 -- handed to the test's own thread
            failures.append(error)

    thread = threading.Thread(target=keep_syncing)
    thread.start()
    for group in range(60):
        shard.commit(pages(3, first=3 * group))
    is_over.set()
    thread.join()
    shard.archive.close()
    shard.state.write(shard.archive.rows_to_commit())
    assert failures == []
    assert repair(shard.folder, 0, shard.die()).rows == []
    assert len(list(iter_links(shard.folder))) == 180


COMMITS_UNTIL_KILLED = """
import sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from store_samples import Shard, pages
from gossamer.store import CrawlFolder, State, repair
root = Path(sys.argv[1])
state = State.open(CrawlFolder(root).state())
done = repair(CrawlFolder(root), 0, state.scan(b"a"), has_rebooted=False)
epoch = int(state.get(b"e") or 0) + 1
state.write([*done.rows, (b"e", b"%d" % epoch)])
first = int(state.get(b"n") or 0)
state.close()
shard = Shard(root, epoch=epoch, file_bytes=6000)
print("ready", flush=True)
while True:
    shard.append(pages(4, first=first))
    first += 4
    shard.state.write([*shard.archive.rows_to_commit(), (b"n", b"%d" % first)])
    if first % 5 == 0:
        shard.archive.sync()
        shard.state.sync()
"""


@pytest.mark.slow
def test_kill_9_at_any_moment_leaves_every_committed_page_once(tmp_path: Path) -> None:
    rng = random.Random(11)
    for _ in range(8):
        child = subprocess.Popen(
            [sys.executable, "-c", COMMITS_UNTIL_KILLED, str(tmp_path), str(Path(__file__).parent)],
            stdout=subprocess.PIPE,
        )
        assert child.stdout is not None
        if rng.random() < 0.8:
            child.stdout.readline()
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(timeout=rng.uniform(0.01, 0.3))
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
    folder = CrawlFolder(tmp_path)
    state = State.open(folder.state())
    done = repair(folder, 0, state.scan(b"a"), has_rebooted=False)
    count = int(state.get(b"n") or 0)
    state.close()
    assert done.bad == []
    assert count > 0
    assert [links.url for _, links in iter_links(folder)] == [
        f"http://one.test/{n}" for n in range(count)
    ]
    assert warcio_check(*folder.archive.glob("*.gz")).returncode == 0
    stored = [
        page.url
        for name in folder.archive_names(kind="pages")
        for page in iter_pages(folder.archive / name.file_name)
    ]
    assert sorted(stored) == sorted(f"http://one.test/{n}" for n in range(count))


def test_a_set_of_record_ids_has_those_that_were_added_in_any_order() -> None:
    ids = RecordIds(random.Random(5))
    all_ids = [ids.next() for _ in range(20)]
    known = RecordIdSet()
    known.update([*all_ids[10:16], *all_ids[:5], "<urn:uuid:of-another-crawler>"])
    assert [one in known for one in all_ids] == [n < 5 or 10 <= n < 16 for n in range(20)]
    assert "<urn:uuid:of-another-crawler>" in known
    assert "<urn:uuid:unknown>" not in known
