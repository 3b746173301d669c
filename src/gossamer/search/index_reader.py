"""IndexReader: an index as those see it who ask, however it is split: by documents or by terms."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol

from msgspec import Struct

from gossamer.search.messages import Bonus, Candidate, Counts, FacetCounts, ShardQuery, Stored, Term


class CandidateList(Struct, frozen=True, kw_only=True):
    """Candidates of the whole index, the best first, and how many pages fit in all."""

    total: int
    candidates: list[Candidate]
    missing: int = 0
    """Shards that did not answer: there may be more, and better ones."""
    is_low_asked: bool = False
    """The high tier was not enough. If it was, `total` counts only the high one."""


class MissingShard(Struct, frozen=True, kw_only=True):
    """A part of the index that did not answer."""

    place: str
    """The folder or URL of its index."""
    shard: str
    """Its name there; "" if nothing is known of the place yet."""
    reason: str


TierName = Literal["high", "low"]


@dataclass(slots=True)
class SearchNotes:
    """What happened while one query was answered."""

    missing: dict[tuple[str, str], MissingShard] = field(default_factory=dict)
    """By place and name."""
    tiers: dict[TierName, None] = field(default_factory=dict)
    """That were asked; none if the index has no tiers."""


class IndexReader(Protocol):
    """An index that can be asked. The same documents give the same answers, however split."""

    def noting(self) -> AbstractContextManager[SearchNotes]:
        """Note what happens to questions of this thread, for as long as the block lasts."""

    def counts(self, terms: Sequence[Term]) -> Counts:
        """Return statistics of the whole index."""

    def find(self, ask: ShardQuery, *, is_exact: bool = False) -> CandidateList:
        """Return the best candidates by words alone. `is_exact`: scored as one index would."""

    def near(self, candidates: Sequence[Candidate], bonuses: Sequence[Bonus]) -> list[float]:
        """Return of each page the sum of what the phrases are worth that it has."""

    def stored(self, candidates: Sequence[Candidate]) -> list[Stored]:
        """Return pages as they are shown; those that are gone are left out."""

    def facets(self, ask: ShardQuery, *, is_low_asked: bool = True) -> FacetCounts:
        """Return how many matches have each value. `is_low_asked`: those of the low tier, too."""

    def page(self, key: int) -> Stored | None:
        """Return the page with a key as it is shown; None if it is not there."""

    def languages(self) -> Sequence[str]:
        """Return the languages of the pages, the most frequent first."""

    def vocabulary(self, prefix: str, most: int) -> list[tuple[Term, int]]:
        """Return terms that begin so, with how many pages have them: for spelling."""

    def images(self) -> "IndexReader | None":
        """Return the images that its pages show; None if it has none."""

    def renew(self) -> bool:
        """Take up what was committed since; tell whether there was anything."""

    def close(self) -> None:
        """Let go of what it holds; nobody asks any more."""
