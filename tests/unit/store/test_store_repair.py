"""Repair: back to what was committed, however the process died."""

import os
import re
from pathlib import Path
from random import Random

import msgspec
import pytest
from store_samples import Shard, document, pages, turn, warcio_check

from gossamer.errors import CannotGoOn
from gossamer.model import CheckScope
from gossamer.report.checking import check
from gossamer.store import (
    CrawlFolder,
    EndsFile,
    FileRow,
    Records,
    Repair,
    State,
    counted_lengths,
    iter_links,
    iter_pages,
    read_ends,
    read_file_row,
    repair,
)

PAGES = "pages-00-0001-00000.warc.gz"
TEXT = "text-00-0001-00000.warc.wet.gz"
LINKS = "links-00-0001-00000.warc.gz"


def contents(folder: CrawlFolder) -> dict[str, bytes]:
    files = [path for path in sorted(folder.archive.iterdir()) if path.is_file()]
    return {path.name: path.read_bytes() for path in files}


def repaired(
    folder: CrawlFolder, rows: list[tuple[bytes, bytes]], **how: bool
) -> tuple[Repair, dict[str, FileRow]]:
    """Repair twice: the second time, from the committed rows, there is nothing left to do."""
    done = repair(folder, 0, rows, **how)
    table = dict(rows) | dict(done.rows)
    before = contents(folder)
    again = repair(folder, 0, table.items(), **how)
    assert again == Repair([], [], [], [], [], [], done.lengths)
    assert contents(folder) == before
    return done, dict(read_file_row(*row) for row in table.items())


def test_an_uncommitted_group_is_cut_off(tmp_path: Path) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(3))
    before = contents(shard.folder)
    shard.append(pages(3, first=3))
    done, table = repaired(shard.folder, shard.die())
    assert sorted(done.cut) == sorted([PAGES, TEXT, LINKS])
    assert done.bad == []
    after = contents(shard.folder)
    assert {name: after[name] for name in before} == before
    assert done.indexed == ["pages-00-0001-00000.cdxj"]
    assert all(row.is_closed for row in table.values())
    assert len(after["pages-00-0001-00000.cdxj"].splitlines()) == 3


def test_files_that_were_never_committed_are_moved_to_lost_and_found(tmp_path: Path) -> None:
    shard = Shard(tmp_path, file_bytes=100)
    shard.commit(pages(1))
    shard.append(pages(1, first=1))
    begun = {p.name: p.read_bytes() for p in shard.folder.archive.glob("*-00001.*")}
    assert len(begun) == 3
    done, _ = repaired(shard.folder, shard.die())
    assert sorted(done.moved) == sorted((name, 1) for name in begun)
    assert {p.name: p.read_bytes() for p in shard.folder.lost_found.iterdir()} == begun
    assert not list(shard.folder.archive.glob("*-00001.*"))
    assert [links.url for _, links in iter_links(shard.folder)] == ["http://one.test/0"]


def test_a_first_group_that_was_never_committed_is_moved_away(tmp_path: Path) -> None:
    shard = Shard(tmp_path)
    shard.append(pages(1))
    done, _ = repaired(shard.folder, shard.die())
    assert len(done.moved) == 3
    assert not shard.folder.has_archive()


def test_what_lies_in_lost_and_found_is_never_overwritten_and_read_by_nobody(
    tmp_path: Path,
) -> None:
    shard = Shard(tmp_path)
    shard.append(pages(1))
    shard.die()
    folder = shard.folder
    begun = (folder.archive / PAGES).read_bytes()
    for n in range(3):
        (folder.archive / PAGES).write_bytes(begun + bytes((n,)))
        repair(folder, 0, [])
    found = {path.name: path.read_bytes() for path in folder.lost_found.glob("pages-*")}
    assert found == {
        PAGES: begun + b"\x00",
        f"{PAGES}.1": begun + b"\x01",
        f"{PAGES}.2": begun + b"\x02",
    }
    assert not folder.has_archive()
    assert list(folder.archive_names()) == []
    assert list(iter_links(folder)) == []
    assert counted_lengths(folder, "pages", "text", "links") == {}


def test_a_repair_that_cannot_move_a_file_deletes_nothing(tmp_path: Path) -> None:
    shard = Shard(tmp_path)
    shard.append(pages(1))
    rows = shard.die()
    before = contents(shard.folder)
    shard.folder.lost_found.write_text("a file is in the way")
    with pytest.raises(CannotGoOn, match="cannot repair"):
        repair(shard.folder, 0, rows)
    (shard.folder.lost_found).unlink()
    assert contents(shard.folder) == before


