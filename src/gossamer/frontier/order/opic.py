"""Adaptive OPIC: credit moves along links, and a tenth of it through the Lambda page, to all.

Every page brings one unit when it becomes known. A fetched page gives away all that it has. What
the Lambda page got is spread over all known pages, now and then: one level is raised, and each
page's credit is stored relative to it, so that a gift to a billion pages is one addition.
See Abiteboul, Preda, Cobena, "Adaptive on-line page importance computation" (WWW 2003).
"""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from gossamer.frontier.order.credit_table import CreditTable
from gossamer.frontier.order.grading import grade_of
from gossamer.model import Task

TO_LINKS = 0.9
"""The share of its credit that a page gives to its links; the rest goes to the Lambda page."""
START_CREDIT = 1.0
"""What a page brings when it becomes known. The mean credit of all pages stays this."""
SPREAD_EVERY = 100
"""Fetched pages between two gifts of the Lambda page to all."""


class CreditSplit(NamedTuple):
    """Where the credit of a fetched page goes."""

    each: float
    """To each of its links."""
    to_lambda: float


class Lambda(Struct, array_like=True):
    """The page that every page links to and that links to every page, as three numbers.

    Invariant: stored credits of all known pages + level * known + pot = START_CREDIT * known.
    """

    pot: float = 0.0
    """Credit received and not yet spread."""
    level: float = 0.0
    """What every page has been given up to now; a page's credit is what is stored plus this."""
    known: int = 0

    def meet(self, pages: int = 1) -> float:
        """Count pages that become known; return the credit to store for each of them."""
        self.known += pages
        return START_CREDIT - self.level

    def spread(self) -> None:
        """Give all that has come in to all known pages, in equal parts."""
        if self.known:
            self.level += self.pot / self.known
            self.pot = 0.0


def opic_share(credit: float, links: int) -> CreditSplit:
    """Return where a fetched page's credit goes; its own is 0 then. Without links: to Lambda."""
    if links <= 0:
        return CreditSplit(0.0, credit)
    return CreditSplit(TO_LINKS * credit / links, (1.0 - TO_LINKS) * credit)


def opic_grade_of(credit: float) -> int:
    """Return the grade of a credit (stored plus level), 1 to 16: by what it has beyond its start.

    Waiting pages have a unit each, so that only the rest tells them apart: graded by all that they
    have, most would share a grade, and a replay captures a fifth less.
    """
    return grade_of(credit - START_CREDIT)


class Opic:
    """Adaptive OPIC: a page spends what it has on its links and on the Lambda page."""

    local = 1.0

    def __init__(self) -> None:
        self.credits = CreditTable()
        self._lambda = Lambda()
        self._turns = 0

    def note_known(self, ring: int, count: int) -> None:
        """Do nothing: OPIC knows no domains."""

    def deposit(self, task: Task) -> None:
        """Add the credit that a task carries; every URL starts with something."""
        if self.credits.of(task.url.key) is None:
            self.credits.put(task.url.key, self._lambda.meet())
        if task.credit:
            self.credits.give((task.url.key,), task.credit)

    def meet(self, keys: Sequence[int], share: float) -> int:
        """Credit new URLs with their first share; return the grade of each."""
        stored = self._lambda.meet(len(keys)) + share
        self.credits.put_all(keys, stored)
        return opic_grade_of(stored + self._lambda.level)

    def grade(self, key: int) -> int:
        """Return the grade that a URL has earned so far."""
        return opic_grade_of(self._credit(key))

    def share(self, key: int, links: int) -> float:
        """Return what each link of a page is given; the page has spent everything then."""
        goes = opic_share(self._credit(key), links)
        self.credits.put(key, -self._lambda.level)
        self._lambda.pot += goes.to_lambda
        self._turns += 1
        if self._turns % SPREAD_EVERY == 0:
            self._lambda.spread()
        return goes.each

    def give(self, keys: Sequence[int], share: float) -> list[int]:
        """Credit known URLs with a share each; return queued ones whose grade may have risen."""
        return self.credits.give(keys, share, level=self._lambda.level - START_CREDIT)

    def save(self) -> bytes:
        """Return everything as the bytes of a file."""
        page = self._lambda
        self.credits.keep_numbers(0, page.pot, page.level, float(page.known))
        return self.credits.snapshot()

    def load(self, data: bytes) -> bool:
        """Load what `save` returned; return False, and change nothing, if it is damaged."""
        if not self.credits.restore(data):
            return False
        pot, level, known, *_ = self.credits.numbers
        self._lambda = Lambda(pot, level, int(known))
        return True

    def _credit(self, key: int) -> float:
        held = self.credits.of(key)
        return 0.0 if held is None else held + self._lambda.level
