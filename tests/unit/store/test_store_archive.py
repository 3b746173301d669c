"""The archive: groups, rotation, indexes, and a disk that refuses."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from store_samples import (
    AT,
    FastIterator,
    Shard,
    document,
    gzipped,
    pages,
    turn,
    warcio_check,
    writer,
)
from warcio.archiveiterator import ArchiveIterator

from gossamer.config import StoreConfig
from gossamer.errors import CannotGoOn
from gossamer.model import CopyOf, Failed, FailureKind, Turn
from gossamer.store import (
    Archive,
    ArchiveEntry,
    CrawlFolder,
    FileRow,
    iter_links,
    read_file_row,
    read_page,
    record_ids,
)
from gossamer.store.reader import cdxj_lines


@pytest.fixture
def shard(tmp_path: Path) -> Iterator[Shard]:
    shard = Shard(tmp_path)
    yield shard
    shard.archive.close()
    shard.state.close()


def names(folder: CrawlFolder) -> list[str]:
    return sorted(path.name for path in folder.archive.iterdir())


def committed(shard: Shard) -> dict[str, FileRow]:
    return dict(read_file_row(*row) for row in shard.state.scan(b"a"))


def test_no_file_is_made_before_there_is_something_to_keep(shard: Shard) -> None:
    shard.commit([])
    shard.commit([turn(retry_at=AT)])
    assert names(shard.folder) == []
    assert shard.archive.rows_to_commit() == []


def test_only_the_files_that_are_needed_are_made(shard: Shard) -> None:
    failed = turn(outcome=Failed(kind=FailureKind.STALLED), found=None)
    assert shard.commit([failed]) == [None]
    assert names(shard.folder) == ["links-00-0001-00000.warc.gz"]


def test_a_page_is_found_again_where_the_archive_says(shard: Shard) -> None:
    first = shard.commit(pages(3))
    second = shard.commit(pages(2, first=3))
    for number, ref in enumerate([*first, *second]):
        assert ref is not None
        page = read_page(shard.folder, ref)
        assert page.url == f"http://one.test/{number}"
        assert page.payload == f"<p>Page {number} ".encode() * 40


def test_a_group_without_pages_between_others_gives_no_place(shard: Shard) -> None:
    failed = turn(outcome=Failed(kind=FailureKind.STALLED), found=None)
    refs = shard.commit([*pages(1), failed, *pages(1, first=1)])
    assert [ref is None for ref in refs] == [False, True, False]


def test_the_commit_table_holds_the_length_of_every_file(shard: Shard) -> None:
    shard.commit(pages(2))
    shard.commit(pages(2, first=2))
    for name, row in committed(shard).items():
        assert row.length == (shard.folder.archive / name).stat().st_size
        assert row.synced == 0
        assert not row.is_closed
    assert shard.archive.sync() == {name: row.length for name, row in committed(shard).items()}
    shard.state.write(shard.archive.rows_to_commit())
    assert all(row.synced == row.length for row in committed(shard).values())


def test_the_three_files_of_a_set_are_rotated_together_between_groups(tmp_path: Path) -> None:
    shard = Shard(tmp_path, file_bytes=2000)
    refs = [ref for group in range(6) for ref in shard.commit(pages(4, first=4 * group))]
    shard.archive.close()
    shard.state.write(shard.archive.rows_to_commit())
    sets = {name.age: set() for name in shard.folder.archive_names()}
    for name in shard.folder.archive_names():
        sets[name.age].add(name.kind)
    assert len(sets) > 2
    assert all(kinds == {"pages", "text", "links"} for kinds in sets.values())
    assert [read_page(shard.folder, ref).url for ref in refs] == [
        f"http://one.test/{n}" for n in range(24)
    ]
    for links_name in shard.folder.archive_names(kind="links"):
        pages_path = shard.folder.archive / links_name.sibling("pages").file_name
        ids = {text for text, _ in record_ids(pages_path)}
        told = [r.page for ref, r in iter_links(shard.folder) if ref.file == links_name.file_name]
        assert told
        assert set(told) <= ids
    assert all(row.is_closed and row.synced == row.length for row in committed(shard).values())
    shard.state.close()


def test_rotated_files_are_synced_and_let_go(tmp_path: Path) -> None:
    shard = Shard(tmp_path, file_bytes=100)
    for group in range(5):
        shard.commit(pages(1, first=group))
        shard.archive.sync()
    assert len(shard.archive._retired) <= 6
    shard.archive.close()
    shard.state.write(shard.archive.rows_to_commit())
    assert all(row.synced == row.length for row in committed(shard).values())
    assert len(list(shard.folder.archive.glob("*.cdxj"))) == 5
    shard.state.close()


def test_rotated_files_wait_to_be_synced_whatever_the_policy(tmp_path: Path) -> None:
    shard = Shard(tmp_path, file_bytes=100, sync="never")
    shard.commit(pages(1))
    assert not shard.archive.has_rotated
    shard.commit(pages(1, first=1))
    assert shard.archive.has_rotated
    shard.archive.sync()
    assert not shard.archive.has_rotated
    assert len(list(shard.folder.archive.glob("*.cdxj"))) == 1
    shard.commit(pages(1, first=2))
    shard.archive.close()
    shard.state.write(shard.archive.rows_to_commit())
    assert all(row.synced == row.length for row in committed(shard).values())
    shard.state.close()


def test_what_is_committed_is_told_only_when_the_rows_are_written(tmp_path: Path) -> None:
    shard = Shard(tmp_path, file_bytes=100)
    assert shard.archive.committed == ({}, {})
    shard.append(pages(1))
    assert shard.archive.committed == ({}, {})
    shard.state.write(shard.archive.rows_to_commit())
    shard.archive.note_committed()
    first = dict(shard.archive.committed.open)
    sizes = {p.name: p.stat().st_size for p in shard.folder.archive.glob("*.gz")}
    assert first == sizes
    assert shard.archive.committed.closed == {}
    shard.append(pages(1, first=1))
    assert shard.archive.committed == (first, {})
    shard.archive.undo()
    assert shard.archive.committed == (first, {})
    shard.archive.close()
    shard.state.close()


def test_a_closed_file_is_told_for_as_long_as_the_run_lasts(tmp_path: Path) -> None:
    shard = Shard(tmp_path, file_bytes=100)
    for group in range(4):
        shard.commit(pages(1, first=group))
        shard.archive.note_committed()
        shard.archive.sync()
    ends = shard.archive.committed
    assert sorted(name[-13:-8] for name in ends.closed if name.startswith("pages")) == [
        "00000",
        "00001",
        "00002",
    ]
    assert all((shard.folder.archive / n).stat().st_size == s for n, s in ends.closed.items())
    assert len(ends.open) == 3
    assert not ends.open.keys() & ends.closed.keys()
    shard.archive.close()
    shard.state.close()


GONE = document(status=410, head=b"HTTP/1.1 410 Gone\r\nContent-Type: text/html\r\n\r\n")


def samples() -> list[Turn]:
    original = writer().entry(turn(document(b"the same")))
    copy = CopyOf("http://one.test/a", original.record_id, original.payload_digest, AT)
    chunked = document(
        b"4\r\nWiki\r\n0\r\n\r\n",
        head=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        headers=(("transfer-encoding", "chunked"),),
        media_type="",
        at="http://chunked.test/x?b=2&a=1",
    )
    return [
        turn(document(b"the same")),
        turn(document(b"the same", at="http://copy.test/"), copy_of=copy),
        turn(chunked),
        turn(gzipped(b"<p>zipped" * 500, at="http://www.zip.test/Up/")),
        turn(document(b"", at="http://empty.test/")),
        turn(
            document(
                os.urandom(500_000), is_spooled=True, at="http://large.test/", truncated="length"
            )
        ),
        turn(document(b"x" * 500_000, is_spooled=True, at="http://even.test/")),
        turn(outcome=Failed(kind=FailureKind.GONE, document=GONE)),
        *pages(20),
    ]


def test_warcio_and_fastwarc_read_every_record_and_agree_on_every_digest(shard: Shard) -> None:
    shard.commit(samples())
    shard.archive.close()
    paths = [shard.folder.archive / name.file_name for name in shard.folder.archive_names()]
    checked = warcio_check(*paths)
    assert checked.returncode == 0, checked.stdout
    assert "digest pass" in checked.stdout
    for path in paths:
        with path.open("rb") as file:
            theirs = [r.rec_headers.get_header("WARC-Record-ID") for r in ArchiveIterator(file)]
        with path.open("rb") as file:
            fast = []
            for record in FastIterator(file, parse_http=True):
                fast.append(record.record_id)
                if record.headers["WARC-Type"] in ("response", "resource"):
                    assert record.verify_payload_digest()
        with path.open("rb") as file:
            assert all(r.verify_block_digest() for r in FastIterator(file, parse_http=False))
        ours = [text for text, _ in record_ids(path)]
        assert theirs == ours
        assert [text.strip("<>") for text in fast] == [text.strip("<>") for text in ours]


def test_the_index_has_a_sorted_line_per_page_and_can_be_made_again(shard: Shard) -> None:
    refs = shard.commit(samples())
    shard.archive.close()
    index = shard.folder.archive / "pages-00-0001-00000.cdxj"
    lines = index.read_bytes().splitlines()
    assert lines == sorted(lines)
    assert lines == sorted(cdxj_lines(shard.folder.archive / "pages-00-0001-00000.warc.gz"))
    assert len(lines) == sum(ref is not None for ref in refs)
    places = set()
    for line in lines:
        _key, stamp, facts = line.split(b" ", 2)
        assert stamp == b"20231114221320"
        told = json.loads(facts)
        places.add((told["filename"], int(told["offset"]), int(told["length"])))
    assert places == {(ref.file, ref.offset, ref.length) for ref in refs if ref}
    told = json.loads(
        next(line for line in lines if line.startswith(b"test,zip)")).split(b" ", 2)[2]
    )
    assert told["url"] == "http://www.zip.test/Up/"
    assert told["status"] == "200"
    assert len(told["digest"]) == 32
    assert any(b'"mime": "warc/revisit"' in line for line in lines)


def test_an_undone_group_leaves_the_files_as_they_were(shard: Shard) -> None:
    shard.commit(pages(2))
    before = {path.name: path.read_bytes() for path in shard.folder.archive.iterdir()}
    shard.append(pages(2, first=2))
    shard.archive.undo()
    assert {path.name: path.read_bytes() for path in shard.folder.archive.iterdir()} == before
    refs = shard.commit(pages(1, first=9))
    assert read_page(shard.folder, refs[0]).url == "http://one.test/9"
    shard.archive.close()
    index = shard.folder.archive / "pages-00-0001-00000.cdxj"
    assert len(index.read_bytes().splitlines()) == 3


def test_an_undone_first_group_leaves_no_file(shard: Shard) -> None:
    shard.append(pages(2))
    shard.archive.undo()
    assert names(shard.folder) == []
    assert shard.commit(pages(1))[0] is not None


def test_a_large_page_can_be_appended_again_after_undo(shard: Shard) -> None:
    noise = os.urandom(600_000)
    entry = shard.writer.entry(turn(document(noise, is_spooled=True)))
    shard.archive.append([entry])
    shard.archive.undo()
    (ref,) = shard.archive.append([entry])
    assert ref is not None
    assert read_page(shard.folder, ref).payload == noise


def test_a_file_of_the_same_epoch_is_never_written_to(shard: Shard) -> None:
    shard.commit(pages(1))
    other = Archive.open(shard.folder, 0, 1, StoreConfig(), lambda _: b"")
    with pytest.raises(CannotGoOn, match="File exists"):
        other.append([shard.writer.entry(turn())])


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "archive").write_text("a file in the way")
    with pytest.raises(CannotGoOn, match="archive"):
        Archive.open(CrawlFolder(tmp_path), 0, 1, StoreConfig(), lambda _: b"")


FILLS_THE_DISK = """
import os, resource, sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from store_samples import Shard, pages, turn, document
from gossamer.errors import CannotGoOn
shard = Shard(Path(sys.argv[1]))
shard.commit(pages(3))
lengths = {p.name: p.stat().st_size for p in shard.folder.archive.iterdir()}
size = lengths["pages-00-0001-00000.warc.gz"] + 150_000
resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
try:
    shard.commit([*pages(3, first=3), turn(document(os.urandom(200_000))), *pages(3, first=6)])
except CannotGoOn as error:
    print(error)
after = {p.name: p.stat().st_size for p in shard.folder.archive.iterdir()}
assert after == lengths, (after, lengths)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
shard.commit(pages(3, first=3))
shard.archive.close()
shard.state.close()
"""


def test_a_disk_that_fills_up_in_mid_write_damages_nothing(tmp_path: Path) -> None:
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    command = [sys.executable, "-c", FILLS_THE_DISK, str(tmp_path), str(Path(__file__).parent)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "File too large" in ended.stdout
    assert ended.stdout.count("\n") == 1
    folder = CrawlFolder(tmp_path)
    urls = [links.url for _, links in iter_links(folder)]
    assert urls == [f"http://one.test/{n}" for n in range(6)]
    assert warcio_check(*folder.archive.glob("*.gz")).returncode == 0


def test_seeds_go_into_the_links_file_alone(shard: Shard) -> None:
    seed = ArchiveEntry(links=shard.writer.seed_record("http://one.test/", "news", AT))
    assert shard.archive.append([seed]) == [None]
    ((_, told),) = iter_links(shard.folder)
    assert told.outcome == "seed"
