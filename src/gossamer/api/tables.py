"""CrawlTable: a table of a crawl, as rows, as Arrow, or as files."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, TypeVar

from msgspec import Struct, defstruct

from gossamer.api.arguments import check_reasons, check_states, texts
from gossamer.clock import SystemClock
from gossamer.errors import ConfigError
from gossamer.report import CrawledHost, UrlRow
from gossamer.urls import host_name

if TYPE_CHECKING:
    import pyarrow as pa

    from gossamer.model import BuildProgress
    from gossamer.tables import Exported, ExportOptions, TableName, TablesFacts, TextForm

Wait = Callable[[float], None]
_FOLLOW_PAUSE_S = 2.0


class PageRow(Struct, frozen=True, kw_only=True):
    """A row of the table `pages`; docs/TABLES.md says what the fields are."""

    url: str
    host: str
    domain: str
    fetched_at: float
    """In seconds since 1970."""
    status: int | None
    media_type: str
    charset: str
    language: str
    title: str
    description: str
    headings: list[str]
    canonical: str
    depth: int
    via: str
    seed: str
    seed_label: str
    label: str
    copy_of: str
    words: int | None
    bytes: int | None
    digest: str
    rank: float | None
    warc_file: str
    warc_offset: int | None
    notes: str | None
    """JSON."""
    text: str | None = None
    """In the form that was asked for; None if none was."""


class LinkEntry(Struct, frozen=True, kw_only=True):
    """A row of the table `links`; docs/TABLES.md says what the fields are."""

    source: str
    target: str
    kind: str
    anchor: str
    rel: str
    line: int | None
    fragment: str
    target_state: str
    target_status: int | None


_TYPED: dict[str, type[Struct]] = {
    "pages": PageRow,
    "links": LinkEntry,
    "urls": UrlRow,
    "hosts": CrawledHost,
}
RowT_co = TypeVar("RowT_co", bound=Struct, covariant=True)


def page_rows(folder: Path, text: "TextForm") -> Iterator[PageRow]:
    """Yield every stored page once, as of its last visit, with its text in some form."""
    table: CrawlTable[PageRow] = CrawlTable(folder, "pages", text=text)
    return table.rows()


class CrawlTable(Generic[RowT_co]):
    """A table of a crawl as it is when it is asked; see docs/TABLES.md for its columns."""

    def __init__(self, folder: Path, name: "TableName", *, text: "TextForm" = "none") -> None:
        from gossamer.tables import known_tables

        if name not in known_tables():
            raise ConfigError(f"there is no table {name!r}: {', '.join(known_tables())}")
        if text != "none" and name != "pages":
            raise ConfigError(f"only pages have a text, not {name}")
        self.folder = folder
        self.name = name
        self.text = text

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        from gossamer.tables import TABLES, TEXT

        names = TABLES[self.name].names
        return names if self.text == "none" else (*names, TEXT.name)

    def rows(self) -> Iterator[RowT_co]:
        """Yield the rows, one after another; a moment is in seconds since 1970."""
        from gossamer.store import CrawlFolder
        from gossamer.tables import table_stream

        kind = None if self.text == "none" else self.text
        make = self._row_type()
        for _, batch in table_stream(CrawlFolder(self.folder), (self.name,), kind):
            names = tuple(batch.columns)
            for row in batch.rows():
                yield make(**dict(zip(names, row, strict=True)))

    def _row_type(self) -> type[RowT_co]:
        """Return the struct of a row, with a field for each column."""
        made: Any = _TYPED.get(self.name) or defstruct("TableRow", self.columns, frozen=True)
        kind: type[RowT_co] = made
        return kind

    def write_list(
        self,
        file: BinaryIO,
        *,
        format: str = "text",  # noqa: A002 - as --format has it
        states: str | Iterable[str] = (),
        reasons: str | Iterable[str] = (),
        host: str = "",
        limit: int | None = None,
        header: bool = False,
    ) -> int:
        """Write rows to a file, one per line and as they come; return how many.

        `format`: text (columns separated by tabs, the URL first), jsonl or csv. `states` and
        `reasons`: of URLs; of links, the state of the target; of hosts, that they have such URLs.
        `host`: only its rows. `header`: begin with the names of the columns, in text.
        """
        from gossamer.store import CrawlFolder
        from gossamer.tables import ListRequest, write_list

        chosen, named = frozenset(texts(states)), tuple(texts(reasons))
        check_states(chosen)
        check_reasons(named, with_filters=True)
        request = ListRequest(
            table=self.name,
            format=format,
            states=chosen,
            reasons=named,
            host=host_name(host),
            limit=limit,
            has_header=header,
        )
        return write_list(CrawlFolder(self.folder), request, file)

    def to_arrow(self) -> "pa.Table":
        """Return all rows as a table of pyarrow's; needs `gossamer[tables]`."""
        from gossamer.tables import read_arrow

        return read_arrow(self.folder, self.name, self.text)


class TableFiles:
    """Tables of a crawl as files: Parquet parts in its folder, or an export that goes on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def build(
        self, *, full: bool = False, on_progress: "BuildProgress | None" = None
    ) -> "TablesFacts":
        """Bring the parts of pages and links up to date; `full` reads the whole archive again."""
        from gossamer.tables import build_tables

        return build_tables(self.folder, is_full=full, tell=on_progress)

    def follow(self, wait: Wait | None = None) -> "Iterator[TablesFacts]":
        """Bring the parts up to date again and again while the crawl runs; yield what was done."""
        from gossamer.tables import follow_tables

        return follow_tables(self.folder, SystemClock(), wait or _pause)

    def follow_export(
        self,
        to: Path | str,
        tables: "Sequence[TableName]" = (),
        options: "ExportOptions | None" = None,
        wait: Wait | None = None,
    ) -> "Iterator[Exported]":
        """Export again and again while the crawl runs; yield what was written.

        Files are replaced as a whole; standard output is given the rows that are new.
        """
        from gossamer.store import Pacing
        from gossamer.tables import ExportOptions, follow_export

        pause = Pacing(SystemClock(), wait or _pause, shortest_s=_FOLLOW_PAUSE_S)
        return follow_export(self.folder, tables, str(to), options or ExportOptions(), pause)


def _pause(seconds: float) -> None:
    Event().wait(seconds)


def moment_since(text: str) -> float:
    """Return the moment that a text names, in seconds since 1970: "2026-11-01", "2 days ago"."""
    from gossamer.report import read_since

    return read_since(text, SystemClock().wall())
