"""Facets of a shard: counted by the engine from its columns, in one pass over the matches."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from gossamer.search.facets import (
    LANGUAGES,
    SITES,
    TYPES,
    YEARS,
    facet_scopes,
    year_begins,
)
from gossamer.search.messages import FacetCounts, ShardQuery
from gossamer.search.shard.query_builder import QueryBuilder
from gossamer.search.shard.snapshot import ShardSnapshot

MOST_COUNTED = 400
"""Values of one kind that a shard gives; each takes the engine some microseconds to name."""
_COLUMNS: Mapping[str, str] = {SITES: "site", LANGUAGES: "language", TYPES: "type"}


def count_facets(now: ShardSnapshot, builder: QueryBuilder, ask: ShardQuery) -> FacetCounts:
    """Return how many matches of a query have each value."""
    found: dict[str, Any] = {}
    for filters, kinds in facet_scopes(ask.filters).items():
        query = builder.query(replace(ask, filters=filters))
        wanted = {kind: _aggregation(kind, now) for kind in kinds if kind != YEARS or now.years}
        found |= now.searcher.aggregate(query, wanted) if wanted else {}
    terms = {kind: found[kind] for kind in _COLUMNS}
    return FacetCounts(
        sites=_buckets(terms[SITES]),
        languages=_buckets(terms[LANGUAGES]),
        types=_buckets(terms[TYPES]),
        years=_years(now, found.get(YEARS, {})),
        is_cut=any(one["sum_other_doc_count"] for one in terms.values()),
        is_exact=not any(one["doc_count_error_upper_bound"] for one in terms.values()),
    )


def _aggregation(kind: str, now: ShardSnapshot) -> dict[str, object]:
    if kind in _COLUMNS:
        return {"terms": {"field": _COLUMNS[kind], "size": MOST_COUNTED}}
    ranges = [{"from": year_begins(year), "to": year_begins(year + 1)} for year in now.years]
    return {"range": {"field": "at", "ranges": ranges}}


def _buckets(found: Mapping[str, Any]) -> dict[str, int]:
    return {one["key"]: one["doc_count"] for one in found["buckets"]}


def _years(now: ShardSnapshot, found: Mapping[str, Any]) -> dict[int, int]:
    begins = {float(year_begins(year)): year for year in now.years}
    return {
        begins[one["from"]]: one["doc_count"]
        for one in found.get("buckets", ())
        if one.get("from") in begins and one["doc_count"]
    }
