"""Build the graph of a crawl, or bring it up to date: all anew, a delta, or a fold of both.

A small amount of news is kept as a delta on top of the graph; a large one is folded in. Either way
only records that were not read before are read. The manifest, written last, says what holds.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from msgspec import Struct, UnsetType
from msgspec.structs import replace

from gossamer.errors import CannotGoOn
from gossamer.graph.build.delta import (
    PAGE,
    UNKNOWN,
    Delta,
    names_path,
    rows_path,
    write_delta,
)
from gossamer.graph.build.fold import Folding, fold
from gossamer.graph.build.manifest import (
    Choice,
    GraphManifest,
    check_files,
    read_manifest,
    sealed,
    write_manifest,
)
from gossamer.graph.build.news import (
    Fresh,
    NewRecords,
    PageRecord,
    Pages,
    Spool,
    hash_of,
    number_names,
    settle,
)
from gossamer.graph.build.place import graph_folder, place_of, tidy
from gossamer.graph.build.whole import WEB, Base
from gossamer.graph.bv import Coding
from gossamer.graph.kinds import Kind
from gossamer.graph.names import NameSorter
from gossamer.model import BuildProgress, BuildStep, skipped
from gossamer.report import dropped_of
from gossamer.store import (
    BadRecord,
    CrawlFolder,
    FileSeal,
    Lengths,
    anew_if_damaged,
    archive_of,
    counted_lengths,
    has_more,
    has_shrunk,
    mending,
    noting,
)

ATTEMPTS = 3
"""Hashes that are tried until no two URLs share one; the second is one that nobody can prepare."""
TOLD_RECORDS = 5000
WORK = "work"
"""The folder, inside that of a new graph, for what passes."""
CARRIED = ("ranks",)
"""Files beside the graph that hold whatever its numbers are."""


class GraphOptions(Struct, frozen=True, kw_only=True):
    """How a graph is built."""

    redirects: Choice = "keep"
    """`follow`: a link to a URL that redirects counts for where that ends."""
    canonical: Choice = "keep"
    """`follow`: a link to a page counts for the page that it names as canonical."""
    is_full: bool = False
    """Read the whole archive, whatever there is."""
    delta_share: float = 0.1
    """News of up to this share of the graph's links is kept on top of it; 0: always folded in."""
    small_arcs: int = 100_000
    """Into a graph of so few links all news is folded: that takes no time."""
    memory_bytes: int = 512 << 20
    """For sorting. What grows with the number of URLs (some 30 bytes each) comes on top."""
    coding: Coding = Coding()


class GraphFacts(Struct, frozen=True, kw_only=True):
    """What was built, and what there is now."""

    did: Literal["nothing", "delta", "fold", "full"]
    records: int
    """Records of the links archive that were read."""
    nodes: int
    arcs: int
    pages: int
    delta_pages: int
    delta_arcs: int
    generation: int


class LinksReading(Protocol):
    """Records between two points; `covered` says how far they were given out."""

    covered: dict[str, int]
    bad: list[BadRecord]

    @property
    def bytes_left(self) -> int:
        """Return how much is still to be read."""

    def __iter__(self) -> Iterator[PageRecord]:
        """Give out the records."""


class LinksSource(Protocol):
    """Where the records come from that a graph is made of."""

    @property
    def counted(self) -> Lengths:
        """Return how much there is of each part of it; what was read is told in the same way."""

    @property
    def dropped(self) -> str | UnsetType:
        """Return the digest of what is left out."""

    def since(self, covered: Lengths) -> LinksReading:
        """Return the records that come after a point."""


class ArchiveLinks:
    """The links archive of a crawl's folder."""

    def __init__(self, folder: CrawlFolder) -> None:
        self._folder = folder
        self.counted = counted_lengths(folder, "links")
        self.dropped = dropped_of(folder).digest

    def since(self, covered: Lengths) -> NewRecords:
        """Return the records that come after a point."""
        return NewRecords(self._folder, covered, self.counted)


def build_graph(
    root: Path | str, options: GraphOptions | None = None, tell: BuildProgress | None = None
) -> GraphFacts:
    """Bring the graph of a crawl, running or not, up to what its archive says now."""
    folder = archive_of(root)
    return build_from(lambda: ArchiveLinks(folder), folder.root, options or GraphOptions(), tell)


