"""WHEN IS A PAGE WORTH A REVISIT?

A `Watchlist` holds every page of a shard that is kept fresh. Each visit teaches how often a page
changes (`change_rate`) and what its host's hints are worth (`signals`); a budget of requests per
second is shared out so that the importance-weighted freshness is highest (`planner`, by the rule of
`allocation`); what is due comes out in order of its moment (`due_queue`).

Neighbours: none. `crawl` says what happened, and stores the beliefs that come back.
Not for: fetching, politeness between two requests, or deciding that a page is gone.
"""

from gossamer.frontier.revisit.allocation import LimitOfHost
from gossamer.frontier.revisit.change_rate import (
    DEFAULT_PRIOR,
    Belief,
    first_belief,
    learn,
)
from gossamer.frontier.revisit.watchlist import PlannedRevisit, Watchlist
