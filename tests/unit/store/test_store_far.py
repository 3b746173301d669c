"""Archive files that are in the object store only: not on this disk, and not lost."""

from pathlib import Path
from random import Random

import msgspec
import pytest
from msgspec.structs import replace
from store_samples import Shard, pages

from gossamer.crawl.mend import build_state
from gossamer.crawl.removing import purge_urls
from gossamer.errors import CannotGoOn
from gossamer.model import CheckScope
from gossamer.report.checking import check
from gossamer.store import (
    CrawlFolder,
    EndsFile,
    FileRow,
    ShippedFile,
    State,
    ends_findings,
    far_files,
    file_row,
    missing_ends,
    note_far,
    read_ends,
    read_file_row,
    repair,
)

SET = (
    "pages-00-0001-00000.warc.gz",
    "text-00-0001-00000.warc.wet.gz",
    "links-00-0001-00000.warc.gz",
)
OLD_ROW = bytes.fromhex("94cd03e8cd03e8c32a")
"""[1000, 1000, true, 42], as versions without the flag wrote it."""


def two_sets(root: Path) -> tuple[CrawlFolder, dict[str, FileRow]]:
    """Store pages in two sets of files, of which the first is closed and repaired."""
    shard = Shard(root, file_bytes=100)
    shard.commit(pages(2))
    shard.commit(pages(2, first=2))
    folder, rows = shard.folder, shard.die()
    done = repair(folder, 0, rows)
    table = dict(read_file_row(*row) for row in (dict(rows) | dict(done.rows)).items())
    EndsFile.begin(folder, 0, done.lengths, None)
    return folder, table


def marked_far(folder: CrawlFolder, table: dict[str, FileRow]) -> dict[str, FileRow]:
    """Commit that the first set is in the store, and take it from the disk."""
    far = table | {name: replace(table[name], is_far=True) for name in SET}
    state = State.open(folder.state())
    state.write([file_row(*one) for one in far.items()])
    state.close()
    for name in SET:
        (folder.archive / name).unlink()
    return far


def test_a_row_of_an_older_version_is_of_a_file_on_this_disk() -> None:
    row = FileRow(1000, 1000, is_closed=True, cdxj_length=42)
    assert read_file_row(b"aname", OLD_ROW) == ("name", row)
    assert not read_file_row(b"aname", OLD_ROW)[1].is_far


def test_the_flag_is_kept_in_the_row() -> None:
    row = FileRow(1000, 1000, is_closed=True, cdxj_length=42, is_far=True)
    assert read_file_row(*file_row("name", row)) == ("name", row)
    older = msgspec.msgpack.decode(file_row("name", row)[1], type=list[int | bool])
    assert older[:4] == [1000, 1000, True, 42]  # where an older version looks


@pytest.mark.parametrize("has_rebooted", [True, False])
def test_repair_takes_no_file_for_lost_that_is_in_the_store_only(
    tmp_path: Path, *, has_rebooted: bool
) -> None:
    folder, table = two_sets(tmp_path)
    rows = [file_row(*one) for one in marked_far(folder, table).items()]
    before = read_ends(folder)
    done = repair(folder, 0, rows, has_rebooted=has_rebooted)
    assert (done.bad, done.cut, done.moved, done.rows, done.reindexed) == ([], [], [], [], [])
    assert done.lengths == {name: row.length for name, row in table.items()}
    assert read_ends(folder) == before


def test_without_the_flag_the_same_files_are_lost(tmp_path: Path) -> None:
    folder, table = two_sets(tmp_path)
    rows = [file_row(*one) for one in table.items()]
    for name in SET:
        (folder.archive / name).unlink()
    assert {name for name, _ in repair(folder, 0, rows).bad} == set(SET)


def test_a_far_set_does_not_hide_what_another_set_has_lost(tmp_path: Path) -> None:
    folder, table = two_sets(tmp_path)
    far = marked_far(folder, table)
    (near,) = [name for name in far if name not in SET and name.startswith("pages")]
    (folder.archive / near).unlink()
    assert near in missing_ends(folder, {n: replace(r, synced=0) for n, r in far.items()})
    found = {name for name, _ in repair(folder, 0, [file_row(*one) for one in far.items()]).bad}
    assert near in found
    assert not found & set(SET)


def test_a_far_file_is_neither_missing_nor_short(tmp_path: Path) -> None:
    folder, table = two_sets(tmp_path)
    far = marked_far(folder, table)
    assert ends_findings(folder, [0]) == []
    assert missing_ends(folder, far) == {}
    assert far_files(folder) == sorted(SET)
    found = check(tmp_path, CheckScope(), Random(1), lambda _: None).findings
    assert {one.kind for one in found} <= {"bad_config", "unknown_page"}


def test_a_state_that_knows_less_of_a_far_file_than_was_durable_is_still_older(
    tmp_path: Path,
) -> None:
    folder, table = two_sets(tmp_path)
    far = marked_far(folder, table)
    state = State.open(folder.state())
    state.write([file_row(SET[0], replace(far[SET[0]], length=1))])
    state.close()
    assert [one.kind for one in ends_findings(folder, [0])] == ["state_older"]


def test_a_state_is_not_built_anew_without_the_files_that_are_in_the_store_only(
    tmp_path: Path,
) -> None:
    folder, table = two_sets(tmp_path)
    marked_far(folder, table)
    folder.config_path.write_text('seeds = ["http://one.test/"]\n[store]\nurl = "file:///there"\n')
    with pytest.raises(CannotGoOn, match=r"3 archive files .*gossamer restore file:///there"):
        build_state(tmp_path)
    assert far_files(folder) == sorted(SET)


def test_nothing_is_removed_for_good_while_a_store_has_files_of_the_archive(tmp_path: Path) -> None:
    folder, table = two_sets(tmp_path)
    marked_far(folder, table)
    folder.config_path.write_text('seeds = ["http://one.test/"]\n')
    note_far(folder, "file:///there", {SET[0]: [ShippedFile(f"archive/{SET[0]}", 1000)]})
    with pytest.raises(CannotGoOn, match="file:///there only, and it is not kept there"):
        purge_urls(tmp_path, ["one.test"], lambda _: None)
