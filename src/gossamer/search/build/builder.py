"""Build the index of a crawl, or bring it up to date: all anew, or what is new in place."""

from collections.abc import Callable, Generator, Iterator
from pathlib import Path

from gossamer.errors import ConfigError, CorruptFile
from gossamer.model import BuildProgress, BuildStep
from gossamer.report import dropped_of
from gossamer.search.build.full import FullBuild
from gossamer.search.build.options import Did, IndexFacts, IndexOptions, Partitioning, facts_of
from gossamer.search.build.place import place_of
from gossamer.search.build.updater import IndexUpdater
from gossamer.search.manifest import Manifest, read_manifest
from gossamer.search.shard import VERSION, BadShard
from gossamer.search.sources import PROBATION, ArchivePart, HeldProbations, WholeArchive
from gossamer.store import (
    Lengths,
    anew_if_damaged,
    has_more,
    has_shrunk,
    mending,
    noting,
    tell_damaged,
)

DAMAGED = (CorruptFile, BadShard)
"""What is told of an index that is not what was written."""


def build_index(
    root: Path | str, options: IndexOptions | None = None, tell: BuildProgress | None = None
) -> IndexFacts:
    """Bring the index of a crawl, running or not, up to what its archive says now."""
    part = WholeArchive(Path(root))
    building = IndexBuild(part, options or IndexOptions(), tell or (lambda _: None))
    with building.place.sole_builder():
        return building.build()


class IndexBuild:
    """One index and how it is kept. The caller holds the lock of its place while it builds."""

    def __init__(self, part: ArchivePart, options: IndexOptions, tell: BuildProgress) -> None:
        self._part = part
        self.folder = part.folder
        self.place = place_of(self.folder.root)
        self._options = options
        self._tell = noting(self.place, tell)
        found = read_manifest(self.place.folder)
        if found is not None and found.pages and not found.covered:
            raise ConfigError(
                f"{self.place.folder} was built from files that were not crawled, and would be "
                "lost: move it to another folder"
            )

    def build(self) -> IndexFacts:
        """Do what is due."""
        with mending(self.place, "index"):
            counted = self._part.counted()
            manifest = self._usable(counted)
            if manifest is None or self._is_due(manifest, counted):
                return self._full(counted)
            if not has_more(manifest.covered, counted):
                return facts_of("nothing", manifest)
            usable = manifest
            return anew_if_damaged(
                self.place,
                self._tell,
                lambda: self._news(usable, counted),
                lambda: self._full(counted),
                DAMAGED,
            )

    def follow(
        self, is_running: Callable[[], bool], pause: Callable[[], None]
    ) -> Iterator[IndexFacts]:
        """Take in what is new while a crawl runs, and once more after it; yield what was done."""
        with mending(self.place, "index"):
            counted = self._part.counted()
            manifest = self._usable(counted)
            if manifest is None:
                yield self._full(counted)
            try:
                yield from self._keep_all(is_running, pause)
            except DAMAGED as error:
                tell_damaged(self.place, self._tell, error)
                yield self._full(self._part.counted())
                yield from self._keep_all(is_running, pause)

    def _keep_all(
        self, is_running: Callable[[], bool], pause: Callable[[], None]
    ) -> Iterator[IndexFacts]:
        """Follow the crawl to its end; build all anew whenever other pages are dropped."""
        while not (yield from self._keep(is_running, pause)):
            yield self._full(self._part.counted())

    def _keep(
        self, is_running: Callable[[], bool], pause: Callable[[], None]
    ) -> Generator[IndexFacts, None, bool]:
        """Take in what is new; return False if other pages are dropped than were left out."""
        manifest = read_manifest(self.place.folder)
        if manifest is None or manifest.organisation == "terms":
            return True  # an index of terms is only ever built in full
        keeper = IndexUpdater(self._part, manifest, self._options, HeldProbations())
        try:
            was_running = True
            while was_running:
                was_running = is_running()
                if self._has_dropped_other(keeper.manifest):
                    return False
                yield self._catch_up(keeper, self._part.counted())
                if was_running:
                    pause()
            return True
        finally:
            keeper.close()

    def _usable(self, counted: Lengths) -> Manifest | None:
        """Return what the index that exists was built from; None if it is of no use."""
        found = read_manifest(self.place.folder)
        if found is None or found.version != VERSION or self._options.is_full:
            return None
        is_same = Partitioning.wanted(self._options, found).is_that_of(found)
        is_same = is_same and not self._has_dropped_other(found)
        return found if is_same and not has_shrunk(found.covered, counted) else None

    def _has_dropped_other(self, manifest: Manifest) -> bool:
        """Return True if other pages are dropped by now than those that were left out."""
        return manifest.dropped != dropped_of(self.folder).digest

    def _is_due(self, manifest: Manifest, counted: Lengths) -> bool:
        """Return True if so much is new, or was left out for now, that all is to be built anew."""
        if self._has_other_doubts(manifest, counted):
            return True
        if manifest.organisation == "terms":
            return has_more(manifest.covered, counted)
        grown = sum(counted.values()) - manifest.full_bytes
        is_much = grown > manifest.full_bytes * self._options.news_share
        if is_much and not self._part.is_running():
            return True
        return self._part.has_more_said(manifest, self._options.news_share)

    def _has_other_doubts(self, manifest: Manifest, counted: Lengths) -> bool:
        """Return True if pages were left out, and others would be now that the crawl has stopped.

        What a crawl holds changes only while it runs, and then its archive grows.
        """
        if not manifest.left_out.get(PROBATION) or self._part.is_running():
            return False
        is_settled = manifest.probations and not has_more(manifest.covered, counted)
        return not is_settled and self._part.probations().digest != manifest.probations

    def _full(self, counted: Lengths) -> IndexFacts:
        shape = Partitioning.wanted(self._options, read_manifest(self.place.folder))
        return FullBuild(self._part, self._options, shape, counted, self._tell).build()

    def _news(self, manifest: Manifest, counted: Lengths) -> IndexFacts:
        keeper = IndexUpdater(self._part, manifest, self._options, self._part.probations())
        try:
            return self._catch_up(keeper, counted)
        finally:
            keeper.close()

    def _catch_up(self, keeper: IndexUpdater, counted: Lengths) -> IndexFacts:
        """Take in all that is new, round by round."""
        added = deleted = 0
        did: Did = "nothing"
        while has_more(keeper.manifest.covered, counted):
            before = keeper.manifest.covered
            facts = keeper.take(counted, self._tell)
            added, deleted, did = added + facts.added, deleted + facts.deleted, "news"
            self._tell(BuildStep(doing="adding", count=added, unit="page"))
            if keeper.manifest.covered == before:  # the rest cannot be read
                break
        return facts_of(did, keeper.manifest, added=added, deleted=deleted)
