"""The site report: a walk over the links archive, one over the states, and a third for names.

Of each URL the state knows how it ended; of each stored page the links archive knows its title, its
type, how long it took and where it points. Memory is bounded by 30 bytes for each page and 8 for
each URL that is linked to; lists keep the first of each kind, or the greatest.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gossamer.clock import Clock
from gossamer.dedupe import LABEL_ROW, Level, read_labels
from gossamer.model import SITEMAP_TYPES, LinkKind, UrlRecord, UrlState
from gossamer.report.clusters import Labels
from gossamer.report.inquiry import status
from gossamer.report.records import URL, decode_record
from gossamer.report.site_facts import (
    CopiedPage,
    CopyFacts,
    MediaTypeCount,
    OrphanFacts,
    RepeatedTitle,
    ReportedPage,
    SiteReport,
    Spread,
    StatusCount,
    TitleFacts,
    TrapUnit,
    ValueRange,
)
from gossamer.report.site_tally import EXAMPLES, LISTED, Greatest, UrlTally, url_hash
from gossamer.report.snapshot import Snapshot
from gossamer.store import BadRecord, CrawlFolder, LinkRow, RecordRange, counted_lengths

FOLDED_KEYS = 1 << 20
SIZE_LIMITS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 10_000_000)
TIME_LIMITS = (30, 100, 300, 1_000, 3_000, 10_000)
_NO_LINKS = frozenset({LinkKind.CANONICAL.value})
_WORDS: TypeAlias = NDArray[np.uint64]


class PageFinding(Struct, frozen=True):
    """What the report takes from a links record."""

    url: str
    outcome: str
    at: float = 0.0
    media_type: str = ""
    html: bool = False
    copy_of: str = ""
    title: str = ""
    took_ms: int = -1
    links: list[LinkRow] = []  # msgspec copies it


class PageTitle(Struct, frozen=True):
    """What is looked for by name in the second walk."""

    url: str
    outcome: str
    html: bool = False
    title: str = ""


_decode = msgspec.json.Decoder(PageFinding).decode
_decode_title = msgspec.json.Decoder(PageTitle).decode


def site_report(folder: Path | str, clock: Clock) -> SiteReport:
    """Return a crawl at a glance, whether it runs or not."""
    totals = status(folder)
    with Snapshot.open(folder) as snapshot:
        pages = _Pages(snapshot.folder)
        found = UrlTally()
        for record in _records(snapshot):
            if url_hash(record.url) not in pages.lists:  # states of older versions do not say so
                found.take(record)
        copies = _copies(snapshot)
    found_pages = pages.settle()
    times = found_pages.times()
    return SiteReport(
        folder=str(folder),
        made_at=clock.wall(),
        running=totals.running,
        first_at=found.first_at,
        last_at=found.last_at,
        pages=found.counts[UrlState.ARCHIVED],
        urls=found.counts.total(),
        redirected=found.counts[UrlState.REDIRECTED],
        failed=found.counts[UrlState.FAILED],
        refused=found.counts[UrlState.REFUSED],
        unanswered=found.unanswered,
        gone=found.counts[UrlState.GONE],
        queued=totals.queued,
        held=totals.held,
        archive_bytes=totals.archive_bytes,
        hosts=len(found.hosts),
        statuses=[
            StatusCount(status=code, urls=count) for code, count in sorted(found.statuses.items())
        ],
        failures=found.failures(),
        refusals=dict(Counter(totals.refused).most_common()),
        depths=found.depths(),
        media_types=found_pages.media_types(found.keys, found.sizes),
        sizes=_spread(np.frombuffer(found.sizes, np.int64), SIZE_LIMITS),
        largest=found.largest.listed(),
        times=times,
        slowest=found_pages.slowest,
        redirects=found.redirects(),
        titles=found_pages.titles(),
        orphans=found_pages.orphans(),
        robots_txt=found.robots(),
        trap_units=[
            TrapUnit(unit=one.unit, pages=one.pages, held=one.held, why=one.reason or one.suspicion)
            for one in totals.traps
        ],
        labels=totals.labels,
        copies=CopyFacts(same_content=found.same_content, levels=totals.copies, most_copied=copies),
        top_hosts=found.top_hosts(),
    )


def _records(snapshot: Snapshot) -> Iterator[UrlRecord]:
    for state in snapshot.states:
        for _, value in state.scan(URL):
            yield decode_record(value)


def _copies(snapshot: Snapshot) -> list[CopiedPage]:
    """Return the pages that most others are copies of."""
    labels = Labels(snapshot.states, snapshot.ring)
    counts: Counter[int] = Counter()
    for state in snapshot.states:
        for _, label in read_labels(state.scan(LABEL_ROW)):
            if label.level >= Level.DUPLICATE:
                counts[label.original] += 1
    return [
        CopiedPage(url=labels.name(key), copies=count) for key, count in counts.most_common(LISTED)
    ]


class _KeySet:
    """Hashes of URLs, each once: 8 bytes for each."""

    def __init__(self) -> None:
        self._sorted = np.empty(0, np.uint64)
        self._new = array("Q")

    def update(self, keys: Iterable[int]) -> None:
        self._new.extend(keys)
        if len(self._new) > max(FOLDED_KEYS, len(self._sorted)):
            self._fold()

    def _fold(self) -> None:
        new = np.frombuffer(self._new, np.uint64) if len(self._new) else np.empty(0, np.uint64)
        self._sorted = np.unique(np.concatenate((self._sorted, new)))
        self._new = array("Q")

    def keys(self) -> _WORDS:
        self._fold()
        return self._sorted


class _Pages:
    """What the links archive says of stored pages, of each the newest record."""

    def __init__(self, folder: CrawlFolder) -> None:
        self._folder = folder
        self._lengths = counted_lengths(folder, "links")
        self._keys, self._at = array("Q"), array("d")
        self._titles, self._types, self._times = array("Q"), array("i"), array("q")
        self._type_numbers: dict[str, int] = {}
        self._linked, self._listed = _KeySet(), _KeySet()
        self._slowest = Greatest()
        self.lists: set[int] = set()
        """Hashes of the URLs of sitemaps."""
        for block in self._blocks():
            try:
                self._take(_decode(block))
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue

    def _blocks(self) -> Iterator[bytes]:
        bad: list[BadRecord] = []  # `gossamer check` tells of them
        for file, end in self._lengths.items():
            for record in RecordRange(self._folder.archive_path(file), 0, end, bad):
                if record.headers.get("warc-type") == "metadata":
                    yield record.block

    def _take(self, said: PageFinding) -> None:
        if said.outcome not in {"fetched", "redirected", "gone"}:
            return
        is_list = said.media_type in SITEMAP_TYPES
        own = said.url
        targets = (row[0] for row in said.links if row[1] not in _NO_LINKS and row[0] != own)
        (self._listed if is_list else self._linked).update(map(url_hash, targets))
        if is_list:
            self.lists.add(url_hash(own))
            return
        self._keys.append(url_hash(own))
        self._at.append(said.at)
        if said.outcome != "fetched":  # what was a page before is none now
            self._titles.append(_NONE)
            self._types.append(-1)
            self._times.append(-1)
            return
        words = " ".join(said.title.split())
        has_title = said.html and not said.copy_of
        self._titles.append(
            url_hash(words) | 1 if words and has_title else 0 if has_title else _NONE
        )
        self._types.append(self._type_numbers.setdefault(said.media_type, len(self._type_numbers)))
        self._times.append(said.took_ms)
        if said.took_ms >= 0:
            self._slowest.take(said.took_ms, own)

    def settle(self) -> "_SettledPages":
        """Return what holds: of each URL the newest record."""
        keys, at = np.array(self._keys, np.uint64), np.array(self._at, np.float64)
        order = np.lexsort((np.arange(len(keys)), at, keys))
        is_last = np.ones(len(order), np.bool_)
        is_last[:-1] = keys[order[1:]] != keys[order[:-1]]
        newest = order[is_last]
        types = np.array(self._types, np.int32)
        newest = newest[types[newest] >= 0]
        names = _Names(
            keys[newest],
            np.array(self._titles, np.uint64)[newest],
            self._listed.keys(),
            self._linked.keys(),
        )
        return _SettledPages(
            names=names,
            types=types[newest],
            type_names=list(self._type_numbers),
            took_ms=np.array(self._times, np.int64)[newest],
            slowest=self._slowest.listed(),
            examples=_examples(names, self._blocks()),
        )


_NONE = 2
"""Stands for the title of what is not HTML, or is a copy; titles have odd numbers."""


class _Names(NamedTuple):
    """Hashes of what is named in the report."""

    pages: _WORDS
    titles: _WORDS
    listed: _WORDS
    linked: _WORDS

    def repeated(self) -> list[tuple[int, int]]:
        """Return the titles that most pages share, and how many."""
        titles, counts = np.unique(
            self.titles[(self.titles & np.uint64(1)) == 1], return_counts=True
        )
        many = np.flatnonzero(counts > 1)
        best = many[np.argsort(-counts[many], kind="stable")][:LISTED]
        return [(int(titles[one]), int(counts[one])) for one in best]

    def orphans(self) -> _WORDS:
        """Return the URLs that are stored, in a sitemap, and linked by no other page."""
        stored = np.intersect1d(self.listed, self.pages)
        return np.setdiff1d(stored, self.linked)


class _Examples(NamedTuple):
    """URLs and titles of what is only known by its hash."""

    titles: dict[int, str]
    urls: dict[int, list[str]]
    missing: list[str]
    orphans: list[str]


def _examples(names: _Names, blocks: Iterable[bytes]) -> _Examples:
    """Read the links archive again for the names of what was found."""
    wanted = {title for title, _ in names.repeated()}
    orphans = set(names.orphans()[: 10 * LISTED].tolist())
    found = _Examples({}, {}, [], [])
    has_missing = bool((names.titles == 0).any())
    for block in blocks if wanted or orphans or has_missing else ():
        try:
            said = _decode_title(block)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        if said.outcome != "fetched":
            continue
        key, words = url_hash(said.url), " ".join(said.title.split())
        title = url_hash(words) | 1 if words else 0
        if key in orphans and len(found.orphans) < LISTED and said.url not in found.orphans:
            found.orphans.append(said.url)
        place = np.searchsorted(names.pages, np.uint64(key))
        is_newest = place < len(names.pages) and names.titles[place] == title
        if not said.html or not is_newest:
            continue
        if not title and len(found.missing) < LISTED:
            found.missing.append(said.url)
        elif title in wanted:
            found.titles[title] = words
            urls = found.urls.setdefault(title, [])
            if len(urls) < EXAMPLES and said.url not in urls:
                urls.append(said.url)
    return found


class _SettledPages(NamedTuple):
    """The newest records of all stored pages."""

    names: _Names
    types: NDArray[np.int32]
    type_names: list[str]
    took_ms: NDArray[np.int64]
    slowest: list[ReportedPage]
    examples: _Examples

    def media_types(self, keys: "array[int]", sizes: "array[int]") -> list[MediaTypeCount]:
        """Return the types of pages, with the sizes that the states know by the hash of the URL."""
        known, order = np.unique(np.array(keys, np.uint64), return_index=True)
        of_known = np.array(sizes, np.int64)[order]
        bytes_of = np.zeros(len(self.types), np.int64)
        if len(known):
            places = np.minimum(np.searchsorted(known, self.names.pages), len(known) - 1)
            bytes_of = np.where(known[places] == self.names.pages, of_known[places], 0)
        pages = np.bincount(self.types, minlength=len(self.type_names))
        totals = np.bincount(self.types, bytes_of, len(self.type_names))
        found = [
            MediaTypeCount(media_type=name or "unknown", pages=int(count), bytes=int(total))
            for name, count, total in zip(self.type_names, pages, totals, strict=True)
            if count
        ]
        return sorted(found, key=lambda one: (-one.pages, one.media_type))

    def times(self) -> Spread | None:
        """Return how long answers took."""
        known = self.took_ms[self.took_ms >= 0]
        return _spread(known, TIME_LIMITS) if len(known) else None

    def titles(self) -> TitleFacts:
        """Return what is to be said of titles."""
        titles = self.names.titles
        of_pages = titles[(titles & np.uint64(1)) == 1]
        _, counts = np.unique(of_pages, return_counts=True)
        missing = int((titles == 0).sum())
        return TitleFacts(
            pages=len(of_pages) + missing,
            missing=missing,
            missing_urls=self.examples.missing,
            repeated=int(counts[counts > 1].sum()),
            most_repeated=[
                RepeatedTitle(
                    title=self.examples.titles.get(title, ""),
                    pages=count,
                    urls=self.examples.urls.get(title, []),
                )
                for title, count in self.names.repeated()
            ],
        )

    def orphans(self) -> OrphanFacts:
        """Return the pages that only sitemaps name."""
        return OrphanFacts(
            in_sitemaps=len(self.names.listed),
            orphans=len(self.names.orphans()),
            urls=self.examples.orphans,
        )


def _spread(values: NDArray[np.int64], limits: tuple[int, ...]) -> Spread:
    edges = np.array([-1, *limits, np.iinfo(np.int64).max], np.int64)
    counts = np.histogram(values, edges)[0].tolist() if len(values) else [0] * (len(limits) + 1)
    middle, most = np.percentile(values, [50, 90]).astype(int).tolist() if len(values) else (0, 0)
    return Spread(
        pages=len(values),
        median=middle,
        p90=most,
        most=int(values.max()) if len(values) else 0,
        ranges=[
            ValueRange(below=limit, pages=count)
            for limit, count in zip((*limits, None), counts, strict=True)
        ],
    )
