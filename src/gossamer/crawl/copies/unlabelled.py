"""Read the archive again from a mark on: the pages whose near-duplicates are not yet known."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from msgspec import DecodeError, Struct, json, msgpack
from msgspec.structs import replace

from gossamer.config import UrlConfig
from gossamer.dedupe import Gone, Item, Known, Page
from gossamer.model import Row
from gossamer.report import decode_record, url_row_key
from gossamer.store import ArchiveName, CrawlFolder, Record, Records, State, read_file_row
from gossamer.urls import parse

MARK_ROW = b"NM"
_ANY = UrlConfig(strip_session_ids=False, strip_tracking=False)
"""What the archive names is canonical already."""

Files: TypeAlias = Sequence[tuple[bytes, bytes]]
"""Rows of a shard's commit table: how much of each file counts."""


class Mark(Struct, frozen=True, order=True, array_like=True):
    """A place in a shard's archive: everything before it is labelled.

    Files that a shard has inherited come first: it adds nothing to them.
    """

    is_own: bool = False
    shard: int = 0
    epoch: int = 0
    number: int = 0
    text: int = 0
    """Offset in the text file of that set, and in its links file."""
    links: int = 0

    def row(self) -> Row:
        """Return the row that remembers this mark."""
        return MARK_ROW, msgpack.encode(self)

    @classmethod
    def of(cls, value: bytes | None) -> "Mark":
        """Return the mark that a row holds; the beginning of the archive if there is none."""
        return cls() if value is None else msgpack.decode(value, type=cls)

    @classmethod
    def at_start(cls, name: ArchiveName, owner: int) -> "Mark":
        """Return the mark before a set of files."""
        return cls(name.shard == owner, name.shard, name.epoch, name.number)


class _Said(Struct):
    """What is needed of a links record; the rest is not decoded."""

    url: str
    outcome: str
    at: float = 0.0
    page: str = ""
    copy_of: str = ""
    title: str = ""


_said = json.Decoder(_Said).decode


class Texts:
    """The text records of a set, in step with its links records."""

    def __init__(self, folder: CrawlFolder, name: ArchiveName, start: int, end: int) -> None:
        path = folder.archive / name.sibling("text").file_name
        self._records = iter(Records(path, start)) if path.exists() and start < end else iter(())
        self._end = end
        self.at = start
        self._next: Record | None = next(self._records, None)

    def of(self, page_id: str) -> bytes | None:
        """Return the text of a page, if it is the next one; None if the page has none."""
        record = self._next
        if record is None or record.offset >= self._end:
            return None
        if record.headers.get("warc-type") != "conversion":
            self._take(record)
            return self.of(page_id)
        if record.headers.get("warc-refers-to") != page_id:
            return None
        self._take(record)
        return record.block

    def _take(self, record: Record) -> None:
        self.at = record.offset + record.length
        self._next = next(self._records, None)


def follow(
    folder: CrawlFolder, shard: int, state: State, mark: Mark, files: Files
) -> Iterator[tuple[Item, Mark]]:
    """Give what lies behind a mark in a shard's archive, each with the mark behind it."""
    ends = {name: row.length for name, row in (read_file_row(*row) for row in files)}
    names = [ArchiveName.parse(name) for name in ends]
    links = [name for name in names if name is not None and name.kind == "links"]
    for name in sorted(links, key=lambda one: Mark.at_start(one, shard)):
        start = Mark.at_start(name, shard)
        if replace(mark, text=0, links=0) > start:
            continue
        mark = max(mark, start)
        texts = Texts(folder, name, mark.text, ends.get(name.sibling("text").file_name, 0))
        for record in Records(folder.archive / name.file_name, mark.links):
            if record.offset >= ends[name.file_name]:
                break
            item = _item(record, texts, state)
            mark = replace(start, text=texts.at, links=record.offset + record.length)
            if item is not None:
                yield item, mark


def _item(record: Record, texts: Texts, state: State) -> Item | None:
    """Return what a links record says of its page, if that was stored, or is gone."""
    if record.headers.get("warc-type") != "metadata":
        return None
    try:
        said = _said(record.block)
    except DecodeError:
        return None
    text = texts.of(said.page) if said.page else None
    url = parse(said.url, _ANY) if said.outcome in {"fetched", "gone"} else None
    if url is None:
        return None
    if said.outcome == "gone":
        return Gone(url.key, said.at)
    is_again = was_stored(state, url.key, said.at)
    if said.copy_of and said.copy_of != said.url:
        original = parse(said.copy_of, _ANY)
        return Known(url.key, said.at, original.key, is_again) if original is not None else None
    return Page(url.key, url.host, said.title, text, said.at, is_again) if text else None


def was_stored(state: State, key: int, at: float) -> bool:
    """Return True if an earlier version of a page was stored before a moment."""
    value = state.get(url_row_key(key))
    visits = decode_record(value).visits if value is not None else ()
    return any(visit.at < at and visit.ref is not None for visit in visits)
