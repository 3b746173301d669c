"""Facets: how the matches of a query divide by site, language, type and year of fetch. Pure.

Each kind is counted without its own filters, so that a count is what a query has as its total when
that value takes the place of the filters of its kind.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, TypeVar

from msgspec.structs import replace

from gossamer.search.analysis.address import short_type
from gossamer.search.answer import Facets, FacetValue
from gossamer.search.messages import FacetCounts, QueryFilters

SITES, LANGUAGES, TYPES, YEARS = "sites", "languages", "types", "years"
KINDS: Final = (SITES, LANGUAGES, TYPES, YEARS)
FIRST_YEAR, LAST_YEAR = 1970, 2199
"""Pages that say they were fetched before or after have no year."""
_Value = TypeVar("_Value", str, int)
_SAYABLE = re.compile(r"[\w.+\-\[\]:/]+")
"""What can be said as the value of a filter; other people's files may have anything."""
MOST_VALUES = 10
"""Of one kind."""


def facet_scopes(filters: QueryFilters) -> dict[QueryFilters, list[str]]:
    """Return which kinds are counted under which filters: each without those of its own kind."""
    own: Mapping[str, QueryFilters] = {
        SITES: replace(filters, sites=()),
        LANGUAGES: replace(filters, languages=()),
        TYPES: replace(filters, types=()),
        YEARS: replace(filters, after=None, before=None),
    }
    scopes: dict[QueryFilters, list[str]] = {}
    for kind in KINDS:
        scopes.setdefault(own[kind], []).append(kind)
    return scopes


def year_begins(year: int) -> int:
    """Return when a year begins, in seconds since 1970; 0 is not a moment (it is not known)."""
    return max(int(datetime(year, 1, 1, tzinfo=UTC).timestamp()), 1)


def merged_counts(parts: Sequence[FacetCounts], missing: int = 0) -> FacetCounts:
    """Return the counts of several shards together; `missing` ones have not answered."""
    is_cut = any(one.is_cut for one in parts)
    return FacetCounts(
        sites=_sum(one.sites for one in parts),
        languages=_sum(one.languages for one in parts),
        types=_sum(one.types for one in parts),
        years=_sum(one.years for one in parts),
        is_cut=is_cut,
        is_exact=all(one.is_exact for one in parts)
        and not missing
        and not (is_cut and len(parts) > 1),
    )


def chosen_facets(
    counts: FacetCounts, filters: QueryFilters | None = None, most: int = MOST_VALUES
) -> Facets:
    """Return the values that are shown: the most frequent, and those that a query names."""
    named = filters or QueryFilters()
    years = sorted(((year, n) for year, n in counts.years.items() if n), reverse=True)[:most]
    return Facets(
        sites=_values("site", _hosts(counts), counts.sites, most, named.sites),
        languages=_values("lang", counts.languages, counts.languages, most, named.languages),
        types=_values("type", _types(counts.types), counts.types, most, named.types),
        years=[
            FacetValue(value=f"{year}", count=n, filter=f"after:{year} before:{year + 1}")
            for year, n in years
        ],
        is_exact=counts.is_exact,
    )


def _values(
    key: str, names: Iterable[str], counts: Mapping[str, int], most: int, named: Sequence[str]
) -> list[FacetValue]:
    known = {name for name in names if _SAYABLE.fullmatch(name)}
    ordered = sorted(known, key=lambda name: (-counts[name], name))[:most]
    ordered += [name for name in named if counts.get(name) and name not in ordered]
    return [FacetValue(value=name, count=counts[name], filter=f"{key}:{name}") for name in ordered]


def _hosts(counts: FacetCounts) -> list[str]:
    """Return the sites that are hosts with matches, not only domains above such hosts.

    A page counts for its host and for every domain above, so what is left of a domain's count
    without those of the names right below it is its own. Where names were cut off, that cannot be
    told: domains above a name that is listed are left out then.
    """
    own = dict(counts.sites)
    for name, count in counts.sites.items():
        above = name.partition(".")[2]
        if above in own:
            own[above] = 0 if counts.is_cut else own[above] - count
    return [name for name, left in own.items() if left > 0]


def _types(counts: Mapping[str, int]) -> set[str]:
    """Return the short names of the media types that there are."""
    names = {short_type(name) for name in counts if "/" in name}
    return {name for name in names if counts.get(name)}


def _sum(parts: Iterable[Mapping[_Value, int]]) -> dict[_Value, int]:
    total: Counter[_Value] = Counter()
    for part in parts:
        total.update(part)
    return total
