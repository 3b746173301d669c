"""Lists: rows of a table one per line, as text, JSON Lines or CSV, as they come.

Text is for pipes: what comes first is the URL (or host), then further columns, separated by tabs;
control characters are escaped, and nothing is cut off.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import BinaryIO

from msgspec import Struct
from msgspec.structs import astuple

from gossamer.errors import ConfigError
from gossamer.log import escape
from gossamer.report import UrlSelection, host_table, url_table
from gossamer.store import CrawlFolder
from gossamer.tables.rows import Batch, Row, batches_of
from gossamer.tables.schema import TABLES, Column, TableName
from gossamer.tables.streams import table_stream
from gossamer.tables.writers import ROW_FORMATS, RowWriter
from gossamer.urls import read_canonical

SHOWN: Mapping[str, Sequence[str]] = {
    "urls": ("url", "state", "reason", "status", "via", "detail"),
    "pages": ("url", "status", "media_type", "language", "bytes", "title"),
    "hosts": (
        *("host", "pages", "failed", "refused", "queued"),
        *("bytes", "robots", "gap_s", "median_ms"),
    ),
    "links": ("source", "target", "kind", "target_state", "target_status", "anchor"),
}
"""The tables that are listed, and the columns of each that are shown as text."""
LIST_FORMATS = ("text", "jsonl", "csv")
FIRST_ROWS, MOST_ROWS = 1, 1000
"""The first row is written at once; then twice as many each time."""


class ListRequest(Struct, frozen=True, kw_only=True):
    """Which rows of a table are listed, and how; what is empty leaves nothing out."""

    table: str
    format: str = "text"
    states: frozenset[str] = frozenset()
    """Of URLs; of links, the state of the target; of hosts, that they have such URLs."""
    reasons: tuple[str, ...] = ()
    """Of URLs."""
    host: str = ""
    """Without a port. Of links, the host of the page that holds them."""
    limit: int | None = None
    has_header: bool = False
    """The names of the columns come first, in text."""


def check_list(request: ListRequest) -> None:
    """Refuse what cannot be listed, or not so."""
    table = request.table
    if table not in SHOWN:
        raise ConfigError(f"there is no list of {table!r}; expected {', '.join(SHOWN)}")
    if request.format not in LIST_FORMATS:
        said = f"expected {', '.join(LIST_FORMATS)}, found {request.format!r}"
        raise ConfigError(f"--format: {said}; `gossamer export` knows more")
    if request.reasons and table != "urls":
        raise ConfigError(f"--reason: only urls have reasons, not {table}")
    if request.states and table == "pages":
        raise ConfigError("pages are all archived: list urls to choose by state")
    if table == "hosts" and not request.states <= HOST_COUNTS.keys():
        unknown = min(request.states - HOST_COUNTS.keys())
        raise ConfigError(f"hosts do not count URLs that are {unknown}: list urls --host HOST")


HOST_COUNTS = {"failed": "failed", "refused": "refused", "queued": "queued", "parked": "queued"}
"""The column of `hosts` that counts URLs of a state."""


def write_list(folder: CrawlFolder, request: ListRequest, file: BinaryIO) -> int:
    """Write the rows that were asked for, each as soon as it is known; return how many."""
    check_list(request)
    schema = TABLES[_name(request.table)]
    writer = _writer(request, file)
    rows = islice(_rows(folder, request), request.limit)
    total, size = 0, FIRST_ROWS
    while some := list(islice(rows, size)):
        for batch in batches_of(schema, iter(some), len(some)):
            writer.write(batch)
        total, size = total + len(some), min(2 * size, MOST_ROWS)
    writer.close()
    return total


def _name(text: str) -> TableName:
    return next(name for name in TABLES if name == text)


def _writer(request: ListRequest, file: BinaryIO) -> RowWriter:
    schema = TABLES[_name(request.table)]
    if request.format == "text":
        return _TextRows(file, SHOWN[request.table], has_header=request.has_header)
    made = ROW_FORMATS[request.format].open_stream
    if made is None:
        raise ConfigError(f"--format: {request.format} cannot be a stream")
    columns: Sequence[Column] = schema.columns
    return made(file, schema, columns)


class _TextRows:
    """One row per line, columns separated by tabs."""

    def __init__(self, file: BinaryIO, names: Sequence[str], *, has_header: bool) -> None:
        self._file = file
        self._names = names
        if has_header:
            self._write(["\t".join(names)])

    def write(self, batch: Batch) -> None:
        """Write some rows."""
        columns = [batch.columns[name] for name in self._names]
        self._write("\t".join(map(_cell, row)) for row in zip(*columns, strict=True))

    def close(self) -> None:
        """Write nothing more."""

    def _write(self, lines: Iterable[str]) -> None:
        text = "".join(f"{line}\n" for line in lines)
        self._file.write(text.encode("utf-8", "replace"))
        self._file.flush()


def _cell(value: object) -> str:
    return "" if value is None else escape(value) if isinstance(value, str) else str(value)


def _rows(folder: CrawlFolder, request: ListRequest) -> Iterator[Row]:
    """Yield the wanted rows, with all columns."""
    if request.table == "urls":
        selection = UrlSelection(states=request.states, reasons=request.reasons, host=request.host)
        has_anchors = request.format != "text"
        return map(astuple, url_table(folder.root, selection, anchors=has_anchors))
    if request.table == "hosts":
        counts = {HOST_COUNTS[state] for state in request.states}
        found = host_table(folder.root, request.host)
        return (
            astuple(one)
            for one in found
            if not counts or any(getattr(one, name) for name in counts)
        )
    return _of_archive(folder, request)


def _of_archive(folder: CrawlFolder, request: ListRequest) -> Iterator[Row]:
    """Yield the wanted rows of `pages` or `links`."""
    name = _name(request.table)
    places = {column: place for place, column in enumerate(TABLES[name].names)}
    url, state = places["url" if name == "pages" else "source"], places.get("target_state", 0)
    for _, batch in table_stream(folder, (name,)):
        for row in batch.rows():
            is_there = not request.host or read_canonical(row[url]).host == request.host
            if is_there and (not request.states or row[state] in request.states):
                yield row
