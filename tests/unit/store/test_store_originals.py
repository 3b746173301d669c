"""Revisits and the records that have their payload, wherever these lie."""

from pathlib import Path
from random import Random

import pytest
from store_samples import AT, Shard, document, pages, turn

from gossamer.crawl.mend.walking import LostRecords, walk_archive
from gossamer.model import CheckScope, CopyOf
from gossamer.report.checking import check
from gossamer.store import Record, scan_records

ORIGINAL, COPY = "http://one.test/0", "http://one.test/copy"


def sync_and_die(shard: Shard) -> None:
    """Let everything be durable, and the state know it."""
    shard.state.write(shard.archive.rows_to_commit())
    shard.archive.note_committed()
    shard.archive.sync()
    shard.state.write(shard.archive.rows_to_commit())
    shard.die()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A crawl in which a copy lies in a file that is read before that of its original."""
    shard = Shard(tmp_path, epoch=2)
    first = pages(1)[0]
    entry = shard.writer.entry(first)
    shard.archive.append([entry])
    sync_and_die(shard)
    shard = Shard(tmp_path, epoch=1)
    original = CopyOf(ORIGINAL, entry.record_id, entry.payload_digest, AT)
    shard.commit([turn(document(b"<p>Page 0 " * 40, at=COPY), copy_of=original)])
    sync_and_die(shard)
    return tmp_path


def spoil(folder: Path) -> None:
    path = folder / "archive" / "pages-00-0002-00000.warc.gz"
    (victim,) = (
        found
        for found in scan_records(path)
        if isinstance(found, Record) and found.headers["warc-type"] == "response"
    )
    data = bytearray(path.read_bytes())
    data[victim.offset + victim.length - 6] ^= 1
    path.write_bytes(data)


def findings(folder: Path) -> list[tuple[str, str]]:
    found = check(folder, CheckScope(), Random(1), lambda _: None).findings
    return [(one.url, one.found) for one in found if one.kind in {"bad_set", "bad_record"}]


def test_a_revisit_is_found_though_its_original_lies_in_a_file_that_is_read_later(
    folder: Path,
) -> None:
    lost = LostRecords()
    crawl_folder = Shard(folder, epoch=3).folder
    found = [one.links.url for one in walk_archive(crawl_folder, lost)]
    assert found == [ORIGINAL, COPY]
    assert lost == LostRecords()
    assert findings(folder) == []


def test_a_revisit_is_lost_with_its_original_and_check_names_both(folder: Path) -> None:
    spoil(folder)
    lost = LostRecords()
    assert list(walk_archive(Shard(folder, epoch=3).folder, lost)) == []
    assert sorted(links.url for links in lost.pages) == [ORIGINAL, COPY]
    (bad,) = lost.bad
    assert bad.url == ORIGINAL
    assert sorted(url for url, _ in findings(folder)) == [ORIGINAL, COPY]
    assert any("the record with its payload" in found for _, found in findings(folder))


def test_a_links_record_without_its_page_is_no_damage_once_the_page_was_fetched_again(
    folder: Path,
) -> None:
    spoil(folder)
    shard = Shard(folder, epoch=3)
    shard.commit([*pages(1), turn(document(b"<p>Page 0 " * 40, at=COPY))])
    sync_and_die(shard)
    told = findings(folder)
    assert [url for url, _ in told] == [ORIGINAL]  # the record that is damaged itself
    assert "payload" not in told[0][1]


@pytest.mark.parametrize("tail", [b"garbage" * 20, bytes(500)])
def test_bytes_behind_the_end_that_are_no_records_are_named_unless_a_power_loss_leaves_them(
    folder: Path, tail: bytes
) -> None:
    with (folder / "archive" / "text-00-0002-00000.warc.wet.gz").open("ab") as file:
        file.write(tail)
    found = check(folder, CheckScope(), Random(1), lambda _: None).findings
    assert ("tail" in {one.kind for one in found}) == any(tail)
