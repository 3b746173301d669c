"""DO WE WANT IT? A chain of filters; the first objection wins, and is named and counted.

They are asked in this order: scheme, port, block, allow, scope, nofollow, length, extension, depth,
trap shapes, budget, the user's own. Rules that look at scheme, host and port only are asked once
per origin, and their verdict is remembered.

Neighbours: `crawl` hands over the links that `process` found and puts what is kept to `seen`.
Not for: what a server permits (`fetch.robots`), or what a document holds (`process`).
"""

from gossamer.filter.api import UrlFilter, url_filter
from gossamer.filter.build import build_chain
from gossamer.filter.chain import FilterChain
from gossamer.filter.traps import Return, Stay, Traps, count_new, notes_in, who_holds

__all__ = [
    "FilterChain",
    "Return",
    "Stay",
    "Traps",
    "UrlFilter",
    "build_chain",
    "count_new",
    "notes_in",
    "url_filter",
    "who_holds",
]
