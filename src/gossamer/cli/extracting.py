"""`gossamer extract`: items from stored pages, by rules."""

import csv
import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Literal, Protocol

import msgspec

from gossamer.cli.options import Folder, Json
from gossamer.cli.parameters import option
from gossamer.cli.screen import as_json, print_json
from gossamer.cli.updating import crawl_folder
from gossamer.errors import ConfigError
from gossamer.log import counted, escape

if TYPE_CHECKING:
    from gossamer import FoundItem, ItemTotals

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_FIELDS_TOLD = 20


def extract(
    folder: Folder,
    *,
    rules: Annotated[
        Path,
        option(
            "--rules",
            metavar="FILE",
            help="TOML: fields by CSS or XPath, for pages by URL; see docs/OPERATING.md.",
        ),
    ],
    to: Annotated[
        str, option("--to", metavar="FILE", help="Where to; - is standard output.")
    ] = "-",
    format_: Annotated[
        Literal["jsonl", "csv"], option("--format", help="A JSON object or a row per item.")
    ] = "jsonl",
    url: Annotated[
        list[str] | None,
        option("--url", metavar="PATTERN", help="Only these pages. Repeatable."),
    ] = None,
    limit: Annotated[int, option("--limit", metavar="N", min=0, help="Only N items; 0: all.")] = 0,
    json: Json = False,
) -> None:
    """Extract items from stored pages by rules; nothing is fetched.

    How many pages and items there were, and which fields matched nothing, is told on standard
    error.
    """
    from gossamer import extract_items, read_item_rules

    if json and to == "-":
        raise ConfigError("--json writes to standard output: give --to FILE for the items")
    read = read_item_rules(rules)
    found = extract_items(crawl_folder(folder), read, url=url or (), limit=limit)
    with _open(to) as file:
        writer: _Writer = _Lines(file) if format_ == "jsonl" else _Rows(file, read.columns)
        for item in found:
            writer.write(item)
    if json:
        print_json(as_json(found.totals))
    else:
        _tell(found.totals)


class _Writer(Protocol):
    def write(self, item: "FoundItem") -> None: ...


class _Lines:
    """A JSON object per line."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, item: "FoundItem") -> None:
        row = {"rule": item.rule, "url": item.url, **item.fields}
        self._file.write(msgspec.json.encode(row) + b"\n")


class _Rows:
    """CSV; a list is a JSON text. A cell that a spreadsheet would take for a formula is quoted."""

    def __init__(self, file: IO[bytes], columns: tuple[str, ...]) -> None:
        self._file, self._columns = file, columns
        self._write(columns)

    def write(self, item: "FoundItem") -> None:
        row = {"rule": item.rule, "url": item.url, **item.fields}
        self._write([_cell(row.get(name)) for name in self._columns])

    def _write(self, cells: Sequence[object]) -> None:
        text = io.StringIO(newline="")
        csv.writer(text).writerow(cells)
        self._file.write(text.getvalue().encode("utf-8", "replace"))


def _cell(value: object) -> object:
    if isinstance(value, list):
        return msgspec.json.encode(value).decode() if value else ""
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value


@contextmanager
def _open(to: str) -> Iterator[IO[bytes]]:
    """Give a file to write to; one on disk is there under its name only when it is whole."""
    if to == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(to)
    if path.is_dir():
        raise ConfigError(f"--to {to}: expected a file, found a folder")
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _tell(totals: "ItemTotals") -> None:
    """Say on standard error what was found, and what was not."""
    lines = [f"{counted(totals.items, 'item')} from {counted(totals.pages, 'page')}"]
    if totals.other_pages:
        lines.append(f"{counted(totals.other_pages, 'page')} that no rule is for")
    if empty := totals.empty_pages - totals.other_pages:
        lines.append(f"{counted(empty, 'page')} on which nothing matched")
    for name, count in list(totals.empty.items())[:_FIELDS_TOLD]:
        if count:
            lines.append(f"{escape(name)} matched nothing in {counted(count, 'item')}")
    for name, count in list(totals.unlike.items())[:_FIELDS_TOLD]:
        lines.append(f"{escape(name)} was not of its type in {counted(count, 'item')}")
    sys.stderr.write("\n".join(lines) + "\n")
