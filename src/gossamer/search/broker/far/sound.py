"""Sound: whether what another machine says can be, so that nothing is reckoned with what cannot.

A shard elsewhere may be of another version, damaged, or not ours at all. Types and sizes are seen
to when a message is read (`wire`); here it is what numbers mean.
"""

from collections.abc import Sequence
from math import isfinite

from gossamer.search.fields import TEXT_FIELDS, Weights
from gossamer.search.messages import Ask, Candidate, Counts, Evidence, Facts, Stored, Term, Top

MOST = 1 << 53
"""Of anything that is counted: what a float tells apart."""
MOST_KEY = 1 << 64
MOST_CHARS = 1 << 17
"""Of a page as it is shown: several times as much as is kept of one."""
MOST_WEIGHT = 1e6


def is_ask(ask: Ask) -> bool:
    """Return True if a question can be answered."""
    return (
        ask.needed >= 0 and _are_weights(ask.weights) and (not ask.counts or is_counts(ask.counts))
    )


def is_counts(counts: Counts) -> bool:
    """Return True if statistics can be."""
    rows = (counts.tokens, *counts.having.values())
    is_whole = all(len(row) == len(TEXT_FIELDS) and all(map(_is_count, row)) for row in rows)
    return is_whole and _is_count(counts.pages) and (counts.pages > 0 or not any(counts.tokens))


def is_facts(facts: Facts) -> bool:
    """Return True if what a shard says of itself can be."""
    return _is_count(facts.pages) and all(map(_is_count, facts.languages.values()))


def is_top(top: Top, ask: Ask) -> bool:
    """Return True if candidates are such of a question."""
    found = len(top.candidates)
    is_some = found > 0 or top.total == 0 or ask.top == 0
    is_right = is_some and found <= ask.top and found <= top.total < MOST
    return is_right and all(map(_is_candidate, top.candidates))


def is_evidence(found: Sequence[Sequence[Evidence]], ask: Ask) -> bool:
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
    """Return True if rows of terms can be so many."""
    return all(map(_is_number, values))


def is_stored(pages: Sequence[Stored], keys: Sequence[int]) -> bool:
    """Return True if pages may be those that were asked for."""
    return len(pages) <= len(keys) and all(
        max(map(len, (page.url, page.title, page.text, page.language, page.media_type)))
        <= MOST_CHARS
        for page in pages
    )


def is_vocabulary(terms: Sequence[tuple[Term, int]], most: int) -> bool:
    """Return True if terms can be such of an index."""
    return len(terms) <= most and all(
        term and len(term) <= MOST_CHARS and _is_count(having) for term, having in terms
    )


def _are_weights(weights: Weights) -> bool:
    return all(0 <= weights.of(name) <= MOST_WEIGHT for name in TEXT_FIELDS)


def _is_candidate(one: Candidate) -> bool:
    is_known = all(0 <= word < MOST_KEY for word in (one.key, one.host, one.sketch))
    return is_known and _is_count(one.at) and _is_number(one.score)


def _is_count(number: int) -> bool:
    return 0 <= number < MOST


def _is_number(number: float) -> bool:
    return isfinite(number) and number >= 0
