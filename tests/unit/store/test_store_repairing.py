"""Repair, rule by rule: what is read again, what is cut, what is synced, what is left alone."""

import os
from pathlib import Path

import pytest
from store_samples import AT, Shard, document, pages, turn, writer

from gossamer.errors import CannotGoOn
from gossamer.model import CopyOf, Turn
from gossamer.store import (
    ArchiveEntry,
    CrawlFolder,
    FileRow,
    Records,
    Repair,
    iter_links,
    iter_pages,
    read_file_row,
    repair,
    repairing,
    set_aside_lone_indexes,
)
from gossamer.store.archive import file_row

PAGES = "pages-00-0001-00000.warc.gz"
TEXT = "text-00-0001-00000.warc.wet.gz"
LINKS = "links-00-0001-00000.warc.gz"
INDEX = "pages-00-0001-00000.cdxj"


def dead(root: Path, synced: int = 2, unsynced: int = 2) -> tuple[CrawlFolder, dict[str, FileRow]]:
    """Return the folder of a shard that committed pages, the last ones not synced, and died."""
    shard = Shard(root)
    if synced:
        shard.commit(pages(synced))
        shard.archive.sync()
    shard.commit(pages(unsynced, first=synced))
    return shard.folder, dict(read_file_row(*row) for row in shard.die())


def names(done: Repair) -> list[str]:
    """Return the names that files got in lost+found."""
    return [one.file for one in done.moved]


def rows_of(table: dict[str, FileRow]) -> list[tuple[bytes, bytes]]:
    return [(key, value or b"") for key, value in (file_row(*item) for item in table.items())]


