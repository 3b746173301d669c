"""Streams: the rows of tables as the archive and the state have them now, batch by batch.

Neither pyarrow nor duckdb is needed. `SOURCES` has the tables that are not made of the archive's
records one by one; one more table is one more entry.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from gossamer.errors import ConfigError
from gossamer.model import BuildProgress, BuildStep, skipped
from gossamer.process import TextKind
from gossamer.report import change_rows, dropped_of
from gossamer.store import CrawlFolder, Lengths, counted_lengths
from gossamer.tables.archive import ArchiveStretch
from gossamer.tables.contents import Contents
from gossamer.tables.editions import Editions, noted
from gossamer.tables.images import image_rows
from gossamer.tables.joins import joined, living_rows
from gossamer.tables.known import host_batches, url_batches
from gossamer.tables.rows import ArchiveRows, Batch, RowWishes, batches_of
from gossamer.tables.schema import CHANGES, IMAGES, TABLES, TableName

FROM_ARCHIVE: frozenset[TableName] = frozenset({"pages", "links"})

Source: TypeAlias = Callable[[CrawlFolder], Iterator[Batch]]


def image_batches(folder: CrawlFolder) -> Iterator[Batch]:
    """Yield the rows of `images`."""
    wishes = RowWishes(frozenset({"links"}))
    links = _of_archive(folder, wishes, lambda _: None, with_joins=False)
    return batches_of(IMAGES, image_rows(folder, (batch for _, batch in links)))


def change_batches(folder: CrawlFolder) -> Iterator[Batch]:
    """Yield the rows of `changes`."""
    dropped = dropped_of(folder)
    found = change_rows(folder, {}, counted_lengths(folder, "links"))
    kept = (one for one in found if not dropped.has(one.url))
    return batches_of(
        CHANGES,
        ((one.url, one.at, one.kind, one.similarity, one.added, one.removed) for one in kept),
    )


SOURCES: Mapping[TableName, Source] = {
    "urls": url_batches,
    "hosts": host_batches,
    "changes": change_batches,
    "images": image_batches,
}
"""`batches_of` makes batches of rows."""


def known_tables() -> tuple[TableName, ...]:
    """Return the tables that there are rows of, in the order of the schema."""
    return tuple(name for name in TABLES if name in FROM_ARCHIVE or name in SOURCES)


def table_stream(
    folder: CrawlFolder,
    tables: Iterable[TableName],
    text: TextKind | None = None,
    tell: BuildProgress | None = None,
    *,
    is_structured: bool = False,
) -> Iterator[tuple[TableName, Batch]]:
    """Yield the rows of tables, each batch with the name of its table; no row comes twice.

    Those of one table come one after another, but batches of `pages` and `links` alternate: the
    archive is read once for both.
    """
    asked = tuple(tables)
    if missing := [name for name in asked if name not in known_tables()]:
        raise ConfigError(f"there is no table {missing[0]!r}: {', '.join(known_tables())}")
    if wanted := FROM_ARCHIVE & set(asked):
        wishes = RowWishes(wanted, text, is_structured=is_structured)
        yield from _of_archive(folder, wishes, tell or (lambda _: None))
    for name in asked:
        if name in SOURCES:
            join = joined(name, folder)
            yield from ((name, join(batch)) for batch in SOURCES[name](folder))


def _of_archive(
    folder: CrawlFolder,
    wishes: RowWishes,
    tell: BuildProgress,
    *,
    with_joins: bool = True,
) -> Iterator[tuple[TableName, Batch]]:
    counted = counted_lengths(folder, "links", "pages", "text")
    editions = noted(ArchiveStretch(folder, {}, counted).facts())
    living = editions.settle()
    stretch = ArchiveStretch(folder, {}, counted, has_bodies=wishes.has_bodies)
    rows = ArchiveRows(folder, stretch, wishes._replace(living=living), Contents())
    readings = {
        name: (living_rows(name, editions, living), joined(name if with_joins else None, folder))
        for name in wishes.tables
    }
    for name, batch in rows:
        alive, join = readings[name]
        yield name, join(alive(batch))
        if name == "pages":
            left = stretch.bytes_left
            tell(BuildStep(doing="reading", count=stretch.records, bytes_left=left))
    for bad in stretch.bad:
        tell(skipped(bad.line()))


class FollowedRows:
    """Rows of `pages` and `links` of a crawl that runs, as they come; `more` gives the new ones.

    A page that is stored anew comes again, with its new row. What is joined is of that moment.
    """

    def __init__(
        self,
        folder: CrawlFolder,
        tables: Iterable[TableName],
        text: TextKind | None = None,
        *,
        is_structured: bool = False,
    ) -> None:
        self._folder = folder
        self._tables = frozenset(tables)
        if not self._tables <= FROM_ARCHIVE:
            raise ConfigError("only rows of pages and links can be followed in a stream")
        self._wishes = RowWishes(self._tables, text, is_structured=is_structured)
        self._covered: Lengths = {}
        self._editions = Editions()
        self._contents = Contents()

    def more(self) -> Iterator[tuple[TableName, Batch]]:
        """Yield the rows of what counts by now and was not read."""
        counted = counted_lengths(self._folder, "links", "pages", "text")
        has_bodies = self._wishes.has_bodies
        stretch = ArchiveStretch(self._folder, self._covered, counted, has_bodies=has_bodies)
        rows = ArchiveRows(self._folder, stretch, self._wishes, self._contents, self._editions)
        joins = {name: joined(name, self._folder) for name in self._tables}
        for name, batch in rows:
            alive = living_rows(name, self._editions, self._editions.settle())
            yield name, joins[name](alive(batch))
        self._covered = stretch.covered
