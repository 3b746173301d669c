"""Build the graph of a crawl, or bring it up to date: all anew, a delta, or a fold of both.

A small amount of news is kept as a delta on top of the graph; a large one is folded in. Either way
only records that were not read before are read. The manifest, written last, says what holds.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from gossamer.errors import CannotGoOn, ConfigError, CorruptFile
from gossamer.graph.build.base import Base
from gossamer.graph.build.delta import PAGE, UNKNOWN, Delta, write_delta
from gossamer.graph.build.fold import Folding, fold
from gossamer.graph.build.manifest import Choice, Manifest, read_manifest, write_manifest
from gossamer.graph.build.news import (
    Fresh,
    Hash,
    Lengths,
    NewRecords,
    Pages,
    Spool,
    counted_lengths,
    has_shrunk,
    hash_of,
    number_names,
    settle,
)
from gossamer.graph.build.place import fresh_folder, graph_folder, sole_builder, swap, tidy
from gossamer.graph.bv import Coding
from gossamer.graph.kinds import Kind
from gossamer.graph.names import NameSorter
from gossamer.store import CrawlFolder

Tell: TypeAlias = Callable[[dict[str, object]], None]

ATTEMPTS = 3
"""Hashes that are tried until no two URLs share one; the second is one that nobody can prepare."""
TOLD_RECORDS = 5000
SMALL_ARCS = 100_000
"""A graph of so few links is always folded: that takes no time."""
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


def build_graph(
    root: Path | str, options: GraphOptions | None = None, tell: Tell | None = None
) -> GraphFacts:
    """Bring the graph of a crawl, running or not, up to what its archive says now."""
    place = CrawlFolder(Path(root))
    if not place.archive.is_dir():
        raise ConfigError(f"{root} is not a crawl: expected a folder with an archive in it")
    with sole_builder(place.root):
        try:
            tidy(place.root)
            return _Builder(place, options or GraphOptions(), tell or (lambda _: None)).build()
        except OSError as error:
            raise CannotGoOn(
                f"cannot build the graph of {root}: {error.strerror or error}; nothing was "
                "changed: make room (or make it writable) and build again"
            ) from error


class _Builder:
    """One build of one graph."""

    def __init__(self, place: CrawlFolder, options: GraphOptions, tell: Tell) -> None:
        self._place = place
        self._options = options
        self._tell = tell
        self._graph = graph_folder(place.root)
        self._counted = counted_lengths(place)
        self._manifest = self._usable_manifest()
        self._records = 0

    def build(self) -> GraphFacts:
        """Read what is new and write it down."""
        manifest = self._manifest
        if manifest is not None and not self._has_news(manifest):
            return self._facts("nothing", manifest)
        try:
            return self._build(manifest)
        except CorruptFile as error:
            if manifest is None or self._graph not in error.path.parents:
                raise
            self._tell({"damaged": str(error), "then": "full"})
            return self._build(None)

    def _build(self, manifest: Manifest | None) -> GraphFacts:
        new = fresh_folder(self._place.root)
        work = new / "work"
        work.mkdir()
        delta = Delta.open(self._graph, manifest.delta) if manifest and manifest.delta else None
        base = Base(self._graph) if manifest else None
        covered = manifest.covered if manifest else {}
        for attempt in range(ATTEMPTS):
            reading = NewRecords(self._place, covered, self._counted)
            fresh = self._gather(reading, delta, work, hash_of(attempt))
            if fresh is not None:
                break
        else:
            raise CannotGoOn(f"{ATTEMPTS} hashes in a row were shared by two URLs; build again")
        if manifest and base and self._is_small(fresh, manifest):
            return self._put_on_top(fresh, manifest, base, reading.covered)
        return self._fold(fresh, base, new, reading.covered)

    def _gather(
        self, reading: NewRecords, delta: Delta | None, work: Path, hash_url: Hash
    ) -> Fresh | None:
        """Return what the delta and all new records say; None if two URLs share a hash."""
        shutil.rmtree(work)
        work.mkdir()
        names = NameSorter(work, self._options.memory_bytes)
        spool = Spool(work, names, hash_url)
        if delta is not None:
            _take_delta(spool, delta, hash_url)
        self._records = 0
        for record in reading:
            spool.add(record)
            self._records += 1
            if self._records % TOLD_RECORDS == 0:
                self._tell({"read": self._records, "bytes_left": reading.bytes_left})
        pages = spool.pages()
        self._tell({"sorting": spool.links, "records": len(pages.at)})
        path = work / "fresh.urls"
        numbers = number_names(names.merged(), path, hash_url)
        if numbers.has_collision:
            return None
        return settle(spool, numbers, path)

    def _put_on_top(
        self, fresh: Fresh, manifest: Manifest, base: Base, covered: Lengths
    ) -> GraphFacts:
        """Write what is new as the delta that holds from now on."""
        number = manifest.delta + 1
        delta = write_delta(self._graph, number, fresh, base.names)
        manifest = replace(
            manifest,
            covered=covered,
            delta=number,
            delta_pages=delta.pages,
            delta_arcs=delta.arcs,
        )
        write_manifest(self._graph, manifest)
        tidy(self._place.root)
        return self._facts("delta", manifest)

    def _fold(self, fresh: Fresh, base: Base | None, new: Path, covered: Lengths) -> GraphFacts:
        """Write the graph of all, and put it into the old one's place."""
        self._tell({"writing": fresh.links})
        options = self._options
        how = Folding(
            coding=options.coding, followed=_followed(options), memory_bytes=options.memory_bytes
        )
        done = fold(base, fresh, new / "work", new, how)
        shutil.rmtree(new / "work")
        for name in CARRIED:
            if (self._graph / name).exists():
                (new / name).hardlink_to(self._graph / name)
        old = read_manifest(self._graph)
        manifest = Manifest(
            generation=old.generation + 1 if old else 1,
            redirects=options.redirects,
            canonical=options.canonical,
            nodes=done.nodes,
            arcs=done.arcs,
            pages=done.pages,
            covered=covered,
        )
        write_manifest(new, manifest)
        swap(self._place.root)
        return self._facts("full" if base is None else "fold", manifest)

    def _usable_manifest(self) -> Manifest | None:
        """Return what the graph that exists was built from; None if it is of no use."""
        found, options = read_manifest(self._graph), self._options
        if found is None or options.is_full or has_shrunk(found.covered, self._counted):
            return None
        is_same = (found.redirects, found.canonical) == (options.redirects, options.canonical)
        if not is_same or (_followed(options) and self._has_unread(found)):
            return None  # where a chain ends cannot be told from the graph that has followed it
        return found

    def _has_unread(self, manifest: Manifest) -> bool:
        covered = manifest.covered
        return any(end > covered.get(name, 0) for name, end in self._counted.items())

    def _has_news(self, manifest: Manifest) -> bool:
        """Tell whether there is anything to do."""
        must_fold = manifest.delta > 0 and self._options.delta_share == 0
        return must_fold or self._has_unread(manifest)

    def _is_small(self, fresh: Fresh, manifest: Manifest) -> bool:
        most = manifest.arcs * self._options.delta_share
        return manifest.arcs > SMALL_ARCS and fresh.links <= most and len(fresh.sources) <= most

    def _facts(
        self, did: Literal["nothing", "delta", "fold", "full"], manifest: Manifest
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


def _followed(options: GraphOptions) -> Kind:
    """Return which links stand for where they lead."""
    redirects = Kind.REDIRECT if options.redirects == "follow" else Kind(0)
    return redirects | (Kind.CANONICAL if options.canonical == "follow" else Kind(0))


def _take_delta(spool: Spool, delta: Delta, hash_url: Hash) -> None:
    """Give a delta's pages to a spool, as if their records were read again."""
    columns = delta.columns
    urls = delta.names.urls(np.arange(len(delta.names)))
    hashes = np.fromiter((hash_url(url.encode()) for url in urls), np.uint64, len(urls))
    sources = np.flatnonzero(columns.standing != UNKNOWN)
    pages = Pages(
        hashes[sources],
        columns.at[sources],
        np.diff(columns.out_offsets)[sources],
        columns.standing[sources] == PAGE,
    )
    spool.add_pages(urls, pages, hashes[columns.out_targets], columns.out_kinds)