def test_a_kind_that_first_appears_in_an_uncommitted_group_is_moved_away(tmp_path: Path) -> None:
    shard = Shard(tmp_path)
    shard.commit([turn(found=None)])
    shard.append(pages(1))
    done, _ = repaired(shard.folder, shard.die())
    assert done.moved == [(TEXT, 1)]
    assert sorted(done.cut) == sorted([PAGES, LINKS])


def test_files_of_other_shards_and_strangers_are_left_alone(tmp_path: Path) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(1))
    others = ["pages-01-0009-00000.warc.gz", "notes.txt", "pages-01-0009-00000.cdxj"]
    for name in others:
        (shard.folder.archive / name).write_text("x")
    repair(shard.folder, 0, shard.die(), shards=2)
    assert all((shard.folder.archive / name).read_text() == "x" for name in others)


def test_the_first_shard_moves_files_away_that_belong_to_nobody_else(tmp_path: Path) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(1))
    rows = shard.die()
    for name in ("pages-01-0009-00000.warc.gz", "links-02-0001-00000.warc.gz"):
        (shard.folder.archive / name).write_text("x")
    assert repair(shard.folder, 1, [], shards=2).moved == [("pages-01-0009-00000.warc.gz", 1)]
    assert repair(shard.folder, 0, rows, shards=2).moved == [("links-02-0001-00000.warc.gz", 1)]


def test_files_that_the_state_does_not_know_are_moved_away_however_old(tmp_path: Path) -> None:
    shard = Shard(tmp_path, epoch=5)
    shard.commit(pages(1))
    old = shard.folder.archive / "pages-00-0002-00000.warc.gz"
    old.write_text("x")
    done = repair(shard.folder, 0, shard.die())
    assert done.moved == [(old.name, 1)]
    assert not old.exists()
    assert (shard.folder.lost_found / old.name).read_text() == "x"


@pytest.mark.parametrize("more", [3, 4])
def test_a_tail_that_is_longer_than_what_a_kill_leaves_is_kept_in_lost_and_found(
    tmp_path: Path, more: int
) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(2))
    before = contents(shard.folder)
    shard.append(pages(more, first=2))
    longer = contents(shard.folder)
    rows = shard.die()
    done = repair(shard.folder, 0, rows, tail_records=3)
    after = contents(shard.folder)
    assert {name: after[name] for name in before} == before
    assert sorted(done.cut) == sorted([PAGES, TEXT, LINKS])
    assert done.bad == []
    if more == 3:
        assert done.moved == []
        assert not shard.folder.lost_found.exists()
        return
    tails = {
        f"{name}.from-{len(before[name])}": longer[name][len(before[name]) :] for name in before
    }
    assert sorted(done.moved) == sorted((name, 4) for name in tails)
    assert {p.name: p.read_bytes() for p in shard.folder.lost_found.iterdir()} == tails
    stored = [
        page.url
        for page in iter_pages(shard.folder.lost_found / f"{PAGES}.from-{len(before[PAGES])}")
    ]
    assert stored == [f"http://one.test/{n}" for n in range(2, 6)]


def test_a_tail_with_a_bad_record_is_counted_to_its_end(tmp_path: Path) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(1))
    length = (shard.folder.archive / LINKS).stat().st_size
    shard.append(pages(5, first=1))
    rows = shard.die()
    with (shard.folder.archive / LINKS).open("r+b") as file:
        file.seek(length)
        file.write(b"\xff" * 20)
    done = repair(shard.folder, 0, rows, tail_records=4)
    assert dict(done.moved)[f"{LINKS}.from-{length}"] == 5


def test_a_tail_that_was_copied_before_a_kill_is_not_copied_twice(tmp_path: Path) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(1))
    shard.append(pages(3, first=1))
    rows, longer = shard.die(), contents(shard.folder)
    first = repair(shard.folder, 0, rows, tail_records=2)
    kept = {p.name: p.read_bytes() for p in shard.folder.lost_found.iterdir()}
    for name, content in longer.items():
        (shard.folder.archive / name).write_bytes(content)
    assert repair(shard.folder, 0, rows, tail_records=2).moved == first.moved
    assert {p.name: p.read_bytes() for p in shard.folder.lost_found.iterdir()} == kept
    (shard.folder.archive / PAGES).write_bytes(longer[PAGES] + b"another")
    again = repair(shard.folder, 0, rows, tail_records=0)
    assert [name for name, _ in again.moved] == [f"{first.moved[0].file}.1"]
    assert (
        kept.items() <= {p.name: p.read_bytes() for p in shard.folder.lost_found.iterdir()}.items()
    )