def build_from(
    source: Callable[[], LinksSource],
    root: Path,
    options: GraphOptions,
    tell: BuildProgress | None = None,
) -> GraphFacts:
    """Bring the graph in a folder up to what a source says now."""
    place = place_of(root)
    with place.sole_builder(), mending(place, "graph", more="nothing was changed; "):
        tidy(root)
        return _Builder(source(), root, options, noting(place, tell or (lambda _: None))).build()


class _Builder:
    """One build of one graph."""

    def __init__(
        self, source: LinksSource, root: Path, options: GraphOptions, tell: BuildProgress
    ) -> None:
        self._source = source
        self._root = root
        self._options = options
        self._tell = tell
        self._graph = graph_folder(root)
        self._counted = source.counted
        self._dropped = source.dropped
        self._manifest = self._usable_manifest()
        self._records = 0

    def build(self) -> GraphFacts:
        """Read what is new and write it down."""
        manifest = self._manifest
        if manifest is not None and not self._has_news(manifest):
            return self._facts("nothing", manifest)
        if manifest is None:
            return self._build(None)
        place = place_of(self._root)
        return anew_if_damaged(
            place, self._tell, lambda: self._build(manifest), lambda: self._build(None)
        )

    def _build(self, manifest: GraphManifest | None) -> GraphFacts:
        old = _Old(self._graph, manifest) if manifest is not None else None
        for attempt in range(ATTEMPTS):
            work = place_of(self._root).fresh() / WORK
            work.mkdir()
            names = NameSorter(work, self._options.memory_bytes)
            path, hash_url = work / "fresh.urls", hash_of(attempt)
            with closing(Spool(work, names, hash_url)) as spool:
                covered = self._read(spool, old)
                if old is not None and not self._records and not self._must_fold(old.manifest):
                    return self._facts("nothing", old.manifest)
                self._tell(BuildStep(doing="sorting", count=spool.links, unit="link"))
                numbers = number_names(names.merged(), path, hash_url)
                if not numbers.has_collision:
                    return self._write(settle(spool, numbers, path), old, covered)
        raise CannotGoOn(f"two URLs had the same hash, {ATTEMPTS} times in a row; build again")

    def _read(self, spool: Spool, old: "_Old | None") -> Lengths:
        """Give a delta and all new records to a spool; return how far the archive is read then."""
        if old is not None and old.delta is not None:
            _take_delta(spool, old.delta)
        reading = self._source.since(old.manifest.covered if old is not None else {})
        self._records = 0
        for record in reading:
            spool.add(record)
            self._records += 1
            if self._records % TOLD_RECORDS == 0:
                left = reading.bytes_left
                self._tell(BuildStep(doing="reading", count=self._records, bytes_left=left))
        spool.flush()
        for bad in reading.bad:
            self._tell(skipped(bad.line()))
        return reading.covered

    def _write(self, fresh: Fresh, old: "_Old | None", covered: Lengths) -> GraphFacts:
        if old is not None and self._is_small(fresh, old.manifest):
            return self._put_on_top(fresh, old, covered)
        return self._fold(fresh, old, covered)

    def _put_on_top(self, fresh: Fresh, old: "_Old", covered: Lengths) -> GraphFacts:
        """Write what is new as the delta that holds from now on."""
        number = old.manifest.delta + 1
        delta = write_delta(self._graph, number, fresh, old.base.names)
        added = [path(self._graph, number).name for path in (names_path, rows_path)]
        manifest = replace(
            old.manifest,
            files=_of_base(old.manifest) | sealed(self._graph, added),
            covered=covered,
            delta=number,
            delta_pages=delta.pages,
            delta_arcs=delta.arcs,
        )
        manifest = write_manifest(self._graph, manifest)
        tidy(self._root)
        return self._facts("delta", manifest)

    def _fold(self, fresh: Fresh, old: "_Old | None", covered: Lengths) -> GraphFacts:
        """Write the graph of all, and put it into the old one's place."""
        self._tell(BuildStep(doing="writing", count=fresh.links, unit="link"))
        options = self._options
        if old is not None:
            check_files(self._graph, old.manifest, None)  # damage must not be carried on
        how = Folding(
            coding=options.coding, followed=_followed(options), memory_bytes=options.memory_bytes
        )
        work = fresh.names.parent
        new = work.parent
        done = fold(old.base if old is not None else None, fresh, new, how)
        shutil.rmtree(work)
        for name in CARRIED:
            if (self._graph / name).exists():
                (new / name).hardlink_to(self._graph / name)
        last = read_manifest(self._graph)
        manifest = GraphManifest(
            generation=last.generation + 1 if last is not None else 1,
            redirects=options.redirects,
            canonical=options.canonical,
            coding=options.coding,
            nodes=done.nodes,
            arcs=done.arcs,
            pages=done.pages,
            covered=covered,
            dropped=self._dropped,
            files=sealed(new, [path.name for path in new.glob(f"{WEB}*")]),
        )
        manifest = write_manifest(new, manifest)
        place_of(self._root).swap()
        return self._facts("full" if old is None else "fold", manifest)

    def _usable_manifest(self) -> GraphManifest | None:
        """Return what the graph that exists was built from; None if it is of no use."""
        found, options = read_manifest(self._graph), self._options
        if found is None or options.is_full or has_shrunk(found.covered, self._counted):
            return None
        is_same = (found.redirects, found.canonical) == (options.redirects, options.canonical)
        is_same = is_same and found.dropped == self._dropped
        if not is_same or (_followed(options) and self._has_unread(found)):
            return None  # where a chain ends cannot be told from the graph that has followed it
        return found

    def _has_unread(self, manifest: GraphManifest) -> bool:
        return has_more(manifest.covered, self._counted)

    def _has_news(self, manifest: GraphManifest) -> bool:
        """Return True if there is anything to do."""
        return self._must_fold(manifest) or self._has_unread(manifest)

    def _must_fold(self, manifest: GraphManifest) -> bool:
        return manifest.delta > 0 and self._options.delta_share == 0

    def _is_small(self, fresh: Fresh, manifest: GraphManifest) -> bool:
        most = manifest.arcs * self._options.delta_share
        is_large = manifest.arcs >= self._options.small_arcs
        return is_large and fresh.links <= most and len(fresh.sources) <= most

    def _facts(
        self, did: Literal["nothing", "delta", "fold", "full"], manifest: GraphManifest
    ) -> GraphFacts:
        return GraphFacts(
            did=did,
            records=self._records,
            nodes=manifest.nodes,
            arcs=manifest.arcs,
            pages=manifest.pages,
            delta_pages=manifest.delta_pages,
            delta_arcs=manifest.delta_arcs,
            generation=manifest.generation,
        )


