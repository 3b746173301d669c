"""What an export is asked for, and what it answers."""

from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec import Struct

from gossamer.model import BuildProgress
from gossamer.store import CrawlFolder
from gossamer.tables.filters import RowFilters

TextForm: TypeAlias = Literal["none", "plain", "markdown", "main", "html"]
"""Of the text of pages, what is exported."""


class ExportOptions(Struct, frozen=True, kw_only=True):
    """What is exported, and how."""

    format: str = "parquet"
    """parquet, jsonl, csv, sqlite, markdown, or a format of archives."""
    text: TextForm = "none"
    """Text of pages, as a last column; Markdown files have Markdown unless another is named."""
    structured: bool = False
    """Structured data of pages, as a last column: JSON-LD, microdata, OpenGraph."""
    filters: RowFilters = RowFilters()


class Exported(Struct, frozen=True, kw_only=True):
    """What was exported."""

    rows: dict[str, int]
    """Rows of each table; of whole pages `records` or `files`."""
    files: list[str]
    """What was written; none if it went to standard output."""


class ExportRequest(Struct, frozen=True, kw_only=True):
    """What a format of archives is handed."""

    folder: CrawlFolder
    place: str
    """A folder, a file, the URL of an object store, or -."""
    options: ExportOptions
    tell: BuildProgress


ArchiveFormat: TypeAlias = Callable[[ExportRequest], Exported]
