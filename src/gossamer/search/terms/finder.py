"""TermFinder: a term-partitioned index as those see it who ask. It sends questions on their way."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np

from gossamer.errors import CannotGoOn, CorruptFile
from gossamer.search.fields import TEXT_FIELDS
from gossamer.search.finder import Found
from gossamer.search.messages import Ask, Candidate, Counts, Stored, Term
from gossamer.search.terms.kept import Opened, TermSet, read_set, shard_of, term_hash
from gossamer.search.terms.kept.sets import Tally
from gossamer.search.terms.loads import load_of
from gossamer.search.terms.pages import PageTable
from gossamer.search.terms.planning import Having, Way, terms_of
from gossamer.search.terms.shard import TermShard
from gossamer.search.terms.wire import (
    BROKER,
    Answer,
    AskCounts,
    AskWords,
    Parcel,
    decode_answer,
    decode_counts,
    decode_words,
    encode,
)

_REMEMBERED = 100_000
"""Terms whose statistics the broker keeps: a set never changes."""


class Courier(Protocol):
    """Takes messages to shards and brings their answers."""

    def carry(self, shard: int, message: bytes) -> tuple[int, bytes]:
        """Let a shard do a leg; return for whom its message is (a shard, the broker), and it."""

    def counts(self, shard: int, message: bytes) -> bytes:
        """Ask a shard for statistics."""

    def words(self, shard: int, message: bytes) -> bytes:
        """Ask a shard for terms."""


class LocalCourier:
    """All shards are on this machine."""

    def __init__(self, shards: Sequence[TermShard]) -> None:
        self.shards = shards

    def carry(self, shard: int, message: bytes) -> tuple[int, bytes]:
        """Let a shard do a leg; return for whom its message is (a shard, the broker), and it."""
        return self.shards[shard].carry(message)

    def counts(self, shard: int, message: bytes) -> bytes:
        """Ask a shard for statistics."""
        return self.shards[shard].counts(message)

    def words(self, shard: int, message: bytes) -> bytes:
        """Ask a shard for terms."""
        return self.shards[shard].words(message)


Wrap: TypeAlias = Callable[[Courier], Courier]
"""Puts a courier around that of this machine, as to watch it."""


class Now:
    """A set as it was when it was opened. It never changes, whoever builds another."""

    def __init__(self, folder: Path, known: TermSet, wrapped: Wrap) -> None:
        files = Opened(folder, known)
        self.known = known
        self.pages = PageTable(files, known)
        shards = [TermShard(files, known, number) for number in range(known.shards)]
        self.courier = wrapped(LocalCourier(shards))
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

    def sent(self, parcel: Parcel) -> Answer:
        """Send a question on its way; return the answer."""
        if not parcel.legs:
            return Answer(0, [], [])
        shard, message = parcel.legs[0].shard, encode(parcel)
        while shard != BROKER:
            shard, message = self.courier.carry(shard, message)
        return decode_answer(message)


class TermFinder:
    """A term-partitioned index that can be asked, in whichever thread."""

    def __init__(self, folder: Path, wrapped: Wrap = lambda courier: courier) -> None:
        self._folder = folder
        self._wrapped = wrapped
        self._now = self._newest()

    def counts(self, terms: Sequence[Term]) -> Counts:
        """Return statistics of the whole index."""
        return _counts(self._now, terms)

    def find(self, ask: Ask, *, is_exact: bool = False) -> Found:
        """Return the best candidates by words alone; here they are always exact."""
        del is_exact
        now = self._now
        way = Way(now.shard_of, now.having(terms_of(ask)))
        way.find(ask, ask.counts or _counts(now, [t for group in ask.groups for t in group]))
        parcel = Parcel(
            way.legs,
            tuple(ask.weights.of(name) for name in TEXT_FIELDS),
            max(ask.top, 1),
            ask.filters.after,
            ask.filters.before,
        )
        answer = now.sent(parcel)
        candidates = now.pages.candidates(answer.pages, answer.scores)
        candidates.sort(key=lambda one: (-one.score, one.key))
        return Found(total=answer.total, candidates=candidates)

    def near(self, candidates: Sequence[Candidate], rows: Sequence[Sequence[Term]]) -> list[float]:
        """Return how many of the rows of terms each page has, in its main text or its title."""
        now = self._now
        numbers = now.pages.numbers([one.key for one in candidates])
        pages = np.unique(numbers[numbers >= 0])
        way = Way(now.shard_of, now.having([term for row in rows for term in row]))
        way.near(rows)
        zeros = np.zeros(len(pages), np.float64)
        tally = Tally(pages, zeros, np.ones(len(pages), np.uint8))
        answer = now.sent(Parcel(way.legs, (), 0, tally=load_of(tally)))
        of_page = dict(zip(answer.pages, answer.scores, strict=True))
        return [of_page.get(number, 0.0) for number in numbers.tolist()]

    def stored(self, candidates: Sequence[Candidate]) -> list[Stored]:
        """Return pages as they are shown; those that are gone are left out."""
        pages = self._now.pages
        numbers = pages.numbers([one.key for one in candidates]).tolist()
        return [pages.stored(number) for number in numbers if number >= 0]

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

    def renew(self) -> bool:
        """Take up a set that was made since; tell whether there was one."""
        if read_set(self._folder) in (None, self._now.known):
            return False
        self._now = self._newest()
        return True

    def close(self) -> None:
        """Do nothing: files are only mapped, and there are no threads."""

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
