"""`gossamer sql`: a query over the tables of a crawl."""

import csv
import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated

import msgspec

from gossamer.cli.options import Folder
from gossamer.cli.parameters import argument, option
from gossamer.cli.screen import harmless
from gossamer.cli.updating import crawl_folder, telling
from gossamer.errors import ConfigError

if TYPE_CHECKING:
    from gossamer import SqlAnswer

FORMATS = ("text", "csv", "jsonl", "json")
_WIDEST = 80
"""Characters of a cell, as text."""
_MEASURED = 1_000
"""So many rows decide how wide the columns of a text are."""


def sql(
    folder: Folder,
    query: Annotated[str, argument(metavar="QUERY", help='"select ... from pages"')],
    *,
    form: Annotated[
        str, option("--format", metavar="|".join(FORMATS), help="How rows are printed.")
    ] = "text",
) -> None:
    """Ask the tables of a crawl with SQL: pages, urls, links, hosts, changes, images.

    The Parquet parts in the crawl's folder are brought up to date first. A query
    can read these tables, and no other file. docs/TABLES.md lists the columns.
    Needs `pip install 'gossamer[tables]'`.
    """
    from gossamer import OpenCrawl

    if form not in FORMATS:
        raise ConfigError(f"--format: expected {', '.join(FORMATS)}, found {form!r}")
    crawl = OpenCrawl(crawl_folder(folder))
    with telling("tables") as tell, crawl.sql(query, tell) as answer:
        for lines in _written(answer, form):
            sys.stdout.write(lines)


def _written(answer: "SqlAnswer", form: str) -> Iterator[str]:
    """Yield the rows as text."""
    if form == "csv":
        yield _csv_line(answer.columns)
        yield from (_csv_line([_cell(value) for value in row]) for row in answer)
    elif form == "text":
        yield from _text(answer)
    else:
        rows = (_json(dict(zip(answer.columns, row, strict=True))) for row in answer)
        yield from _array(rows) if form == "json" else (f"{row}\n" for row in rows)


def _array(rows: Iterable[str]) -> Iterator[str]:
    before = "["
    for row in rows:
        yield f"{before}{row}"
        before = ",\n"
    yield "[]\n" if before == "[" else "]\n"


def _json(value: object) -> str:
    from gossamer import plain_json

    return plain_json(msgspec.json.encode(value, enc_hook=str)).decode()


def _cell(value: object) -> object:
    """Return a value for CSV: text that a spreadsheet takes for a formula gets an apostrophe."""
    from gossamer import plain_cell

    if isinstance(value, str):
        return plain_cell(value)
    return _shown(value) if not isinstance(value, int | float) else value


def _csv_line(row: Sequence[object]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text).writerow(row)
    return text.getvalue()


def _shown(value: object) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case datetime():
            return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        case date():
            return value.isoformat()
        case float():
            return f"{value:.6g}"
        case list() | dict() | tuple():
            return _json(value)
        case _:
            return str(value)


def _text(answer: "SqlAnswer") -> Iterator[str]:
    """Yield lines with aligned columns; on a pipe cells are not cut off."""
    most = _WIDEST if sys.stdout.isatty() else sys.maxsize
    rows = ([harmless(_shown(value))[:most] for value in row] for row in answer)
    head = [row for _, row in zip(range(_MEASURED), rows, strict=False)]
    widths = [max(map(len, column)) for column in zip(answer.columns, *head, strict=True)]
    yield _line(answer.columns, widths)
    for row in head:
        yield _line(row, widths)
    for row in rows:
        yield _line(row, widths)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(map(str.ljust, cells, widths)).rstrip() + "\n"
