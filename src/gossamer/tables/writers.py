"""Writers: batches of a table as JSON Lines, CSV, SQLite, Parquet or Markdown.

`ROW_FORMATS` has one entry per format. A writer is handed the batches of one table and closed.

CSV is for programs and for spreadsheets. A spreadsheet takes a cell that begins with =, +, -, @, a
tab or a carriage return for a formula, and crawled text may be one that sends the sheet somewhere
(CSV injection). Such a cell gets an apostrophe in front, which spreadsheets hide; numbers are not
touched. Control characters other than line breaks and tabs are left out.
"""

import csv
import io
import json
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, Protocol

import msgspec
from msgspec import Struct

from gossamer.errors import CannotGoOn, ConfigError
from gossamer.tables.arrow import ParquetRows
from gossamer.tables.rows import Batch, Value
from gossamer.tables.schema import TEXT, Column, TableSchema


class RowWriter(Protocol):
    """Writes one table."""

    def write(self, batch: Batch) -> None:
        """Write some rows."""

    def close(self) -> None:
        """Write the end."""


MakeWriter = Callable[[Path, TableSchema, Sequence[Column]], RowWriter]
"""Given where, the table, and the columns that are wanted."""


class RowFormat(Struct, frozen=True):
    """A format of files that hold rows."""

    suffix: str
    doc: str
    open_file: MakeWriter
    open_stream: Callable[[BinaryIO, TableSchema, Sequence[Column]], RowWriter] | None = None
    """For standard output; None: it cannot be a stream."""
    is_shared: bool = False
    """All tables go into one file."""
    file_suffixes: tuple[str, ...] = ()
    """A place that ends with one of these is the file itself, not a folder for files."""
    open_single: MakeWriter | None = None
    """For such a place, if `open_file` makes a folder."""
    is_own: Callable[[Path], bool] | None = None
    """For folders: whether one that exists is the work of an export, and may be replaced."""


def moment(at: float | None) -> str | None:
    """Return a moment as ISO 8601, in UTC."""
    if at is None:
        return None
    with suppress(ValueError, OverflowError, OSError):
        text = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
        return text.replace("+00:00", "Z")
    return None


class JsonLines:
    """One JSON object per line. What is not known is null; notes are JSON, not text of it."""

    def __init__(self, file: BinaryIO, columns: Sequence[Column], *, is_closed: bool) -> None:
        self._file = file
        self._columns = columns
        self._is_closed = is_closed
        self._encoder = msgspec.json.Encoder()

    def write(self, batch: Batch) -> None:
        """Write some rows."""
        names = [column.name for column in self._columns]
        ready = [_json_values(column, batch.columns[column.name]) for column in self._columns]
        lines = (dict(zip(names, row, strict=True)) for row in zip(*ready, strict=True))
        data = self._encoder.encode_lines(list(lines))
        self._file.write(data if self._is_closed else plain_json(data))
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        if self._is_closed:
            self._file.close()


def _json_values(column: Column, values: Sequence[Value]) -> Sequence[Value]:
    if column.type == "timestamp":
        return [moment(one) for one in values]
    if column.type == "json":
        return [None if one is None else msgspec.Raw(one.encode()) for one in values]
    return values


_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u0080-\u009f\ufffe\uffff]")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def plain_cell(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula, without control characters."""
    text = _CONTROL.sub("", text)
    return f"'{text}" if text.startswith(_FORMULA) else text


_STEERING = re.compile(rb"\x7f|\xc2[\x80-\x9f]")
"""Control characters that JSON need not escape, in UTF-8."""


def plain_json(data: bytes) -> bytes:
    """Return JSON in which all control characters are escaped: it may go to a terminal."""
    return _STEERING.sub(lambda found: b"\\u00%02x" % found[0][-1], data)


