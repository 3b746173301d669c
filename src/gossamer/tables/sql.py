"""SQL over the tables of a crawl, with DuckDB. A query reads tables, and nothing else.

`pages` and `links` are read from the parts, which are brought up to date first. Other tables, and
columns that are joined, are written to a temporary file if the query needs them. DuckDB may open no
file and no connection: it is handed what is open already.
"""

import re
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread, current_thread, main_thread
from typing import Any

import numpy as np

from gossamer.errors import ConfigError
from gossamer.model import BuildProgress
from gossamer.store import CrawlFolder, archive_of
from gossamer.tables.arrow import ParquetRows, duckdb, pyarrow
from gossamer.tables.filters import sql_error
from gossamer.tables.joins import joined, living_rows
from gossamer.tables.parts import (
    IN_PARTS,
    PartReader,
    build_tables,
    part_batches,
    part_columns,
    read_tables_manifest,
    tables_place,
)
from gossamer.tables.rows import NUMBER, Batch
from gossamer.tables.schema import TABLES, Column, TableName
from gossamer.tables.streams import known_tables, table_stream

FETCHED_ROWS = 10_000
_COUNT = re.compile(r"\bcount\s*\(\s*\*\s*\)", re.IGNORECASE)


class SqlAnswer:
    """What a query gives: the names of its columns, and rows. Iterate over it once."""

    def __init__(self, reader: Any, errors: type[Exception]) -> None:  # noqa: ANN401 -- untyped library
        self._reader = reader
        self._errors = errors
        self.columns: tuple[str, ...] = tuple(reader.schema.names)

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        try:
            for batch in self._reader:
                yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
        except (self._errors, RuntimeError) as error:
            raise _told(error) from error


@contextmanager
def ask_sql(root: Path | str, query: str, tell: BuildProgress | None = None) -> Iterator[SqlAnswer]:
    """Give the answer to one query over the tables of a crawl."""
    library = duckdb()
    folder = archive_of(root)
    with ExitStack() as stack:
        database = stack.enter_context(library.connect(":memory:"))
        stack.enter_context(_ended_by_signals(database))
        database.execute("set python_enable_replacements = false")
        work = Path(stack.enter_context(TemporaryDirectory(prefix="gossamer-")))
        database.execute("set temp_directory = ?", [str(work / "spilled")])
        database.execute("set enable_external_access = false")
        database.execute("set TimeZone = 'UTC'")
        try:
            _expect_select(library, database, query)
            named = _named_in(query)
            is_list = "show" in named and "tables" in named
            names = [name for name in known_tables() if is_list or name in named]
            build_tables(folder.root, tell=tell)
            opened = _Views(folder, database, query, work)
            for name in names:
                opened.add(name)
            database.execute("set lock_configuration = true")
            answer = SqlAnswer(_reader(database.sql(query)), library.Error)
        except (library.Error, RuntimeError) as error:
            raise _told(error) from error
        yield answer


def _told(error: Exception) -> BaseException:
    """Return what a failed query ends with: what is wrong with it, or that it was interrupted.

    The library may look for signals itself, and then makes an error of its own of Ctrl-C.
    """
    reason = sql_error(error)
    if "interrupted" in reason.lower():
        return KeyboardInterrupt()
    return ConfigError(f"sql: {reason}{_hint(reason)}")


def _hint(reason: str) -> str:
    """Return what helps against an error, if something does."""
    if "Table with name" in reason:
        return f" Tables are {', '.join(known_tables())}."
    if 'near "at"' in reason:
        return """ The column is written in quotes, for AT is a word of SQL: "at"."""
    if reason.startswith("Parser Error"):
        return "; expected SQL such as: select url, title from pages limit 5"
    return ""


