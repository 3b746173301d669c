"""Parts: `pages` and `links` as Parquet files in DIR/tables, for each stretch of the archive.

manifest.json         what there is, and how far the archive was read; written last
pages-N.parquet       rows of all records of the stretch, with the number of their record
links-N.parquet
editions-N.npy        of each record what decides whether its rows hold (`Editions`)
contents-N.npy        bodies that other pages may share (`Contents`)
facts-N.msgpack       seeds, late labels, and rows that wait for their content

A part is never changed. A row whose URL has a newer one stays in its part and is left out by
whoever reads it: which those are follows from the editions. Small parts are merged.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace
from numpy.typing import NDArray

from gossamer.durable import replace_file, sync_files
from gossamer.errors import CorruptFile
from gossamer.model import BuildProgress, BuildStep, CheckFinding, skipped
from gossamer.report import dropped_of
from gossamer.store import (
    CrawlFolder,
    Derived,
    FileSeal,
    Lengths,
    Pacing,
    anew_if_damaged,
    archive_of,
    check_seal,
    counted_lengths,
    follow_builds,
    has_more,
    has_shrunk,
    mending,
    noting,
    own_hash,
    seal_of,
    with_own_hash,
)
from gossamer.tables.archive import ArchiveStretch
from gossamer.tables.arrow import ParquetRows, batch_of, pyarrow
from gossamer.tables.contents import DTYPE as CONTENT
from gossamer.tables.contents import Contents
from gossamer.tables.editions import DTYPE as EDITION
from gossamer.tables.editions import Editions
from gossamer.tables.rows import NUMBER_COLUMN, ArchiveRows, Batch, RowWishes, WaitingRow
from gossamer.tables.rows import with_content as row_with
from gossamer.tables.schema import SCHEMA_VERSION, TABLES, Column, TableName

if TYPE_CHECKING:
    from gossamer.clock import Clock

NAME = "tables"
PAUSE_S = 2.0
FORMAT = 1
MANIFEST = "manifest.json"
IN_PARTS: tuple[TableName, ...] = ("pages", "links")
MOST_RECORDS = 100_000
"""Of a part: a kill repeats no more."""
SMALL_RECORDS = 20_000
MOST_SMALL = 10
"""So many small parts in a row are merged into one."""
BATCH_ROWS = 50_000
CHECKED_BYTES = 256 << 20
"""Parts of up to so many bytes are read whole when they are opened: that takes no time."""


class TablePart(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One part."""

    number: int
    first: int
    """Number of its first record."""
    records: int
    rows: dict[str, int]
    """Of each table, those that do not hold included."""
    files: dict[str, FileSeal]


class TablesManifest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What there is. A key with a flipped bit is not ours."""

    format: int = FORMAT
    schema: int = SCHEMA_VERSION
    generation: int = 0
    """Counts commits."""
    dropped: str | UnsetType = UNSET
    """The digest of the patterns whose pages are left out, if there are any."""
    covered: dict[str, int] = {}
    """How many bytes of each archive file are in it."""
    content_files: list[str] = []
    """Names of the pages files that contents lie in, by number."""
    parts: list[TablePart] = []
    own: str = ""
    """The hash of all this."""

    @property
    def records(self) -> int:
        """Return how many records have a number."""
        return self.parts[-1].first + self.parts[-1].records if self.parts else 0


class TablesFacts(Struct, frozen=True, kw_only=True):
    """What was built, and what there is now."""

    did: Literal["nothing", "news", "full"]
    records: int
    """Records that were read."""
    pages: int
    """Rows of `pages`."""
    link_rows: int
    """Rows of `links`, with those of pages that have newer ones."""
    parts: int


class PartFacts(Struct):
    """What a part knows besides."""

    roots: dict[int, str] = {}
    labels: dict[str, str] = {}
    waiting: list[WaitingRow] = []


def tables_place(root: Path) -> Derived:
    """Return the place of a crawl's tables."""
    return Derived(root, NAME, lambda folder: read_tables_manifest(folder) is not None)


