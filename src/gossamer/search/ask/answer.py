"""What somebody who asks may wish for, and what they get."""

from datetime import UTC, datetime

from msgspec import Struct

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
    """Words of the question that stand side by side."""
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


class SearchWish(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How somebody wants to be answered."""

    page: int = 1
    per_page: int = 10
    is_exact: bool = False
    """Scores to the last digit those of one index, however many shards there are."""
    switches: Switches = Switches()


class Segment(Struct, frozen=True, array_like=True, gc=False):
    """A part of a snippet. It is text, never markup."""

    text: str
    is_hit: bool


class Hit(Struct, frozen=True, kw_only=True):
    """A page that answers the question."""

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

    @property
    def day(self) -> str:
        """The day on which it was fetched; "" if that is not known, or no day that people know."""
        if not 0 < self.at < _YEAR_10000:
            return ""
        return datetime.fromtimestamp(self.at, UTC).strftime("%Y-%m-%d")


class Answer(Struct, frozen=True, kw_only=True):
    """A page of results."""

    query: str
    total: int
    """Pages that fit the question, copies among them."""
    page: int
    per_page: int
    has_more: bool
    hits: list[Hit]
    suggestion: str
    """The question with other spelling, if that finds clearly more; "" otherwise."""
    hints: list[str]
    """What somebody should know: words that were not found, filters that were not understood."""
    is_partial: bool
    """Some of the index did not answer."""
    took_ms: float
