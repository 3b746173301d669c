"""Grades: what an order is, and what every rule of credit has in common."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import frexp
from typing import Protocol

from gossamer.frontier.order.credit_table import CreditTable
from gossamer.model import Task

GRADES = 16
"""Classes of credit, a factor of two each; 16 cost nothing against an exact queue."""
SHIFT = 12
"""Credits under 2^-11 all have grade 1, those from 2^3 on all have grade 16."""
TEXT_BITS = 40
"""Bits of a URL key below its ring point, which stands for the domain."""


def grade_of(credit: float) -> int:
    """Return the grade of a credit, 1 (low) to 16: floor(log2) of it, shifted and clamped."""
    if credit <= 0.0:
        return 1
    return min(max(frexp(credit)[1] + SHIFT, 1), GRADES)


class Importance(Protocol):
    """A rule that passes credit along links."""

    credits: CreditTable
    local: float
    """What a link within a domain gets, as a share of what a link to another domain gets."""

    def note_known(self, ring: int, count: int) -> None:
        """Count known URLs of the domain at a ring point."""

    def deposit(self, task: Task) -> None:
        """Add the credit that a task carries."""

    def meet(self, keys: Sequence[int], share: float) -> int:
        """Credit new URLs with their first share; return the grade of each."""

    def grade(self, key: int) -> int:
        """Return the grade that a URL has earned so far."""

    def share(self, key: int, links: int) -> float:
        """Return what each link of a page is given, now that the page was fetched."""

    def give(self, keys: Sequence[int], share: float) -> list[int]:
        """Credit known URLs with a share each; return queued ones whose grade may have risen."""

    def save(self) -> bytes:
        """Return everything as the bytes of a file."""

    def load(self, data: bytes) -> bool:
        """Load what `save` returned; return False, and change nothing, if it is damaged."""


def _lift_nothing(_queued: Iterator[Task]) -> list[Task]:
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """How tasks are graded in a crawl, and how strictly the grades are followed."""

    grade: Callable[[Task], int]
    credit: Importance | None = None
    """The rule that moves URLs up after they were queued; None if nothing does."""
    is_strict: bool = False
    """The highest grade goes first, always."""
    is_newest_first: bool = False
    """Of a host's tasks the one that was found last goes first."""
    lift: Callable[[Iterator[Task]], list[Task]] = _lift_nothing
    """Picks, at a start, queued tasks that something new makes worth more."""

    def note_known(self, ring: int, count: int) -> None:
        """Count known URLs of the domain at a ring point, if that matters."""
        if self.credit is not None:
            self.credit.note_known(ring, count)
