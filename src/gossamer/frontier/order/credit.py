"""Best-first: host-discounted unit credit. What a link gets, and the grade that a credit earns.

A credit estimates unnormalised PageRank with one unit of teleport per page. The unit shrinks as
more of the page's registrable domain becomes known, so that a domain earns nothing by being large:
an endless trap is no more attractive than any other domain of its size. A link within a domain
gets a quarter of what a link to another one gets. Both were chosen by replays (ADR 16).
"""

from math import frexp

PASS_ON = 0.85
"""The share of its credit that a page passes on; PageRank's damping."""
SEED_CREDIT = 300.0
"""What a seed starts with: it bridges the start, until pages found have credit of their own."""
HOST_DISCOUNT = 30.0
"""H: with so many known URLs of its domain, a page passes on half a unit of its own."""
LOCAL = 0.25
"""What a link within a domain gets, as a share of what a link to another domain gets: a site's word
for itself counts less, and a quarter is two grades."""
GRADES = 16
"""Classes of credit, a factor of two each; 16 cost nothing against an exact queue."""

SHIFT = 12
"""Credits under 2^-11 all have grade 1, those from 2^3 on all have grade 16."""


def unit_share(credit: float, known: int, links: int) -> float:
    """Return what each link of a fetched page to another domain gets; others get `LOCAL` of it.

    `known` counts the URLs known of the page's registrable domain (not of its host: a wildcard
    domain has a new host for each page), `links` the distinct ones kept, to fetched pages included.
    """
    return PASS_ON * (credit + 1.0 / (1.0 + known / HOST_DISCOUNT)) / max(links, 1)


def grade_of(credit: float) -> int:
    """Return the grade of a credit, 1 (low) to 16: floor(log2) of it, shifted and clamped."""
    if credit <= 0.0:
        return 1
    return min(max(frexp(credit)[1] + SHIFT, 1), GRADES)
