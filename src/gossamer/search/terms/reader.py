"""A term-partitioned index as those see it who ask: it sends queries on their way."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from gossamer.errors import CannotGoOn, CorruptFile
from gossamer.search.facets import LANGUAGES, SITES, TYPES, YEARS, facet_scopes
from gossamer.search.fields import TEXT_FIELDS
from gossamer.search.index_reader import CandidateList, IndexReader, SearchNotes
from gossamer.search.messages import Bonus, Candidate, Counts, FacetCounts, ShardQuery, Stored, Term
from gossamer.search.terms.compiled import term_hash
from gossamer.search.terms.facets import count_years
from gossamer.search.terms.layout import Opened, TermSet, read_set, shard_of
from gossamer.search.terms.loads import load_of
from gossamer.search.terms.pages import PageTable
from gossamer.search.terms.planning import Having, QueryPlan, terms_of, terms_of_bonuses
from gossamer.search.terms.sets import Tally
from gossamer.search.terms.shard import TermShard
from gossamer.search.terms.wire import (
    BROKER,
    AskCounts,
    AskWords,
    TermAnswer,
    TravellingQuery,
    decode_answer,
    decode_counts,
    decode_words,
    encode,
)

ALL = 0
"""As the number of matches that are wanted."""
_REMEMBERED = 100_000
"""Terms whose statistics the broker keeps: a set never changes."""


class Transport(Protocol):
    """Takes messages to shards and brings their answers."""

    def carry(self, shard: int, message: bytes) -> tuple[int, bytes]:
        """Let a shard do a hop; return for whom its message is (a shard, the broker), and it."""

    def counts(self, shard: int, message: bytes) -> bytes:
        """Ask a shard for statistics."""

    def words(self, shard: int, message: bytes) -> bytes:
        """Ask a shard for terms."""


class LocalTransport:
    """All shards are on this machine."""

    def __init__(self, shards: Sequence[TermShard]) -> None:
        self.shards = shards

    def carry(self, shard: int, message: bytes) -> tuple[int, bytes]:
        """Let a shard do a hop; return for whom its message is (a shard, the broker), and it."""
        return self.shards[shard].carry(message)

    def counts(self, shard: int, message: bytes) -> bytes:
        """Ask a shard for statistics."""
        return self.shards[shard].counts(message)

    def words(self, shard: int, message: bytes) -> bytes:
        """Ask a shard for terms."""
        return self.shards[shard].words(message)


Wrap: TypeAlias = Callable[[Transport], Transport]
"""Puts a courier around that of this machine, as to watch it."""


class Now:
    """A set as it was when it was opened. It never changes, whoever builds another."""

    def __init__(self, folder: Path, known: TermSet, wrapped: Wrap) -> None:
        files = Opened(folder, known)
        self.known = known
        self.pages = PageTable(files, known)
        shards = [TermShard(files, known, number) for number in range(known.shards)]
        self.courier = wrapped(LocalTransport(shards))
        self._remembered: dict[Term, tuple[int, ...]] = {}

    def shard_of(self, term: Term) -> int:
        """Return the shard that has a term."""
        placed = self.known.placed.get(term)
        return shard_of(term_hash(term), self.known.shards) if placed is None else placed

    def having(self, terms: Sequence[Term]) -> Having:
        """Return how many pages have terms, by field; asks for what is not remembered."""
        if len(self._remembered) > _REMEMBERED:
            self._remembered = {}
        remembered = self._remembered
        missing: defaultdict[int, list[Term]] = defaultdict(list)
        for term in dict.fromkeys(terms):
            if term not in remembered:
                missing[self.shard_of(term)].append(term)
        for shard, wanted in missing.items():
            counts = decode_counts(self.courier.counts(shard, encode(AskCounts(wanted))))
            remembered.update(zip(wanted, counts, strict=True))
        return remembered

    def sent(self, parcel: TravellingQuery) -> TermAnswer:
        """Send a question on its way; return the answer."""
        if not parcel.hops:
            return TermAnswer(0, [], [])
        shard, message = parcel.hops[0].shard, encode(parcel)
        while shard != BROKER:
            shard, message = self.courier.carry(shard, message)
        return decode_answer(message)


class TermIndexReader:
    """A term-partitioned index that can be asked, in whichever thread."""

    def __init__(
        self,
        folder: Path,
        wrapped: Wrap = lambda courier: courier,
        *,
        images: IndexReader | None = None,
    ) -> None:
        self._folder = folder
        self._images = images
        self._wrapped = wrapped
        self._now = self._newest()

    @contextmanager
    def noting(self) -> Iterator[SearchNotes]:
        """Note nothing: shards of terms are on this machine, and in one tier."""
        yield SearchNotes()

    def counts(self, terms: Sequence[Term]) -> Counts:
        """Return statistics of the whole index."""
        return _counts(self._now, terms)

    def find(self, ask: ShardQuery, *, is_exact: bool = False) -> CandidateList:
        """Return the best candidates by words alone; here they are always exact."""
        del is_exact
        now = self._now
        answer = _matches(now, ask, max(ask.top, 1))
        candidates = now.pages.candidates(answer.pages, answer.scores)
        candidates.sort(key=lambda one: (-one.score, one.key))
        return CandidateList(total=answer.total, candidates=candidates)

    def near(self, candidates: Sequence[Candidate], bonuses: Sequence[Bonus]) -> list[float]:
        """Return of each page the sum of what the phrases are worth that it has."""
        now = self._now
        numbers = now.pages.numbers([one.key for one in candidates])
        pages = np.unique(numbers[numbers >= 0])
        way = QueryPlan(now.shard_of, now.having(terms_of_bonuses(bonuses)))
        way.near(bonuses)
        zeros = np.zeros(len(pages), np.float64)
        tally = Tally(pages, zeros, np.ones(len(pages), np.uint8))
        answer = now.sent(TravellingQuery(way.hops, (), 0, tally=load_of(tally)))
        of_page = dict(zip(answer.pages, answer.scores, strict=True))
        return [of_page.get(number, 0.0) for number in numbers.tolist()]

    def stored(self, candidates: Sequence[Candidate]) -> list[Stored]:
        """Return pages as they are shown; those that are gone are left out."""
        pages = self._now.pages
        numbers = pages.numbers([one.key for one in candidates]).tolist()
        return [pages.stored(number) for number in numbers if number >= 0]

    def facets(self, ask: ShardQuery, *, is_low_asked: bool = True) -> FacetCounts:
        """Return how many matches have each value; there are no tiers here."""
        del is_low_asked
        now = self._now
        found: dict[str, NDArray[np.int64]] = {}
        for filters, kinds in facet_scopes(ask.filters).items():
            matches = _matches(now, replace(ask, filters=filters), ALL)
            found |= dict.fromkeys(kinds, np.array(matches.pages, np.int64))
        columns = now.pages.facets
        return FacetCounts(
            sites=columns.sites(found[SITES]),
            languages=columns.languages(found[LANGUAGES]),
            types=columns.types(found[TYPES]),
            years=count_years(now.pages.moments(found[YEARS])),
        )

    def page(self, key: int) -> Stored | None:
        """Return the page with a key as it is shown; None if it is not there."""
        found = self.stored([Candidate(0.0, key, 0, 0, 0)])
        return found[0] if found else None

    def languages(self) -> Sequence[str]:
        """Return the languages of the pages, the most frequent first."""
        pages = self._now.known.languages
        return sorted((it for it in pages if it and pages[it]), key=lambda it: (-pages[it], it))

    def vocabulary(self, prefix: str, most: int) -> list[tuple[Term, int]]:
        """Return terms that begin so, with how many pages have them: for spelling."""
        now, message = self._now, encode(AskWords(prefix, max(most, 0)))
        found: list[tuple[Term, int]] = []
        for shard in range(now.known.shards):
            found += decode_words(now.courier.words(shard, message))
        return sorted(found, key=lambda row: (-row[1], row[0]))[: max(most, 0)]

    def images(self) -> IndexReader | None:
        """Return the images that its pages show; they are split by documents."""
        return self._images

    def renew(self) -> bool:
        """Take up a set that was made since; tell whether there was one."""
        if read_set(self._folder) in (None, self._now.known):
            return False
        self._now = self._newest()
        return True

    def close(self) -> None:
        """Let the images go; the other files are only mapped, and there are no threads."""
        if self._images is not None:
            self._images.close()

    def shard_of(self, term: Term) -> int:
        """Return the shard that has a term."""
        return self._now.shard_of(term)

    def _newest(self) -> Now:
        """Open the newest set; another may take its place meanwhile."""
        known = _read(self._folder)
        try:
            return Now(self._folder, known, self._wrapped)
        except CorruptFile:
            if _read(self._folder) == known:
                raise
        return self._newest()


def _matches(now: Now, ask: ShardQuery, top: int) -> TermAnswer:
    """Return the best matches of a query."""
    plan = QueryPlan(now.shard_of, now.having(terms_of(ask)))
    plan.find(ask, ask.counts or _counts(now, [t for group in ask.groups for t in group]))
    weights = tuple(ask.weights.of(name) for name in TEXT_FIELDS)
    filters = ask.filters
    return now.sent(TravellingQuery(plan.hops, weights, top, filters.after, filters.before))


def _counts(now: Now, terms: Sequence[Term]) -> Counts:
    having = now.having(terms)
    return Counts(
        pages=now.known.pages,
        tokens=now.known.tokens,
        having={term: having[term][: len(TEXT_FIELDS)] for term in terms},
    )


def _read(folder: Path) -> TermSet:
    known = read_set(folder)
    if known is None:
        raise CannotGoOn(
            f"no index split by terms in {folder}; build one with --organisation terms"
        )
    return known
