"""Broker: asks all shards and answers as one index would."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock, local
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from gossamer.clock import Clock, SystemClock
from gossamer.search.broker.fanout import Question, ShardAnswers, ShardFanout
from gossamer.search.broker.merging import by_score, joined, merged
from gossamer.search.broker.places import Places, Tiers
from gossamer.search.broker.refresher import Refresher
from gossamer.search.broker.scoring import Scorer
from gossamer.search.broker.statistics import Statistics, StatisticsFacts
from gossamer.search.broker.tiers import TierRule
from gossamer.search.facets import merged_counts
from gossamer.search.index_reader import CandidateList, MissingShard, SearchNotes
from gossamer.search.messages import (
    Bonus,
    Candidate,
    Counts,
    Evidence,
    FacetCounts,
    ShardQuery,
    Stored,
    Term,
)
from gossamer.search.shard import IndexShard

RESCORED = 40
LIMIT_S = 5.0
REFRESH_S = 2.0
"""For whoever wants an index that keeps itself up to date."""


class BrokerOptions(Struct, frozen=True, kw_only=True):
    """How a broker asks."""

    rescored: int = RESCORED
    """Of the best candidates so many are scored exactly, if that is asked for."""
    limit_s: float = LIMIT_S
    """How long shards are waited for."""
    rule: TierRule = TierRule()
    refresh_s: float = 0.0
    """How often it looks for new commits, and for places that were away, by itself; 0: only when it
    is told to (`renew`)."""


class _Opened(NamedTuple):
    """The shards of one moment."""

    fan: ShardFanout
    high: int
    """So many of them are the high tier's."""
    absent: Sequence[MissingShard]


