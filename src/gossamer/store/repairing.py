"""Repair: bring the archive back to what the state committed, after any death.

Behind the committed length lies what a kill interrupted: no more pages than are in hand at once.
So much is cut. A longer tail, one with bytes that no kill leaves, whatever is cut from the files of
a set that lost committed records, and files that the state does not know are moved to
`archive/lost+found/`, since the state may be what is wrong: no file and no more than that is ever
deleted. A set with files that are in the object store only is left as it is: what is not on this
disk is not lost.

Every step may itself be killed and is then simply done again: what is reported as damaged stays
reported until the caller has committed `Repair.rows`.
"""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.durable import TEMPORARY, rename, replacing, sync
from gossamer.errors import CannotGoOn
from gossamer.model import Row
from gossamer.store.archive import FileRow, file_row, read_file_row
from gossamer.store.derived import SHIPPED_LENGTHS
from gossamer.store.ends import Lengths, lower_ends
from gossamer.store.layout import KINDS, ArchiveName, CrawlFolder
from gossamer.store.reader import cdxj_lines
from gossamer.store.records import Record, Records
from gossamer.store.scanning import ENDS_INSIDE, BadRecord, scan_records
from gossamer.store.warc import is_cdxj_of, write_cdxj

PAGE_TYPES = frozenset({"response", "revisit", "resource"})
BESIDES = frozenset({"warcinfo", "request"})
"""Records that go with others."""


TAIL_RECORDS = 64
"""As many records of a kind as pages are in hand at once, by default."""
COPY_BYTES = 1 << 20
END_BYTES = 32 << 20
"""So much of what was committed and not synced is read at every start: in less than a second, where
a whole file of the default length takes 20."""


class MovedRecords(NamedTuple):
    """A file, or the end of one, that was moved to lost+found."""

    file: str
    """Its name there."""
    records: int
    """How many records it has; a stretch that cannot be read counts as one."""


class Repair(NamedTuple):
    """What was found and done."""

    rows: list[Row]
    """To be committed before the crawl goes on: all files closed, at their repaired lengths."""
    bad: list[tuple[str, int]]
    """Files that lost committed bytes, and from which offset on: their URLs must be queued."""
    moved: list[MovedRecords]
    """What the state does not know, and now lies in lost+found."""
    cut: list[str]
    """Files that were longer than committed."""
    indexed: list[str]
    """Indexes that were not there because of a kill or a cut, and have been written."""
    reindexed: list[str]
    """Indexes that had been written before, were missing or cut, and have been written again."""
    lengths: Lengths
    """All committed files: how long they are now, on the disk."""


def repair(
    folder: CrawlFolder,
    shard: int,
    rows: Iterable[tuple[bytes, bytes]],
    *,
    shards: int = 1,
    has_rebooted: bool = True,
    tail_records: int = TAIL_RECORDS,
) -> Repair:
    """Mend a shard's archive files; `rows` are those of its commit table.

    The first of so many shards owns the files of those that are no more, too. A tail of at most so
    many records of each kind is what a kill leaves.

    To be called before `Archive.open`, which starts a new epoch: so every file is closed here.
    """
    committed = dict(read_file_row(key, value) for key, value in rows)
    done = Repair(rows=[], bad=[], moved=[], cut=[], indexed=[], reindexed=[], lengths={})
    try:
        for name in folder.archive_names():
            if folder.is_far(name.file_name):
                continue
            if name.shard == shard or (shard == 0 and name.shard >= shards):
                _clear(folder, name, committed, done)
        for names in _sets(committed):
            rows_of_set = {name: committed[name.file_name] for name in names}
            if _is_far(rows_of_set):
                done.lengths.update(
                    (name.file_name, row.length) for name, row in rows_of_set.items()
                )
                continue
            good = _good_lengths(folder, rows_of_set, has_rebooted=has_rebooted)
            _save_tails(folder, rows_of_set, good, done, tail_records)
            _mend_set(folder, rows_of_set, good, done)
        if folder.archive.is_dir():
            _sync(folder, "")
    except OSError as error:
        raise CannotGoOn(
            f"cannot repair {folder.archive}: {error.strerror or error}; "
            "free some disk space or check its permissions, then run the crawl again"
        ) from error
    return done


def forget_shipped(state: Path) -> None:
    """Let everything that is committed count: the crawl has no store."""
    (state / SHIPPED_LENGTHS).unlink(missing_ok=True)