def read_tables_manifest(folder: Path) -> TablesManifest | None:
    """Return what a folder holds; None if these are no whole tables of this version."""
    try:
        found = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=TablesManifest)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    is_ours = (found.format, found.schema) == (FORMAT, SCHEMA_VERSION)
    return found if is_ours and found.own == own_hash(found) else None


def build_tables(
    root: Path | str, *, is_full: bool = False, tell: BuildProgress | None = None
) -> TablesFacts:
    """Bring the parts of a crawl, running or not, up to what its archive says now."""
    folder = archive_of(root)
    pyarrow()
    place = tables_place(folder.root)
    telling = noting(place, tell or (lambda _: None))
    with place.sole_builder(), mending(place, NAME):
        counted = counted_lengths(folder, "links", "pages", "text")
        found = None if is_full else read_tables_manifest(place.folder)

        def full() -> TablesFacts:
            return _full(folder, place, counted, telling)

        is_same = found is not None and found.dropped == dropped_of(folder).digest
        if found is None or not is_same or has_shrunk(found.covered, counted):
            return full()
        usable = found
        return anew_if_damaged(
            place, telling, lambda: _news(folder, place, usable, counted, telling), full
        )


def follow_tables(
    root: Path | str,
    clock: "Clock",
    wait: Callable[[float], None],
    tell: BuildProgress | None = None,
) -> Iterator[TablesFacts]:
    """Build again and again while a crawl runs; yield what each time was done."""
    folder = archive_of(root)
    pause = Pacing(clock, wait, shortest_s=PAUSE_S)
    return follow_builds(folder, lambda: build_tables(folder.root, tell=tell), pause)


def has_tables(root: Path | str) -> bool:
    """Return True if a crawl's folder has parts of tables."""
    return tables_place(Path(root)).whole() is not None


def check_tables(root: Path | str, *, is_quick: bool = False) -> Iterator[CheckFinding]:
    """Compare the parts of a crawl's tables with their manifest; quick: only their lengths."""
    folder = tables_place(Path(root)).folder
    if not folder.exists():
        return
    manifest = read_tables_manifest(folder)
    if manifest is None:
        yield _finding(MANIFEST, 0, "it cannot be read, or is not what was written")
        return
    for part in manifest.parts:
        for name, seal in part.files.items():
            try:
                check_seal(folder / name, seal, is_read=not is_quick)
            except CorruptFile as error:
                if read_tables_manifest(folder) != manifest:
                    return  # it is being replaced at this moment
                yield _finding(name, error.offset, str(error).partition(": ")[2])


def _finding(name: str, byte: int, found: str) -> CheckFinding:
    return CheckFinding(
        kind="bad_tables", file=f"{NAME}/{name}", byte=byte, found=found, remedy="tables"
    )


def _full(
    folder: CrawlFolder, place: Derived, counted: Lengths, tell: BuildProgress
) -> TablesFacts:
    last = read_tables_manifest(place.folder)
    generation = last.generation if last is not None else 0
    new = place.fresh()
    empty = TablesManifest(generation=generation, dropped=dropped_of(folder).digest)
    builder = _PartBuilder(folder, new, empty, tell)
    builder.take(counted)
    if not builder.manifest.parts:
        builder.commit(builder.manifest)
    place.swap()
    return builder.facts("full")


def _news(
    folder: CrawlFolder,
    place: Derived,
    manifest: TablesManifest,
    counted: Lengths,
    tell: BuildProgress,
) -> TablesFacts:
    _tidy(place.folder, manifest)
    builder = _PartBuilder(folder, place.folder, manifest, tell)
    if not has_more(manifest.covered, counted):
        return builder.facts("nothing")
    builder.take(counted)
    return builder.facts("news")


def _tidy(folder: Path, manifest: TablesManifest) -> None:
    """Delete files that a killed builder left, or a merge has replaced."""
    known = {name for part in manifest.parts for name in part.files} | {MANIFEST}
    for path in folder.iterdir():
        if path.is_file() and path.name not in known:
            path.unlink()


