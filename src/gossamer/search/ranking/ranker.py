"""Which candidate is better: words, and what else is known of a page. Pure, but for `near`.

The score by words has no fixed scale: it grows with the number and the rarity of the words. So
everything else multiplies it.
"""

from collections.abc import Mapping, Sequence
from math import log1p
from operator import attrgetter

from msgspec import Struct

from gossamer.ranks import RankFile
from gossamer.search.analysis import COPY_BITS
from gossamer.search.analysis.prepare import term_key
from gossamer.search.answer import Switches
from gossamer.search.fields import MOST_LISTING, MOST_SPAM, SURE_SPAM, TEXT_FIELDS, Weights
from gossamer.search.index_reader import IndexReader
from gossamer.search.messages import Bonus, Candidate
from gossamer.search.query.analysed import AnalysedQuery, plain_text

DIGITS = 5
"""Of a score by words, which is a sum of 32-bit floats."""
MOST_TITLES = 1024
"""That words of a query are combined to."""
HALF = 0.5
MOST_COVERED, MOST_ROWS = 24, 32
"""Words, and neighbours, of a long query that are looked for in its candidates."""
_FLAT = Weights(**dict.fromkeys(TEXT_FIELDS, 1.0))


class RankingParameters(Struct, frozen=True, kw_only=True):
    """What each part of ranking counts. Tuned by `benchmarks/relevance.py` (ADR 31, 65)."""

    weights: Weights = Weights()
    """Of a query of few words: it names a page."""
    prose: Weights = Weights(title=0.3, heads=0.3, main=1.0, rest=0.0, anchors=0.4, path=0.0)
    """Of a query of many words: it describes what is looked for."""
    short: int = 3
    long: int = 8
    """Words of such queries; between them, what a field counts is in between."""
    static: float = 0.05
    """What a page gains that is worth e - 1 times the mean of all."""
    cover: float = 0.5
    """What a page gains that has all the words: half of them, by what they tell, half of it."""
    complete: float = 1.0
    """What a page gains beyond that which has all of them."""
    near: float = 2.0
    """What a page gains in which all neighbours of the query are neighbours."""
    near_prose: float = 2.0
    """The same for a query of many words."""
    title_covered: float = 0.5
    """What a page gains whose title is made of words of the query, if it has all of them."""
    listing: float = 0.7
    """What a table of contents loses when a query of many words is asked: it has all of them, but
    answers none."""
    listing_short: float = 0.3
    """What one loses of which at least half of the lines link, however short the query is."""
    quoted: float = 1.0
    """What a page gains that has all the phrases in quotes."""
    literal: float = 1.0
    """What a page gains beyond that which has them letter by letter."""
    depth: int = 50
    """So many of the best are looked at for all of that."""
    needless: float = 0.2
    """The words that tell least, up to this share together: no page is fetched for them alone."""
    few: int = 5
    """Fewer pages with all the words: that is told, and other spelling is looked for."""
    spam: float = 0.9
    """What a page loses that looks like spam in every way, in part for one that does in part."""
    sure_spam: float = 0.98
    """What one loses from SURE_SPAM on: no bonus makes up for it."""
    same_bits: int = COPY_BITS
    """Sketches of copies differ in at most so many bits."""
    per_host: int = 2
    """Pages of one host on a page of results."""

    def length_of(self, words: int) -> float:
        """Return 0 for a query of few words, 1 for one of many, or what is between."""
        return min(max((words - self.short) / (self.long - self.short), 0.0), 1.0)

    def weights_of(self, words: int, switches: Switches) -> Weights:
        """Return what a word counts in each field, in a query of so many words."""
        share = self.length_of(words)
        weights = {
            name: (1 - share) * self.weights.of(name) + share * self.prose.of(name)
            for name in Weights.__struct_fields__
        }
        if not switches.fields:
            weights = {name: _FLAT.of(name) for name in weights}
        if not switches.anchors:
            weights["anchors"] = 0.0
        return Weights(**weights)

    def near_of(self, words: int) -> float:
        """Return what neighbours count in a query of so many words."""
        share = self.length_of(words)
        return (1 - share) * self.near + share * self.near_prose

    def essential_of(self, worths: Sequence[float]) -> int:
        """Return of how many words, those that tell most, a page must have one."""
        spare = self.needless * sum(worths)
        for number in range(len(worths), 1, -1):
            spare -= worths[number - 1]
            if spare < 0:
                return number
        return 1


