"""Finder: an index as those see it who ask, however it is split: by documents or by terms."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from gossamer.search.messages import Ask, Candidate, Counts, Stored, Term


class Found(Struct, frozen=True, kw_only=True):
    """Candidates of the whole index, the best first, and how many pages fit in all."""

    total: int
    candidates: list[Candidate]
    missing: int = 0
    """Shards that did not answer: there may be more, and better ones."""
    is_low_asked: bool = False
    """The high tier was not enough. If it was, `total` counts only the high one."""


class Finder(Protocol):
    """An index that can be asked. The same documents give the same answers, however split."""

    def counts(self, terms: Sequence[Term]) -> Counts:
        """Return statistics of the whole index."""

    def find(self, ask: Ask, *, is_exact: bool = False) -> Found:
        """Return the best candidates by words alone. `is_exact`: scored as one index would."""

    def near(self, candidates: Sequence[Candidate], rows: Sequence[Sequence[Term]]) -> list[float]:
        """Return how many of the rows of terms each page has, in its main text or its title."""

    def stored(self, candidates: Sequence[Candidate]) -> list[Stored]:
        """Return pages as they are shown; those that are gone are left out."""

    def languages(self) -> Sequence[str]:
        """Return the languages of the pages, the most frequent first."""

    def vocabulary(self, prefix: str, most: int) -> list[tuple[Term, int]]:
        """Return terms that begin so, with how many pages have them: for spelling."""

    def renew(self) -> bool:
        """Take up what was committed since; tell whether there was anything."""

    def close(self) -> None:
        """Let go of what it holds; nobody asks any more."""
