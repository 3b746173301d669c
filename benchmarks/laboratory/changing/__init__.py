"""A CHANGING WEB: is what a crawler keeps still what the web says?

`ChangingWeb` has pages that change at known rates, some with an ETag, some with markup that is new
at every serving, and some that go for good. It is a pure function of a seed and of the time since
it was told to begin, so that the true freshness of any copy can be computed from the server's log
(`truth`) and held against what a watchlist should have come to (`foretell`). `serve_changing` runs
it in a process of its own.

Neighbours: `testing.server`, which serves it. Not for: faults and traps; `FakeWeb` has those.
"""

from laboratory.changing.foretell import foretold_freshness
from laboratory.changing.process import ChangingProcess, serve_changing
from laboratory.changing.truth import changes_between, true_freshness
from laboratory.changing.web import BEGIN, ChangingWeb, Page

__all__ = [
    "BEGIN",
    "ChangingProcess",
    "ChangingWeb",
    "Page",
    "changes_between",
    "foretold_freshness",
    "serve_changing",
    "true_freshness",
]
