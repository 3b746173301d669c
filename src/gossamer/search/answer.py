"""What somebody who asks may options for, and what they get."""

from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct

from gossamer.ranks import RankState
from gossamer.search.index_reader import MissingShard

MOST_PER_PAGE = 100
_YEAR_10000 = 253_402_300_800


class Switches(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What ranking makes use of. All of it, unless somebody wants to see what a part does."""

    fields: bool = True
    """Off: a word counts the same wherever it stands."""
    anchors: bool = True
    """What links say that lead to a page."""
    static: bool = True
    """What the graph says of a page."""
    proximity: bool = True
    """Words of the query that stand side by side."""
    spam: bool = True
    """Link farms and lists of keywords come last."""
    copies: bool = True
    """Pages with nearly the same text are shown as one."""
    hosts: bool = True
    """Few pages of one host on a page of results."""

    @classmethod
    def without(cls, names: list[str]) -> "Switches":
        """Return all switches on but some; raise `ValueError` for a name that is none."""
        unknown = sorted(set(names) - set(cls.__struct_fields__))
        if unknown:
            known = ", ".join(cls.__struct_fields__)
            raise ValueError(f"{unknown[0]} is no part of ranking; there are {known}")
        return cls(**dict.fromkeys(names, False))


class SearchOptions(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How somebody wants to be answered."""

    page: int = 1
    per_page: int = 10
    is_exact: bool = False
    """Scores to the last digit those of one index, however many shards there are."""
    switches: Switches = Switches()
    facets: bool = False
    """Count how the pages with all the words divide by site, language, type and year."""
    is_verbatim: bool = False
    """A query without results stays without; those of a corrected one are not shown instead."""
    languages: tuple[str, ...] = ()
    """Languages that the asker reads, the preferred one first: they come first among results that
    fit nearly equally well."""


class Segment(Struct, frozen=True, array_like=True, gc=False):
    """A part of a snippet. It is text, never markup."""

    text: str
    is_hit: bool


class HitImage(Struct, frozen=True, kw_only=True):
    """What is known of an image that answers the query."""

    page: str
    """The page that shows it; of several the one that says most of it. "": it was only stored."""
    page_title: str
    pages: int
    """How many pages show it, as far as was counted."""
    alt: str
    """The alternative text that most pages give it."""
    caption: str
    file_name: str
    width: int | None
    """In pixels; None if the image is not stored, or cannot be read."""
    height: int | None
    bytes: int | None
    hash: str
    """Perceptual hash in hexadecimal; "" if there is none."""
    is_stored: bool
    """The archive has the image itself."""


class Hit(Struct, frozen=True, kw_only=True):
    """A page that answers the query."""

    url: str
    title: str
    snippet: str
    score: float
    host: str
    language: str
    type: str
    at: int
    """When it was fetched, in seconds; 0 if that is not known."""
    copies: int
    """Pages with nearly the same text that were left out for this one, as far as was looked."""
    more_from_host: int
    """Pages of this host that come on later pages of results, as far as was looked."""
    segments: list[Segment]
    """The snippet in parts."""
    title_segments: list[Segment] = []  # msgspec copies it
    """The title in parts."""
    image: HitImage | None = None
    """If it is an image: with `type:image`, or like one that was given."""
    is_near_copy: bool = False
    """It says nearly what the text says that results are like; or it looks like the image."""

    @property
    def day(self) -> str:
        """The day on which it was fetched; "" if that is not known, or no day that people know."""
        if not 0 < self.at < _YEAR_10000:
            return ""
        return datetime.fromtimestamp(self.at, UTC).strftime("%Y-%m-%d")


class FacetValue(Struct, frozen=True, kw_only=True):
    """A value that some matches have."""

    value: str
    count: int
    filter: str
    """What narrows a query to it, such as site:example.org."""


class Facets(Struct, frozen=True, kw_only=True):
    """The most frequent values of each kind; years, the newest first."""

    sites: list[FacetValue]
    """Hosts. As site: does, each counts the hosts below it, too."""
    languages: list[FacetValue]
    types: list[FacetValue]
    years: list[FacetValue]
    """Of the last fetch."""
    is_exact: bool
    """If not, some pages were not counted: there are at least so many."""
    has_all_words: bool = True
    """Only pages with all the words are counted; False: so few have them that any word counts."""


class LikeThis(Struct, frozen=True, kw_only=True):
    """What results are like, if that was asked instead of words."""

    of: Literal["text", "image"]
    terms: list[str]
    """Of a text: those that tell most of it, by which pages were found."""


class Answer(Struct, frozen=True, kw_only=True):
    """A page of results."""

    query: str
    total: int
    """Pages that fit the query, copies among them."""
    page: int
    per_page: int
    has_more: bool
    hits: list[Hit]
    suggestion: str
    """The query with other spelling, if that finds clearly more; "" otherwise."""
    hints: list[str]
    """What somebody should know: words that were not found, filters that were not understood."""
    is_partial: bool
    """Some of the index did not answer."""
    took_ms: float
    with_all_words: int = 0
    """Of `total`, those that have all the words of the query."""
    corrected: str = ""
    """The query had no results: these, `total` and facets are of this one, with other spelling."""
    facets: Facets | None = None
    """None: they were not asked for."""
    like: LikeThis | None = None
    """None: it was asked by words."""
    ranks: RankState | None = None
    """How old the ranks are that it goes by; None: it goes by words alone."""
    missing: list[MissingShard] = []  # msgspec copies it
    """What did not answer, and why."""
    tiers: list[str] = []  # msgspec copies it
    """The tiers that were asked, "high" and perhaps "low"; none if the index has no tiers."""
