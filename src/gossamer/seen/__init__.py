"""NEW TO US? Every URL fingerprint that the crawl has ever queued, and a quick answer.

An in-memory table holds the newest fingerprints, sorted runs on disk hold the rest (8 bytes each).
Neighbours: `urls` makes the fingerprints; `crawl` asks, commits the rows that come out of here,
and runs the background work. Not for: content (that is `dedupe`) or queues (`frontier`).
"""

from typing import TYPE_CHECKING

from gossamer.lazy import late

if TYPE_CHECKING:
    from gossamer.seen.runs import RunJob, verify
    from gossamer.seen.url_seen import MANIFEST as RUN_ROWS
    from gossamer.seen.url_seen import UrlSeen, check_seen, run_names
else:
    __getattr__ = late(
        __name__,
        {
            "runs": "RunJob verify",
            "url_seen": "RUN_ROWS=MANIFEST UrlSeen check_seen run_names",
        },
    )