def overwrite(path: Path, offset: int, count: int = 50) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(bytes(count))


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the names of the files and folders that are synced."""
    names: list[str] = []
    really = os.fsync

    def sync(fd: int) -> None:
        names.append(Path(f"/proc/self/fd/{fd}").readlink().name)
        really(fd)

    monkeypatch.setattr(os, "fsync", sync)
    return names


@pytest.mark.parametrize("has_rebooted", [False, True])
@pytest.mark.parametrize("victim", [PAGES, TEXT, LINKS])
def test_what_was_not_synced_is_read_again_at_every_start(
    tmp_path: Path, victim: str, *, has_rebooted: bool
) -> None:
    """A disk that is pulled loses what was not synced, and the machine runs on."""
    folder, table = dead(tmp_path)
    overwrite(folder.archive / victim, table[victim].synced + 10)
    done = repair(folder, 0, rows_of(table), has_rebooted=has_rebooted)
    assert done.bad == [(name, table[name].synced) for name in (PAGES, TEXT, LINKS)]


def record_ends(folder: CrawlFolder, name: str) -> list[int]:
    return [one.offset + one.length for one in Records(folder.archive / name)]


@pytest.mark.slow
@pytest.mark.parametrize("further", [(), (PAGES,), (PAGES, TEXT), (PAGES, TEXT, LINKS)])
@pytest.mark.parametrize("victim", [PAGES, TEXT, LINKS])
def test_a_page_that_lost_its_record_its_text_or_its_links_is_not_stored_wherever_it_was_torn(
    tmp_path: Path, victim: str, further: tuple[str, ...]
) -> None:
    """The file was cut, or filled with zeros, between its last sync and its end.

    The files that come before it in a sync that was cut short are synced further than it is.
    """
    folder, table = dead(tmp_path, synced=1, unsynced=3)
    for name in further[: further.index(victim) if victim in further else None]:
        table[name] = FileRow(table[name].length, table[name].length)
    whole = {name: (folder.archive / name).read_bytes() for name in table}
    ends = record_ends(folder, victim)
    first = table[victim].synced
    # A member ends with three zeros: the high bytes of its length.
    places = {at + n for at in ends for n in (-4, 0, 1, 40) if first <= at + n < ends[-1]}
    for at in sorted(places):
        for fill in (b"", bytes(table[victim].length - at)):
            torn = whole[victim][:at] + fill
            for name, content in whole.items():
                (folder.archive / name).write_bytes(torn if name == victim else content)
            (folder.archive / INDEX).unlink(missing_ok=True)
            kept = sum(first < end and torn[:end] == whole[victim][:end] for end in ends)
            # A page is a request and a response.
            left = 1 + (kept // 2 if victim == PAGES else kept)
            done = repair(folder, 0, rows_of(table), has_rebooted=False)
            expected = [f"http://one.test/{n}" for n in range(left)]
            assert [page.url for page in iter_pages(folder.archive / PAGES)] == expected
            assert [links.url for _, links in iter_links(folder)] == expected
            texts = [
                one.headers["warc-target-uri"] for one in list(Records(folder.archive / TEXT))[1:]
            ]
            assert texts == expected
            assert {name for name, _ in done.bad} == {PAGES, TEXT, LINKS}
            for name, offset in done.bad:
                assert done.lengths[name] == offset
                assert (folder.archive / name).stat().st_size == offset
                gone = folder.lost_found / f"{name}.from-{offset}"
                if name != victim:
                    assert gone.read_bytes() == whole[name][offset:]
                gone.unlink(missing_ok=True)


def test_a_page_without_text_stays_if_its_links_were_synced_when_a_text_is_lost(
    tmp_path: Path,
) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(1))
    shard.commit([turn(document(at="http://one.test/image"), found=None)])
    shard.archive.sync()
    shard.commit(pages(1, first=2))
    folder, table = shard.folder, dict(read_file_row(*row) for row in shard.die())
    os.truncate(folder.archive / TEXT, table[TEXT].synced)
    repair(folder, 0, rows_of(table), has_rebooted=False)
    stored = [page.url for page in iter_pages(folder.archive / PAGES)]
    assert stored == ["http://one.test/0", "http://one.test/image"]


def test_a_record_that_was_damaged_long_ago_does_not_take_others_with_it_when_an_end_is_lost(
    tmp_path: Path,
) -> None:
    folder, table = dead(tmp_path, synced=4, unsynced=2)
    links = record_ends(folder, LINKS)
    overwrite(folder.archive / LINKS, links[1] + 20, 20)
    os.truncate(folder.archive / LINKS, table[LINKS].synced)
    done = repair(folder, 0, rows_of(table), has_rebooted=False)
    assert done.bad == [(name, table[name].synced) for name in (PAGES, TEXT, LINKS)]


def test_links_are_synced_last_whichever_file_was_begun_first(tmp_path: Path) -> None:
    shard = Shard(tmp_path)
    record = shard.writer.seed_record("http://one.test/", "", AT)
    shard.archive.append([ArchiveEntry(links=record)])
    shard.append(pages(1))
    assert list(shard.archive.sync()) == [PAGES, TEXT, LINKS]
    shard.die()


@pytest.mark.parametrize("damage", ["none", "end", "middle"])
def test_of_what_was_never_synced_only_the_end_is_read_unless_the_machine_was_rebooted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    monkeypatch.setattr(repairing, "END_BYTES", 3000)
    folder, table = dead(tmp_path, synced=0, unsynced=40)
    starts = [page.ref.offset for page in iter_pages(folder.archive / PAGES)]
    assert table[PAGES].length - starts[-3] < 3000 < starts[20]
    if damage != "none":
        overwrite(folder.archive / PAGES, starts[-3 if damage == "end" else 20] + 10)
    rows = rows_of(table)
    bad = repair(folder, 0, rows, has_rebooted=False).bad
    assert [name for name, _ in bad] == ([PAGES, TEXT, LINKS] if damage == "end" else [])
    (folder.archive / INDEX).unlink()
    if damage == "middle":
        assert dict(repair(folder, 0, rows).bad)[PAGES] < starts[20]


def test_an_end_with_one_whole_record_in_it_stands_for_the_file_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, table = dead(tmp_path, synced=0, unsynced=10)
    records = list(Records(folder.archive / PAGES))
    monkeypatch.setattr(repairing, "END_BYTES", records[-1].length + records[-2].length // 2)
    overwrite(folder.archive / PAGES, records[4].offset + 10)
    assert repair(folder, 0, rows_of(table), has_rebooted=False).bad == []


def test_what_was_synced_is_not_read_again(tmp_path: Path) -> None:
    folder, table = dead(tmp_path)
    overwrite(folder.archive / PAGES, 10)
    os.truncate(folder.archive / PAGES, table[PAGES].synced)
    done = repair(folder, 0, rows_of(table))
    assert done.bad == [(name, table[name].synced) for name in (PAGES, TEXT, LINKS)]
    folder, table = dead(tmp_path / "all", unsynced=0)
    overwrite(folder.archive / PAGES, 10)
    assert repair(folder, 0, rows_of(table)).bad == []


@pytest.mark.parametrize("victim", [PAGES, TEXT, LINKS])
def test_pages_texts_and_links_end_together_before_the_first_that_is_torn(
    tmp_path: Path, victim: str
) -> None:
    folder, table = dead(tmp_path, synced=1, unsynced=3)
    ends = [ref.offset for ref, _ in iter_links(folder)]
    pages_at = [page.ref.offset for page in iter_pages(folder.archive / PAGES)]
    path = folder.archive / victim
    os.truncate(path, path.stat().st_size - 1)
    done = repair(folder, 0, rows_of(table))
    stored = [page.url for page in iter_pages(folder.archive / PAGES)]
    told = [links.url for _, links in iter_links(folder)]
    assert stored == told == [f"http://one.test/{n}" for n in range(3)]
    assert [name for name, _ in done.bad] == [PAGES, TEXT, LINKS]
    assert dict(done.bad)[LINKS] == ends[3]
    assert dict(done.bad)[PAGES] <= pages_at[3]
    # The request record of a page that was cut went with it.
    kept = dict(done.bad)[PAGES]
    assert (folder.archive / PAGES).stat().st_size == kept


def test_a_set_whose_synced_part_is_torn_is_compared_from_its_beginning(tmp_path: Path) -> None:
    folder, table = dead(tmp_path, synced=4, unsynced=1)
    links_at = [ref.offset for ref, _ in iter_links(folder)]
    os.truncate(folder.archive / LINKS, links_at[2] + 5)
    done = repair(folder, 0, rows_of(table))
    assert dict(done.bad)[LINKS] == links_at[2]
    stored = [page.url for page in iter_pages(folder.archive / PAGES)]
    assert stored == [links.url for _, links in iter_links(folder)]
    assert stored == ["http://one.test/0", "http://one.test/1"]
    assert [name for name, _ in done.bad] == [PAGES, TEXT, LINKS]


def test_a_set_without_its_links_file_keeps_no_page(tmp_path: Path) -> None:
    folder, table = dead(tmp_path, synced=0)
    (folder.archive / LINKS).unlink()
    opening = next(iter(Records(folder.archive / PAGES)))
    done = repair(folder, 0, rows_of(table))
    assert done.bad[0] == (PAGES, opening.length)
    assert [name for name, _ in done.bad] == [PAGES, TEXT, LINKS]
    assert list(iter_pages(folder.archive / PAGES)) == []


def test_links_that_lost_what_was_not_synced_take_the_pages_with_them(tmp_path: Path) -> None:
    folder, table = dead(tmp_path)
    os.truncate(folder.archive / LINKS, table[LINKS].synced)
    done = repair(folder, 0, rows_of(table))
    assert done.bad == [(name, table[name].synced) for name in (PAGES, TEXT, LINKS)]


@pytest.mark.parametrize("only", [PAGES, LINKS])
def test_a_torn_file_that_is_alone_in_its_set_ends_with_its_last_whole_record(
    tmp_path: Path, only: str
) -> None:
    folder, table = dead(tmp_path)
    # Of the last page, its request goes, too.
    last = record_ends(folder, only)[-3 if only == PAGES else -2]
    os.truncate(folder.archive / only, table[only].length - 1)
    done = repair(folder, 0, rows_of({only: table[only]}))
    assert done.bad == [(only, last)]


def other_kind(kind: str) -> Turn:
    """Return a turn whose page becomes a revisit record, or a resource record."""
    if kind == "resource":
        return turn(document(b"x" * 40, head=b"", headers=()))
    original = writer().entry(turn())
    copy = CopyOf("http://one.test/0", original.record_id, original.payload_digest, AT)
    return turn(copy_of=copy)


@pytest.mark.parametrize("kind", ["revisit", "resource"])
def test_a_page_of_any_kind_goes_when_its_links_are_torn(tmp_path: Path, kind: str) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(1))
    rows = list(shard.state.scan(b"a"))
    shard.commit([other_kind(kind)])
    last = list(iter_pages(shard.folder.archive / PAGES))[-1]
    assert last.warc_headers["warc-type"] == kind
    table = dict(read_file_row(*row) for row in shard.die())
    os.truncate(shard.folder.archive / LINKS, table[LINKS].length - 1)
    done = repair(shard.folder, 0, rows_of(table))
    before = dict(read_file_row(*row) for row in rows)
    assert (PAGES, before[PAGES].length) in done.bad


def test_an_unfinished_index_beside_a_finished_one_is_removed(tmp_path: Path) -> None:
    folder, table = dead(tmp_path)
    repair(folder, 0, rows_of(table))
    stray = folder.archive / f"{INDEX}.tmp"
    stray.write_bytes(b"half")
    repair(folder, 0, rows_of(table))
    assert not stray.exists()


def test_rows_of_another_shard_do_not_decide_which_files_of_ours_are_committed(
    tmp_path: Path,
) -> None:
    shard = Shard(tmp_path)
    shard.append(pages(1))
    shard.die()
    other = file_row("pages-01-0009-00000.warc.gz", FileRow(0, 0, is_closed=True))
    done = repair(shard.folder, 0, [(other[0], other[1] or b"")])
    assert PAGES in names(done)


def test_the_index_of_a_file_that_is_moved_away_goes_with_it_and_no_other(tmp_path: Path) -> None:
    shard = Shard(tmp_path, file_bytes=100)
    shard.commit(pages(1))
    rows = shard.archive.rows_to_commit()
    shard.append(pages(1, first=1))
    shard.archive.close()
    shard.die()
    archive = shard.folder.archive
    first = (archive / INDEX).read_bytes()
    second = (archive / "pages-00-0001-00001.cdxj").read_bytes()
    assert second
    done = repair(shard.folder, 0, [(key, value or b"") for key, value in rows])
    assert len(done.moved) == 3
    assert sorted(path.name for path in archive.glob("*.cdxj")) == [INDEX]
    assert (shard.folder.lost_found / "pages-00-0001-00001.cdxj").read_bytes() == second
    assert ((archive / INDEX).read_bytes(), done.indexed) == (first, [])
    (archive / "text-00-0009-00000.warc.wet.gz").write_bytes(b"x")
    (archive / "pages-00-0009-00000.cdxj").write_bytes(b"y")
    assert names(repair(shard.folder, 0, [(k, v or b"") for k, v in rows])) == [
        "text-00-0009-00000.warc.wet.gz"
    ]
    assert (archive / "pages-00-0009-00000.cdxj").exists()


def test_a_file_and_its_index_get_the_same_suffix_in_lost_and_found(tmp_path: Path) -> None:
    folder = CrawlFolder(tmp_path)
    folder.lost_found.mkdir(parents=True)
    (folder.lost_found / PAGES).write_bytes(b"earlier")
    (folder.archive / PAGES).write_bytes(b"pages")
    (folder.archive / INDEX).write_bytes(b"index")
    assert names(repair(folder, 0, [])) == [f"{PAGES}.1"]
    assert {path.name: path.read_bytes() for path in folder.lost_found.iterdir()} == {
        PAGES: b"earlier",
        f"{PAGES}.1": b"pages",
        f"{INDEX}.1": b"index",
    }
    assert [path.name for path in folder.archive.iterdir()] == ["lost+found"]


@pytest.mark.parametrize("suffix", ["", ".1"])
def test_a_file_follows_the_index_that_a_killed_repair_had_moved_before_it(
    tmp_path: Path, suffix: str
) -> None:
    folder = CrawlFolder(tmp_path)
    folder.lost_found.mkdir(parents=True)
    if suffix:
        (folder.lost_found / PAGES).write_bytes(b"earlier")
    (folder.lost_found / (INDEX + suffix)).write_bytes(b"index")
    (folder.archive / PAGES).write_bytes(b"pages")
    assert names(repair(folder, 0, [])) == [PAGES + suffix]


def test_what_repair_changes_is_on_the_disk_when_it_returns(
    tmp_path: Path, synced: list[str]
) -> None:
    shard = Shard(tmp_path, file_bytes=100)
    shard.commit(pages(1))
    rows = list(shard.state.scan(b"a"))
    shard.append(pages(1, first=1))
    shard.die()
    synced.clear()
    opened = len(list(Path("/proc/self/fd").iterdir()))
    repair(shard.folder, 0, rows)
    assert len(list(Path("/proc/self/fd").iterdir())) == opened
    moving = synced[: synced.index(PAGES)]
    assert moving[:2] == ["archive", "lost+found"]  # its own name first
    assert moving.count("lost+found") == 3
    assert [name for name in synced if name in {PAGES, TEXT, LINKS}] == [PAGES, TEXT, LINKS]
    assert synced[-1] == "archive"
    assert any(name.startswith("pages-00-0001-00000.cdxj") for name in synced)


def test_files_that_need_no_repair_are_not_touched(tmp_path: Path, synced: list[str]) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(2))
    shard.archive.close()
    shard.state.write(shard.archive.rows_to_commit())
    rows = shard.die()
    synced.clear()
    assert repair(shard.folder, 0, rows).rows == []
    assert synced == ["archive"]
    assert repair(CrawlFolder(tmp_path / "none"), 0, []).rows == []
    assert synced == ["archive"]


def test_a_pages_file_that_is_cut_gets_a_new_index_and_the_other_files_keep_theirs(
    tmp_path: Path,
) -> None:
    shard = Shard(tmp_path)
    shard.commit(pages(2))
    shard.archive.close()
    shard.state.write(shard.archive.rows_to_commit())
    rows = shard.die()
    archive = shard.folder.archive
    for name in (TEXT, LINKS):
        with (archive / name).open("ab") as file:
            file.write(b"more")
    done = repair(shard.folder, 0, rows)
    assert (done.cut, done.indexed, done.rows) == ([TEXT, LINKS], [], [])
    with (archive / PAGES).open("ab") as file:
        file.write(b"more")
    done = repair(shard.folder, 0, rows)
    assert (done.cut, done.indexed, done.rows) == ([PAGES], [INDEX], [])
    assert len((archive / INDEX).read_bytes().splitlines()) == 2


def test_pages_without_links_and_texts_are_kept_when_nothing_is_torn(tmp_path: Path) -> None:
    shard = Shard(tmp_path)
    shard.commit([turn(found=None)])
    rows = shard.die()
    done = repair(shard.folder, 0, rows)
    assert done.bad == []
    assert len(list(iter_pages(shard.folder.archive / PAGES))) == 1


def test_an_archive_that_cannot_be_repaired_says_so_and_what_to_do(tmp_path: Path) -> None:
    shard = Shard(tmp_path)
    shard.append(pages(1))
    rows = shard.die()
    shard.folder.lost_found.write_text("a file is in the way")
    with pytest.raises(CannotGoOn) as problem:
        repair(shard.folder, 0, rows)
    assert str(problem.value) == (
        f"cannot repair {shard.folder.archive}: File exists; "
        "free some disk space or check its permissions, then run the crawl again"
    )


def test_an_index_whose_file_is_gone_is_kept_in_lost_found(tmp_path: Path) -> None:
    folder, _ = dead(tmp_path)
    index, lone = folder.archive / INDEX, "pages-00-0001-00007.cdxj"
    index.write_bytes(b"of its file\n")
    (folder.archive / lone).write_bytes(b"of no file\n")
    assert set_aside_lone_indexes(folder) == [lone]
    assert (folder.lost_found / lone).read_bytes() == b"of no file\n"
    assert index.read_bytes() == b"of its file\n"
    assert set_aside_lone_indexes(folder) == []