@contextmanager
def _ended_by_signals(database: Any) -> Iterator[None]:  # noqa: ANN401 -- untyped library
    """Let Ctrl-C end a query that takes for ever: Python's own handlers wait until it is done."""
    if current_thread() is not main_thread():
        yield
        return
    told, teller = socket.socketpair()
    teller.setblocking(False)  # noqa: FBT003 - the socket module's
    before = signal.set_wakeup_fd(teller.fileno())
    watcher = Thread(target=lambda: told.recv(1) and database.interrupt(), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        teller.close()
        watcher.join()
        told.close()


def _reader(found: Any) -> Any:  # noqa: ANN401 -- untyped library
    """Return a result as batches; the method has another name in older versions."""
    read = getattr(found, "to_arrow_reader", None) or found.fetch_arrow_reader
    return read(FETCHED_ROWS)


def _expect_select(library: Any, database: Any, query: str) -> None:  # noqa: ANN401 -- untyped library
    """Refuse a query that is not one that only reads."""
    statements = database.extract_statements(query)
    if len(statements) != 1 or statements[0].type != library.StatementType.SELECT:
        raise ConfigError("sql: expected one SELECT; tables can be read, not changed")


def _named_in(query: str) -> set[str]:
    return {word.lower() for word in re.findall(r"\w+", query)}


class _Views:
    """Tables for a query, as open files."""

    def __init__(self, folder: CrawlFolder, database: Any, query: str, work: Path) -> None:  # noqa: ANN401 -- untyped library
        self._folder = folder
        self._database = database
        self._query = query
        self._work = work
        place = tables_place(folder.root).folder
        manifest = read_tables_manifest(place)
        if manifest is None:
            raise ConfigError(f"{place} is being replaced; ask again")
        self._parts = PartReader(place, manifest)
        self._living = self._parts.editions.settle()

    def add(self, name: TableName) -> None:
        """Let a query see a table."""
        if name not in IN_PARTS:
            stream = (batch for _, batch in table_stream(self._folder, (name,)))
            self._register(name, [self._written(name, stream)], TABLES[name].columns)
        elif self._needs_joins(name):
            self._register(name, [self._written(name, self._joined(name))], TABLES[name].columns)
        else:
            self._register(f"all_{name}", self._parts.paths(name), part_columns(name))
            self._view_of_living(name)

    def _view_of_living(self, name: TableName) -> None:
        alive = self._living.pages if name == "pages" else self._living.links
        dead = pyarrow().table({"number": np.flatnonzero(~alive)})
        self._database.register(f"dead_{name}", dead)
        columns = ", ".join(f'"{column}"' for column in TABLES[name].names)
        self._database.execute(
            f"create view {name} as select {columns} from all_{name} "  # noqa: S608 -- names of ours
            f"where {NUMBER} not in (select number from dead_{name})"
        )

    def _needs_joins(self, name: TableName) -> bool:
        words = _named_in(self._query)
        changing = {one.name for one in TABLES[name].columns if one.is_joined}
        has_all = "*" in _COUNT.sub("", self._query) or "select" not in words
        return bool(changing & words) or has_all

    def _joined(self, name: TableName) -> Iterator[Batch]:
        alive = living_rows(name, self._parts.editions, self._living)
        join = joined(name, self._folder)
        for path in self._parts.paths(name):
            for batch in part_batches(path, name):
                yield join(alive(batch))

    def _written(self, name: TableName, batches: Iterator[Batch]) -> Path:
        path = self._work / f"{name}.parquet"
        writer = ParquetRows(path, TABLES[name], TABLES[name].columns)
        for batch in batches:
            writer.write(batch)
        writer.close()
        return path

    def _register(self, name: str, paths: list[Path], columns: tuple[Column, ...]) -> None:
        """Hand over files that are open: what is replaced meanwhile does not matter."""
        from pyarrow import dataset  # noqa: PLC0415 - an extra

        from gossamer.tables.arrow import arrow_schema  # noqa: PLC0415 - with it

        schema = arrow_schema(columns, next(iter(TABLES.values()))).remove_metadata()
        form = dataset.ParquetFileFormat()
        fragments = [form.make_fragment(pyarrow().OSFile(str(path))) for path in paths]
        self._database.register(name, dataset.FileSystemDataset(fragments, schema, form))
