"""A full build: the whole archive. First what holds and what links say, then texts and pages."""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import Literal

import numpy as np
from msgspec import UNSET
from msgspec.structs import replace

from gossamer.durable import sync_files
from gossamer.model import BuildProgress, BuildStep, add_labels, skipped
from gossamer.search.analysis import Analyser
from gossamer.search.build.images import write_images
from gossamer.search.build.options import IndexFacts, IndexOptions, Partitioning, facts_of
from gossamer.search.build.place import needed_ranks, open_sink, place_of
from gossamer.search.build.updater import MOST_WAITING
from gossamer.search.manifest import Manifest, read_manifest, write_manifest
from gossamer.search.shard import VERSION
from gossamer.search.sources import FILE as ANCHORS
from gossamer.search.sources import (
    NOINDEX,
    PROBATION,
    AnchorSpool,
    AnchorTable,
    ArchiveNews,
    ArchivePart,
    ImageSpool,
    LiveRecords,
    PageFacts,
    RecordPlan,
    RecordSpool,
    TextPlaces,
    images_of,
    is_image,
    page_of,
    put_record,
    read_text,
    records_in,
    stored_image,
    write_anchors,
    write_waiting,
)
from gossamer.store import Lengths
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
        part: ArchivePart,
        options: IndexOptions,
        shape: Partitioning,
        counted: Lengths,
        tell: BuildProgress,
    ) -> None:
        self._part = part
        self._folder = part.folder
        self._options = options
        self._shape = shape
        self._counted = counted
        self._probations = part.probations()
        self._tell = tell
        self._news = ArchiveNews(part.folder, {}, counted, self._probations, part.is_ours)
        self._added = self._images = 0
        self._languages: dict[str, int] = {}
        self._forbidden: set[int] = set()
        """Keys of stored images that ask to be left out."""
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
        records = RecordSpool(new / WORK)
        settled = self._survey(new, records)
        manifest = self._manifest(settled)
        self._write(new, manifest, self._pages(new, records, settled))
        for bad in self._news.bad:
            self._tell(skipped(bad.line()))
        shutil.rmtree(new / WORK)
        sync_files(new)
        last = read_manifest(place.folder)
        generation = last.generation + 1 if last is not None else 1
        manifest = replace(
            manifest,
            pages=self._added,
            images=self._images,
            languages=self._languages,
            covered=self._news.covered,
            generation=generation,
            born=generation,
            full_bytes=sum(self._counted.values()),
            dropped=self._news.dropped.digest,
        )
        write_manifest(new, self._part.noted(manifest))
        place.swap()
        return facts_of("full", manifest, added=self._added)

    def _survey(self, new: Path, records: RecordSpool) -> LiveRecords:
        """Read the records alone: which of them hold, and what links say."""
        plan, spool = RecordPlan(), AnchorSpool(new / WORK, self._options.skip, self._part.is_ours)
        for number, (name, facts) in enumerate(self._news.facts(), 1):
            records.add(name, facts)
            plan.note(facts)
            if facts.outcome in GIVES_LABELS and facts.label:
                key = fingerprint_of(facts.url)
                self._late_labels[key] = add_labels(self._late_labels.get(key, ""), facts.label)
            spool.add(facts)
            if is_image(facts):
                self._note_image(facts)
            if number % TOLD_PAGES == 0:
                self._tell(BuildStep(doing="reading", count=number))
        records.close()
        for facts in self._part.said_elsewhere():
            spool.add(self._news.settled(facts))
        self._tell(BuildStep(doing="sorting", count=spool.links, unit="link"))
        write_anchors(spool, new, new / WORK)
        return plan.settle()

    def _note_image(self, facts: PageFacts) -> None:
        """Note whether a stored image asks to be left out: then it is, whoever shows it."""
        key = fingerprint_of(facts.url)
        if facts.standing == NOINDEX:
            self._forbidden.add(key)
        else:
            self._forbidden.discard(key)

    def _manifest(self, settled: LiveRecords) -> Manifest:
        shape = self._shape
        return Manifest(
            version=VERSION,
            partition=shape.partition,
            shards=shape.shards,
            high_share=shape.high_share,
            organisation=shape.organisation,
            keep=shape.keep,
            high_from=self._high_from(settled),
            left_out=settled.left_out,
            probations=self._probations.digest if PROBATION in settled.left_out else UNSET,
        )

    def _high_from(self, settled: LiveRecords) -> float:
        """Return from which rank on pages belong to the high tier."""
        if not self._shape.high_share or not len(settled.keys):
            return 0.0
        ranks = needed_ranks(self._folder.root).of_all(settled.keys.tolist())
        return float(np.quantile(ranks, 1 - self._shape.high_share, method="higher"))

    def _write(self, new: Path, manifest: Manifest, pages: Iterable[tuple[PageFacts, str]]) -> None:
        """Write all pages."""
        anchors, analyser = AnchorTable(new / ANCHORS), Analyser()
        images = ImageSpool(new / WORK)
        sink = open_sink(self._folder.root, new, manifest, self._options)
        try:
            for facts, text in pages:
                if is_image(facts):
                    images.add(stored_image(facts, text, anchors.of(facts.url)))
                    continue
                late = self._late_labels and self._late_labels.get(fingerprint_of(facts.url))
                page = page_of(facts, text, anchors.of(facts.url), late or "", keep=manifest.keep)
                sink.add(analyser.prepare(page))
                for image in images_of(facts):
                    if not self._forbidden or fingerprint_of(image.url) not in self._forbidden:
                        images.add(image)
                self._added += 1
                if self._added % TOLD_PAGES == 0:
                    self._tell_pages("writing")
            self._images = write_images(images, new, manifest, analyser)
            self._tell_pages("finishing")
        except Exception:
            with suppress(Exception):  # what went wrong first is told; the folder is discarded
                sink.close()
            raise
        sink.close()
        self._languages = sink.languages()

    def _tell_pages(self, doing: Literal["writing", "finishing"]) -> None:
        left = self._news.bytes_left if doing == "writing" else None
        self._tell(BuildStep(doing=doing, count=self._added, unit="page", bytes_left=left))

    def _pages(
        self, new: Path, records: RecordSpool, settled: LiveRecords
    ) -> Iterator[tuple[PageFacts, str]]:
        """Yield all pages and their texts; last those whose text is that of another."""
        places = TextPlaces(new)
        gathered = chain.from_iterable(
            self._news.with_texts(name, records.take(name)) for name in records.names
        )
        with TemporaryFile(dir=new / WORK) as later:
            for found, holds in zip(gathered, settled.holds.tolist(), strict=True):
                facts = found.facts
                if found.place is not None and facts.fp is not None:
                    places.note(facts.fp, found.place)
                if not holds:
                    continue
                if found.text is None and facts.fp is not None:
                    put_record(later, facts)
                else:
                    yield facts, found.text or ""
            places.seal()
            later.seek(0)
            waiting: dict[int, PageFacts] = {}
            for facts in records_in(later):
                place = places.find(facts.fp or 0)
                yield facts, read_text(self._folder, place) if place is not None else ""
                if place is None and facts.copy_of and len(waiting) < MOST_WAITING:
                    waiting[fingerprint_of(facts.url)] = facts
            write_waiting(new, waiting)
