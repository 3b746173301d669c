"""The way of a question through the term shards: what is rarest is asked first.

A condition is a word in any of its forms, a phrase in any of its versions, or what a page is. While
pages must meet all of them, only those that the first one finds travel on.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from gossamer.errors import ConfigError
from gossamer.search.fields import MAIN, PATH, TEXT_FIELDS, TITLE, Weights
from gossamer.search.messages import Bonus, Counts, Phrase, QueryFilters, ShardQuery, Term
from gossamer.search.shard import group_idf
from gossamer.search.terms.tags import FIELD, LABELLED, LANGUAGE, SITE, TYPE, tag
from gossamer.search.terms.wire import (
    WITHOUT,
    Act,
    EndCondition,
    Hop,
    MatchAll,
    PhraseEnd,
    PhraseStep,
    ScoreTerm,
)

Having = Mapping[Term, tuple[int, ...]]
"""Pages that have a term in each field, tags included; nothing of a term that none has."""
_WORDED = (1 << len(TEXT_FIELDS)) - 1
_TAGS = 1 << FIELD
_SAID_IN = 1 << TEXT_FIELDS.index(TITLE) | 1 << TEXT_FIELDS.index(MAIN)
_PATH = 1 << TEXT_FIELDS.index(PATH)
POSITIONS_PER_PAGE = 4
"""Of a word in a page that has it, about: what travels for a phrase that is asked first."""
MOST_CONDITIONS = 250
"""They are counted in a byte."""


class Condition(Struct, frozen=True):
    """What a page must meet, or must not. Any of the alternatives will do."""

    hits: list[tuple[Term, int, float]]
    """Terms, in which fields, and what they are worth."""
    rows: list[list[tuple[Term, int]]]
    """Terms and where they stand in a row, the rarest first."""
    pages: int
    """At most so many meet it."""
    fields: int = 0
    """In which rows count."""


class QueryPlan:
    """Plans one question: adds hops to the shards that it has to pass."""

    def __init__(self, shard_of: Callable[[Term], int], having: Having) -> None:
        self._shard_of = shard_of
        self._having = having
        self.hops: list[Hop] = []

    def find(self, ask: ShardQuery, counts: Counts) -> None:
        """Add the hops of a question; none if no page can be an answer."""
        groups = [
            self._group(group, ask.weights, ask.boost(number) * group_idf(group, counts))
            for number, group in enumerate(ask.groups)
        ]
        must = [*map(self._phrase, ask.phrases), *self._filters(ask.filters)]
        if len(groups) + len(must) > MOST_CONDITIONS:
            raise ConfigError(f"a query may have at most {MOST_CONDITIONS} words and phrases")
        is_all = ask.needed >= len(groups)
        must += groups if is_all else []
        needed = 0 if is_all else max(ask.needed, 1)
        essential = ask.essential if needed == 1 and ask.essential else len(groups)
        may = [] if is_all else sorted((one for one in groups[:essential] if one.pages), key=_cost)
        if len(may) < needed or not all(condition.pages for condition in must):
            return
        self._must(sorted(must, key=_cost))
        for number, condition in enumerate(may):
            missing = needed - (len(may) - number - 1)
            least = len(must) + max(missing, 0)
            self._add(condition, least, is_within=least > 1 or bool(must))
        for condition in [] if is_all else groups[essential:]:
            if condition.pages:
                self._add(condition, len(must) + 1, is_within=True)
        if not self.hops:
            self._act(0, MatchAll())
            self._act(0, EndCondition(1))
        for condition in (*map(self._phrase, ask.without), *self._excluded(ask.filters)):
            if condition.pages:
                self._add(condition, WITHOUT, is_within=True)

    def near(self, bonuses: Sequence[Bonus]) -> None:
        """Add the hops to where phrases are found in pages that are there from the start."""
        for one in bonuses:
            condition = self._phrase(one.phrase, _WORDED if one.is_anywhere else _SAID_IN)
            if condition.pages:
                self._add(condition, 0, bonus=one.worth, is_within=True)

    def _must(self, conditions: Sequence[Condition]) -> None:
        for number, condition in enumerate(conditions):
            self._add(condition, number + 1, is_within=number > 0)

    def _add(
        self, condition: Condition, least: int, *, is_within: bool, bonus: float = 0.0
    ) -> None:
        """Add the hops of a condition; the alternatives of one shard together."""
        at = self.hops[-1].shard if self.hops else -1
        places = [(self._shard_of(hit[0]), hit) for hit in condition.hits]
        for shard, (term, fields, worth) in sorted(places, key=lambda it: (it[0] != at, it)):
            self._act(shard, ScoreTerm(term, fields, worth, is_within))
        for row in condition.rows:
            self._row(row, is_within=is_within)
            self.hops[-1].acts.append(PhraseEnd(condition.fields))
        self.hops[-1].acts.append(EndCondition(least, bonus))

    def _row(self, row: Sequence[tuple[Term, int]], *, is_within: bool) -> None:
        for number, (term, shift) in enumerate(row):
            self._act(self._shard_of(term), PhraseStep(term, shift, number == 0, is_within))

    def _act(self, shard: int, act: Act) -> None:
        if not self.hops or self.hops[-1].shard != shard:
            self.hops.append(Hop(shard, []))
        self.hops[-1].acts.append(act)

    def _group(self, group: Sequence[Term], weights: Weights, worth: float) -> Condition:
        fields = sum(1 << place for place, name in enumerate(TEXT_FIELDS) if weights.of(name))
        return self._any_of(group, fields, worth)

    def _any_of(self, terms: Sequence[Term], fields: int, worth: float = 0.0) -> Condition:
        pages = {term: self._pages(term, fields) for term in terms}
        hits = [(term, fields, worth) for term in terms if pages[term]]
        return Condition(hits, [], sum(pages[term] for term in terms))

    def _phrase(self, phrase: Phrase, fields: int = _WORDED) -> Condition:
        """Return terms in a row, in one of some fields; a single one in any of them."""
        hits, rows, pages = [], [], 0
        for version in phrase:
            having = [self._pages(term, fields) for term in version]
            pages += min(having, default=0)
            if not all(having):
                continue
            if len(version) == 1:
                hits.append((version[0], fields, 0.0))
            elif version:
                places = sorted(range(len(version)), key=having.__getitem__)
                rows.append([(version[place], place) for place in places])
        return Condition(hits, rows, pages if hits or rows else 0, fields)

    def _filters(self, filters: QueryFilters) -> Iterator[Condition]:
        for kind, values in (
            (SITE, filters.sites),
            (LANGUAGE, filters.languages),
            (TYPE, filters.types),
            (LABELLED, filters.labels),
        ):
            if values:
                yield self._any_of([tag(kind, value) for value in values], _TAGS)
        for term in filters.in_url:
            yield self._any_of([term], _PATH)

    def _excluded(self, filters: QueryFilters) -> Iterator[Condition]:
        terms = [tag(SITE, value) for value in filters.not_sites]
        terms += [tag(LANGUAGE, value) for value in filters.not_languages]
        terms += [tag(TYPE, value) for value in filters.not_types]
        terms += [tag(LABELLED, value) for value in filters.not_labels]
        yield self._any_of(terms, _TAGS)
        yield self._any_of(filters.not_in_url, _PATH)

    def _pages(self, term: Term, fields: int) -> int:
        """Return how many pages have a term in one of some fields, at most."""
        having = self._having.get(term, ())
        return sum(many for place, many in enumerate(having) if fields >> place & 1)


def terms_of(ask: ShardQuery) -> list[Term]:
    """Return all terms of a question, tags included."""
    filters = ask.filters
    found = [term for group in ask.groups for term in group]
    for phrases in (ask.phrases, ask.without):
        found += [term for phrase in phrases for version in phrase for term in version]
    found += [*filters.in_url, *filters.not_in_url]
    kinds = (
        (SITE, (*filters.sites, *filters.not_sites)),
        (LANGUAGE, (*filters.languages, *filters.not_languages)),
        (TYPE, (*filters.types, *filters.not_types)),
        (LABELLED, (*filters.labels, *filters.not_labels)),
    )
    return found + [tag(kind, value) for kind, values in kinds for value in values]


def terms_of_bonuses(bonuses: Sequence[Bonus]) -> list[Term]:
    """Return all terms of phrases that add to a score."""
    return [term for one in bonuses for row in one.phrase for term in row]


def _cost(condition: Condition) -> int:
    """Return what is asked first: few pages. Positions are many more; pages come before them."""
    return condition.pages * (POSITIONS_PER_PAGE if condition.rows else 1)