def test_what_is_cut_from_the_other_files_of_a_torn_set_is_kept_in_lost_and_found(
    tmp_path: Path,
) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(1))
    shard.archive.sync()
    shard.commit(pages(3, first=1))
    rows, whole = shard.die(), contents(shard.folder)
    EndsFile.begin(shard.folder, 0, {name: len(data) for name, data in whole.items()}, None)
    at = [ref.offset for ref, _ in iter_links(shard.folder)]
    with (shard.folder.archive / LINKS).open("r+b") as file:
        file.truncate(at[2] + 9)
    done = repair(shard.folder, 0, rows)
    stored = [page.url for page in iter_pages(shard.folder.archive / PAGES)]
    assert stored == ["http://one.test/0", "http://one.test/1"]
    lost = dict(done.bad)
    assert read_ends(shard.folder).lengths == lost == done.lengths
    kept = {p.name: p.read_bytes() for p in shard.folder.lost_found.iterdir()}
    for name in (PAGES, TEXT):
        assert kept[f"{name}.from-{lost[name]}"] == whole[name][lost[name] :]
    assert dict(done.moved)[f"{PAGES}.from-{lost[PAGES]}"] == 2


def test_after_a_clean_stop_nothing_is_done(tmp_path: Path) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(3))
    shard.archive.close()
    shard.state.write(shard.archive.rows_to_commit())
    before = contents(shard.folder)
    done, _ = repaired(shard.folder, shard.die())
    assert (done.rows, done.bad, done.moved, done.cut, done.indexed) == ([], [], [], [], [])
    assert contents(shard.folder) == before


def test_an_index_that_was_half_written_is_made_again(tmp_path: Path) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(3))
    shard.archive.close()
    index = shard.folder.archive / "pages-00-0001-00000.cdxj"
    whole = index.read_bytes()
    index.replace(index.with_name(index.name + ".tmp"))
    done, _ = repaired(shard.folder, shard.die())
    assert done.indexed == [index.name]
    assert index.read_bytes() == whole
    assert not list(shard.folder.archive.glob("*.tmp"))


INDEX = "pages-00-0001-00000.cdxj"


def closed(shard: Shard, *, is_old: bool = False) -> list[tuple[bytes, bytes]]:
    """Close the archive; return its rows, as an older version had written them if asked."""
    shard.archive.close()
    table = dict(shard.die()) | dict(shard.archive.rows_to_commit())
    if not is_old:
        return [(key, value or b"") for key, value in table.items()]
    rows = [read_file_row(key, value or b"") for key, value in table.items()]
    return [
        (key, msgspec.msgpack.encode([row.length, row.synced, row.is_closed]))
        for key, (_, row) in zip(table, rows, strict=True)
    ]


@pytest.mark.parametrize("is_old", [False, True])
def test_an_index_that_is_whole_is_left_as_it_is(tmp_path: Path, *, is_old: bool) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(4))
    rows = closed(shard, is_old=is_old)
    index = shard.folder.archive / INDEX
    before = index.stat()
    done, table = repaired(shard.folder, rows)
    assert (done.indexed, done.reindexed) == ([], [])
    assert index.stat().st_ino == before.st_ino
    assert table[PAGES].cdxj_length == before.st_size
    assert {row.cdxj_length for name, row in table.items() if name != PAGES} == {None}


@pytest.mark.slow
def test_an_index_that_was_cut_anywhere_is_written_again_from_its_file(tmp_path: Path) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(3))
    rows = closed(shard)
    index = shard.folder.archive / INDEX
    whole = index.read_bytes()
    for length in range(len(whole)):
        index.write_bytes(whole[:length])
        done = repair(shard.folder, 0, rows)
        assert (done.reindexed, done.rows, done.bad) == ([INDEX], [], [])
        assert index.read_bytes() == whole


@pytest.mark.parametrize("is_old", [False, True])
@pytest.mark.parametrize("damage", ["longer", "other", "torn", "empty"])
def test_an_index_that_is_not_that_of_its_file_is_written_again(
    tmp_path: Path, damage: str, *, is_old: bool
) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(3))
    rows = closed(shard, is_old=is_old)
    index = shard.folder.archive / INDEX
    whole = index.read_bytes()
    damaged = {
        "longer": whole + b"com,example)/ 2020",
        "other": whole.replace(b"pages-00-0001-00000.", b"pages-00-0001-00007."),
        "torn": whole[:-40],
        "empty": b"",
    }
    index.write_bytes(damaged[damage])
    done, _ = repaired(shard.folder, rows)
    assert (done.indexed, done.reindexed) == ([], [INDEX])
    assert index.read_bytes() == whole


