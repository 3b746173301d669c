"""What later looks at a page leave in the archive, and how the page is found again from them."""

import json
from pathlib import Path

from store_samples import AT, Shard, document, turn, warcio_check

from gossamer.model import CopyOf, Failed, FailureKind, Fetched, RevisitResult, StoreRef, Turn
from gossamer.store import iter_links, read_original, read_page
from gossamer.store.entry import NOT_MODIFIED

MARKS = b'HTTP/1.1 304 Not Modified\r\nETag: "e"\r\n\r\n'


def not_modified(copy_of: CopyOf | None, at: float = AT + 50) -> Turn:
    answer = document(b"", status=304, head=MARKS, headers=(("etag", '"e"'),), fetched_at=at)
    outcome = Fetched(document=answer)
    return turn(
        answer, outcome=outcome, found=None, revisit=RevisitResult.UNCHANGED, copy_of=copy_of
    )


def stored(tmp_path: Path) -> tuple[Shard, StoreRef]:
    shard = Shard(tmp_path)
    (ref,) = shard.commit([turn(document(fetched_at=AT + 0.123457))])
    assert ref is not None
    return shard, ref


def test_an_answer_of_304_becomes_a_revisit_that_names_the_stored_page(tmp_path: Path) -> None:
    shard, ref = stored(tmp_path)
    original = read_original(shard.folder, ref)
    assert original is not None
    (look,) = shard.commit([not_modified(original)])
    assert look is not None
    page, first = read_page(shard.folder, look), read_page(shard.folder, ref)
    headers, was = page.warc_headers, first.warc_headers
    assert headers["warc-profile"] == NOT_MODIFIED
    assert headers["warc-refers-to"] == was["warc-record-id"]
    assert headers["warc-refers-to-date"] == was["warc-date"]
    assert headers["warc-refers-to-target-uri"] == was["warc-target-uri"]
    assert headers["warc-payload-digest"] == was["warc-payload-digest"]
    assert (page.status, page.head, page.payload) == (304, MARKS, b"")
    assert read_page(shard.folder, look, lambda _url, _id: ref).payload == first.payload
    shard.archive.close()
    done = warcio_check(*sorted(shard.folder.archive.glob("*.gz")))
    assert done.returncode == 0, done.stdout


def test_a_revisit_of_a_revisit_names_the_page_itself(tmp_path: Path) -> None:
    shard, ref = stored(tmp_path)
    original = read_original(shard.folder, ref)
    (look,) = shard.commit([not_modified(original)])
    assert look is not None
    assert read_original(shard.folder, look) == original


def test_an_original_that_is_not_there_is_none(tmp_path: Path) -> None:
    shard, ref = stored(tmp_path)
    assert read_original(shard.folder, StoreRef("pages-00-0009-00000.warc.gz", 0, 9)) is None
    assert read_original(shard.folder, StoreRef(ref.file, ref.offset + 1, 9)) is None
    (look,) = shard.commit([not_modified(None)])
    assert look is not None
    assert "warc-refers-to" not in read_page(shard.folder, look).warc_headers


def test_the_links_archive_tells_looks_from_pages(tmp_path: Path) -> None:
    shard, ref = stored(tmp_path)
    original = read_original(shard.folder, ref)
    gone = Failed(kind=FailureKind.GONE, detail="410", document=document(b"no", status=410))
    shard.commit(
        [
            not_modified(original),
            turn(copy_of=original, revisit=RevisitResult.UNCHANGED),
            turn(document(b"<p>New"), revisit=RevisitResult.CHANGED),
            turn(outcome=gone, found=None, revisit=RevisitResult.GONE),
        ]
    )
    told = [
        (links.outcome, links.reason, len(links.links)) for _, links in iter_links(shard.folder)
    ]
    assert told == [
        ("fetched", "", 1),
        ("unchanged", "", 0),
        ("unchanged", "", 0),
        ("fetched", "", 1),
        ("gone", "gone", 0),
    ]


def test_the_index_has_the_digest_of_the_page_that_a_304_stands_for(tmp_path: Path) -> None:
    shard, ref = stored(tmp_path)
    original = read_original(shard.folder, ref)
    assert original is not None
    shard.commit([not_modified(original)])
    shard.archive.close()
    (index,) = shard.folder.archive.glob("*.cdxj")
    rows = [json.loads(line.split(" ", 2)[2]) for line in index.read_text().splitlines()]
    assert {row["digest"] for row in rows} == {original.payload_digest.removeprefix("sha1:")}
    assert [row["mime"] for row in rows if row["status"] == "304"] == ["warc/revisit"]
