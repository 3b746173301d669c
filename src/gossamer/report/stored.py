"""Stored pages: what the archive keeps of each, read again."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from gossamer.errors import CannotGoOn, ConfigError
from gossamer.model import SITEMAP_TYPES, StoreRef
from gossamer.report.explanation import Edition, RecordLocation
from gossamer.report.history import diff_lines, numbered
from gossamer.report.inquiry import find_page, folder_of, stored_at
from gossamer.report.records import moment_text
from gossamer.store import (
    ArchiveName,
    CrawlFolder,
    LinksRecord,
    StoredPage,
    count_of,
    iter_pages,
    links_in,
    read_page,
    records_of,
)

_Found = TypeVar("_Found")


class Page(Struct, frozen=True, kw_only=True):
    """A page as it was stored."""

    url: str
    status: int
    """The HTTP status."""
    media_type: str
    """As found, or as the server said; "" if neither is known."""
    fetched_at: float
    """When, in seconds since 1970."""
    title: str
    language: str
    is_revisit: bool
    """Its body was stored before, with another page or an earlier visit, and is read from there."""
    headers: tuple[tuple[str, str], ...]
    """The server's header fields in order, names in lower case."""
    head: bytes
    """Status line and header lines as sent; b"" for a local file."""
    location: RecordLocation
    record_id: str
    folder: str
    """The crawl's folder."""
    payload: bytes
    """The body as sent, content coding and chunks included; b"" for a revisit: see `raw`."""
    stored_text: str | None
    """The text that was extracted, if it was read already; see `text`."""

    def raw(self) -> bytes:
        """Return the body as sent, content coding and chunks included."""
        return self._stored().payload if self.is_revisit else self.payload

    def body(self) -> bytes:
        """Return the body as its author wrote it: content coding and chunks undone."""
        return self._stored().decoded()

    def text(self) -> str:
        """Return the text that was extracted when the page was stored; "" if there was none."""
        if self.stored_text is not None:
            return self.stored_text
        stored = self._stored()
        place = stored.original or stored.ref
        wanted = "warc-refers-to" if stored.original else "warc-record-id"
        return _text_of(Path(self.folder), place.file, stored.warc_headers.get(wanted, ""))

    def header(self, name: str) -> str:
        """Return the first value of a header field, or ""."""
        return next((value for key, value in self.headers if key == name.lower()), "")

    def _stored(self) -> StoredPage:
        place = CrawlFolder(Path(self.folder))
        ref = StoreRef(self.location.file, self.location.offset, self.location.length)
        return read_page(place, ref, lambda url, record_id: find_page(place, url, record_id))


def page(folder: Path | str, url: str) -> Page | None:
    """Return the stored page of a URL, as of its last visit; None if none is stored."""
    found = stored_at(folder, url)
    return None if found is None else page_at(folder, found)


def brief_page(folder: Path | str, url: str) -> Page | None:
    """Return the same without what the links archive says of it, such as its title."""
    found = stored_at(folder, url)
    return None if found is None else page_at(folder, found, is_brief=True)


def page_at(folder: Path | str, location: RecordLocation, *, is_brief: bool = False) -> Page:
    """Return the page whose record lies somewhere in the archive.

    `is_brief`: without what the links archive says of it, such as its title.
    """
    place = folder_of(folder)
    stored = read_page(place, StoreRef(location.file, location.offset, location.length))
    name = ArchiveName.parse(location.file)
    wanted = stored.warc_headers.get("warc-record-id", "")
    records = _links_of(place, name, wanted) if name is not None and not is_brief else iter(())
    record = _first_of(wanted, ((one.page, one) for one in records))
    return _page(place, stored, record, None)


class EditionDiff(Struct, frozen=True, kw_only=True):
    """What has changed between two editions, as a unified diff."""

    url: str
    of: str
    """What is compared: the extracted text, or the source."""
    before: Edition
    after: Edition
    lines: list[str]
    """None if they are alike."""


def diff_editions(
    folder: Path | str, url: str, before: Edition, after: Edition, *, is_source: bool = False
) -> EditionDiff:
    """Return what has changed between two editions: in their texts, or in their source."""
    found = [page_at(folder, one.location) for one in (before, after)]
    texts = [one.body().decode("utf-8", "replace") if is_source else one.text() for one in found]
    names = [f"{url} edition {one.number} ({moment_text(one.at)})" for one in (before, after)]
    lines = diff_lines(texts[0].splitlines(), texts[1].splitlines(), names[0], names[1])
    of = "source" if is_source else "text"
    return EditionDiff(url=url, of=of, before=before, after=after, lines=lines)