class CsvRows:
    """CSV as RFC 4180 has it, in UTF-8 with a header line."""

    def __init__(self, file: BinaryIO, columns: Sequence[Column], *, is_closed: bool) -> None:
        self._file = file
        self._is_closed = is_closed
        self._columns = columns
        self._text = io.StringIO(newline="")
        self._csv = csv.writer(self._text)
        self._csv.writerow([column.name for column in columns])

    def write(self, batch: Batch) -> None:
        """Write some rows."""
        ready = [_cells(column, batch.columns[column.name]) for column in self._columns]
        self._csv.writerows(zip(*ready, strict=True))
        self._flush()

    def close(self) -> None:
        """Close the file."""
        self._flush()
        if self._is_closed:
            self._file.close()

    def _flush(self) -> None:
        self._file.write(self._text.getvalue().encode("utf-8", "replace"))
        self._file.flush()
        self._text.seek(0)
        self._text.truncate()


def _cells(column: Column, values: Sequence[Value]) -> Sequence[Value]:
    match column.type:
        case "timestamp":
            return [moment(one) for one in values]
        case "strings":
            return ["" if one is None else plain_cell(_json_text(one)) for one in values]
        case "string" | "json":
            return ["" if one is None else plain_cell(one) for one in values]
        case _:
            return values


def _json_text(values: Sequence[str]) -> str:
    return json.dumps(list(values), ensure_ascii=False)


_SQL_TYPES = {"integer": "INTEGER", "double": "REAL"}