class Ranked(Struct, frozen=True, gc=False):
    """A candidate with its last score."""

    score: float
    candidate: Candidate


class Ranker:
    """Puts candidates in order by all that is known of them."""

    def __init__(
        self, reader: IndexReader, ranks: RankFile | None, parameters: RankingParameters
    ) -> None:
        self._reader = reader
        self._ranks = ranks
        self._parameters = parameters

    def block(
        self,
        candidates: Sequence[Candidate],
        analysed: AnalysedQuery,
        switches: Switches,
        complete: frozenset[int] = frozenset(),
    ) -> list[Ranked]:
        """Return candidates, the best first; equal ones by key, so that all askers see the same.

        Those that have all the words are `complete`.
        """
        if not analysed.groups:
            return self._unasked(candidates, switches)
        ranked = self._by_rank(candidates) if switches.static else _all_by_words(candidates)
        ranked = self._with_listing(ranked, len(analysed.groups))
        if switches.spam:
            ranked = self._with_spam(ranked)
        titles = covered_titles(analysed)
        ranked = self._with_titles(ranked, titles)
        if len(analysed.groups) > 1:
            ranked = self._with_complete(ranked, complete, titles)
        ranked = in_order(ranked)
        bonuses = bonuses_of(analysed, self._parameters, switches)
        if bonuses:
            best, others = ranked[: self._parameters.depth], ranked[self._parameters.depth :]
            ranked = in_order([*self._with_bonuses(best, bonuses), *others])
        if analysed.literals:
            best, others = ranked[: self._parameters.depth], ranked[self._parameters.depth :]
            ranked = in_order([*self._with_literals(best, analysed.literals), *others])
        return ranked

    def ranks(self, ranked: Sequence[Ranked]) -> list[float]:
        """Return the ranks of pages by the link graph; 0 for those that have none."""
        return self._worths([one.candidate for one in ranked]) or [0.0] * len(ranked)

    def _worths(self, candidates: Sequence[Candidate]) -> list[float] | None:
        """Return the ranks of candidates, from our file or as their shards have told; or None."""
        if self._ranks is None:
            told = [one.rank for one in candidates]
            return told if any(told) else None
        found: list[float] = self._ranks.of_all([one.key for one in candidates]).tolist()
        return found

    def _unasked(self, candidates: Sequence[Candidate], switches: Switches) -> list[Ranked]:
        """Order pages that were asked for by filters alone: by worth, or the newest first."""
        worths = self._worths(candidates) if switches.static else None
        if worths is None:
            worths = [float(one.at) for one in candidates]
        return in_order([Ranked(*pair) for pair in zip(worths, candidates, strict=True)])

    def _by_rank(self, candidates: Sequence[Candidate]) -> list[Ranked]:
        worths = self._worths(candidates)
        if worths is None:
            return _all_by_words(candidates)
        return [
            Ranked(rounded(one.score) * (1 + self._parameters.static * log1p(worth)), one)
            for one, worth in zip(candidates, worths, strict=True)
        ]

    def _with_listing(self, ranked: list[Ranked], words: int) -> list[Ranked]:
        loss = self._parameters.listing * self._parameters.length_of(words)
        least = self._parameters.listing_short
        losses = [loss * listing / MOST_LISTING for listing in range(MOST_LISTING)]
        losses.append(max(loss, least))
        return [
            Ranked(one.score * (1 - losses[one.candidate.listing]), one.candidate)
            if one.candidate.listing
            else one
            for one in ranked
        ]

    def _with_spam(self, ranked: list[Ranked]) -> list[Ranked]:
        loss = self._parameters.spam / MOST_SPAM
        losses = [loss * spam for spam in range(SURE_SPAM)]
        losses += [self._parameters.sure_spam] * (MOST_SPAM + 1 - SURE_SPAM)
        return [
            Ranked(one.score * (1 - losses[one.candidate.spam]), one.candidate)
            if one.candidate.spam
            else one
            for one in ranked
        ]

    def _with_titles(self, ranked: list[Ranked], titles: Mapping[int, float]) -> list[Ranked]:
        """Let those gain whose title is nothing but words of the query."""
        gain = self._parameters.title_covered
        return [
            Ranked(one.score * (1 + gain * titles[key]), one.candidate)
            if (key := one.candidate.title_key) in titles
            else one
            for one in ranked
        ]

    def _with_complete(
        self, ranked: list[Ranked], complete: frozenset[int], titles: Mapping[int, float]
    ) -> list[Ranked]:
        """Let those gain that have all the words, or half of them as their title.

        A table of contents has all words of everything.
        """
        gain = self._parameters.complete
        return [
            Ranked(one.score * (1 + gain), one.candidate)
            if (one.candidate.key in complete and one.candidate.listing < MOST_LISTING)
            or titles.get(one.candidate.title_key, 0.0) >= HALF
            else one
            for one in ranked
        ]

    def _with_literals(self, ranked: list[Ranked], literals: Sequence[str]) -> list[Ranked]:
        """Let those gain that have phrases letter by letter, not only in another form."""
        stored = self._reader.stored([one.candidate for one in ranked])
        texts = {page.key: plain_text(f"{page.title}\n{page.text}") for page in stored}
        gain = self._parameters.literal / len(literals)
        return [
            Ranked(
                one.score
                * (1 + gain * sum(said in texts.get(one.candidate.key, "") for said in literals)),
                one.candidate,
            )
            for one in ranked
        ]

    def _with_bonuses(self, ranked: list[Ranked], bonuses: Sequence[Bonus]) -> list[Ranked]:
        gained = self._reader.near([one.candidate for one in ranked], bonuses)
        return [
            Ranked(one.score * (1 + rounded(gain)), one.candidate)
            for one, gain in zip(ranked, gained, strict=True)
        ]


