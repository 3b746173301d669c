"""A full build: the whole archive, twice. First what holds and what links say, then the pages."""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Literal

import msgspec
import numpy as np
from msgspec import UNSET
from msgspec.structs import replace

from gossamer.durable import sync_files
from gossamer.model import BuildProgress, BuildStep, add_labels, skipped
from gossamer.search.analysis import Analyser
from gossamer.search.build.keeper import MOST_WAITING
from gossamer.search.build.options import IndexFacts, IndexOptions, Shape, facts_of
from gossamer.search.build.place import needed_ranks, open_sink, place_of
from gossamer.search.gather import (
    PROBATION,
    AnchorSpool,
    AnchorTable,
    ArchiveNews,
    Doubts,
    PageFacts,
    Plan,
    Settled,
    TextPlaces,
    page_of,
    read_text,
    write_anchors,
    write_waiting,
)
from gossamer.search.gather.anchors import FILE as ANCHORS
from gossamer.search.manifest import Manifest, read_manifest, write_manifest
from gossamer.search.shard import VERSION
from gossamer.store import CrawlFolder, Lengths
from gossamer.urls import fingerprint_of

TOLD_PAGES = 2000
GIVES_LABELS = frozenset({"labelled", "seed"})
"""Outcomes whose records may bring labels to a page that another record is of."""
WORK = "work"
"""The folder, inside that of a new index, for what passes."""


class FullBuild:
    """One full build of one index."""

    def __init__(
        self,
        folder: CrawlFolder,
        options: IndexOptions,
        shape: Shape,
        counted: Lengths,
        doubts: Doubts,
        tell: BuildProgress,
    ) -> None:
        self._folder = folder
        self._options = options
        self._shape = shape
        self._counted = counted
        self._doubts = doubts
        self._tell = tell
        self._added = 0
        self._languages: dict[str, int] = {}
        self._late_labels: dict[int, str] = {}
        """Labels that pages got after they were stored, by key."""

    def build(self) -> IndexFacts:
        """Make an index of the whole archive, and put it into the old one's place."""
        root = self._folder.root
        if self._shape.high_share:
            needed_ranks(root)
        place = place_of(root)
        new = place.fresh()
        (new / WORK).mkdir()
        settled = self._survey(new)
        manifest = self._manifest(settled)
        covered = self._write(new, manifest, settled)
        shutil.rmtree(new / WORK)
        sync_files(new)
        last = read_manifest(place.folder)
        generation = last.generation + 1 if last is not None else 1
        manifest = replace(
            manifest,
            pages=self._added,
            languages=self._languages,
            covered=covered,
            generation=generation,
            born=generation,
            full_bytes=sum(self._counted.values()),
        )
        write_manifest(new, manifest)
        place.swap()
        return facts_of("full", manifest, added=self._added)

    def _survey(self, new: Path) -> Settled:
        """Read the records alone: which of them hold, and what links say."""
        plan, spool = Plan(), AnchorSpool(new / WORK, self._options.skip)
        news = ArchiveNews(self._folder, {}, self._counted, self._doubts)
        for number, facts in enumerate(news.facts(), 1):
            plan.note(facts)
            if facts.outcome in GIVES_LABELS and facts.label:
                key = fingerprint_of(facts.url)
                self._late_labels[key] = add_labels(self._late_labels.get(key, ""), facts.label)
            spool.add(facts)
            if number % TOLD_PAGES == 0:
                self._tell(BuildStep(doing="reading", count=number))
        self._tell(BuildStep(doing="sorting", count=spool.links, unit="link"))
        write_anchors(spool, new, new / WORK)
        return plan.settle()

    def _manifest(self, settled: Settled) -> Manifest:
        shape = self._shape
        return Manifest(
            version=VERSION,
            partition=shape.partition,
            shards=shape.shards,
            high_share=shape.high_share,
            organisation=shape.organisation,
            high_from=self._high_from(settled),
            left_out=settled.left_out,
            doubts=self._doubts.digest if PROBATION in settled.left_out else UNSET,
        )

    def _high_from(self, settled: Settled) -> float:
        """Return from which rank on pages belong to the high tier."""
        if not self._shape.high_share or not len(settled.keys):
            return 0.0
        ranks = needed_ranks(self._folder.root).of_all(settled.keys.tolist())
        return float(np.quantile(ranks, 1 - self._shape.high_share, method="higher"))

    def _write(self, new: Path, manifest: Manifest, settled: Settled) -> Lengths:
        """Write all pages; return how far the archive was read."""
        news = ArchiveNews(self._folder, {}, self._counted, self._doubts)
        anchors, analyser = AnchorTable(new / ANCHORS), Analyser()
        sink = open_sink(self._folder.root, new, manifest, self._options)
        try:
            for facts, text in self._pages(new, news, settled):
                late = self._late_labels and self._late_labels.get(fingerprint_of(facts.url))
                page = page_of(facts, text, anchors.of(facts.url), late or "")
                sink.add(analyser.prepare(page))
                self._added += 1
                if self._added % TOLD_PAGES == 0:
                    self._tell_pages("writing", news.bytes_left)
            self._tell_pages("finishing")
        except Exception:
            with suppress(Exception):  # what went wrong first is told; the folder is discarded
                sink.close()
            raise
        sink.close()
        self._languages = sink.languages()
        for bad in news.bad:
            self._tell(skipped(bad.line()))
        return news.covered

    def _tell_pages(
        self, doing: Literal["writing", "finishing"], bytes_left: int | None = None
    ) -> None:
        step = BuildStep(doing=doing, count=self._added, unit="page", bytes_left=bytes_left)
        self._tell(step)

    def _pages(
        self, new: Path, news: ArchiveNews, settled: Settled
    ) -> Iterator[tuple[PageFacts, str]]:
        """Yield all pages and their texts; last those whose text is that of another."""
        places = TextPlaces(new)
        with TemporaryFile(dir=new / WORK) as later:
            for found, holds in zip(news, settled.holds, strict=True):
                facts = found.facts
                if found.place is not None and facts.fp is not None:
                    places.note(facts.fp, found.place)
                if not holds:
                    continue
                if found.text is None and facts.fp is not None:
                    _put(later, facts)
                else:
                    yield facts, found.text or ""
            places.seal()
            later.seek(0)
            waiting: dict[int, PageFacts] = {}
            for facts in _taken(later):
                place = places.find(facts.fp or 0)
                yield facts, read_text(self._folder, place) if place is not None else ""
                if place is None and facts.copy_of and len(waiting) < MOST_WAITING:
                    waiting[fingerprint_of(facts.url)] = facts
            write_waiting(new, waiting)


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(PageFacts).decode
_LENGTH_BYTES = 4


def _put(file: IO[bytes], facts: PageFacts) -> None:
    block = _encode(facts)
    file.write(len(block).to_bytes(_LENGTH_BYTES, "little") + block)


def _taken(file: IO[bytes]) -> Iterator[PageFacts]:
    while length := file.read(_LENGTH_BYTES):
        yield _decode(file.read(int.from_bytes(length, "little")))
