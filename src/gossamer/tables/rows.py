"""Rows of `pages` and `links`, made of the archive's records, in batches of columns.

A batch has the columns of its table and, last, the number of the record that each row is of: which
of them hold is decided by `Editions`. Columns whose values change are filled in by `joins`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import compress
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple, TypeAlias

import msgspec
import numpy as np
from msgspec import Struct

from gossamer.errors import CorruptFile
from gossamer.model import StoreRef
from gossamer.process import LABELS, TextKind, page_text, structured_json
from gossamer.report import DROPPED
from gossamer.store import (
    ArchiveName,
    CrawlFolder,
    Record,
    decoded,
    header_fields,
    joined_field,
    read_record,
    split_head,
)
from gossamer.tables.archive import NO_FACTS, ArchiveStretch, FoundRecord, TableRecord
from gossamer.tables.contents import Contents, StoredContent
from gossamer.tables.editions import Editions, Living
from gossamer.tables.schema import (
    LINKS,
    PAGES,
    STRUCTURED,
    TEXT,
    Column,
    TableName,
    TableSchema,
)
from gossamer.urls import registrable_domain

NUMBER = "_number"
"""The column that no reader sees: which record a row is of."""
BATCH_PAGES = 2_000
BATCH_LINKS = 50_000
BATCH_CHARS = 16 << 20
"""Of texts."""
MOST_WAITING = 10_000
BODY_BYTES = 64 << 20

Value: TypeAlias = Any
"""What a column's type says: str, int, float, list[str] or None."""
Row: TypeAlias = tuple[Value, ...]


