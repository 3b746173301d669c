"""What broker and shards say to each other. All of it can cross a network (msgspec, no pickle).

A question goes in three rounds: `Counts` of its terms (mostly remembered), `TopCandidates` of every
shard, and then, of those few that are left, `Evidence`, nearness and `Stored` pages.
"""

from typing import Annotated

from msgspec import Meta, Struct

from gossamer.search.fields import Weights
from gossamer.search.page import ImageFacts

MOST_CANDIDATES, MOST_LANGUAGES, MOST_FACETS = 10_000, 10_000, 10_000
"""That are read when they come over a network."""
Term = str
Group = tuple[Term, ...]
"""One word of the question: its forms in the languages of the index. Any of them will do."""
Phrase = tuple[tuple[Term, ...], ...]
"""Terms in a row, in one or more versions (one per language). Any of them will do."""


class QueryFilters(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What else a page must be. Several values of one kind: any of them; kinds: all of them."""

    sites: tuple[str, ...] = ()
    not_sites: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    not_languages: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    not_types: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    not_labels: tuple[str, ...] = ()
    in_url: tuple[Term, ...] = ()
    """All of them must be among the words of the URL."""
    not_in_url: tuple[Term, ...] = ()
    after: int | None = None
    """Seconds; pages fetched at or after it."""
    before: int | None = None
    """Seconds; pages fetched before it."""


class Counts(Struct, frozen=True, kw_only=True):
    """Statistics of a shard, or of all of them together."""

    pages: int
    tokens: tuple[int, ...]
    """Words of each field of all pages, in the order of TEXT_FIELDS."""
    having: dict[Term, tuple[int, ...]]
    """Pages that have a term in each field, in the order of TEXT_FIELDS."""


class Facts(Struct, frozen=True, kw_only=True):
    """How much a shard has, and of which commit that is."""

    pages: int
    generation: int
    """Another one: there is something new."""
    languages: Annotated[dict[str, int], Meta(max_length=MOST_LANGUAGES)]
    """Pages of each language."""


FacetTotals = Annotated[dict[str, int], Meta(max_length=MOST_FACETS)]


class FacetCounts(Struct, frozen=True, kw_only=True):
    """How many matches of a query have each value; kinds are counted without their own filters."""

    sites: FacetTotals
    """Hosts, and all domains above them."""
    languages: FacetTotals
    types: FacetTotals
    """Media types, and what else `type:` may name."""
    years: Annotated[dict[int, int], Meta(max_length=MOST_FACETS)]
    """Of the fetch."""
    is_cut: bool = False
    """There are more values, less frequent than these."""
    is_exact: bool = True


class ShardQuery(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question as a shard understands it."""

    groups: tuple[Group, ...] = ()
    boosts: tuple[float, ...] = ()
    """What each group counts beside one that is said once; none given: 1 for all."""
    needed: int = 0
    """How many of the groups a page must have."""
    essential: int = 0
    """Of the first so many groups a page must have one; 0: of all of them."""
    phrases: tuple[Phrase, ...] = ()
    """Each must occur."""
    without: tuple[Phrase, ...] = ()
    """None may occur; single terms are phrases of one."""
    filters: QueryFilters = QueryFilters()
    weights: Weights = Weights()
    counts: Counts | None = None
    """Statistics of the whole index; None: the shard's own will do."""
    top: int = 100
    hash: int = 0
    """Only images whose perceptual hash is like this one, the most similar first; 0: any."""
    hash_bits: int = 0
    """In how many bits it may differ."""

    def boost(self, number: int) -> float:
        """Return what a group counts."""
        return self.boosts[number] if number < len(self.boosts) else 1.0


class Bonus(Struct, frozen=True, array_like=True, gc=False):
    """A phrase that adds to the score of a page that has it."""

    phrase: Phrase
    worth: float
    is_anywhere: bool = False
    """In any field; else in the main text or the title."""


class Candidate(Struct, frozen=True, array_like=True, gc=False):
    """A page that may be an answer: its score, its FAST_FIELDS in their order, and its shard."""

    score: float
    key: int
    host: int
    sketch: int
    at: int
    spam: int = 0
    listing: int = 0
    title_key: int = 0
    shard: int = 0
    """Filled in by the broker."""
    rank: float = 0.0
    """By the links that lead to it, if its shard knows that."""


class TopCandidates(Struct, frozen=True, kw_only=True):
    """A shard's best candidates, and how many pages fit the question in all."""

    total: int
    candidates: Annotated[list[Candidate], Meta(max_length=MOST_CANDIDATES)]


class Evidence(Struct, frozen=True, array_like=True, gc=False):
    """How often a term occurs in a field of a page, and how long that field is (as quantised)."""

    group: int
    field: int
    often: float
    length: float


class Stored(Struct, frozen=True, kw_only=True):
    """A page as it is shown."""

    key: int
    url: str
    title: str
    text: str
    language: str
    media_type: str
    at: int
    image: ImageFacts | None = None
    """If it is no page but an image."""