class _Old:
    """The graph that exists, and its delta."""

    def __init__(self, folder: Path, manifest: GraphManifest) -> None:
        self.manifest = manifest
        check_files(folder, manifest)
        self.base = Base(folder)
        self.delta = Delta.open(folder, manifest.delta) if manifest.delta else None


def _of_base(manifest: GraphManifest) -> dict[str, FileSeal]:
    """Return the seals of a graph without those of its delta."""
    return {name: seal for name, seal in manifest.files.items() if name.startswith(WEB)}


def _followed(options: GraphOptions) -> Kind:
    """Return which links stand for where they lead."""
    redirects = Kind.REDIRECT if options.redirects == "follow" else Kind(0)
    return redirects | (Kind.CANONICAL if options.canonical == "follow" else Kind(0))


def _take_delta(spool: Spool, delta: Delta) -> None:
    """Give a delta's pages to a spool, as if their records were read again."""
    columns = delta.columns
    urls = delta.names.urls(np.arange(len(delta.names)))
    hashes = spool.hashed(urls)
    sources = np.flatnonzero(columns.standing != UNKNOWN)
    pages = Pages(
        hashes[sources],
        columns.at[sources],
        np.diff(columns.out_offsets)[sources],
        columns.standing[sources] == PAGE,
    )
    spool.add_pages(pages, hashes[columns.out_targets], columns.out_kinds)