class Batch(Struct):
    """Some rows of a table, as columns of the same length."""

    columns: Mapping[str, Sequence[Value]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def rows(self) -> Iterator[Row]:
        """Yield the rows, with their values in the order of the columns."""
        return zip(*self.columns.values(), strict=True)

    def kept(self, is_kept: Sequence[bool]) -> "Batch":
        """Return only some rows."""
        return Batch({name: list(compress(one, is_kept)) for name, one in self.columns.items()})

    def with_column(self, name: str, values: Sequence[Value]) -> "Batch":
        """Return it with other values in a column."""
        return Batch({**self.columns, name: values})

    def without(self, name: str) -> "Batch":
        """Return it without a column."""
        return Batch({key: one for key, one in self.columns.items() if key != name})


def batches_of(table: TableSchema, rows: Iterator[Row], size: int = 10_000) -> Iterator[Batch]:
    """Yield batches of rows whose values are in the order of a table's columns."""
    some: list[Row] = []
    for row in rows:
        some.append(row)
        if len(some) == size:
            yield _transposed(table.names, some)
            some = []
    if some:
        yield _transposed(table.names, some)


def _transposed(names: Sequence[str], rows: list[Row]) -> Batch:
    return Batch(dict(zip(names, zip(*rows, strict=True), strict=True)))


class RowWishes(NamedTuple):
    """Which rows are made."""

    tables: frozenset[TableName]
    text: TextKind | None = None
    living: Living | None = None
    """Only rows that hold; None: those of all records."""
    is_structured: bool = False

    @property
    def has_bodies(self) -> bool:
        """Return True if the bodies of pages are read."""
        return self.is_structured or self.text not in {None, "plain"}

    @property
    def added(self) -> tuple[str, ...]:
        """Return the names of columns that rows of pages have besides."""
        text = (TEXT.name,) if self.text is not None else ()
        return (*text, STRUCTURED.name) if self.is_structured else text


class WaitingRow(Struct, array_like=True):
    """A row of a page whose content is that of another, which was not met yet."""

    number: int
    fp: int
    url: str
    media_type: str
    row: list[Value]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(WaitingRow).decode


class ArchiveRows:
    """Iterate over the rows of a stretch of the archive: names of tables, each with a batch."""

    def __init__(
        self,
        folder: CrawlFolder,
        stretch: ArchiveStretch,
        wishes: RowWishes,
        contents: Contents,
        editions: Editions | None = None,
        most_records: int | None = None,
    ) -> None:
        """Take what is read. `editions` are told of every record; the first has their length."""
        self._folder = folder
        self._stretch = stretch
        self._wishes = wishes
        self._contents = contents
        self._editions = editions
        self._first = len(editions) if editions is not None else 0
        self._most = most_records
        self.waiting: list[WaitingRow] = []
        """Rows whose content is not in the archive that was read, or not yet."""
        self._pages: list[Row] = []
        self._chars = 0
        self._links = _LinkColumns()

    def __iter__(self) -> Iterator[tuple[TableName, Batch]]:
        with TemporaryFile() as later:
            for found in self._stretch:
                self._note(found)
                self._take(found, later)
                yield from self._full_batches()
                if self._most is not None and self._stretch.records >= self._most:
                    break
            self._note_unread(self._stretch.records)
            later.seek(0)
            for one in _spooled(later):
                self._take_copy(one)
                yield from self._full_batches()
        if self._pages:
            yield "pages", self._page_batch()
        if self._links.count:
            yield "links", self._links.batch()

    def _note(self, found: FoundRecord) -> None:
        self._note_unread(found.number)
        if self._editions is not None:
            self._editions.note(found.said)

    def _note_unread(self, number: int) -> None:
        """Note records that could not be decoded, so that each has a number."""
        while self._editions is not None and len(self._editions) < self._first + number:
            self._editions.note(NO_FACTS)

    def _full_batches(self) -> Iterator[tuple[TableName, Batch]]:
        if len(self._pages) >= BATCH_PAGES or self._chars >= BATCH_CHARS:
            yield "pages", self._page_batch()
        if self._links.count >= BATCH_LINKS:
            yield "links", self._links.batch()

    def _take(self, found: FoundRecord, later: IO[bytes]) -> None:
        said, number, living = found.said, self._first + found.number, self._wishes.living
        if said.outcome == DROPPED and "pages" in self._wishes.tables:
            self._own_content(found)
        if said.outcome not in _WITH_LINKS:
            return
        has_links = "links" in self._wishes.tables and said.links
        if has_links and (living is None or living.links[number]):
            self._links.add(said, number)
        if "pages" not in self._wishes.tables:
            return
        own = self._own_content(found) if found.page is not None else None
        if said.outcome != "fetched" or (living is not None and not living.pages[number]):
            return
        content = own or (self._contents.find(said.fp) if said.fp is not None else None)
        row = page_row(found, content, number)
        if own is None and said.fp is not None:
            one = WaitingRow(number, said.fp, said.url, said.media_type, list(row))
            _spool(later, one)
            return
        self._add_page(row, self._own_texts(found) if self._wishes.added else ())

    def _own_content(self, found: FoundRecord) -> StoredContent | None:
        """Return what a page record holds, and note it; None if it refers to another."""
        page, said = found.page, found.said
        if page is None or page.headers.get("warc-type") == "revisit":
            return None
        words = word_count(found.text.block, said.language) if found.text is not None else 0
        text = found.text.offset if found.text is not None else -1
        content = StoredContent(words, body_bytes(page), found.file, page.offset, text)
        if said.fp is not None:
            self._contents.note(said.fp, content)
        return content

    def _take_copy(self, one: WaitingRow) -> None:
        """Take a row whose content is that of another page, if it is known by now."""
        content = self._contents.find(one.fp)
        row = tuple(one.row)
        if content is None:
            if len(self.waiting) < MOST_WAITING:
                self.waiting.append(one)
        else:
            row = with_content(row, content)
        self._add_page(row, self._copied_texts(one, content) if self._wishes.added else ())

    def _add_page(self, row: Row, texts: Row) -> None:
        if texts:
            self._chars += sum(len(text or "") for text in texts)
            row = (*row[:-1], *texts, row[-1])
        self._pages.append(row)

    def _page_batch(self) -> Batch:
        batch = _transposed((*PAGES.names, *self._wishes.added, NUMBER), self._pages)
        self._pages, self._chars = [], 0
        return batch

    def _own_texts(self, found: FoundRecord) -> Row:
        said = found.said
        return _texts(self._wishes, found.page, _plain(found.text), said.url, said.media_type)

    def _copied_texts(self, one: WaitingRow, content: StoredContent | None) -> Row:
        name = ArchiveName.parse(content.file) if content is not None else None
        if content is None or name is None:
            return _texts(self._wishes, None, "", one.url, one.media_type)
        try:
            ref = StoreRef(content.file, content.page, 0)
            page = read_record(self._folder, ref) if self._wishes.has_bodies else None
            text_ref = StoreRef(name.sibling("text").file_name, content.text, 0)
            text = read_record(self._folder, text_ref) if content.text >= 0 else None
        except CorruptFile:
            return _texts(self._wishes, None, "", one.url, one.media_type)
        return _texts(self._wishes, page, _plain(text), one.url, one.media_type)


_WITH_LINKS = frozenset({"fetched", "redirected"})


_NOFOLLOW = frozenset({"nofollow", "none"})


def _nofollow(rel: str) -> str:
    """Return the rel of a link whose page asks robots to follow none."""
    return rel if "nofollow" in rel.split() else f"{rel} nofollow".strip()


_NO_FRAGMENTS: Mapping[int, str] = {}


class _LinkColumns:
    """Rows of `links` that are gathered."""

    def __init__(self) -> None:
        self._columns: dict[str, list[Value]] = {name: [] for name in (*LINKS.names, NUMBER)}
        self.count = 0

    def add(self, said: TableRecord, number: int) -> None:
        """Take the links of a record."""
        count, columns = len(said.links), self._columns
        targets, kinds, anchors, rels = zip(*said.links, strict=True)
        columns["source"] += [said.url] * count
        columns["target"] += targets
        columns["kind"] += kinds
        columns["anchor"] += anchors
        columns["rel"] += rels if _NOFOLLOW.isdisjoint(said.robots) else map(_nofollow, rels)
        has_lines = len(said.lines) == count
        columns["line"] += [line or None for line in said.lines] if has_lines else [None] * count
        columns["fragment"] += [""] * count
        for place, fragment in (said.fragments or _NO_FRAGMENTS).items():
            if 0 <= place < count:
                columns["fragment"][self.count + place] = fragment
        columns[NUMBER] += [number] * count
        self.count += count

    def batch(self) -> Batch:
        """Return what was gathered, and begin anew."""
        columns = self._columns
        columns |= {"target_state": [""] * self.count, "target_status": [None] * self.count}
        self._columns = {name: [] for name in columns}
        self.count = 0
        return Batch(columns)


def page_row(found: FoundRecord, content: StoredContent | None, number: int) -> Row:
    """Return the row of a page, without its text; its record's number is last."""
    said, page = found.said, found.page
    host, domain = host_and_domain(said.url)
    notes = bytes(said.notes)
    label = next((one for one in said.oddities if one in LABELS), "")
    return (
        said.url,
        host,
        domain,
        said.at,
        said.status or None,
        said.media_type,
        said.charset or (charset_of(page) if page is not None else ""),
        said.language,
        said.title,
        said.description,
        said.headings,
        said.canonical,
        said.depth,
        said.via,
        "",
        said.label,
        label,
        said.copy_of,
        content.words if content is not None else None,
        content.bytes if content is not None else None,
        page.headers.get("warc-payload-digest", "") if page is not None else "",
        None,
        found.file if page is not None else "",
        page.offset if page is not None else None,
        notes.decode() if notes != b"{}" else None,
        number,
    )


_WORDS, _BYTES = PAGES.names.index("words"), PAGES.names.index("bytes")


def with_content(row: Row, content: StoredContent) -> Row:
    """Return a row with what is known of its content."""
    changed = list(row)
    changed[_WORDS], changed[_BYTES] = content.words, content.bytes
    return tuple(changed)


_NO_HOST = ("", "")


def host_and_domain(url: str) -> tuple[str, str]:
    """Return the host of a canonical URL, without its port, and its registrable domain."""
    parts = url.split("/", 3)
    return _split_host(parts[2]) if len(parts) > 2 else _NO_HOST  # noqa: PLR2004 -- scheme, "", host


@lru_cache(65_536)
def _split_host(authority: str) -> tuple[str, str]:
    host = authority.rpartition("@")[2]
    name, colon, port = host.rpartition(":")
    host = name if colon and port.isdigit() else host
    return host, registrable_domain(host)


_CHARSET = re.compile(rb"(?im)^content-type:[^\r\n]*?charset\s*=\s*[\"']?([\w.:-]+)")


def charset_of(page: Record) -> str:
    """Return the charset that a server declared, in lower case; "" if it did not."""
    found = _CHARSET.search(split_head(page.block)[0])
    return found[1].decode("latin-1").lower() if found else ""


def body_bytes(page: Record) -> int:
    """Return how long the body of a page record is, as sent; its block may be cut off."""
    length = int(page.headers.get("content-length", 0))
    if page.headers.get("warc-type") == "resource":
        return length
    return max(length - len(split_head(page.block)[0]), 0)


_LAST_BLANK = 0x20
"""Blanks and control characters, of which a text has none but line ends and tabs."""
_UNSPACED = frozenset({"zh", "ja", "th", "lo", "km", "my", "zh-Hant", "zh-hant"})
_NOT_ASCII, _WIDE = 0x80, 0xE0
"""The first byte of characters from U+0800 on."""


def word_count(text: bytes, language: str) -> int:
    """Return how many words a text has: what stands between blanks.

    In languages that are written without blanks every letter counts, as word processors do it.
    """
    codes = np.frombuffer(text, np.uint8)
    if not len(codes):
        return 0
    is_blank, letters = codes <= _LAST_BLANK, 0
    if language in _UNSPACED:
        letters = int(np.count_nonzero(codes >= _WIDE))
        is_blank |= codes >= _NOT_ASCII
    starts = int(np.count_nonzero(is_blank[:-1] > is_blank[1:])) + int(not is_blank[0])
    return starts + letters


def _plain(text: Record | None) -> str:
    return text.block.decode("utf-8", "replace") if text is not None else ""


def _texts(wishes: RowWishes, page: Record | None, plain: str, url: str, media_type: str) -> Row:
    """Return the values of the columns that were asked for besides."""
    body, charset = _body(page) if page is not None and wishes.has_bodies else (b"", "")
    texts: Row = ()
    if wishes.text is not None:
        kind: TextKind = wishes.text if page is not None or wishes.text == "html" else "plain"
        texts = (
            page_text(kind, body, media_type=media_type, charset=charset, plain=plain, url=url),
        )
    if wishes.is_structured:
        found = structured_json(body, media_type=media_type, charset=charset, url=url)
        texts = (*texts, found or None)
    return texts


def _body(page: Record) -> tuple[bytes, str]:
    """Return the body of a page as its author wrote it, and the charset that was declared."""
    head, payload = split_head(page.block) if _has_head(page) else (b"", page.block)
    fields = header_fields(head)
    body = decoded(
        payload,
        transfer=joined_field(fields, "transfer-encoding"),
        codings=joined_field(fields, "content-encoding"),
        max_bytes=BODY_BYTES,
    )
    return body, charset_of(page) if head else ""


def _has_head(page: Record) -> bool:
    return page.headers.get("warc-type") != "resource"


_LENGTH_BYTES = 4


def _spool(file: IO[bytes], one: WaitingRow) -> None:
    block = _encode(one)
    file.write(len(block).to_bytes(_LENGTH_BYTES, "little") + block)


def _spooled(file: IO[bytes]) -> Iterator[WaitingRow]:
    while length := file.read(_LENGTH_BYTES):
        yield _decode(file.read(int.from_bytes(length, "little")))


Reading: TypeAlias = Callable[[Batch], Batch]
"""What is done to each batch of a table when it is read."""

NUMBER_COLUMN = Column(NUMBER, "integer", "Number of the record that the row is of.")
