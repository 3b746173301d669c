"""Export: tables of a crawl as files in a folder or an object store, or as a stream.

Rows come from the archive and the state as they are at the beginning (`table_stream`), pass the
filters, and go to a writer per table. Files appear under their names only when they are whole; who
was killed runs it again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.errors import ConfigError
from gossamer.model import BuildProgress
from gossamer.process import TextKind
from gossamer.store import CrawlFolder, archive_of, is_locked
from gossamer.tables.arrow import as_arrow
from gossamer.tables.filters import row_filter
from gossamer.tables.options import Exported, ExportOptions, ExportRequest, TextForm
from gossamer.tables.places import STDOUT, ExportPlace, file_place, names_file, standard_output
from gossamer.tables.rows import Batch
from gossamer.tables.schema import STRUCTURED, TABLES, TEXT, Column, TableName
from gossamer.tables.streams import FollowedRows, known_tables, table_stream
from gossamer.tables.whole_pages import ARCHIVE_FORMATS
from gossamer.tables.writers import ROW_FORMATS, MakeWriter, RowFormat, RowWriter

if TYPE_CHECKING:
    import pyarrow as pa

_SHARED_FILE = "crawl"


def known_formats() -> tuple[str, ...]:
    """Return the names of all formats."""
    return (*ROW_FORMATS, *ARCHIVE_FORMATS)


def export_tables(
    root: Path | str,
    tables: Sequence[TableName],
    place: str,
    options: ExportOptions | None = None,
    tell: BuildProgress | None = None,
) -> Exported:
    """Export tables of a crawl, running or not; without names, all that the format takes."""
    options, folder = options or ExportOptions(), archive_of(root)
    telling = tell or (lambda _: None)
    if (write := ARCHIVE_FORMATS.get(options.format)) is not None:
        if others := [name for name in tables if name != "pages"]:
            told = f"--format {options.format} takes whole pages, not tables"
            raise ConfigError(f"{told}: leave out {others[0]}")
        return write(ExportRequest(folder=folder, place=place, options=options, tell=telling))
    chosen = _format(options.format)
    return _Export(folder, _chosen_tables(tables, options), place, chosen, options, telling).run()


def follow_export(
    root: Path | str,
    tables: Sequence[TableName],
    place: str,
    options: ExportOptions,
    pause: Callable[[], None],
) -> Iterator[Exported]:
    """Export again and again while a crawl runs, and once more after its end.

    Files are replaced as a whole. On standard output new rows are added to those before.
    """
    folder = archive_of(root)
    if place == STDOUT:
        chosen = _format(options.format)
        export = _Export(
            folder, _chosen_tables(tables, options), place, chosen, options, lambda _: None
        )
        yield from export.follow(lambda: is_locked(folder), pause)
        return
    is_running = True
    while is_running:
        is_running = is_locked(folder)
        yield export_tables(root, tables, place, options)
        if is_running:
            pause()


def _format(name: str) -> RowFormat:
    if name not in ROW_FORMATS:
        raise ConfigError(f"--format: expected {', '.join(known_formats())}, found {name!r}")
    return ROW_FORMATS[name]


def _chosen_tables(tables: Sequence[TableName], options: ExportOptions) -> tuple[TableName, ...]:
    for name in tables:
        if name not in known_tables():
            raise ConfigError(f"there is no table {name!r}: {', '.join(known_tables())}")
    is_of_pages = options.format == "markdown" or options.text != "none" or options.structured
    if not tables and is_of_pages:
        return ("pages",)
    if options.structured and "pages" not in tables:
        raise ConfigError(f"--structured is for pages; {tables[0]} has no structured data")
    if options.text != "none" and "pages" not in tables:
        raise ConfigError(f"--text is for pages; {tables[0]} has no text")
    return tuple(dict.fromkeys(tables)) or known_tables()


class _Export:
    """One export of rows."""

    def __init__(
        self,
        folder: CrawlFolder,
        tables: Sequence[TableName],
        place: str,
        chosen: RowFormat,
        options: ExportOptions,
        tell: BuildProgress,
    ) -> None:
        self._folder = folder
        self._tables = tables
        self._place = place
        self._format = chosen
        self._options = options
        self._tell = tell
        self._text = self._text_kind()
        self._filters = {name: row_filter(name, options.filters) for name in tables}

    def run(self) -> Exported:
        """Write all rows."""
        if self._place == STDOUT:
            return self._to_stdout()
        if names_file(self._place, self._format.file_suffixes):
            return self._to_one_file()
        self._expect_folder()
        place = ExportPlace(self._place)
        with ExitStack() as stack:
            writers, names = self._open_files(place, stack)
            rows = self._pump(writers)
        return Exported(rows=rows, files=[place.shown(name) for name in names])

    def follow(
        self, is_running: Callable[[], bool], pause: Callable[[], None]
    ) -> Iterator[Exported]:
        """Write rows to standard output as they come, until the crawl has ended."""
        name, writer = self._stream()
        is_structured = self._options.structured
        followed = FollowedRows(self._folder, (name,), self._text, is_structured=is_structured)
        was_running, rows = True, 0
        while was_running:
            was_running = is_running()
            rows += self._write(followed.more(), {name: writer})[name]
            yield Exported(rows={name: rows}, files=[])
            if was_running:
                pause()
        writer.close()

    def columns(self, name: TableName) -> Sequence[Column]:
        """Return the columns of a table that are written."""
        columns = TABLES[name].columns
        if name == "pages" and self._text is not None:
            columns = (*columns, TEXT)
        is_structured = name == "pages" and self._options.structured
        return (*columns, STRUCTURED) if is_structured else columns

    def _text_kind(self) -> TextKind | None:
        if self._options.text != "none":
            return self._options.text
        return "markdown" if self._options.format == "markdown" else None

    def _to_stdout(self) -> Exported:
        name, writer = self._stream()
        rows = self._pump({name: writer})
        writer.close()
        return Exported(rows=rows, files=[])

    def _to_one_file(self) -> Exported:
        """Write to a place that is the file itself."""
        if len(self._tables) > 1 and not self._format.is_shared:
            many = ", ".join(self._tables)
            raise ConfigError(f"--to {self._place}: a file takes one table; found {many}")
        target, open_file = file_place(self._place), self._format.open_single
        with ExitStack() as stack:
            path = stack.enter_context(target.place.new_file(target.name))
            make = open_file or self._format.open_file
            rows = self._pump({name: self._open(make, path, name, stack) for name in self._tables})
        return Exported(rows=rows, files=[self._place])

    def _expect_folder(self) -> None:
        """Refuse a place that is named like a file of another format."""
        for name, other in ROW_FORMATS.items():
            if names_file(self._place, other.file_suffixes):
                said = f"--format {self._options.format} would make a folder of that name"
                raise ConfigError(f"--to {self._place}: {said}; did you mean --format {name}?")

    def _stream(self) -> tuple[TableName, RowWriter]:
        if len(self._tables) > 1:
            many = ", ".join(self._tables)
            raise ConfigError(f"--to -: name one table; found {many}")
        name = self._tables[0]
        if self._format.open_stream is None:
            raise ConfigError(f"--format {self._options.format} cannot go to standard output")
        return name, self._format.open_stream(standard_output(), TABLES[name], self.columns(name))

    def _open_files(
        self, place: ExportPlace, stack: ExitStack
    ) -> tuple[dict[TableName, RowWriter], list[str]]:
        suffix, make = self._format.suffix, self._format.open_file
        if self._format.is_shared:
            shared = _SHARED_FILE + suffix
            path = stack.enter_context(place.new_file(shared))
            return {name: self._open(make, path, name, stack) for name in self._tables}, [shared]
        if self._format.is_own is not None:
            for name in self._tables:
                place.expect_own(name + suffix, self._format.is_own)
        paths = {name: stack.enter_context(place.new_file(name + suffix)) for name in self._tables}
        writers = {name: self._open(make, path, name, stack) for name, path in paths.items()}
        return writers, [name + suffix for name in self._tables]

    def _open(self, make: MakeWriter, path: Path, name: TableName, stack: ExitStack) -> RowWriter:
        return stack.enter_context(_closing(make(path, TABLES[name], self.columns(name))))

    def _pump(self, writers: Mapping[TableName, RowWriter]) -> dict[str, int]:
        is_structured = self._options.structured
        stream = table_stream(
            self._folder, self._tables, self._text, self._tell, is_structured=is_structured
        )
        return self._write(stream, writers)

    def _write(
        self, stream: Iterator[tuple[TableName, Batch]], writers: Mapping[TableName, RowWriter]
    ) -> dict[str, int]:
        rows: dict[str, int] = dict.fromkeys(self._tables, 0)
        for name, batch in stream:
            kept = self._filters[name](batch)
            if len(kept):
                writers[name].write(kept)
                rows[name] += len(kept)
        return rows


@contextmanager
def _closing(writer: RowWriter) -> Iterator[RowWriter]:
    """Close a writer, whatever happens: its file is given up if something did."""
    try:
        yield writer
    finally:
        writer.close()


def read_arrow(root: Path | str, name: TableName, text: TextForm = "none") -> "pa.Table":
    """Return all rows of a table as pyarrow has them."""
    kind = None if text == "none" else text
    columns = TABLES[name].columns if kind is None else (*TABLES[name].columns, TEXT)
    stream = table_stream(archive_of(root), (name,), kind)
    return as_arrow((batch for _, batch in stream), columns, TABLES[name])