def diff_numbered(
    folder: Path | str,
    url: str,
    editions: list[Edition],
    numbers: tuple[int, int],
    *,
    is_source: bool,
) -> EditionDiff:
    """Return what has changed between two editions, by their numbers."""
    if not editions:
        raise ConfigError(f"{url} is not in the archive")
    before, after = (numbered(editions, number, url) for number in numbers)
    return diff_editions(folder, url, before, after, is_source=is_source)


def pages(folder: Path | str) -> Iterator[Page]:
    """Yield every stored page with a 2xx status, file by file, in the order of writing.

    Sitemaps are no pages. A page that was fetched several times is given as often. What a running
    crawl stores meanwhile may be missing.
    """
    place = folder_of(folder)
    for name in place.archive_names(kind="pages"):
        links, texts = _links_of(place, name), _texts_of(place, name)
        record, text = next(links, None), next(texts, None)
        for stored in iter_pages(place.archive_path(name.file_name)):
            record_id = stored.warc_headers.get("warc-record-id", "")
            count = count_of(record_id)
            while record is not None and count_of(record.page) < count:
                record = next(links, None)  # its page record is damaged
            while text is not None and count_of(text[0]) < count:
                text = next(texts, None)
            mine = record if record is not None and record.page == record_id else None
            said = text[1] if text is not None and text[0] == record_id else ""
            record = next(links, None) if mine is not None else record
            text = next(texts, None) if text is not None and text[0] == record_id else text
            is_sitemap = mine is not None and mine.media_type in SITEMAP_TYPES
            is_stored = HTTPStatus.OK <= stored.status < HTTPStatus.MULTIPLE_CHOICES
            if is_stored and not is_sitemap:
                yield _page(place, stored, mine, said)


def _page(
    place: CrawlFolder, stored: StoredPage, record: LinksRecord | None, text: str | None
) -> Page:
    is_revisit = stored.warc_headers.get("warc-type") == "revisit"
    said = stored.header("content-type") or stored.warc_headers.get("content-type", "")
    return Page(
        url=stored.url,
        status=stored.status,
        media_type=record.media_type if record else said.partition(";")[0].strip().lower(),
        fetched_at=_moment(stored.warc_headers.get("warc-date", "")),
        title=record.title if record else "",
        language=record.language if record else "",
        is_revisit=is_revisit,
        headers=stored.headers,
        head=stored.head,
        location=RecordLocation(
            file=stored.ref.file, offset=stored.ref.offset, length=stored.ref.length
        ),
        record_id=stored.warc_headers.get("warc-record-id", ""),
        folder=str(place.root),
        payload=stored.payload,
        stored_text=None if is_revisit else text,
    )


def _links_of(place: CrawlFolder, name: ArchiveName, page_id: str = "") -> Iterator[LinksRecord]:
    """Yield the links records, of the set of a file, that belong to a stored page: from one on."""
    path = place.archive_path(name.sibling("links").file_name)
    for record in records_of(path, page_id) if path.exists() else ():
        found = links_in(record)
        if found is not None and found.page:
            yield found


def _texts_of(
    place: CrawlFolder, name: ArchiveName, page_id: str = ""
) -> Iterator[tuple[str, str]]:
    """Yield the texts of the set of a file, each with the id of its page's record: from one on."""
    path = place.archive_path(name.sibling("text").file_name)
    for record in records_of(path, page_id) if path.exists() else ():
        if record.headers.get("warc-type") == "conversion":
            yield record.headers.get("warc-refers-to", ""), record.block.decode("utf-8", "replace")


def _text_of(folder: Path, file: str, record_id: str) -> str:
    name = ArchiveName.parse(file)
    if name is None:
        raise CannotGoOn(f"{file} is not the name of an archive file")
    return _first_of(record_id, _texts_of(CrawlFolder(folder), name, record_id)) or ""


def _first_of(page_id: str, found: Iterable[tuple[str, _Found]]) -> _Found | None:
    """Return what belongs to a page. Ids count up: behind those of later pages there is nothing."""
    wanted = count_of(page_id)
    for owner, one in found:
        if owner == page_id:
            return one
        if wanted and count_of(owner) > wanted:
            break
    return None


def _moment(date: str) -> float:
    try:
        return datetime.fromisoformat(date).astimezone(UTC).timestamp()
    except ValueError:
        return 0.0
