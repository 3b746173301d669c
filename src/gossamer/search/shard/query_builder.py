"""A question in the engine's words: one clause per word, each a sum over fields.

The engine knows only the statistics of its own shard. What a term counts is set by boosts: by how
much rarer it is in the whole index than here.
"""

from collections.abc import Iterable, Sequence
from math import log

import tantivy

from gossamer.search.fields import K1, MAIN, POSITIONED, TEXT_FIELDS, TITLE, B
from gossamer.search.messages import Bonus, Counts, Group, Phrase, QueryFilters, ShardQuery
from gossamer.search.page import LABEL

Query = tantivy.Query
MUST, SHOULD, MUST_NOT = tantivy.Occur.Must, tantivy.Occur.Should, tantivy.Occur.MustNot
Clause = tuple[tantivy.Occur, Query]
_MOST_AT = 2**63
SAID_IN = (TITLE, MAIN)
"""Fields that a vocabulary is made of, and in which terms may stand near each other."""
_NUMBER = {name: number for number, name in enumerate(TEXT_FIELDS)}
USUAL_OFTEN, USUAL_LENGTH = 2.0, 0.5
"""How often the best pages have a word, and how long the field is beside the average. Of values
between 1 and 4, and 0 and 2, 16 shards agree best with one index at these (ADR 28)."""


def idf(pages: int, having: int) -> float:
    """Return how much a word says that so many of the pages have; the engine's own formula."""
    having = min(having, pages)
    return log(1 + (pages - having + 0.5) / (having + 0.5))


def group_idf(group: Group, counts: Counts) -> float:
    """Return how much a word says: by the field in which most pages have it, in any form."""
    empty = (0,) * len(TEXT_FIELDS)
    rows = [counts.having.get(term, empty) for term in group]
    return idf(counts.pages, max(map(sum, zip(*rows, strict=True)), default=0))


def _labels(names: Iterable[str]) -> tuple[str, ...]:
    """Return labels as they stand among the types of a page."""
    return tuple(LABEL + name for name in names)


