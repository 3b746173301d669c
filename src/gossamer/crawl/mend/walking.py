"""Walk through the archive, set by set, and find out which records are lost.

A page counts if its page record, its links record and its text can be read, and of a revisit the
record that has its payload. Where one of them cannot, another still knows the URL; where all are
bad, the index of the pages file may.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct
from msgspec.structs import replace

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
    RecordIdSet,
    RulesRecord,
    count_of,
    decode_all_links,
    decode_rules,
    read_ends,
    scan_records,
    undecodable,
)


class StoredRecord(Struct, frozen=True, gc=False):
    """A page record that can be read."""

    ref: StoreRef
    record_id: str
    url: str
    digest: str
    """Of its payload."""
    original: str
    """Id of the record that has its payload, if it is a revisit."""


class FoundPage(Struct, frozen=True):
    """A links record, and the page record that it names; None if it names none."""

    links: LinksRecord
    page: StoredRecord | None
    is_late: bool = False
    """It comes after later records: what it refers to lies in a file that is read later."""


@dataclass(slots=True)
class LostRecords:
    """What a walk could not read."""

    bad: list[BadRecord] = field(default_factory=list)
    """All bad stretches; one for each URL where several are known."""
    pages: list[LinksRecord] = field(default_factory=list)
    """Links records whose page record is bad, or refers to a bad one."""
    texts: list[FoundPage] = field(default_factory=list)
    """Pages of which the text alone is bad."""
    orphans: list[StoredRecord] = field(default_factory=list)
    """Page records whose links record is bad, or was never written."""
    urls: list[str] = field(default_factory=list)
    """URLs that bad records were of."""
    rules: list[RulesRecord] = field(default_factory=list)
    """Not lost: what the archive says is dropped, or no longer."""
    torn: dict[str, int] = field(default_factory=dict)
    """Files whose end cannot be read, and where that begins."""


@dataclass(slots=True)
class _Originals:
    """Which payloads are there, and the revisits of which it is not yet known."""

    known: RecordIdSet = field(default_factory=RecordIdSet)
    waiting: list[FoundPage] = field(default_factory=list)

    def has_payload_of(self, page: StoredRecord | None) -> bool:
        return page is None or not page.original or page.original in self.known


def walk_archive(folder: CrawlFolder, lost: LostRecords) -> Iterator[FoundPage]:
    """Yield what can be read of each URL, in the order of the links archive; note the rest.

    Only a revisit whose original lies in a file that is read later, of another shard, comes last.
    """
    sets = sorted({name.sibling("links") for name in folder.archive_names()})
    durable = read_ends(folder).lengths
    originals = _Originals()
    for name in sets:
        texts = name.sibling("text").file_name
        has_texts = folder.archive_path(texts).exists() or durable.get(texts, 0) > 0
        yield from _walk_set(folder, name, lost, originals, has_texts=has_texts)
    for found in originals.waiting:
        if originals.has_payload_of(found.page):
            yield replace(found, is_late=True)
        else:
            lost.pages.append(found.links)


def walk_links(folder: CrawlFolder, shard: int | None = None) -> Iterator[LinksRecord]:
    """Yield every links record that can be read; only those of one shard, if it is given."""
    for name in folder.archive_names(kind="links", shard=shard):
        for found in _scan(folder, name, LostRecords()):
            if isinstance(said := _links(found, name), list):
                yield from said


def _walk_set(
    folder: CrawlFolder,
    name: ArchiveName,
    lost: LostRecords,
    originals: _Originals,
    *,
    has_texts: bool,
) -> Iterator[FoundPage]:
    pages, bad_pages = _read_pages(folder, name.sibling("pages"), lost)
    originals.known.update(one.record_id for one in pages.values() if not one.original)
    texts, bad_texts = set[str](), BadStretches()
    if has_texts:
        texts, bad_texts = _read_texts(folder, name.sibling("text"), lost)
    bad_links = BadStretches()
    for found in _scan(folder, name, lost):
        said = _links(found, name, lost.rules)
        if isinstance(said, BadRecord):
            bad_links.add(said)
            continue
        if isinstance(found, Record):
            bad_links.pass_over(count_of(found.record_id))
        if len(said) != 1:
            yield from (FoundPage(links, None) for links in said)
            continue
        [links] = said
        page = pages.pop(links.page, None) if links.page else None
        if links.page and page is None:
            lost.pages.append(links)
            bad_pages.note_url(count_of(links.page), links.url)
        elif not originals.has_payload_of(page):
            originals.waiting.append(FoundPage(replace(links, links=links.links[:1]), page))
        elif page is not None and _has_lost_text(links, page, texts, bad_texts):
            lost.texts.append(FoundPage(links, page))
        else:
            yield FoundPage(links, page)
    for record_id, orphan in pages.items():
        lost.orphans.append(orphan)
        bad_links.note_url(count_of(record_id), orphan.url)
    bad = [*bad_pages.named(), *bad_links.named()]
    lost.urls.extend(one.url for one in bad)
    lost.bad.extend([*bad, *bad_texts.named()])


def _has_lost_text(
    links: LinksRecord, page: StoredRecord, texts: set[str], bad: BadStretches
) -> bool:
    """Return True if a page had a text that is bad, and would not be stored once more for it.

    A page without words had none, nor has a copy; one without a fingerprint (its body is cut off)
    could not be told from a new version of itself.
    """
    is_own = links.outcome == "fetched" and not links.copy_of and not page.original
    if links.page in texts or not is_own or links.words is None or links.fp is None:
        return False
    return bad.note_url(count_of(links.page), links.url)


def _read_pages(
    folder: CrawlFolder, name: ArchiveName, lost: LostRecords
) -> tuple[dict[str, StoredRecord], BadStretches]:
    """Return the page records of a file by their ids, and its bad stretches."""
    pages: dict[str, StoredRecord] = {}
    stretches = BadStretches()
    for found in _scan(folder, name, lost, kept_bytes=0):
        if isinstance(found, BadRecord):
            stretches.add(found)
        elif (said := found.headers).get("warc-type") in PAGE_TYPES:
            stretches.pass_over(count_of(found.record_id))
            pages[found.record_id] = StoredRecord(
                StoreRef(name.file_name, found.offset, found.length),
                found.record_id,
                said.get("warc-target-uri", ""),
                said.get("warc-payload-digest", ""),
                said.get("warc-refers-to", "") if said.get("warc-type") == "revisit" else "",
            )
    stretches.note_index(folder.archive / name.cdxj_name, name.file_name)
    return pages, stretches


def _read_texts(
    folder: CrawlFolder, name: ArchiveName, lost: LostRecords
) -> tuple[set[str], BadStretches]:
    """Return the ids of the pages whose texts can be read, and the bad stretches of the file."""
    texts: set[str] = set()
    stretches = BadStretches()
    for found in _scan(folder, name, lost, kept_bytes=0):
        if isinstance(found, BadRecord):
            stretches.add(found)
        else:
            stretches.pass_over(count_of(found.record_id))
            texts.add(found.headers.get("warc-refers-to", ""))
    return texts, stretches


def _scan(
    folder: CrawlFolder,
    name: ArchiveName,
    lost: LostRecords,
    kept_bytes: int = KEPT_BYTES,
) -> Iterator[Record | BadRecord]:
    path = folder.archive_path(name.file_name)
    if not path.exists():
        yield BadRecord(file=name.file_name, offset=0, end=0, found="the file is missing")
        return
    size = path.stat().st_size
    for found in scan_records(path, digests="block", kept_bytes=kept_bytes):
        if isinstance(found, BadRecord) and found.end >= size:
            lost.torn[name.file_name] = found.offset
        yield found


def _links(
    found: Record | BadRecord, name: ArchiveName, rules: list[RulesRecord] | None = None
) -> list[LinksRecord] | BadRecord:
    """Return the links records in a record; none if it is of another kind, such as rules."""
    if isinstance(found, BadRecord):
        return found
    if found.headers.get("warc-type") != "metadata":
        return []
    try:
        if rules is not None and (ruled := decode_rules(found.block)) is not None:
            rules.append(ruled)
        return decode_all_links(found.block)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return undecodable(name.file_name, found, error)
