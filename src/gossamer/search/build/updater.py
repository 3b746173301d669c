"""IndexUpdater: adds what is new in the archive to an index, round by round, in place.

A round is: pages into the shards, commit of every shard, then the manifest, which says how far the
archive was read. Killed anywhere, the next round reads the same again and writes the same again.
"""

from itertools import islice

from msgspec.structs import replace

from gossamer.model import BuildProgress, skipped
from gossamer.search.analysis import Analyser
from gossamer.search.build.images import ImageUpdater
from gossamer.search.build.options import Did, IndexFacts, IndexOptions, facts_of
from gossamer.search.build.place import open_sink, place_of
from gossamer.search.manifest import Manifest, write_manifest
from gossamer.search.sources import FILE as ANCHORS
from gossamer.search.sources import (
    NOINDEX,
    PROBATION,
    AnchorTable,
    ArchiveNews,
    ArchivePart,
    GatheredPage,
    HeldProbations,
    PageFacts,
    TextPlaces,
    is_image,
    page_of,
    read_text,
    read_waiting,
    stored_image,
    write_waiting,
)
from gossamer.store import Lengths
from gossamer.urls import fingerprint_of

MOST_RECORDS = 4_000
"""Of a round: a kill repeats no more."""
MOST_REMEMBERED = 1_000_000
MOST_WAITING = 1_000


class IndexUpdater:
    """An index open for news. The caller holds the lock of its place."""

    def __init__(
        self,
        part: ArchivePart,
        manifest: Manifest,
        options: IndexOptions,
        probations: HeldProbations,
    ) -> None:
        self._is_ours = part.is_ours
        self._folder = folder = part.folder
        self._probations = probations
        self._left_out = 0
        """Pages that were fetched on probation, since the last commit."""
        self._index = place_of(folder.root).folder
        self.manifest = manifest
        self._sink = open_sink(folder.root, self._index, manifest, options)
        self._anchors = AnchorTable(self._index / ANCHORS)
        self._places = TextPlaces(self._index)
        self._analyser = Analyser()
        self._images = ImageUpdater(self._index, manifest, self._analyser)
        self._newest: dict[int, float] = {}
        """When the records of URLs that were met are of: an older one adds nothing."""
        self._copies = read_waiting(self._index)
        """Pages without a text of their own, by key; then those whose original is not here yet: its
        shard was asked a moment too early."""
        self._added = self._deleted = 0

    def take(self, counted: Lengths, tell: BuildProgress) -> IndexFacts:
        """Take in what is new up to some lengths, or a good part of it."""
        news = ArchiveNews(
            self._folder, self.manifest.covered, counted, self._probations, self._is_ours
        )
        waiting = set(self._copies)
        self._added = self._deleted = records = 0
        for found in islice(news, MOST_RECORDS):
            records += 1
            if found.place is not None and found.facts.fp is not None:
                self._places.note(found.facts.fp, found.place)
            if found.facts.standing and self._is_newest(found.facts):
                self._take_one(found)
        self._add_copies(waiting)
        for bad in news.bad:
            tell(skipped(bad.line()))
        if news.covered != self.manifest.covered or self._added:
            self._commit(news.covered)
        did: Did = "news" if records or self._added else "nothing"
        return facts_of(did, self.manifest, added=self._added, deleted=self._deleted)

    def _take_one(self, found: GatheredPage) -> None:
        facts = found.facts
        if facts.standing != "page":
            self._sink.delete(facts.url)
            self._images.gone(facts.url, is_forbidden=facts.standing == NOINDEX)
            self._deleted += 1
            self._left_out += facts.standing == PROBATION
        elif found.text is None and facts.fp is not None:
            self._copies[fingerprint_of(facts.url)] = facts
        else:
            self._add(facts, found.text or "")

    def _note_left_out(self) -> None:
        """Note that pages were left out, and by which probations: others make a full build due."""
        left_out = self.manifest.left_out
        if self._left_out:
            count = left_out.get(PROBATION, 0) + self._left_out
            self.manifest = replace(
                self.manifest,
                left_out={**left_out, PROBATION: count},
                probations=self._probations.digest,
            )
        self._left_out = 0

    def close(self) -> None:
        """Let go of the index."""
        self._sink.close()
        self._images.close()

    def _add(self, facts: PageFacts, text: str) -> None:
        anchors = self._anchors.of(facts.url)
        if is_image(facts):
            self._sink.delete(facts.url)  # it may have been a page before
            self._images.stored(stored_image(facts, text, anchors))
            return
        self._images.page(facts)
        self._sink.add(
            self._analyser.prepare(page_of(facts, text, anchors, keep=self.manifest.keep))
        )
        self._added += 1

    def _add_copies(self, waiting: set[int]) -> None:
        """Add pages that have no text of their own, with that of the same content.

        Those that were waiting are in the index, without text.
        """
        copies, self._copies = self._copies, {}
        for key, facts in copies.items():
            place = self._places.find(facts.fp or 0)
            if place is not None:
                self._add(facts, read_text(self._folder, place))
                continue
            if key not in waiting:
                self._add(facts, "")
            if facts.copy_of and len(self._copies) < MOST_WAITING:
                self._copies[key] = facts

    def _is_newest(self, facts: PageFacts) -> bool:
        key = fingerprint_of(facts.url)
        if facts.at < self._newest.get(key, facts.at):
            return False
        if len(self._newest) >= MOST_REMEMBERED:
            self._newest.clear()
        self._newest[key] = facts.at
        self._copies.pop(key, None)
        return True

    def _commit(self, covered: Lengths) -> None:
        self._sink.commit()
        images = self._images.commit()
        self._places.flush()
        write_waiting(self._index, self._copies)
        self._note_left_out()
        self.manifest = replace(
            self.manifest,
            pages=self._sink.pages(),
            languages=self._sink.languages(),
            images=images,
            covered=covered,
            generation=self.manifest.generation + 1,
        )
        self.manifest = write_manifest(self._index, self.manifest)