def far_rows(folder: CrawlFolder, rows: Iterable[tuple[bytes, bytes]]) -> list[Row]:
    """Return the rows of files that are in the object store only, and are not marked so yet.

    And of those that are on this disk again.
    """
    changed: list[Row] = []
    for name, row in (read_file_row(key, value) for key, value in rows):
        path = folder.archive / name
        is_far = (
            not path.exists() or path.stat().st_size < row.length
            if row.is_far
            else (folder.is_far(name))
        )
        if is_far != row.is_far:
            changed.append(file_row(name, replace(row, is_far=is_far)))
    return changed


def missing_ends(folder: CrawlFolder, rows: Mapping[str, FileRow]) -> Lengths:
    """Return which files lost committed records that were not yet synced, and how much is left.

    That is what a power loss leaves: the next repair mends it. A set that lost more is damaged, and
    not among these. Nothing is changed.
    """
    found: Lengths = {}
    for names in _sets(rows):
        rows_of_set = {name: rows[name.file_name] for name in names}
        if not _is_far(rows_of_set) and all(
            _size(folder, name) >= row.synced for name, row in rows_of_set.items()
        ):
            good = _good_lengths(folder, rows_of_set, has_rebooted=True)
            found |= {
                name.file_name: good[name]
                for name, row in rows_of_set.items()
                if good[name] < row.length
            }
    return found


def _clear(
    folder: CrawlFolder, name: ArchiveName, committed: dict[str, FileRow], done: Repair
) -> None:
    """Move a file away that the state does not know; remove an unfinished index."""
    index = folder.archive / name.cdxj_name
    index.with_name(index.name + TEMPORARY).unlink(missing_ok=True)
    if name.file_name not in committed:
        records = _count_records(folder.archive / name.file_name, 0)
        has_index = name.kind == "pages" and index.exists()
        suffix = _move_away(folder, [name.cdxj_name] * has_index + [name.file_name])
        done.moved.append(MovedRecords(name.file_name + suffix, records))


def _move_away(folder: CrawlFolder, names: list[str]) -> str:
    """Move files to lost+found in this order, beside whatever lies there.

    Return the suffix that all of them got there. An index goes before its file: without the file
    nobody would ask for it any more.
    """
    free = _free_suffix(folder, names)
    for name in names:
        rename(folder.archive / name, folder.lost_found / (name + free))
    return free


def set_aside_lone_indexes(folder: CrawlFolder) -> list[str]:
    """Move CDXJ indexes whose pages file is gone to lost+found; return their names."""
    files = {name.cdxj_name for name in folder.archive_names(kind="pages")}
    lone = sorted(p.name for p in folder.archive.glob("*.cdxj") if p.name not in files)
    for name in lone:
        _move_away(folder, [name])
    return lone


def _free_suffix(folder: CrawlFolder, names: list[str]) -> str:
    """Return what makes names free in lost+found, which is made if it is not there."""
    place = folder.lost_found
    if not place.is_dir():
        place.mkdir()
        _sync(folder, "")
    # Nobody else takes the names meanwhile: they have our shard's number, and the folder is locked.
    suffixes = chain([""], (f".{n}" for n in count(1)))
    return next(s for s in suffixes if not any((place / (name + s)).exists() for name in names))


def _save_tails(
    folder: CrawlFolder,
    rows: dict[ArchiveName, FileRow],
    good: dict[ArchiveName, int],
    done: Repair,
    most: int,
) -> None:
    """Copy to lost+found what will be cut from the files of a set, unless it is what a kill leaves.

    The files of a set are treated alike: a page, its text and its links stay together.
    """
    sizes = {name: _size(folder, name) for name in rows}
    tails = {name: start for name, start in good.items() if sizes[name] > start}
    if not tails:
        return
    counts = {name: _count_records(folder.archive / name.file_name, tails[name]) for name in tails}
    is_loss = any(good[name] < row.length for name, row in rows.items())
    is_killed = max(counts.values()) <= most and not any(
        has_damage(folder.archive / name.file_name, start) for name, start in tails.items()
    )
    if is_killed and not is_loss:
        return
    for name, start in tails.items():
        target = _copy_tail(folder, name, start, sizes[name] - start)
        done.moved.append(MovedRecords(target, counts[name]))