def test_an_index_that_was_written_and_is_missing_is_told_as_damage(tmp_path: Path) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(3))
    rows = closed(shard)
    index = shard.folder.archive / INDEX
    whole = index.read_bytes()
    index.unlink()
    done, _ = repaired(shard.folder, rows)
    assert (done.indexed, done.reindexed) == ([], [INDEX])
    assert index.read_bytes() == whole


def test_an_index_goes_with_the_end_of_a_file_that_lost_some(tmp_path: Path) -> None:
    """The index is as long as it should be, and points past the end."""
    shard = Shard(tmp_path)
    shard.commit(pages(3))
    rows = closed(shard)
    path = shard.folder.archive / PAGES
    os.truncate(path, path.stat().st_size - 1)
    done, table = repaired(shard.folder, rows)
    lines = (shard.folder.archive / INDEX).read_bytes().splitlines()
    assert (len(lines), done.indexed) == (2, [INDEX])
    assert table[PAGES].cdxj_length == (shard.folder.archive / INDEX).stat().st_size


def test_an_index_never_points_past_the_end_of_a_cut_file(tmp_path: Path) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(2))
    rows = list(shard.state.scan(b"a"))
    shard.append(pages(2, first=2))
    shard.archive.close()
    shard.die()
    repaired(shard.folder, rows)
    index = shard.folder.archive / "pages-00-0001-00000.cdxj"
    assert len(index.read_bytes().splitlines()) == 2


@pytest.mark.parametrize("lost", [1, 50, 1000])
@pytest.mark.parametrize("victim", [PAGES, TEXT, LINKS])
def test_after_power_loss_the_set_ends_before_the_first_page_that_is_not_whole(
    tmp_path: Path, victim: str, lost: int
) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(3))
    shard.archive.sync()
    shard.commit(pages(4, first=3))
    rows = shard.die()
    path = shard.folder.archive / victim
    os.truncate(path, path.stat().st_size - lost)
    done, table = repaired(shard.folder, rows)
    assert victim in [name for name, _ in done.bad]
    for name, offset in done.bad:
        assert (shard.folder.archive / name).stat().st_size == offset == table[name].length
    stored = [page.url for page in iter_pages(shard.folder.archive / PAGES)]
    assert 3 <= len(stored) <= 7
    told = [links.url for _, links in iter_links(shard.folder)]
    assert len(stored) < 7
    assert stored == told
    assert stored == [f"http://one.test/{n}" for n in range(len(stored))]
    assert warcio_check(*shard.folder.archive.glob("*.gz")).returncode == 0


@pytest.mark.parametrize("has_rebooted", [False, True])
def test_zeros_in_place_of_data_are_found(tmp_path: Path, *, has_rebooted: bool) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(2))
    shard.archive.sync()
    shard.commit(pages(2, first=2))
    rows = shard.die()
    path = shard.folder.archive / PAGES
    good = {name: row.synced for name, row in (read_file_row(*row) for row in rows)}
    with path.open("r+b") as file:
        file.seek(good[PAGES] + 10)
        file.write(bytes(2000))
    done, _ = repaired(shard.folder, rows, has_rebooted=has_rebooted)
    assert (PAGES, good[PAGES]) in done.bad
    assert [page.url for page in iter_pages(path)] == ["http://one.test/0", "http://one.test/1"]


def test_a_file_that_lost_even_what_was_synced_is_read_from_its_beginning(tmp_path: Path) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(4))
    shard.archive.sync()
    shard.state.write(shard.archive.rows_to_commit())
    rows = shard.die()
    path = shard.folder.archive / PAGES
    os.truncate(path, path.stat().st_size - 1)
    done, _ = repaired(shard.folder, rows)
    assert PAGES in [name for name, _ in done.bad]
    assert len(list(iter_pages(path))) == 3


def test_a_missing_file_is_bad_from_its_beginning(tmp_path: Path) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(2))
    rows = shard.die()
    (shard.folder.archive / PAGES).unlink()
    done, table = repaired(shard.folder, rows)
    assert (PAGES, 0) in done.bad
    assert table[PAGES].length == 0


def test_of_a_missing_file_it_stays_known_how_long_its_index_was(tmp_path: Path) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(2))
    rows = closed(shard)
    length = (shard.folder.archive / INDEX).stat().st_size
    (shard.folder.archive / PAGES).unlink()
    done = repair(shard.folder, 0, rows)
    assert dict(read_file_row(*row) for row in done.rows)[PAGES].cdxj_length == length
    assert (done.indexed, done.reindexed) == ([], [])


