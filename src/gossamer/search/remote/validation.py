"""Sound: whether what another machine says can be, so that nothing is reckoned with what cannot.

A shard elsewhere may be of another version, damaged, or not ours at all. Types and sizes are seen
to when a message is read (`wire`); here it is what numbers mean.
"""

from collections.abc import Sequence
from math import isfinite

from gossamer.search.facets import FIRST_YEAR, LAST_YEAR
from gossamer.search.fields import FAST_FIELDS, MOST_LISTING, MOST_SPAM, TEXT_FIELDS, Weights
from gossamer.search.messages import (
    Bonus,
    Candidate,
    Counts,
    Evidence,
    FacetCounts,
    Facts,
    ShardQuery,
    Stored,
    Term,
    TopCandidates,
)
from gossamer.search.page import ImageFacts

MOST = 1 << 53
"""Of anything that is counted: what a float tells apart."""
MOST_KEY = 1 << 64
MOST_BITS = 64
MOST_CHARS = 1 << 17
"""Of a page as it is shown: several times as much as is kept of one."""
MOST_FACET_CHARS = 1000
"""Of a value of a facet: hosts have at most 253."""
MOST_WEIGHT = 1e6


def is_ask(ask: ShardQuery) -> bool:
    """Return True if a question can be answered."""
    is_hash = 0 <= ask.hash < MOST_KEY and 0 <= ask.hash_bits <= MOST_BITS
    return (
        is_hash
        and ask.needed >= 0
        and ask.essential >= 0
        and all(0 <= boost <= MOST_WEIGHT for boost in ask.boosts)
        and _are_weights(ask.weights)
        and (not ask.counts or is_counts(ask.counts))
    )


def is_bonuses(bonuses: Sequence[Bonus]) -> bool:
    """Return True if phrases can be worth so much."""
    return all(0 <= one.worth <= MOST_WEIGHT for one in bonuses)


def is_counts(counts: Counts) -> bool:
    """Return True if statistics can be."""
    rows = (counts.tokens, *counts.having.values())
    is_whole = all(len(row) == len(TEXT_FIELDS) and all(map(_is_count, row)) for row in rows)
    return is_whole and _is_count(counts.pages) and (counts.pages > 0 or not any(counts.tokens))


def is_facts(facts: Facts) -> bool:
    """Return True if what a shard says of itself can be."""
    return _is_count(facts.pages) and all(map(_is_count, facts.languages.values()))


def is_top(top: TopCandidates, ask: ShardQuery) -> bool:
    """Return True if candidates are such of a question."""
    found = len(top.candidates)
    is_some = found > 0 or top.total == 0 or ask.top == 0
    is_right = is_some and found <= ask.top and found <= top.total < MOST
    return is_right and all(map(_is_candidate, top.candidates))


def is_evidence(found: Sequence[Sequence[Evidence]], ask: ShardQuery) -> bool:
    """Return True if evidence is of the words of a question."""
    groups, fields = len(ask.groups), len(TEXT_FIELDS)
    return all(
        0 <= one.group < groups
        and 0 <= one.field < fields
        and _is_number(one.often)
        and _is_number(one.length)
        for page in found
        for one in page
    )


def is_near(values: Sequence[float]) -> bool:
    """Return True if phrases can be worth so much together."""
    return all(map(_is_number, values))


def is_stored(pages: Sequence[Stored], keys: Sequence[int]) -> bool:
    """Return True if pages may be those that were asked for."""
    return len(pages) <= len(keys) and all(
        max(map(len, (page.url, page.title, page.text, page.language, page.media_type)))
        <= MOST_CHARS
        and (page.image is None or _is_image(page.image))
        for page in pages
    )


def is_facets(counts: FacetCounts) -> bool:
    """Return True if counts of facets can be."""
    named = (counts.sites, counts.languages, counts.types)
    is_short = all(len(name) <= MOST_FACET_CHARS for kind in named for name in kind)
    are_years = all(FIRST_YEAR <= year <= LAST_YEAR for year in counts.years)
    numbers = (kind.values() for kind in (*named, counts.years))
    return is_short and are_years and all(_is_count(n) for kind in numbers for n in kind)


def is_vocabulary(terms: Sequence[tuple[Term, int]], most: int) -> bool:
    """Return True if terms can be such of an index."""
    return len(terms) <= most and all(
        term and len(term) <= MOST_CHARS and _is_count(having) for term, having in terms
    )


def _is_image(image: ImageFacts) -> bool:
    texts = (image.page, image.page_title, image.alt, image.caption, *image.other_alts)
    counts = (image.pages, image.width, image.height, image.bytes)
    is_short = max(map(len, texts)) <= MOST_CHARS
    return is_short and all(map(_is_count, counts)) and 0 <= image.hash < MOST_KEY


def _are_weights(weights: Weights) -> bool:
    return all(0 <= weights.of(name) <= MOST_WEIGHT for name in TEXT_FIELDS)


def _is_candidate(one: Candidate) -> bool:
    is_known = all(0 <= getattr(one, name) < MOST_KEY for name in FAST_FIELDS)
    is_possible = (
        _is_count(one.at) and 0 <= one.spam <= MOST_SPAM and 0 <= one.listing <= MOST_LISTING
    )
    return is_known and is_possible and _is_number(one.score) and _is_number(one.rank)


def _is_count(number: int) -> bool:
    return 0 <= number < MOST


def _is_number(number: float) -> bool:
    return isfinite(number) and number >= 0