def _copy_tail(folder: CrawlFolder, name: ArchiveName, start: int, length: int) -> str:
    """Copy the end of a file to lost+found, durably; return its name there."""
    there = folder.tail_path(name, start)
    target = there.name
    if there.exists() and there.stat().st_size == length:  # a repair was killed after it had copied
        return target
    target += _free_suffix(folder, [target])
    with (folder.archive / name.file_name).open("rb") as file:
        file.seek(start)
        with replacing(folder.lost_found / target) as copy:
            shutil.copyfileobj(file, copy, COPY_BYTES)
    return target


def _count_records(path: Path, start: int) -> int:
    """Return how many records of pages, texts or links a file has from an offset on."""
    return sum(
        isinstance(found, BadRecord) or found.headers.get("warc-type") not in BESIDES
        for found in scan_records(path, start, kept_bytes=0)
    )


def has_damage(path: Path, start: int) -> bool:
    """Return True if a tail has bytes that cannot be read, and are not a record that a kill cut."""
    found = scan_records(path, start, kept_bytes=0)
    return any(isinstance(one, BadRecord) and one.found != ENDS_INSIDE for one in found)


def _size(folder: CrawlFolder, name: ArchiveName) -> int:
    path = folder.archive / name.file_name
    return path.stat().st_size if path.exists() else 0


def _sets(committed: Mapping[str, FileRow]) -> Iterator[list[ArchiveName]]:
    """Yield the committed files, set by set."""
    names = [name for name in map(ArchiveName.parse, committed) if name is not None]
    for first in sorted({name.sibling("pages") for name in names}):
        siblings = [first.sibling(kind) for kind in KINDS]
        yield [name for name in siblings if name.file_name in committed]


def _is_far(rows: Mapping[ArchiveName, FileRow]) -> bool:
    """Return True if files of a set are in the object store only; then all of it is there, too."""
    return any(row.is_far for row in rows.values())


def _good_lengths(
    folder: CrawlFolder, rows: dict[ArchiveName, FileRow], *, has_rebooted: bool
) -> dict[ArchiveName, int]:
    """Return how much of the files of a set is there and fits together."""
    good = {
        name: _good_length(folder, name, row, has_rebooted=has_rebooted)
        for name, row in rows.items()
    }
    if any(good[name] < row.length for name, row in rows.items()):
        return _consistent(folder, rows, good)
    return good


def _mend_set(
    folder: CrawlFolder,
    rows: dict[ArchiveName, FileRow],
    good: dict[ArchiveName, int],
    done: Repair,
) -> None:
    # Before the files are cut: what claims more than they have is refused at the next start.
    lower_ends(folder, {name.file_name: n for name, n in good.items() if n < rows[name].length})
    for name, row in rows.items():
        done.lengths[name.file_name] = good[name]
        _cut(folder, name, good[name], done)
        if good[name] < row.length:
            done.bad.append((name.file_name, good[name]))
        mended = FileRow(good[name], good[name], is_closed=True)
        if (row.length, row.synced, row.is_closed) != (mended.length, mended.synced, True):
            _sync(folder, name.file_name)
        if name.kind == "pages":
            is_same = good[name] == row.length
            mended = replace(mended, cdxj_length=_index(folder, name, row, done, is_same=is_same))
        if row != mended:
            done.rows.append(file_row(name.file_name, mended))


def _good_length(
    folder: CrawlFolder, name: ArchiveName, row: FileRow, *, has_rebooted: bool
) -> int:
    """Return how much of the committed length is really there.

    What was synced is taken as read, and the rest is read again, reboot or not: a disk that was
    pulled, a file server that died, or a file system that was shut down takes with it what was not
    synced, while our own kernel runs on. Only where next to nothing was ever synced
    (`sync = never`) and there was no reboot, the end stands for the whole.
    """
    path = folder.archive / name.file_name
    size = _size(folder, name)
    if size >= row.length:
        unsynced = row.length - row.synced
        if unsynced <= 0:
            return row.length
        if unsynced > END_BYTES and not has_rebooted and _is_end_whole(path, row.length):
            return row.length
    # If even what was synced is gone, every record is looked at.
    start = row.synced if row.synced <= size else 0
    records = Records(path, start)
    if size:
        for record in records:
            if record.offset + record.length >= row.length:
                break
    return min(records.whole_until, row.length) if size else 0


def _is_end_whole(path: Path, length: int) -> bool:
    """Return True if the last records before a length can be read, the last of them up to it."""
    found = list(scan_records(path, length - END_BYTES, length, kept_bytes=0))
    # The search begins in the middle of a record, which therefore is none.
    return len(found) > 1 and not any(isinstance(one, BadRecord) for one in found[1:])


