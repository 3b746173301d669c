"""Adaptive OPIC: credit moves along links, and a tenth of it through the Lambda page, to all.

Every page brings one unit when it becomes known. A fetched page gives away all that it has. What
the Lambda page got is spread over all known pages, now and then: one level is raised, and each
page's credit is stored relative to it, so that a gift to a billion pages is one addition.
See Abiteboul, Preda, Cobena, "Adaptive on-line page importance computation" (WWW 2003).
"""

from typing import NamedTuple

from msgspec import Struct

from gossamer.frontier.order.credit import grade_of

TO_LINKS = 0.9
"""The share of its credit that a page gives to its links; the rest goes to the Lambda page."""
START_CREDIT = 1.0
"""What a page brings when it becomes known. The mean credit of all pages stays this."""


class Gifts(NamedTuple):
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


def opic_share(credit: float, links: int) -> Gifts:
    """Return where a fetched page's credit goes; its own is 0 then. Without links: to Lambda."""
    if links <= 0:
        return Gifts(0.0, credit)
    return Gifts(TO_LINKS * credit / links, (1.0 - TO_LINKS) * credit)


def opic_grade_of(credit: float) -> int:
    """Return the grade of a credit (stored plus level), 1 to 16: by what it has beyond its start.

    Waiting pages have a unit each, so that only the rest tells them apart: graded by all that they
    have, most would share a grade, and a replay captures a fifth less.
    """
    return grade_of(credit - START_CREDIT)
