"""Broker: asks all shards and answers as one index would."""

from collections import defaultdict
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gossamer.clock import Clock, SystemClock
from gossamer.search.broker.fan import Answers, Fan, Question
from gossamer.search.broker.merging import by_score, joined, merged
from gossamer.search.broker.scoring import Scorer
from gossamer.search.broker.statistics import Statistics, StatisticsFacts
from gossamer.search.broker.tiers import TierRule
from gossamer.search.finder import Found
from gossamer.search.messages import Ask, Candidate, Counts, Evidence, Stored, Term
from gossamer.search.shard import Shard

RESCORED = 40
LIMIT_S = 5.0


class Tiers(Struct, frozen=True):
    """Shards: those asked first, and those asked when the first are not enough."""

    high: Sequence[Shard]
    low: Sequence[Shard] = ()


class BrokerOptions(Struct, frozen=True, kw_only=True):
    """How a broker asks."""

    rescored: int = RESCORED
    """Of the best candidates so many are scored exactly, if that is asked for."""
    limit_s: float = LIMIT_S
    """How long shards are waited for."""
    rule: TierRule = TierRule()


class Broker:
    """An index of several shards. Any thread may ask."""

    def __init__(
        self,
        tiers: Tiers,
        options: BrokerOptions | None = None,
        *,
        clock: Clock | None = None,
        newer: Callable[[], Tiers | None] = lambda: None,
    ) -> None:
        self._options = options or BrokerOptions()
        self._clock = clock or SystemClock()
        self._newer = newer
        self._statistics = Statistics(self._ask_counts, self._clock)
        self._languages: Sequence[str] | None = None
        self._take(tiers)

    def counts(self, terms: Sequence[Term]) -> Counts:
        """Return statistics of the whole index."""
        return self._statistics.counts(terms)

    def find(self, ask: Ask, *, is_exact: bool = False) -> Found:
        """Return the best candidates by words alone. `is_exact`: scored as one index would."""
        fan, high = self._fan, self._high
        if len(fan.shards) > 1 and ask.counts is None:
            terms = [term for group in ask.groups for term in group]
            ask = replace(ask, counts=self.counts(terms))
        found = merged(fan, range(high), ask)
        if high < len(fan.shards) and not self._is_enough(found, ask):
            found = joined(found, merged(fan, range(high, len(fan.shards)), ask), ask.top)
        if is_exact and len(fan.shards) > 1:
            found = replace(found, candidates=self._rescored(fan, found.candidates, ask))
        return found

    def near(self, candidates: Sequence[Candidate], rows: Sequence[Sequence[Term]]) -> list[float]:
        """Return how many of the rows of terms each page has, in its main text or its title."""
        fan = self._fan
        keys = _by_shard(fan, candidates)

        def question(some: list[int]) -> Question[list[float]]:
            return lambda shard: shard.near(some, rows)

        found = fan.ask({n: question(some) for n, some in keys.items()}, is_extra=True)
        near = {
            (n, key): value
            for n, values in found.of.items()
            for key, value in zip(keys[n], values, strict=True)
        }
        return [near.get((one.shard, one.key), 0.0) for one in candidates]

    def stored(self, candidates: Sequence[Candidate]) -> list[Stored]:
        """Return pages as they are shown; those that are gone are left out."""
        fan = self._fan
        keys = _by_shard(fan, candidates)

        def question(some: list[int]) -> Question[list[Stored]]:
            return lambda shard: shard.stored(some)

        found = fan.ask({n: question(some) for n, some in keys.items()})
        pages = {(n, page.key): page for n, some in found.of.items() for page in some}
        places = [(one.shard, one.key) for one in candidates]
        return [pages[place] for place in places if place in pages]

    def languages(self) -> Sequence[str]:
        """Return the languages of the pages, the most frequent first."""
        if self._languages is None:
            sums: dict[str, int] = defaultdict(int)
            answers = self._fan.ask_all(lambda shard: shard.facts())
            for facts in answers.of.values():
                for language, pages in facts.languages.items():
                    sums[language] += pages
            self._languages = sorted(filter(None, sums), key=lambda name: (-sums[name], name))
        return self._languages

    def vocabulary(self, prefix: str, most: int) -> list[tuple[Term, int]]:
        """Return terms that begin so, with how many pages have them: for spelling."""
        sums: dict[Term, int] = defaultdict(int)
        for terms in self._fan.ask_all(lambda shard: shard.vocabulary(prefix, most)).of.values():
            for term, having in terms:
                sums[term] += having
        return sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))[:most]

    def pages(self) -> int:
        """Return how many pages there are, in shards that answer."""
        return sum(facts.pages for facts in self._fan.ask_all(lambda one: one.facts()).of.values())

    def renew(self) -> bool:
        """Take up what was committed since; tell whether there was anything."""
        newer = self._newer()
        if newer is not None:
            self._take(newer)  # whoever asks now still has the old ones
            self._statistics.forget()
            return True
        is_new = any(self._fan.ask_all(lambda shard: shard.renew()).of.values())
        if is_new:
            self._languages = None
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
        self._fan.close()

    def _take(self, tiers: Tiers) -> None:
        self._high = len(tiers.high)
        self._fan = Fan([*tiers.high, *tiers.low], self._clock, self._options.limit_s)
        self._languages = None

    def _is_enough(self, found: Found, ask: Ask) -> bool:
        most = Scorer(ask, ask.counts or self.counts(())).best()
        return self._options.rule.is_enough(found.candidates, ask.top, most)

    def _ask_counts(self, terms: Sequence[Term]) -> Answers[Counts]:
        return self._fan.ask_all(lambda shard: shard.counts(terms))

    def _rescored(self, fan: Fan, candidates: list[Candidate], ask: Ask) -> list[Candidate]:
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


def _by_shard(fan: Fan, candidates: Sequence[Candidate]) -> dict[int, list[int]]:
    keys: dict[int, list[int]] = defaultdict(list)
    for one in candidates:
        if one.shard < len(fan.shards):  # it was found before there were fewer
            keys[one.shard].append(one.key)
    return keys