def _consistent(
    folder: CrawlFolder, rows: dict[ArchiveName, FileRow], good: dict[ArchiveName, int]
) -> dict[ArchiveName, int]:
    """Return lengths at which the set agrees again: no page without text and links, no reverse.

    The files of a set are written in the same order, so that each lost its end: pages go behind the
    last one that what is left of a file names, and what names pages goes with them. All of this is
    read from the beginning, since one file may have been synced further than another.
    """
    by_kind = {name.kind: name for name in rows}
    result = dict(good)
    limits = [
        _names_in(folder, name, good[name])
        for name, row in rows.items()
        if name.kind != "pages" and good[name] < row.length
    ]
    links = by_kind.get("links")
    if links is not None:  # it is synced last, so that all is there of what it then named
        durable = _names_in(folder, links, min(rows[links].synced, good[links]))
        limits = [names | durable for names in limits]
    if (pages := by_kind.get("pages")) is None:
        return result
    result[pages], kept = _cut_pages(folder, pages, good[pages], limits)
    for kind in ("text", "links"):
        if (name := by_kind.get(kind)) is not None:
            result[name] = _cut_names(folder, name, good[name], kept)
    return result


def _cut_pages(
    folder: CrawlFolder, name: ArchiveName, end: int, limits: Sequence[set[str]]
) -> tuple[int, set[str]]:
    """Return where the pages file must end, and the ids of the page records before that.

    It ends behind the last page of one of the limits, of that which comes first; without any,
    behind the last page.
    """
    ids: list[str] = []
    ends = [0]
    last = [0] * len(limits)
    for record in _records(folder, name, end):
        kind, behind = record.headers.get("warc-type"), record.offset + record.length
        if kind in PAGE_TYPES:
            ids.append(record.record_id)
            ends.append(behind)
            last = [
                len(ids) if record.record_id in names else n
                for n, names in zip(last, limits, strict=True)
            ]
        elif kind == "warcinfo" and not ids:
            ends[0] = behind
    count = min(last, default=len(ids))
    return ends[count], set(ids[:count])


def _cut_names(folder: CrawlFolder, name: ArchiveName, end: int, kept: set[str]) -> int:
    """Return where a file must end that names pages: before the first of those that are gone."""
    cut = end
    for record in _records(folder, name, end):
        page = record.headers.get("warc-refers-to", "")
        if page in kept:
            cut = end
        elif page and cut == end:
            cut = record.offset
    return cut


def _names_in(folder: CrawlFolder, name: ArchiveName, end: int) -> set[str]:
    """Return the ids of all pages that the records of a file name."""
    return {record.headers.get("warc-refers-to", "") for record in _records(folder, name, end)}


def _records(folder: CrawlFolder, name: ArchiveName, end: int) -> Iterator[Record]:
    """Yield the records of a file that can be read; a damaged one takes no others with it."""
    if end > 0:
        for found in scan_records(folder.archive / name.file_name, 0, end, kept_bytes=0):
            if isinstance(found, Record):
                yield found


def _cut(folder: CrawlFolder, name: ArchiveName, length: int, done: Repair) -> None:
    path = folder.archive / name.file_name
    if not path.exists() or path.stat().st_size <= length:
        return
    # The index goes first: one that points past the end must never outlive the cut.
    index = folder.archive / name.cdxj_name
    if name.kind == "pages" and index.exists():
        index.unlink()
        _sync(folder, "")
    os.truncate(path, length)
    done.cut.append(name.file_name)


def _index(
    folder: CrawlFolder, name: ArchiveName, row: FileRow, done: Repair, *, is_same: bool
) -> int | None:
    """Let a pages file have its index, written again unless it is whole; return its length.

    One that points past the end of a file that got shorter is not whole, whatever its length.
    """
    path, index = folder.archive / name.file_name, folder.archive / name.cdxj_name
    if not path.exists():
        return row.cdxj_length
    if is_same and is_cdxj_of(index, name.file_name, row.cdxj_length):
        return index.stat().st_size
    was_lost = row.cdxj_length is not None and name.file_name not in done.cut
    (done.reindexed if was_lost or index.exists() else done.indexed).append(index.name)
    return write_cdxj(index, cdxj_lines(path), is_synced=True)


def _sync(folder: CrawlFolder, file_name: str) -> None:
    path = folder.archive / file_name
    if not path.exists():
        return
    sync(path)
