"""Purging: archive files written anew without some of their records.

A page goes with its request, its text and its links record. Where the content of a page that stays
was stored with one that goes, the first such copy gets it, and the others refer to that one. All
other records are copied byte for byte, in their order.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, TypeGuard

from msgspec import Struct, json
from msgspec.structs import replace

from gossamer.durable import TEMPORARY, sync
from gossamer.model import StoreRef
from gossamer.store.entry import (
    REQUESTS_TYPE,
    LinksRecord,
    decode_all_links,
    encode_endings,
    encode_links,
)
from gossamer.store.layout import ArchiveName, CrawlFolder
from gossamer.store.reader import cdxj_lines, read_record
from gossamer.store.records import Record
from gossamer.store.repairing import PAGE_TYPES
from gossamer.store.resolving import resolved
from gossamer.store.scanning import BadRecord, scan_records
from gossamer.store.warc import pack_record, write_cdxj


class StoredAnswer(Struct, frozen=True, gc=False):
    """A page record, by its header."""

    record_id: str
    url: str
    at: float
    digest: str
    original: str
    """Id of the record that has its payload, if it is a revisit."""
    ref: StoreRef


class Heir(Struct, frozen=True, gc=False):
    """The first copy of a content whose original goes: it becomes the original."""

    record_id: str
    url: str
    date: str
    original: StoreRef
    """Where the content lies."""


class _Requests(Struct, frozen=True):
    """A record of requests, as `RequestLog` makes it."""

    at: float
    robots: list[str]
    asked: dict[str, list[list[int | str]]]
    """By origin; path and query are the second of each row."""


_decode_requests = json.Decoder(_Requests).decode


@dataclass(kw_only=True)
class Removal:
    """What goes."""

    pages: set[str]
    """Ids of page records."""
    has_url: Callable[[str], bool]
    """Returns True of a URL of which nothing at all is kept."""
    heirs: dict[str, Heir] = field(default_factory=dict)
    """By the id of the original that goes."""
    copies: dict[str, Heir] = field(default_factory=dict)
    """By the id of each page that stays and had its content with one that goes."""
    removed: int = 0


def stored_answers(folder: CrawlFolder) -> Iterator[StoredAnswer]:
    """Yield every page record of an archive that can be read, by its header."""
    for name in folder.archive_names(kind="pages"):
        path = folder.archive_path(name.file_name)
        for found in scan_records(path, kept_bytes=0):
            if isinstance(found, Record) and found.headers.get("warc-type") in PAGE_TYPES:
                said = found.headers
                is_revisit = said["warc-type"] == "revisit"
                yield StoredAnswer(
                    found.record_id,
                    said.get("warc-target-uri", ""),
                    datetime.fromisoformat(said["warc-date"]).timestamp(),
                    said.get("warc-payload-digest", ""),
                    said.get("warc-refers-to", "") if is_revisit else "",
                    StoreRef(name.file_name, found.offset, found.length),
                )


def removal_of(
    folder: CrawlFolder, pages: set[str], has_url: Callable[[str], bool] = lambda _: False
) -> Removal:
    """Return what the removal of some pages means for those that stay."""
    removal = Removal(pages=pages, has_url=has_url)
    originals: dict[str, StoreRef] = {}
    copies: list[StoredAnswer] = []
    for one in stored_answers(folder):
        if one.record_id in pages and not one.original:
            originals[one.record_id] = one.ref
        elif one.record_id not in pages and one.original in pages:
            copies.append(one)
    for one in sorted(copies, key=lambda copy: copy.at):
        if one.original in originals:
            date = read_record(folder, one.ref).headers["warc-date"]
            heir = Heir(one.record_id, one.url, date, originals[one.original])
            removal.copies[one.record_id] = removal.heirs.setdefault(one.original, heir)
    return removal


def sets_of(folder: CrawlFolder) -> list[ArchiveName]:
    """Return the pages file of each set, whether it is there or not."""
    return sorted({name.sibling("pages") for name in folder.archive_names()})


def rewrite_set(folder: CrawlFolder, name: ArchiveName, removal: Removal, into: Path) -> list[str]:
    """Write the files of a set anew, with an index; return their names, none if nothing goes."""
    if not _is_concerned(folder, name, removal):
        return []
    ids = _write_pages(folder, name, removal, into / name.file_name)
    names = [name.file_name, name.cdxj_name] if ids is not None else []
    if ids is not None:
        write_cdxj(into / name.cdxj_name, cdxj_lines(into / name.file_name), is_synced=True)
    text, links = name.sibling("text").file_name, name.sibling("links").file_name
    if _write_texts(folder, text, ids or [], removal, into / text):
        names.append(text)
    if (folder.archive / links).exists():
        _write_links(folder.archive / links, removal, into / links)
        names.append(links)
    return names


def strip_file(path: Path, has_url: Callable[[str], bool]) -> bool:
    """Take everything of some URLs out of a file that nobody refers to; return if there was any."""
    fresh = path.with_name(path.name + TEMPORARY)
    removal, gone = Removal(pages=set(), has_url=has_url), 0
    with fresh.open("wb") as file, path.open("rb") as source:
        for found in scan_records(path):
            block = _left(found, removal) if _is_links(found) else b""
            is_named = isinstance(found, Record) and has_url(
                found.headers.get("warc-target-uri", "")
            )
            if is_named or block is None:
                gone += 1
            elif isinstance(found, Record) and block and block != found.block:
                gone += 1
                file.write(
                    pack_record(Record(offset=0, length=0, headers=found.headers, block=block))
                )
            else:
                _copy_bytes(source, file, found)
    if gone:
        sync(fresh)
        fresh.replace(path)
    else:
        fresh.unlink()
    return gone > 0


def _is_concerned(folder: CrawlFolder, name: ArchiveName, removal: Removal) -> bool:
    """Return True if a set has anything that goes, or that refers to what goes."""
    pages, links = (folder.archive / name.sibling(kind).file_name for kind in ("pages", "links"))
    for found in scan_records(pages, kept_bytes=0) if pages.exists() else ():
        if isinstance(found, Record) and (
            found.record_id in removal.pages or found.record_id in removal.copies
        ):
            return True
    for found in scan_records(links) if links.exists() else ():
        if _is_links(found) and any(map(removal.has_url, _urls_in(found))):
            return True
    return False


def _is_links(found: Record | BadRecord) -> TypeGuard[Record]:
    """Return True for a record of URLs: what became of them, or requests for them."""
    return isinstance(found, Record) and (
        found.headers.get("warc-type") == "metadata" or _is_of_requests(found)
    )


def _is_of_requests(record: Record) -> bool:
    return record.headers.get("content-type") == REQUESTS_TYPE


def _urls_in(record: Record) -> Iterator[str]:
    """Yield the URLs that a record is about."""
    if not _is_of_requests(record):
        yield from (one.url for one in decode_all_links(record.block))
        return
    for origin, rows in _decode_requests(record.block).asked.items():
        yield from (f"{origin}{row[1]}" for row in rows)


def _left(record: Record, removal: Removal) -> bytes | None:
    """Return what is left of a record of URLs; None if nothing is."""
    of_requests = _is_of_requests(record)
    left_of = _requests_left if of_requests else _links_left
    return left_of(record.block, removal)


def _requests_left(block: bytes, removal: Removal) -> bytes | None:
    """Return what is left of a record of requests; None if nothing is."""
    kept, has_url = _decode_requests(block), removal.has_url
    left = {
        origin: some
        for origin, rows in kept.asked.items()
        if (some := [row for row in rows if not has_url(f"{origin}{row[1]}")])
    }
    if not left:
        return None
    return block if left == kept.asked else json.encode(replace(kept, asked=left))


def _write_pages(
    folder: CrawlFolder, name: ArchiveName, removal: Removal, target: Path
) -> list[str] | None:
    """Write a pages file without what goes; return the ids of its pages; None: there is no file."""
    path, ids = folder.archive / name.file_name, list[str]()
    if not path.exists():
        return None
    with target.open("wb") as file, path.open("rb") as source:
        for found in scan_records(path):
            page = "" if isinstance(found, BadRecord) else _page_of(found)
            if page in removal.pages:
                removal.removed += 1
                continue
            heir = removal.copies.get(page)
            if heir is not None and isinstance(found, Record) and _is_page(found):
                file.write(pack_record(_copy(folder, found, heir)))
            else:
                _copy_bytes(source, file, found)
            if isinstance(found, Record) and _is_page(found):
                ids.append(found.record_id)
    return ids


def _is_page(record: Record) -> bool:
    return record.headers.get("warc-type") in PAGE_TYPES


def _page_of(record: Record) -> str:
    """Return the id of the page that a record of a pages file belongs to."""
    return record.record_id if _is_page(record) else record.headers.get("warc-concurrent-to", "")


def _copy(folder: CrawlFolder, revisit: Record, heir: Heir) -> Record:
    """Return a copy whose original goes: with its content, or referring to the one that has it."""
    if revisit.record_id == heir.record_id:
        return resolved(revisit, read_record(folder, heir.original))
    headers = {
        **revisit.headers,
        "warc-refers-to": heir.record_id,
        "warc-refers-to-target-uri": heir.url,
        "warc-refers-to-date": heir.date,
    }
    return Record(offset=0, length=0, headers=headers, block=revisit.block)


def _write_texts(
    folder: CrawlFolder, file_name: str, ids: Sequence[str], removal: Removal, target: Path
) -> bool:
    """Write a text file in the order of its pages, with the texts that heirs get."""
    path = folder.archive / file_name
    heirs = {heir.record_id: heir for heir in removal.heirs.values() if heir.record_id in ids}
    if not path.exists() and not heirs:
        return False
    texts: dict[str, list[Record | BadRecord]] = {}
    for found in scan_records(path, kept_bytes=0) if path.exists() else ():
        page = found.headers.get("warc-refers-to", "") if isinstance(found, Record) else ""
        texts.setdefault(page, []).append(found)
    others = [page for page in texts if page not in {"", *ids, *removal.pages}]
    with ExitStack() as stack:
        file = stack.enter_context(target.open("wb"))
        source = stack.enter_context(path.open("rb")) if path.exists() else None
        for page in ("", *ids, *others):
            heir = heirs.get(page) if page not in texts else None
            text = _text_of(folder, heir) if heir is not None else None
            if heir is not None and text is not None:
                file.write(pack_record(_text_for(text, page, heir)))
            for one in texts.get(page, ()):
                _copy_bytes(source, file, one)
    return True


def _text_of(folder: CrawlFolder, heir: Heir) -> Record | None:
    """Return the text record of the page whose content an heir gets."""
    name = ArchiveName.parse(heir.original.file)
    page = read_record(folder, heir.original).record_id
    path = folder.archive / name.sibling("text").file_name if name is not None else None
    if path is None or not path.exists():
        return None
    texts = (one for one in scan_records(path) if isinstance(one, Record))
    return next((one for one in texts if one.headers.get("warc-refers-to") == page), None)


def _text_for(text: Record, page: str, heir: Heir) -> Record:
    """Return a text record as that of another page; its id counts as that of the page does.

    Ids count up in a file, and no other has the same first digits.
    """
    first = page[10]
    own_id = f"{page[:10]}{'0' if first != '0' else '1'}{page[11:]}"
    headers = {
        **text.headers,
        "warc-record-id": own_id,
        "warc-refers-to": page,
        "warc-target-uri": heir.url,
        "warc-date": heir.date,
    }
    return Record(offset=0, length=0, headers=headers, block=text.block)


def _write_links(path: Path, removal: Removal, target: Path) -> None:
    """Write a links file without what goes."""
    with target.open("wb") as file, path.open("rb") as source:
        for found in scan_records(path):
            if not _is_links(found):
                _copy_bytes(source, file, found)
                continue
            block = _left(found, removal)
            if block is None:
                removal.removed += 1
            elif block == found.block:
                _copy_bytes(source, file, found)
            else:
                file.write(
                    pack_record(Record(offset=0, length=0, headers=found.headers, block=block))
                )


def _links_left(block: bytes, removal: Removal) -> bytes | None:
    """Return what is left of a links record; None if nothing is."""
    records = decode_all_links(block)
    left = [one for one in records if not (one.page in removal.pages or removal.has_url(one.url))]
    if not records:
        return block
    if not left:
        return None
    if len(records) > 1:
        return block if len(left) == len(records) else encode_endings(left)
    heir = removal.copies.get(left[0].page)
    return block if heir is None else encode_links(_of_copy(left[0], heir))


def _of_copy(record: LinksRecord, heir: Heir) -> LinksRecord:
    """Return the links record of a copy: of which page it is a copy now, if of any."""
    is_own = heir.url == record.url or heir.record_id == record.page
    return replace(record, copy_of="" if is_own else heir.url)


def _copy_bytes(source: BinaryIO | None, file: BinaryIO, found: Record | BadRecord) -> None:
    """Copy a record, or a stretch that cannot be read, as it is."""
    if source is None:
        return
    end = found.end if isinstance(found, BadRecord) else found.offset + found.length
    source.seek(found.offset)
    left = end - found.offset
    while left > 0 and (part := source.read(min(left, 1 << 20))):
        file.write(part)
        left -= len(part)