def covered_titles(analysed: AnalysedQuery) -> dict[int, float]:
    """Return the keys of titles that are made of words of a query, and how much of it they say.

    A title of one word is one only if that is all of the query. No more words are combined than
    make MOST_TITLES.
    """
    found = [(0, 0.0, 0)]
    for group, worth in zip(analysed.groups, analysed.worths, strict=True):
        if len(found) * (1 + len(group)) > MOST_TITLES:
            break
        keys = [term_key(term) for term in group]
        found += [(one ^ key, said + worth, n + 1) for one, said, n in found for key in keys]
    all_of = sum(analysed.worths) or 1.0
    return {
        key: said / all_of for key, said, n in found if n > 1 or (n == 1 and said >= 0.99 * all_of)
    }


def bonuses_of(
    analysed: AnalysedQuery, parameters: RankingParameters, switches: Switches
) -> list[Bonus]:
    """Return what adds to the score of a page beside its words: all of them, in the right order."""
    words = len(analysed.groups)
    found: list[Bonus] = []
    if words > 1 and parameters.cover:
        worths = analysed.worths[:MOST_COVERED]
        scale = parameters.cover / (sum(worths) or 1.0)
        for group, worth in zip(analysed.groups, worths, strict=False):
            forms = tuple((term,) for term in group)
            found.append(Bonus(forms, worth * scale, is_anywhere=True))
    rows = analysed.rows[:MOST_ROWS]
    if switches.proximity and rows:
        found += [Bonus(row, parameters.near_of(words) / len(rows)) for row in rows]
    if analysed.quoted:
        found += [Bonus(one, parameters.quoted / len(analysed.quoted)) for one in analysed.quoted]
    return found


def in_order(ranked: list[Ranked]) -> list[Ranked]:
    """Return the best first."""
    ranked.sort(key=attrgetter("candidate.key"))
    ranked.sort(key=attrgetter("score"), reverse=True)
    return ranked


def _all_by_words(candidates: Sequence[Candidate]) -> list[Ranked]:
    return [Ranked(rounded(one.score), one) for one in candidates]


def rounded(score: float) -> float:
    """Return a score without its last bits, in which one index and several shards differ.

    They add the same terms in another order, or scaled; pages that are equal must stay so.
    """
    return float(f"{score:.{DIGITS}g}")