class Broker:
    """An index of several shards. Any thread may ask."""

    def __init__(
        self,
        tiers: Tiers,
        options: BrokerOptions | None = None,
        *,
        clock: Clock | None = None,
        places: Places | None = None,
    ) -> None:
        """Take the shards to begin with. `places`: where they, and newer ones, come from."""
        self._options = options or BrokerOptions()
        self._clock = clock or SystemClock()
        self._places = places
        self._statistics = Statistics(self._ask_counts, self._clock)
        self._languages: Sequence[str] | None = None
        self._of_thread = local()
        self._renewing = Lock()
        self._take(tiers)
        every_s = self._options.refresh_s
        self._refresher = Refresher(self._refresh, every_s) if every_s else None

    @contextmanager
    def noting(self) -> Iterator[SearchNotes]:
        """Note what happens to questions of this thread, for as long as the block lasts."""
        notes = SearchNotes()
        opened = self._opened
        for one in opened.absent:
            notes.missing[one.place, one.shard] = one
        self._of_thread.now = opened, notes
        try:
            yield notes
        finally:
            self._of_thread.now = None

    def counts(self, terms: Sequence[Term]) -> Counts:
        """Return statistics of the whole index."""
        return self._statistics.counts(terms)

    def find(self, ask: ShardQuery, *, is_exact: bool = False) -> CandidateList:
        """Return the best candidates by words alone. `is_exact`: scored as one index would."""
        fan, high, absent = self._now()
        if len(fan.shards) > 1 and ask.counts is None:
            terms = [term for group in ask.groups for term in group]
            ask = replace(ask, counts=self.counts(terms))
        found = merged(fan, range(high), ask)
        has_tiers = high < len(fan.shards)
        if has_tiers and not self._is_enough(found, ask):
            found = joined(found, merged(fan, range(high, len(fan.shards)), ask), ask.top)
        self._note_tiers(has_tiers=has_tiers, is_low_asked=found.is_low_asked)
        if absent:
            found = replace(found, missing=found.missing + len(absent))
        if is_exact and len(fan.shards) > 1:
            found = replace(found, candidates=self._rescored(fan, found.candidates, ask))
        return found

    def near(self, candidates: Sequence[Candidate], bonuses: Sequence[Bonus]) -> list[float]:
        """Return of each page the sum of what the phrases are worth that it has."""
        fan = self._now().fan
        keys = _by_shard(fan, candidates)

        def question(some: list[int]) -> Question[list[float]]:
            return lambda shard: shard.near(some, bonuses)

        found = fan.ask({n: question(some) for n, some in keys.items()}, is_extra=True)
        near = {
            (n, key): value
            for n, values in found.of.items()
            for key, value in zip(keys[n], values, strict=True)
        }
        return [near.get((one.shard, one.key), 0.0) for one in candidates]

    def stored(self, candidates: Sequence[Candidate]) -> list[Stored]:
        """Return pages as they are shown; those that are gone are left out."""
        fan = self._now().fan
        keys = _by_shard(fan, candidates)

        def question(some: list[int]) -> Question[list[Stored]]:
            return lambda shard: shard.stored(some)

        found = fan.ask({n: question(some) for n, some in keys.items()}, is_extra=True)
        pages = {(n, page.key): page for n, some in found.of.items() for page in some}
        places = [(one.shard, one.key) for one in candidates]
        return [pages[place] for place in places if place in pages]

    def facets(self, ask: ShardQuery, *, is_low_asked: bool = True) -> FacetCounts:
        """Return how many matches have each value. `is_low_asked`: those of the low tier, too."""
        fan, high, absent = self._now()
        numbers = range(len(fan.shards) if is_low_asked else high)
        found = fan.ask(dict.fromkeys(numbers, lambda shard: shard.facets(ask)), is_extra=True)
        uncounted = found.missing + len(absent) + (len(fan.shards) - len(numbers))
        return merged_counts(list(found.of.values()), uncounted)

    def page(self, key: int) -> Stored | None:
        """Return the page with a key as it is shown; None if it is not there."""
        answers = self._now().fan.ask_all(lambda shard: shard.stored([key]))
        return next((page for some in answers.of.values() for page in some), None)

    def languages(self) -> Sequence[str]:
        """Return the languages of the pages, the most frequent first."""
        if self._languages is None:
            answers = self._now().fan.ask_all(lambda shard: shard.facts())
            sums: dict[str, int] = defaultdict(int)
            for facts in answers.of.values():
                for language, pages in facts.languages.items():
                    sums[language] += pages
            found = sorted(filter(None, sums), key=lambda name: (-sums[name], name))
            if answers.missing:
                return found  # the others may say something else
            self._languages = found
        return self._languages

    def vocabulary(self, prefix: str, most: int) -> list[tuple[Term, int]]:
        """Return terms that begin so, with how many pages have them: for spelling."""
        sums: dict[Term, int] = defaultdict(int)
        for terms in (
            self._now().fan.ask_all(lambda shard: shard.vocabulary(prefix, most)).of.values()
        ):
            for term, having in terms:
                sums[term] += having
        return sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))[:most]

    def pages(self) -> int:
        """Return how many pages there are, in shards that answer."""
        return sum(
            facts.pages for facts in self._now().fan.ask_all(lambda one: one.facts()).of.values()
        )

    def images(self) -> "Broker | None":
        """Return the images that its pages show; None if it has none."""
        return self._images

    def renew(self) -> bool:
        """Take up what was committed since; tell whether there was anything."""
        return self._renewed(is_all=True)

    def _refresh(self) -> None:
        self._renewed(is_all=False)

    def _renewed(self, *, is_all: bool) -> bool:
        """Look for what is new. `is_all`: also in places that are not due yet."""
        with self._renewing:
            newer = self._places.newer(is_all=is_all) if self._places else None
            if newer is not None:
                self._take(newer)  # whoever asks now still has the old ones
                self._statistics.forget()
                return True
            if self._images is not None:
                self._images.renew()
            is_new = any(self._now().fan.ask_all(lambda shard: shard.renew()).of.values())
            if is_new:
                self._languages = None
            if is_new or self._statistics.facts().is_stale:
                self._statistics.renew(self.pages())
            return is_new

    def statistics(self) -> StatisticsFacts:
        """Return how good the global statistics are."""
        return self._statistics.facts()

    def settle(self) -> None:
        """Wait until the statistics know what is known."""
        self._statistics.settle()

    def close(self) -> None:
        """Let the threads go."""
        if self._refresher is not None:
            self._refresher.close()
        self._opened.fan.close()
        if self._images is not None:
            self._images.close()

    def _take(self, tiers: Tiers) -> None:
        shards = [*tiers.high, *tiers.low]
        fan = ShardFanout(shards, self._clock, self._options.limit_s, self._note_missing)
        self._opened = _Opened(fan, len(tiers.high), tiers.absent)
        self._languages = None
        self._images: Broker | None = None
        if tiers.images:
            images = Tiers(tiers.images, absent=tiers.absent)
            options = replace(self._options, refresh_s=0.0)  # they are renewed with the pages
            self._images = Broker(images, options, clock=self._clock)

    def _now(self) -> _Opened:
        """Return the shards to ask: within `noting` the same ones, whoever comes or goes.

        Candidates name a shard by its number among them.
        """
        now: tuple[_Opened, SearchNotes] | None = getattr(self._of_thread, "now", None)
        return self._opened if now is None else now[0]

    def _notes(self) -> SearchNotes | None:
        now: tuple[_Opened, SearchNotes] | None = getattr(self._of_thread, "now", None)
        return None if now is None else now[1]

    def _note_missing(self, shard: IndexShard, reason: str) -> None:
        if (notes := self._notes()) is not None:
            missing = MissingShard(place=shard.place, shard=shard.name, reason=reason)
            notes.missing[shard.place, shard.name] = missing

    def _note_tiers(self, *, has_tiers: bool, is_low_asked: bool) -> None:
        notes = self._notes()
        if notes is not None and has_tiers:
            notes.tiers["high"] = None
            if is_low_asked:
                notes.tiers["low"] = None

    def _is_enough(self, found: CandidateList, ask: ShardQuery) -> bool:
        most = Scorer(ask, ask.counts or self.counts(())).best()
        return self._options.rule.is_enough(found.candidates, ask.top, most)

    def _ask_counts(self, terms: Sequence[Term]) -> ShardAnswers[Counts]:
        return self._now().fan.ask_all(lambda shard: shard.counts(terms))

    def _rescored(
        self, fan: ShardFanout, candidates: list[Candidate], ask: ShardQuery
    ) -> list[Candidate]:
        """Return candidates with the best ones scored anew; the others stay below them."""
        best = candidates[: self._options.rescored]
        keys = _by_shard(fan, best)

        def question(some: list[int]) -> Question[list[list[Evidence]]]:
            return lambda shard: shard.evidence(some, ask)

        answers = fan.ask({n: question(some) for n, some in keys.items()}, is_extra=True)
        scorer = Scorer(ask, ask.counts or self.counts(()))
        scores = {
            (n, key): scorer.score(evidence)
            for n, found in answers.of.items()
            for key, evidence in zip(keys[n], found, strict=True)
            if evidence
        }
        anew = [replace(one, score=scores.get((one.shard, one.key), one.score)) for one in best]
        anew.sort(key=by_score)
        most = anew[-1].score if anew else 0.0
        rest = candidates[len(best) :]
        return anew + [replace(one, score=most) if one.score > most else one for one in rest]


def _by_shard(fan: ShardFanout, candidates: Sequence[Candidate]) -> dict[int, list[int]]:
    keys: dict[int, list[int]] = defaultdict(list)
    for one in candidates:
        if one.shard < len(fan.shards):  # it was found before there were fewer
            keys[one.shard].append(one.key)
    return keys
