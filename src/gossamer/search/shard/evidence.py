"""What the score of a page is made of: how often its words occur, in fields of which length.

The engine can explain a score, but takes 0.1 ms for each page. Here every word is asked for alone,
among all pages in question at once, and how often it occurs is worked out from the score that the
engine gives it there: everything else in that formula is known.
"""

from collections.abc import Sequence

import tantivy

from gossamer.search.fields import K1, TEXT_FIELDS, B
from gossamer.search.messages import Evidence, ShardQuery, Term
from gossamer.search.shard.lengths import quantised
from gossamer.search.shard.query_builder import MUST, Query, QueryBuilder, idf
from gossamer.search.shard.schema import length_column
from gossamer.search.shard.snapshot import ShardSnapshot

MOST_OFTEN = 1e9
_Place = tuple[int, int]


class EvidenceReader:
    """Gathers the evidence of some pages."""

    def __init__(self, snapshot: ShardSnapshot, keys: Sequence[int], ask: ShardQuery) -> None:
        terms = [term for group in ask.groups for term in group]
        self._snapshot = snapshot
        self._ask = ask
        self._counts = snapshot.counts(terms)
        self._among = QueryBuilder(snapshot.schema, self._counts).one_of(keys)
        found = snapshot.searcher.search(self._among, len(keys), count=False)
        self._places = [place for _, place in found.hits]
        values = snapshot.searcher.fast_field_values("key", self._places)
        self._number = {_as_pair(place): n for n, place in enumerate(self._places)}
        self._keys = [int(value) for value in values if value is not None]
        self._gathered: list[list[Evidence]] = [[] for _ in self._places]

    def gathered(self) -> dict[int, list[Evidence]]:
        """Return the evidence by key; pages that are gone are left out."""
        if not self._places:
            return {}
        for field, name in enumerate(TEXT_FIELDS):
            if not self._ask.weights.of(name):
                continue
            column = self._snapshot.searcher.fast_field_values(length_column(name), self._places)
            lengths = [quantised(int(value or 0)) for value in column]
            for group, terms in enumerate(self._ask.groups):
                for term in terms:
                    if self._counts.having[term][field]:
                        self._add((group, field), term, lengths)
        return dict(zip(self._keys, self._gathered, strict=True))

    def _add(self, where: tuple[int, int], term: Term, lengths: Sequence[int]) -> None:
        """Add what one term says in one field."""
        group, field = where
        name, snapshot = TEXT_FIELDS[field], self._snapshot
        query = Query.boolean_query(
            [(MUST, self._among), (MUST, Query.term_query(snapshot.schema, name, term))]
        )
        hits = snapshot.searcher.search(query, len(self._places), count=False).hits
        if not hits:
            return
        average = snapshot.average(name, term, hits[0][1])
        most = idf(self._counts.pages, self._counts.having[term][field]) * (K1 + 1)
        for score, place in hits:
            number = self._number[_as_pair(place)]
            often = _often(score / most, lengths[number], average)
            self._gathered[number].append(Evidence(group, field, often, lengths[number]))


def _often(share: float, length: float, average: float) -> float:
    """Return how often a term occurs of which the engine gives this share of the most."""
    norm = K1 * (1 - B + B * length / average)
    if share >= 1:
        return MOST_OFTEN
    return float(max(1, round(norm * share / (1 - share))))


def _as_pair(place: tantivy.DocAddress) -> _Place:
    return place.segment_ord, place.doc