class QueryBuilder:
    """Makes the engine's queries for one snapshot of a shard."""

    def __init__(self, schema: tantivy.Schema, own: Counts) -> None:
        self._schema = schema
        self._own = own

    def lacks_what_is_needed(self, ask: ShardQuery) -> bool:
        """Return True if all words are needed, and no page here has one of them in any form.

        With many shards that is the answer of every seventh, and costs no query.
        """
        if not ask.groups or ask.needed < len(ask.groups):
            return False
        having = self._own.having
        return not all(any(any(having.get(term, ())) for term in group) for group in ask.groups)

    def query(self, ask: ShardQuery, hashes: Sequence[tuple[str, float]] = ()) -> Query:
        """Return the whole question; `hashes`: those of images that are like the one it names."""
        counts = ask.counts or self._own
        rates = self._rates(ask, counts)
        groups = [
            self.group(group, rates, counts, ask.boost(number))
            for number, group in enumerate(ask.groups)
        ]
        clauses: list[Clause] = []
        if groups and ask.needed >= len(groups):
            clauses += [(MUST, group) for group in groups]
        elif groups and ask.needed <= 1 and 0 < ask.essential < len(groups):
            first = [(SHOULD, group) for group in groups[: ask.essential]]
            clauses.append((MUST, Query.boolean_query(first)))
            clauses += [(SHOULD, group) for group in groups[ask.essential :]]
        elif groups:
            some = Query.boolean_query(
                [(SHOULD, group) for group in groups], minimum_number_should_match=ask.needed or 1
            )
            clauses.append((MUST, some))
        clauses += [(MUST, self._unscored(self.phrase(phrase))) for phrase in ask.phrases]
        clauses += self._filters(ask.filters)
        if ask.hash:
            clauses.append((MUST, self._one_of_hashes(hashes)))
        if not clauses:
            clauses.append((MUST, self._unscored(Query.all_query())))
        clauses += [(MUST_NOT, self.phrase(phrase)) for phrase in ask.without]
        return Query.boolean_query(clauses)

    def group(
        self, group: Group, rates: Sequence[float], counts: Counts, boost: float = 1.0
    ) -> Query:
        """Return a word: each of its forms in each field, as much as it counts there."""
        worth = boost * group_idf(group, counts)
        clauses: list[Clause] = []
        for term in group:
            having = self._own.having.get(term, ())
            for field, here, rate in zip(TEXT_FIELDS, having, rates, strict=False):
                if here and rate:
                    factor = rate * worth / idf(self._own.pages, here)
                    clauses.append((SHOULD, Query.boost_query(self._term(field, term), factor)))
        return Query.boolean_query(clauses) if clauses else Query.empty_query()

    def _rates(self, ask: ShardQuery, counts: Counts) -> list[float]:
        """Return what a word counts in each field, made even with other shards.

        A factor makes up for fields that are longer or shorter here. It is right for a page of
        usual length that has a word as often as is usual, and nearly so for others: shards then
        differ by much less than their fields do.
        """
        weights = [ask.weights.of(field) for field in TEXT_FIELDS]
        if counts is self._own:
            return weights
        ratios = [
            (own / self._own.pages) / (all_of / counts.pages) if own and all_of else 1.0
            for own, all_of in zip(self._own.tokens, counts.tokens, strict=True)
        ]
        usual = USUAL_OFTEN + K1 * (1 - B + B * USUAL_LENGTH)
        return [
            weight * (USUAL_OFTEN + K1 * (1 - B + B * USUAL_LENGTH / ratio)) / usual
            for weight, ratio in zip(weights, ratios, strict=True)
        ]

    def phrase(self, phrase: Phrase, fields: Sequence[str] = TEXT_FIELDS) -> Query:
        """Return terms in a row, in any version, in any field that knows positions."""
        clauses: list[Clause] = []
        for terms in filter(None, phrase):
            for field in fields:
                if not self._may_hold(_NUMBER[field], terms):
                    continue
                if len(terms) == 1:
                    clauses.append((SHOULD, self._term(field, terms[0])))
                elif field in POSITIONED:
                    found = Query.phrase_query(self._schema, field, list(terms))
                    clauses.append((SHOULD, found))
        return Query.boolean_query(clauses) if clauses else Query.empty_query()

    def _may_hold(self, field: int, terms: Sequence[str]) -> bool:
        """Return False if it is known that a field has not all of these terms in any page."""
        having = self._own.having
        return all(term not in having or having[term][field] for term in terms)

    def bonus(self, bonus: Bonus) -> Query:
        """Return a phrase that counts the same wherever and however often it stands."""
        fields = TEXT_FIELDS if bonus.is_anywhere else SAID_IN
        return Query.const_score_query(self.phrase(bonus.phrase, fields), bonus.worth)

    def one_of(self, keys: Iterable[int]) -> Query:
        """Return pages by their keys. (A set query of the engine takes six times as long.)"""
        return self._unscored(
            Query.boolean_query([(SHOULD, self._term("key", key)) for key in keys])
        )

    def _one_of_hashes(self, hashes: Sequence[tuple[str, float]]) -> Query:
        """Return images by their hashes; an image has one, and scores by it."""
        return Query.boolean_query(
            [
                (SHOULD, Query.const_score_query(self._term("mark", term), score))
                for term, score in hashes
            ]
        )

    def _filters(self, filters: QueryFilters) -> list[Clause]:
        kinds: Sequence[tuple[str, tuple[str, ...], tuple[str, ...]]] = (
            ("site", filters.sites, filters.not_sites),
            ("language", filters.languages, filters.not_languages),
            ("type", filters.types, filters.not_types),
            ("type", _labels(filters.labels), _labels(filters.not_labels)),
        )
        clauses: list[Clause] = []
        for field, wanted, unwanted in kinds:
            if wanted:
                any_of = Query.boolean_query([(SHOULD, self._term(field, one)) for one in wanted])
                clauses.append((MUST, self._unscored(any_of)))
            clauses += [(MUST_NOT, self._term(field, one)) for one in unwanted]
        clauses += [(MUST, self._unscored(self._term("path", one))) for one in filters.in_url]
        clauses += [(MUST_NOT, self._term("path", one)) for one in filters.not_in_url]
        if filters.after is not None or filters.before is not None:
            clauses.append((MUST, self._unscored(self._between(filters))))
        return clauses

    def _between(self, filters: QueryFilters) -> Query:
        after = min(max(filters.after or 0, 1), _MOST_AT)  # 0: it is not known when
        before = _MOST_AT if filters.before is None else min(max(filters.before, 0), _MOST_AT)
        return Query.range_query(
            self._schema,
            "at",
            tantivy.FieldType.Unsigned,
            lower_bound=after,
            upper_bound=before,
            include_upper=False,
        )

    def _term(self, field: str, value: str | int) -> Query:
        return Query.term_query(self._schema, field, value)

    @staticmethod
    def _unscored(query: Query) -> Query:
        return Query.const_score_query(query, 0.0)
