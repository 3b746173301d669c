"""Which candidate is better: words, and what else is known of a page. Pure, but for `near`.

The score by words has no fixed scale: it grows with the number and the rarity of the words. So
everything else multiplies it.
"""

from collections.abc import Sequence
from math import log1p
from operator import attrgetter

from msgspec import Struct

from gossamer.ranks import RankFile
from gossamer.search.analysis import COPY_BITS
from gossamer.search.ask.answer import Switches
from gossamer.search.ask.intent import Intent
from gossamer.search.fields import Weights
from gossamer.search.finder import Finder
from gossamer.search.messages import Candidate

DIGITS = 5
"""Of a score by words, which is a sum of 32-bit floats."""


class Taste(Struct, frozen=True, kw_only=True):
    """What each part of ranking counts. Tuned by `benchmarks/relevance.py` (ADR 31)."""

    weights: Weights = Weights()
    static: float = 0.1
    """What a page gains that is worth e - 1 times the mean of all."""
    near: float = 1.5
    """What a page gains in which all neighbours of the question are neighbours."""
    near_depth: int = 50
    """So many of the best are looked at for that."""
    few: int = 5
    """Fewer pages with all the words: those with any of them are shown, too."""
    same_bits: int = COPY_BITS
    """Sketches of copies differ in at most so many bits."""
    per_host: int = 2
    """Pages of one host on a page of results."""


class Ranked(Struct, frozen=True, gc=False):
    """A candidate with its last score."""

    score: float
    candidate: Candidate


class Ranker:
    """Puts candidates in order by all that is known of them."""

    def __init__(self, finder: Finder, ranks: RankFile | None, taste: Taste) -> None:
        self._finder = finder
        self._ranks = ranks
        self._taste = taste

    def block(
        self, candidates: Sequence[Candidate], intent: Intent, switches: Switches
    ) -> list[Ranked]:
        """Return candidates, the best first; equal ones by key, so that all askers see the same."""
        if not intent.groups:
            return self._unasked(candidates, switches)
        ranked = self._by_rank(candidates) if switches.static else _all_by_words(candidates)
        ranked = in_order(ranked)
        if switches.proximity and intent.rows:
            best, others = ranked[: self._taste.near_depth], ranked[self._taste.near_depth :]
            ranked = in_order([*self._by_nearness(best, intent), *others])
        return ranked

    def _unasked(self, candidates: Sequence[Candidate], switches: Switches) -> list[Ranked]:
        """Order pages that were asked for by filters alone: by worth, or the newest first."""
        if self._ranks is not None and switches.static:
            worths = self._ranks.of_all([one.key for one in candidates]).tolist()
        else:
            worths = [float(one.at) for one in candidates]
        return in_order([Ranked(*pair) for pair in zip(worths, candidates, strict=True)])

    def _by_rank(self, candidates: Sequence[Candidate]) -> list[Ranked]:
        if self._ranks is None:
            return _all_by_words(candidates)
        worths = self._ranks.of_all([one.key for one in candidates]).tolist()
        return [
            Ranked(_by_words(one) * (1 + self._taste.static * log1p(worth)), one)
            for one, worth in zip(candidates, worths, strict=True)
        ]

    def _by_nearness(self, ranked: list[Ranked], intent: Intent) -> list[Ranked]:
        counts = self._finder.near([one.candidate for one in ranked], intent.rows)
        most = len(intent.rows)
        return [
            Ranked(one.score * (1 + self._taste.near * min(1.0, count / most)), one.candidate)
            for one, count in zip(ranked, counts, strict=True)
        ]


def in_order(ranked: list[Ranked]) -> list[Ranked]:
    """Return the best first."""
    ranked.sort(key=attrgetter("candidate.key"))
    ranked.sort(key=attrgetter("score"), reverse=True)
    return ranked


def _all_by_words(candidates: Sequence[Candidate]) -> list[Ranked]:
    return [Ranked(_by_words(one), one) for one in candidates]


def _by_words(candidate: Candidate) -> float:
    """Return the score without its last bits, in which one index and several shards differ.

    They add the same terms in another order, or scaled; pages that are equal must stay so.
    """
    return float(f"{candidate.score:.{DIGITS}g}")
