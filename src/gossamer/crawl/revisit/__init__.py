"""KEEP IT FRESH: revisit the pages that are stored, within a budget of requests.

`turns` wraps the pipeline: what an answer means for a page that we have; `records` says what that
leaves in the page's record. `watcher` takes what is due from the watchlist (`watched`, over
`frontier.revisit`) into the frontier, as far as the `budget` allows.

Neighbours: the engine asks a `Watcher` before it asks the frontier. Not for: deciding which page
is due (that is `frontier.revisit`), or another way to fetch: a revisit is a task like any other.
"""

from gossamer.crawl.revisit.records import STORED, count_revisit, next_record, outdated
from gossamer.crawl.revisit.turns import RevisitTurns
