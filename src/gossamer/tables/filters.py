"""Filters: which rows of a table are wanted."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct

from gossamer.errors import ConfigError
from gossamer.tables.arrow import arrow_batch, arrow_schema, duckdb
from gossamer.tables.rows import Batch, Value, host_and_domain
from gossamer.tables.schema import STRUCTURED, TABLES, TEXT, TableName
from gossamer.urls import host_name

RowFilter: TypeAlias = Callable[[Batch], Batch]

_MOMENTS: dict[TableName, str] = {
    "pages": "fetched_at",
    "urls": "last_at",
    "hosts": "last_at",
    "changes": "at",
}
"""What `since` compares."""


_PAGES: dict[TableName, str] = {
    "urls": "url",
    "links": "source",
    "changes": "url",
    "images": "page",
}
"""Whose host `hosts` compares, of tables without a column for it."""


class RowFilters(Struct, frozen=True, kw_only=True):
    """Which rows are wanted: those that pass all of these."""

    where: str = ""
    """A condition in SQL over the columns of a row, such as "words > 100 and status = 200"."""
    since: float | None = None
    """Fetched, decided or noticed at that moment or later, in seconds since 1970."""
    languages: tuple[str, ...] = ()
    min_words: int = 0
    no_copies: bool = False
    """Leave out pages that are copies of others."""
    hosts: tuple[str, ...] = ()
    """Only these hosts, on all ports; of links and images, those of the page that holds them."""


def row_filter(table: TableName, filters: RowFilters) -> RowFilter:
    """Return what leaves out the rows of a table that are not wanted.

    Filters of a column that a table does not have leave it as it is.
    """
    tests = _tests(table, filters)
    where = _Where(table, filters.where) if filters.where else None

    def read(batch: Batch) -> Batch:
        for column, test in tests:
            batch = batch.kept([test(value) for value in batch.columns[column]])
        return where.kept(batch) if where is not None and len(batch) else batch

    return read


def _tests(table: TableName, filters: RowFilters) -> Sequence[tuple[str, Callable[[Value], bool]]]:
    found: list[tuple[str, Callable[[Value], bool]]] = []
    since, moment = filters.since, _MOMENTS.get(table)
    if since is not None and moment is not None:
        found.append((moment, lambda at: at is not None and at >= since))
    hosts = {host_name(one) for one in filters.hosts}
    if hosts and "host" in TABLES[table].names:
        found.append(("host", lambda one: one in hosts))
    elif hosts:
        found.append((_PAGES[table], lambda url: host_and_domain(url)[0] in hosts))
    if table != "pages":
        return found
    languages = {one.lower() for one in filters.languages}
    if languages:
        found.append(("language", lambda one: one.lower() in languages))
    if filters.min_words:
        found.append(("words", lambda count: (count or 0) >= filters.min_words))
    if filters.no_copies:
        found.append(("copy_of", lambda original: not original))
    return found


class _Where:
    """A condition in SQL, asked batch by batch: it sees one row, no files and no other table."""

    def __init__(self, table: TableName, condition: str) -> None:
        self._table = TABLES[table]
        library = duckdb()
        self._errors: type[Exception] = library.Error
        self._database = library.connect(":memory:")
        self._database.execute("set python_enable_replacements = false")
        self._database.execute("set enable_external_access = false")
        self._database.execute("set TimeZone = 'UTC'")
        self._database.execute("set lock_configuration = true")
        self._query = f"select ({condition}\n) from batch"  # noqa: S608 -- that is what it is for
        self._condition = condition

    def kept(self, batch: Batch) -> Batch:
        """Return the rows of a batch that the condition is true of."""
        columns = self._table.columns
        columns += tuple(one for one in (TEXT, STRUCTURED) if one.name in batch.columns)
        schema = arrow_schema(columns, self._table)
        self._database.register("batch", arrow_batch(batch, columns, schema))
        try:
            statements = self._database.extract_statements(self._query)
            if len(statements) != 1:
                raise ConfigError(f"--where {self._condition}: expected one condition")
            found = self._database.execute(statements[0]).fetchall()
        except self._errors as error:
            reason = sql_error(error)
            meant = "; expected SQL such as: words > 100" if reason.startswith("Parser") else ""
            raise ConfigError(f"--where {self._condition}: {reason}{meant}") from error
        if len(found) != len(batch):
            raise ConfigError(
                f"--where {self._condition}: expected a condition that is true or false of a row"
            )
        return batch.kept([bool(one) for (one,) in found])


def sql_error(error: Exception) -> str:
    """Return what is wrong with a query, in one line."""
    lines = [line.strip() for line in str(error).splitlines()]
    return lines[0] if lines else type(error).__name__
