"""Walk through the archive, set by set, and find out which records are lost.

A page counts if its page record and its links record can be read. Where one of them cannot, the
other still knows the URL; where both are bad, the index of the pages file may. Record ids count up
in the order of writing, so the ids before and behind a bad stretch say which pages it has held.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import inf

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gossamer.model import StoreRef
from gossamer.store import (
    KEPT_BYTES,
    PAGE_TYPES,
    ArchiveName,
    BadRecord,
    CrawlFolder,
    LinksRecord,
    Record,
    count_of,
    decode_links,
    read_cdxj,
    scan_records,
    undecodable,
)


class StoredRecord(Struct, frozen=True, gc=False):
    """A page record that can be read."""

    ref: StoreRef
    url: str
    digest: str
    """Of its payload."""
    original: str
    """Id of the record that has its payload, if it is a revisit."""


class FoundPage(Struct, frozen=True):
    """A links record, and the page record that it names; None if it names none."""

    links: LinksRecord
    page: StoredRecord | None


@dataclass(slots=True)
class LostRecords:
    """What a walk could not read."""

    bad: list[BadRecord] = field(default_factory=list)
    """All bad stretches; one for each URL where several are known."""
    pages: list[LinksRecord] = field(default_factory=list)
    """Links records whose page record is bad, or refers to a bad one."""
    urls: list[str] = field(default_factory=list)
    """URLs that bad records were of, and of pages whose links record is bad."""
    page_ids: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Stretch:
    """A bad stretch, and the counts of the records before and behind it."""

    bad: BadRecord
    after: float
    before: float = inf
    urls: list[str] = field(default_factory=list)

    def end_before(self, count: int) -> None:
        """Note which record comes behind it."""
        self.before = count

    def named(self) -> Iterator[BadRecord]:
        """Give the stretch once for each URL in it; a file that nobody misses is not missing."""
        is_missed = self.urls or self.bad.end
        for url in dict.fromkeys(self.urls or [self.bad.url]) if is_missed else ():
            yield replace(self.bad, url=url)


def walk_archive(folder: CrawlFolder, lost: LostRecords) -> Iterator[FoundPage]:
    """Yield what can be read of each URL, in the order of the links archive; note the rest."""
    sets = sorted({name.sibling("links") for name in folder.archive_names()})
    for name in sets:
        yield from _walk_set(folder, name, lost)


def walk_links(folder: CrawlFolder) -> Iterator[LinksRecord]:
    """Yield every links record that can be read."""
    for name in folder.archive_names(kind="links"):
        for found in _scan(folder, name):
            if isinstance(links := _links(found, name), LinksRecord):
                yield links


def _walk_set(folder: CrawlFolder, name: ArchiveName, lost: LostRecords) -> Iterator[FoundPage]:
    pages, stretches = _read_pages(folder, name.sibling("pages"))
    bad_links: list[_Stretch] = []
    last = 0
    for found in _scan(folder, name):
        links = _links(found, name)
        if isinstance(links, BadRecord):
            bad_links.append(_Stretch(links, last))
        elif isinstance(found, Record):
            last = count_of(found.record_id)
            _close(bad_links, last)
        if not isinstance(links, LinksRecord):
            continue
        page = pages.pop(links.page, None) if links.page else None
        if links.page and (page is None or page.original in lost.page_ids):
            _lose(links, stretches, lost)
        else:
            yield FoundPage(links, page)
    _name_orphans(pages, bad_links, lost)
    for stretch in (*stretches, *bad_links):
        lost.bad.extend(stretch.named())
        lost.urls.extend(stretch.urls or [stretch.bad.url])


def _read_pages(
    folder: CrawlFolder, name: ArchiveName
) -> tuple[dict[str, StoredRecord], list[_Stretch]]:
    """Return the page records of a file by their ids, and its bad stretches."""
    pages: dict[str, StoredRecord] = {}
    stretches: list[_Stretch] = []
    last = 0
    for found in _scan(folder, name, kept_bytes=0):
        if isinstance(found, BadRecord):
            stretches.append(_Stretch(found, last))
        elif (said := found.headers).get("warc-type") in PAGE_TYPES:
            last = count_of(found.record_id)
            _close(stretches, last)
            pages[found.record_id] = StoredRecord(
                StoreRef(name.file_name, found.offset, found.length),
                said.get("warc-target-uri", ""),
                said.get("warc-payload-digest", ""),
                said.get("warc-refers-to", "") if said.get("warc-type") == "revisit" else "",
            )
    if stretches:
        _name_by_index(folder, name, stretches)
    return pages, stretches


def _scan(
    folder: CrawlFolder, name: ArchiveName, kept_bytes: int = KEPT_BYTES
) -> Iterator[Record | BadRecord]:
    path = folder.archive_path(name.file_name)
    if path.exists():
        yield from scan_records(path, digests="block", kept_bytes=kept_bytes)
    else:
        yield BadRecord(file=name.file_name, offset=0, end=0, found="the file is missing")


def _close(stretches: list[_Stretch], count: int) -> None:
    """Note what comes behind the last bad stretches."""
    for stretch in reversed(stretches):
        if stretch.before != inf:
            return
        stretch.end_before(count)


def _links(found: Record | BadRecord, name: ArchiveName) -> LinksRecord | BadRecord | None:
    """Return the links record in a record; None if it is of another kind."""
    if isinstance(found, BadRecord):
        return found
    if found.headers.get("warc-type") != "metadata":
        return None
    try:
        return decode_links(found.block)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return undecodable(name.file_name, found, error)


def _lose(links: LinksRecord, stretches: Iterable[_Stretch], lost: LostRecords) -> None:
    """Note a page that is lost though its links are known."""
    lost.pages.append(links)
    lost.page_ids.add(links.page)
    _add_url(stretches, count_of(links.page), links.url)


def _name_orphans(
    pages: dict[str, StoredRecord], bad_links: list[_Stretch], lost: LostRecords
) -> None:
    """Note the pages whose links records are lost."""
    for record_id, page in pages.items():
        lost.urls.append(page.url)
        _add_url(bad_links, count_of(record_id), page.url)


def _add_url(stretches: Iterable[_Stretch], count: int, url: str) -> None:
    for stretch in stretches:
        if stretch.after < count < stretch.before:
            stretch.urls.append(url)


def _name_by_index(folder: CrawlFolder, name: ArchiveName, stretches: list[_Stretch]) -> None:
    """Name the pages of bad stretches by the lines that the index has for their bytes."""
    index = folder.archive / name.cdxj_name
    for _, line in read_cdxj(index) if index.exists() else ():
        if line is None or line.filename != name.file_name:
            continue
        for stretch in stretches:
            if stretch.bad.offset <= int(line.offset) < stretch.bad.end:
                stretch.urls.append(line.url)