class SqliteRows:
    """A table of an SQLite database; several may be in one file."""

    def __init__(self, path: Path, table: TableSchema, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._database = sqlite3.connect(path)
        self._database.execute("pragma journal_mode = off")  # the file counts only when it is whole
        self._database.execute("pragma synchronous = off")
        types = (f'"{one.name}" {_SQL_TYPES.get(one.type, "TEXT")}' for one in columns)
        self._database.execute(f'create table "{table.name}" ({", ".join(types)})')
        marks = ", ".join("?" * len(columns))
        self._insert = f'insert into "{table.name}" values ({marks})'  # noqa: S608 -- names of ours

    def write(self, batch: Batch) -> None:
        """Write some rows."""
        ready = [_sql_values(column, batch.columns[column.name]) for column in self._columns]
        self._database.executemany(self._insert, zip(*ready, strict=True))
        self._database.commit()

    def close(self) -> None:
        """Close the database."""
        self._database.commit()
        self._database.close()


def _sql_values(column: Column, values: Sequence[Value]) -> Sequence[Value]:
    if column.type == "timestamp":
        return [moment(one) for one in values]
    if column.type == "strings":
        return [None if one is None else _json_text(one) for one in values]
    return values


class MarkdownPages:
    """Pages as Markdown with front matter: a stream of documents, or a file for each page."""

    def __init__(
        self,
        put: Callable[[str, str], None],
        columns: Sequence[Column],
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self._put = put
        self._close = close
        self._names = [one.name for one in columns if one.name in _FRONT]

    def write(self, batch: Batch) -> None:
        """Write some pages."""
        columns = batch.columns
        texts = columns.get(TEXT.name) or [""] * len(batch)
        front = [columns[name] for name in self._names]
        for url, text, *values in zip(columns["url"], texts, *front, strict=True):
            lines = [
                f"{name}: {front_value(moment(value) if name == 'fetched_at' else value)}"
                for name, value in zip(self._names, values, strict=True)
                if value not in ("", None, [])
            ]
            self._put(url, "---\n{}\n---\n\n{}\n".format("\n".join(lines), text.strip("\n")))

    def close(self) -> None:
        """Close what was opened for all pages."""
        self._close()


_FRONT = ("url", "title", "description", "language", "fetched_at", "canonical", "words")


def front_value(value: Value) -> str:
    """Return a value of the front matter: JSON, which is YAML as well."""
    return json.dumps(value, ensure_ascii=False)


_PLAIN_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_NAME_CHARS = 80
_PAGE_FILE = re.compile(r"-[0-9a-f]{10}\.md$")


def page_file(url: str) -> str:
    """Return the name of a page's file: its host as folder, its path, and a hash of its URL.

    Two URLs never share one, whatever a file system makes of capitals, dots and long names.
    """
    host, _, path = url.partition("://")[2].partition("/")
    stem = _PLAIN_NAME.sub("-", path.rstrip("/")).strip("-.")[:_NAME_CHARS].strip("-.") or "index"
    digest = blake2b(url.encode("utf-8", "replace"), digest_size=5).hexdigest()
    folder = _PLAIN_NAME.sub("-", host).strip("-.") or "none"
    return f"{folder}/{stem}-{digest}.md"


def _open_jsonl(path: Path, _: TableSchema, columns: Sequence[Column]) -> RowWriter:
    return JsonLines(path.open("wb"), columns, is_closed=True)


def _stream_jsonl(file: BinaryIO, _: TableSchema, columns: Sequence[Column]) -> RowWriter:
    return JsonLines(file, columns, is_closed=False)


def _open_csv(path: Path, _: TableSchema, columns: Sequence[Column]) -> RowWriter:
    return CsvRows(path.open("wb"), columns, is_closed=True)


def _stream_csv(file: BinaryIO, _: TableSchema, columns: Sequence[Column]) -> RowWriter:
    return CsvRows(file, columns, is_closed=False)


def holds_only_pages(folder: Path) -> bool:
    """Return True if a folder has nothing but files that an export as Markdown has written."""
    return all(
        _PAGE_FILE.search(path.name) is not None for path in folder.rglob("*") if not path.is_dir()
    )


def _open_markdown(folder: Path, table: TableSchema, columns: Sequence[Column]) -> RowWriter:
    _only_pages(table)
    folder.mkdir()

    def put(url: str, text: str) -> None:
        path = folder / page_file(url)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="replace")

    return MarkdownPages(put, columns)


def _stream_markdown(file: BinaryIO, table: TableSchema, columns: Sequence[Column]) -> RowWriter:
    _only_pages(table)
    return MarkdownPages(_put_to(file), columns)


def _single_markdown(path: Path, table: TableSchema, columns: Sequence[Column]) -> RowWriter:
    _only_pages(table)
    file = path.open("wb")
    return MarkdownPages(_put_to(file), columns, file.close)


def _put_to(file: BinaryIO) -> Callable[[str, str], None]:
    def put(_: str, text: str) -> None:
        file.write(text.encode("utf-8", "replace") + b"\n")

    return put


def _only_pages(table: TableSchema) -> None:
    if table.name != "pages":
        raise ConfigError(
            f"--format markdown is for pages; {table.name} can be parquet, jsonl, csv or sqlite"
        )


def _stream_parquet(file: BinaryIO, table: TableSchema, columns: Sequence[Column]) -> RowWriter:
    if file.isatty():
        raise CannotGoOn("Parquet is not text: send standard output to a file, or give --to FOLDER")
    return ParquetRows(file, table, columns)


ROW_FORMATS: Mapping[str, RowFormat] = {
    "parquet": RowFormat(
        ".parquet",
        "Apache Parquet",
        ParquetRows,
        _stream_parquet,
        file_suffixes=(".parquet",),
    ),
    "jsonl": RowFormat(
        ".jsonl", "JSON Lines", _open_jsonl, _stream_jsonl, file_suffixes=(".jsonl",)
    ),
    "csv": RowFormat(".csv", "CSV", _open_csv, _stream_csv, file_suffixes=(".csv",)),
    "sqlite": RowFormat(
        ".sqlite",
        "one SQLite database",
        SqliteRows,
        is_shared=True,
        file_suffixes=(".sqlite", ".sqlite3", ".db"),
    ),
    "markdown": RowFormat(
        "",
        "a file for each page",
        _open_markdown,
        _stream_markdown,
        file_suffixes=(".md",),
        open_single=_single_markdown,
        is_own=holds_only_pages,
    ),
}
