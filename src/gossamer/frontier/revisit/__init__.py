"""WHEN IS A PAGE WORTH ANOTHER LOOK?

A `Watchlist` holds every page of a shard that is kept fresh. Each visit teaches how often a page
changes (`rate`); a budget of requests per second is shared out so that the importance-weighted
freshness is highest (`plan`); what is due comes out in order of its moment (`agenda`).

Neighbours: none. `crawl` says what happened, and stores the beliefs that come back.
Not for: fetching, politeness between two requests, or deciding that a page is gone.
"""

from gossamer.frontier.revisit.plan import LimitOfHost
from gossamer.frontier.revisit.rate import (
    DEFAULT_PRIOR,
    Belief,
    first_belief,
    learn,
    prior_of,
)
from gossamer.frontier.revisit.watchlist import Outlook, Watchlist

__all__ = [
    "DEFAULT_PRIOR",
    "Belief",
    "LimitOfHost",
    "Outlook",
    "Watchlist",
    "first_belief",
    "learn",
    "prior_of",
]