class _PartBuilder:
    """Adds parts to a folder. The caller holds the lock of its place."""

    def __init__(
        self, folder: CrawlFolder, where: Path, manifest: TablesManifest, tell: BuildProgress
    ) -> None:
        self._folder = folder
        self._where = where
        self._tell = tell
        self.manifest = manifest
        opened = PartReader(where, manifest)
        self._editions, self._contents = opened.editions, opened.contents
        self._waiting = opened.waiting
        self._records = 0

    def take(self, counted: Lengths) -> None:
        """Write parts of all that is new, each with a commit."""
        while has_more(self.manifest.covered, counted):
            before = self.manifest.covered
            self._add_part(counted)
            if self.manifest.covered == before:  # the rest cannot be read
                break
        self._merge_small()

    def facts(self, did: Literal["nothing", "news", "full"]) -> TablesFacts:
        """Return what was done."""
        living = self._editions.settle()
        return TablesFacts(
            did=did,
            records=self._records,
            pages=int(living.pages.sum()),
            link_rows=sum(part.rows["links"] for part in self.manifest.parts),
            parts=len(self.manifest.parts),
        )

    def _add_part(self, counted: Lengths) -> None:
        first, number = len(self._editions), _next_number(self.manifest)
        stretch = ArchiveStretch(self._folder, self.manifest.covered, counted)
        rows = ArchiveRows(
            self._folder,
            stretch,
            RowWishes(frozenset(IN_PARTS)),
            self._contents,
            self._editions,
            most_records=MOST_RECORDS,
        )
        count: dict[str, int] = dict.fromkeys(IN_PARTS, 0)
        with ExitStack() as stack:
            writers = {
                name: stack.enter_context(closing(self._writer(name, number))) for name in IN_PARTS
            }
            for name, batch in self._all_rows(rows):
                writers[name].write(batch)
                count[name] += len(batch)
                left = stretch.bytes_left
                self._tell(BuildStep(doing="writing", count=stretch.records, bytes_left=left))
        self._records += stretch.records
        for bad in stretch.bad:
            self._tell(skipped(bad.line()))
        self._waiting += rows.waiting
        part = self._sealed(number, first, count)
        self.commit(
            replace(self.manifest, covered=stretch.covered, parts=[*self.manifest.parts, part])
        )

    def _all_rows(self, rows: ArchiveRows) -> Iterator[tuple[TableName, Batch]]:
        """Yield the rows of a stretch, then those whose content is known by now once more."""
        yield from rows
        waiting, self._waiting = self._waiting, []
        again: list[tuple[Any, ...]] = []
        for one in waiting:
            content = self._contents.find(one.fp)
            if content is None:
                self._waiting.append(one)
                continue
            number = self._editions.repeat(one.number)
            again.append((*row_with(tuple(one.row), content)[:-1], number))
        if again:
            names = [column.name for column in part_columns("pages")]
            yield "pages", Batch(dict(zip(names, zip(*again, strict=True), strict=True)))

    def _sealed(self, number: int, first: int, rows: dict[str, int]) -> TablePart:
        """Write what a part knows besides its rows; return it."""
        editions = self._editions.rows(first)
        sides = {"editions": editions, "contents": self._contents.take_fresh()}
        return self._with_sides(number, first, sides, rows)

    def _with_sides(
        self, number: int, first: int, sides: Mapping[str, NDArray[np.void]], rows: dict[str, int]
    ) -> TablePart:
        for kind, array in sides.items():
            np.save(self._where / f"{kind}-{number:05}.npy", array, allow_pickle=False)
        more = PartFacts(
            roots={n: url for n, url in self._editions.roots.items() if n >= first},
            labels=self._editions.labels,
            waiting=self._waiting,
        )
        (self._where / f"facts-{number:05}.msgpack").write_bytes(msgspec.msgpack.encode(more))
        names = sorted(path.name for path in self._where.glob(f"*-{number:05}.*"))
        return TablePart(
            number=number,
            first=first,
            records=len(sides["editions"]),
            rows=rows,
            files={name: seal_of(self._where / name) for name in names},
        )

    def commit(self, manifest: TablesManifest) -> None:
        """Put a manifest into its place, after all files that it speaks of are on the disk."""
        sync_files(self._where)
        self.manifest = with_own_hash(
            replace(
                manifest,
                generation=manifest.generation + 1,
                content_files=self._contents.files,
            )
        )
        encoded = msgspec.json.format(msgspec.json.encode(self.manifest)) + b"\n"
        replace_file(self._where / MANIFEST, encoded)

    def _writer(self, name: TableName, number: int) -> ParquetRows:
        path = self._where / f"{name}-{number:05}.parquet"
        return ParquetRows(path, TABLES[name], part_columns(name))

    def _merge_small(self) -> None:
        """Merge the small parts at the end into one, if there are many."""
        parts = self.manifest.parts
        small = list(takewhile(lambda part: part.records < SMALL_RECORDS, reversed(parts)))
        if len(small) < MOST_SMALL:
            return
        small.reverse()
        number = _next_number(self.manifest)
        for name in IN_PARTS:
            with closing(self._writer(name, number)) as writer:
                for part in small:
                    path = self._where / f"{name}-{part.number:05}.parquet"
                    for batch in part_batches(path, name):
                        writer.write(batch)
        sides = {
            kind: np.concatenate([_array(self._where, part, kind) for part in small])
            for kind in ("editions", "contents")
        }
        rows: dict[str, int] = {name: sum(part.rows[name] for part in small) for name in IN_PARTS}
        merged = self._with_sides(number, small[0].first, sides, rows)
        self.commit(replace(self.manifest, parts=[*parts[: -len(small)], merged]))
        _tidy(self._where, self.manifest)


