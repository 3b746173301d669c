"""Find the records of one page by its id: in which set of files they lie, then where, by bisection.

All ids of one start of a shard share a stem and count up in the order of writing (`RecordIds`). So
the first id of each set of files says which set a page lies in, and any record boundary says on
which side of it: some dozen records are read of a file of any size, and no state is needed.
"""

from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

from gossamer.store.layout import KINDS, ArchiveKind, ArchiveName, CrawlFolder
from gossamer.store.records import Record
from gossamer.store.scanning import count_of, next_boundary, readable_records, stem_of

NEAR_BYTES = 64 << 10
"""A stretch of a file that is read through instead of halved again."""


class RecordSeeker:
    """The sets of files of an archive, by the ids of their records."""

    def __init__(self, folder: CrawlFolder) -> None:
        self._folder = folder
        self._sets: dict[str, list[tuple[int, ArchiveName]]] = {}
        """By stem: the first count of each set, in order."""
        self._known: set[ArchiveName] = set()
        self.look_again()

    def look_again(self) -> None:
        """Take in the files that have come since."""
        sets = {name.sibling("pages") for name in self._folder.archive_names()}
        for name in sorted(sets - self._known):
            first = self._first_id(name)
            if stem := stem_of(first):
                self._known.add(name)
                self._sets.setdefault(stem, []).append((count_of(first), name))
        for found in self._sets.values():
            found.sort()

    def set_of(self, page_id: str) -> ArchiveName | None:
        """Return the pages file of the set that the records of a page lie in."""
        found = self._sets.get(stem_of(page_id), [])
        place = bisect_right(found, count_of(page_id), key=lambda one: one[0])
        return found[place - 1][1] if place else None

    def find(self, kind: ArchiveKind, page_id: str) -> tuple[ArchiveName, Record] | None:
        """Return a record of a page, with its file: the page itself, its text, or its links.

        None if it has no such record, or it cannot be read.
        """
        found = self.set_of(page_id)
        for name in [found] if found is not None else self._foreign():
            path = self._folder.archive_path(name.sibling(kind).file_name)
            if path.exists() and (record := seek_record(path, kind, page_id)) is not None:
                return name.sibling(kind), record
        return None

    def _foreign(self) -> Iterator[ArchiveName]:
        """Give the sets whose ids are not ours: these are read from their beginning."""
        sets = {name.sibling("pages") for name in self._folder.archive_names()}
        yield from sorted(sets - self._known)

    def _first_id(self, name: ArchiveName) -> str:
        """Return the lowest id that a set begins with, of those of its files that can be read."""
        found = []
        for kind in KINDS:
            path = self._folder.archive_path(name.sibling(kind).file_name)
            first = next(_counted(path), None) if path.exists() else None
            if first is not None and (owner := _owner(kind, first)):
                found.append((count_of(owner), owner))
        return min(found)[1] if found else ""


def seek_record(path: Path, kind: ArchiveKind, page_id: str) -> Record | None:
    """Return the record of a page in a file of a kind; None if there is none."""
    wanted = count_of(page_id)
    low, high = 0, path.stat().st_size
    while wanted and high - low > NEAR_BYTES:
        middle = (low + high) // 2
        at = next_boundary(path, middle, high)
        record = next(readable_records(path, at), None) if at < high else None
        if record is None or record.offset >= high:
            high = middle
        elif _is_of(kind, record, page_id):
            return record
        elif _owner_count(kind, record) < wanted:
            low = record.offset
        else:
            high = record.offset
    for record in _counted(path, low):
        if _is_of(kind, record, page_id):
            return record
        if wanted and _owner_count(kind, record) > wanted:
            return None
    return None


def _is_of(kind: ArchiveKind, record: Record, page_id: str) -> bool:
    if kind == "pages":
        return record.record_id == page_id
    return record.headers.get("warc-refers-to") == page_id


def _counted(path: Path, start: int = 0) -> Iterator[Record]:
    """Give the records from a boundary on, but for the opening one.

    A file is opened by the first group that goes into it, whose pages have their ids already.
    """
    records = readable_records(path, start)
    return (record for record in records if record.headers.get("warc-type") != "warcinfo")


def _owner(kind: ArchiveKind, record: Record) -> str:
    """Return the id of the page that a record belongs to; of one that has no page, its own.

    A request is written before its response, and has the later id.
    """
    owner = record.headers.get("warc-concurrent-to" if kind == "pages" else "warc-refers-to", "")
    return next((one for one in (owner, record.record_id) if stem_of(one)), "")


def _owner_count(kind: ArchiveKind, record: Record) -> int:
    return count_of(_owner(kind, record))
