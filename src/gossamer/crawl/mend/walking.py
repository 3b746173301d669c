"""Walk through the archive, set by set, and find out which records are lost.

A page counts if its page record and its links record can be read. Where one of them cannot, the
other still knows the URL; where both are bad, the index of the pages file may.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct

from gossamer.model import StoreRef
from gossamer.store import (
    KEPT_BYTES,
    PAGE_TYPES,
    ArchiveName,
    BadRecord,
    BadStretches,
    CrawlFolder,
    LinksRecord,
    Record,
    count_of,
    decode_links,
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
    pages, bad_pages = _read_pages(folder, name.sibling("pages"))
    bad_links = BadStretches()
    for found in _scan(folder, name):
        links = _links(found, name)
        if isinstance(links, BadRecord):
            bad_links.add(links)
        elif isinstance(found, Record):
            bad_links.pass_over(count_of(found.record_id))
        if not isinstance(links, LinksRecord):
            continue
        page = pages.pop(links.page, None) if links.page else None
        if links.page and (page is None or page.original in lost.page_ids):
            lost.pages.append(links)
            lost.page_ids.add(links.page)
            bad_pages.note_url(count_of(links.page), links.url)
        else:
            yield FoundPage(links, page)
    for record_id, orphan in pages.items():
        lost.urls.append(orphan.url)
        bad_links.note_url(count_of(record_id), orphan.url)
    bad = [*bad_pages.named(), *bad_links.named()]
    lost.bad.extend(bad)
    lost.urls.extend(one.url for one in bad)


def _read_pages(
    folder: CrawlFolder, name: ArchiveName
) -> tuple[dict[str, StoredRecord], BadStretches]:
    """Return the page records of a file by their ids, and its bad stretches."""
    pages: dict[str, StoredRecord] = {}
    stretches = BadStretches()
    for found in _scan(folder, name, kept_bytes=0):
        if isinstance(found, BadRecord):
            stretches.add(found)
        elif (said := found.headers).get("warc-type") in PAGE_TYPES:
            stretches.pass_over(count_of(found.record_id))
            pages[found.record_id] = StoredRecord(
                StoreRef(name.file_name, found.offset, found.length),
                said.get("warc-target-uri", ""),
                said.get("warc-payload-digest", ""),
                said.get("warc-refers-to", "") if said.get("warc-type") == "revisit" else "",
            )
    stretches.note_index(folder.archive / name.cdxj_name, name.file_name)
    return pages, stretches


def _scan(
    folder: CrawlFolder, name: ArchiveName, kept_bytes: int = KEPT_BYTES
) -> Iterator[Record | BadRecord]:
    path = folder.archive_path(name.file_name)
    if path.exists():
        yield from scan_records(path, digests="block", kept_bytes=kept_bytes)
    else:
        yield BadRecord(file=name.file_name, offset=0, end=0, found="the file is missing")


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