class PartReader:
    """The parts of a folder, opened: which rows hold, and what is known besides."""

    def __init__(self, folder: Path, manifest: TablesManifest) -> None:
        self.folder = folder
        self.manifest = manifest
        total = sum(seal.bytes for part in manifest.parts for seal in part.files.values())
        roots: dict[int, str] = {}
        last = PartFacts()
        for part in manifest.parts:
            for name, seal in part.files.items():
                is_read = total <= CHECKED_BYTES or not name.endswith(".parquet")
                check_seal(folder / name, seal, is_read=is_read)
            path = folder / f"facts-{part.number:05}.msgpack"
            last = msgspec.msgpack.decode(path.read_bytes(), type=PartFacts)
            roots |= last.roots
        self.waiting = last.waiting
        self.editions = Editions(self._arrays("editions", EDITION), roots, last.labels)
        rows = self._arrays("contents", CONTENT)
        self.contents = Contents(manifest.content_files, rows, keeps_fresh=True)

    def paths(self, name: TableName) -> list[Path]:
        """Return the files with the rows of a table."""
        parts = self.manifest.parts
        return [self.folder / f"{name}-{part.number:05}.parquet" for part in parts]

    def _arrays(self, kind: str, dtype: np.dtype[np.void]) -> NDArray[np.void]:
        every = [_array(self.folder, part, kind) for part in self.manifest.parts]
        return np.concatenate([np.empty(0, dtype), *every])


def _array(folder: Path, part: TablePart, kind: str) -> NDArray[np.void]:
    path = folder / f"{kind}-{part.number:05}.npy"
    try:
        found: NDArray[np.void] = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise CorruptFile(path, 0, str(error)) from error
    return found


def part_batches(path: Path, name: TableName) -> Iterator[Batch]:
    """Yield the rows of a part."""
    columns = part_columns(name)
    with pyarrow().parquet.ParquetFile(path) as file:
        for found in file.iter_batches(batch_size=BATCH_ROWS):
            yield batch_of(found, columns)


def part_columns(name: TableName) -> tuple[Column, ...]:
    """Return the columns of a part: those of the table, and the number of the record."""
    return (*TABLES[name].columns, NUMBER_COLUMN)


def _next_number(manifest: TablesManifest) -> int:
    return max((part.number for part in manifest.parts), default=-1) + 1
