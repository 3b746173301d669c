"""KEEP IT FRESH: look again at the pages that we have, within a budget of requests.

`watcher` takes what is due from the watchlist (`frontier.revisit`) into the frontier, `looking`
says what an answer means for a page that we have, `records` what it leaves in the page's record,
`budget` how many requests may be made.

Neighbours: the wheel asks a `Watcher` before it asks the frontier. Not for: deciding which page
is due (that is `frontier.revisit`), or another way to fetch: a revisit is a task like any other.
"""

from gossamer.crawl.watch.budget import Budget
from gossamer.crawl.watch.looking import Looker, is_not_modified
from gossamer.crawl.watch.records import STORED, count_look, next_record, outdated

__all__ = [
    "STORED",
    "Budget",
    "Looker",
    "count_look",
    "is_not_modified",
    "next_record",
    "outdated",
]