def test_damage_stays_reported_until_it_is_committed(tmp_path: Path) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(3))
    rows = shard.die()
    path = shard.folder.archive / PAGES
    os.truncate(path, path.stat().st_size - 1)
    first = repair(shard.folder, 0, rows)
    second = repair(shard.folder, 0, rows)
    assert first.bad == second.bad
    assert first.rows == second.rows


def test_the_next_epoch_goes_on_where_the_repaired_one_ended(tmp_path: Path) -> None:
    for epoch in range(1, 4):
        folder = CrawlFolder(tmp_path)
        state = State.open(folder.state())
        done = repair(folder, 0, state.scan(b"a"), has_rebooted=False)
        state.write(done.rows)
        state.close()
        shard = Shard(tmp_path, epoch=epoch)
        shard.commit(pages(2, first=2 * epoch))
        shard.append(pages(1, first=99))
        shard.die()
    state = State.open(folder.state())
    repair(folder, 0, state.scan(b"a"), has_rebooted=False)
    state.close()
    urls = [links.url for _, links in iter_links(folder)]
    assert urls == [f"http://one.test/{n}" for n in range(2, 8)]


def test_a_torn_large_page_is_cut_whole(tmp_path: Path) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(1))
    shard.append([turn(document(os.urandom(700_000), is_spooled=True))])
    rows = shard.die()
    os.truncate(shard.folder.archive / PAGES, 300_000)
    repaired(shard.folder, rows)
    assert len(list(iter_pages(shard.folder.archive / PAGES))) == 1
    records = Records(shard.folder.archive / PAGES)
    assert len(list(records)) == 3
    assert records.found == ""


def test_an_index_that_is_ahead_of_what_was_committed_is_no_damage_to_a_check(
    tmp_path: Path,
) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(2))
    shard.append(pages(2, first=2))
    shard.archive.close()
    shard.die()
    index = shard.folder.archive / INDEX
    assert len(index.read_bytes().splitlines()) == 4
    found = check(tmp_path, CheckScope(), Random(1), lambda _: None).findings
    assert [one for one in found if one.kind == "bad_cdxj"] == []
    index.write_bytes(re.sub(rb'"offset": "[0-9]+"', b'"offset": "7"', index.read_bytes(), count=1))
    found = check(tmp_path, CheckScope(), Random(1), lambda _: None).findings
    assert [one.kind for one in found if one.kind == "bad_cdxj"] == ["bad_cdxj"]


@pytest.mark.parametrize("victim", [PAGES, TEXT, LINKS])
@pytest.mark.parametrize("left", ["synced", "all but a byte", "damaged", "less than synced"])
def test_what_a_power_loss_took_is_told_and_no_damage_to_a_check(
    tmp_path: Path, victim: str, left: str, caplog: pytest.LogCaptureFixture
) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(2))
    shard.archive.sync()
    shard.commit(pages(2, first=2))
    table = dict(read_file_row(*row) for row in shard.die())
    path = shard.folder.archive / victim
    match left:
        case "synced":
            os.truncate(path, table[victim].synced)
        case "all but a byte":
            os.truncate(path, table[victim].length - 1)
        case "damaged":
            whole = path.read_bytes()
            path.write_bytes(whole[: table[victim].synced + 20].ljust(len(whole), b"\0"))
        case _:
            os.truncate(path, table[victim].synced - 1)
    found = check(tmp_path, CheckScope(), Random(1), lambda _: None).findings
    kinds = {one.kind for one in found if one.kind.startswith(("bad_", "missing_", "tail"))}
    is_told = "archive.end_missing" in caplog.text
    if left == "less than synced":
        assert "bad_length" in kinds
        assert not is_told
    else:
        assert kinds <= {"bad_config"}
        assert is_told


def test_a_tail_that_cannot_be_read_is_moved_to_lost_and_found_not_cut(tmp_path: Path) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(2))
    before = contents(shard.folder)
    rows = shard.die()
    with (shard.folder.archive / PAGES).open("ab") as file:
        file.write(b"no record" * 10)
    done, _ = repaired(shard.folder, rows)
    (moved,) = done.moved
    assert (shard.folder.lost_found / moved.file).read_bytes() == b"no record" * 10
    assert contents(shard.folder)[PAGES] == before[PAGES]


def test_a_record_that_a_kill_cut_off_is_cut_without_a_copy(tmp_path: Path) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(2))
    before = contents(shard.folder)
    shard.append(pages(1, first=2))
    rows = shard.die()
    os.truncate(shard.folder.archive / PAGES, len(before[PAGES]) + 40)
    done, _ = repaired(shard.folder, rows)
    assert done.moved == []
    assert contents(shard.folder)[PAGES] == before[PAGES]
