"""DO WE WANT IT? A chain of filters; the first objection wins, and is named and counted.

They are asked in this order: drop, scheme, port, block, allow, scope, nofollow, length, extension,
depth, trap shapes, budget, the user's own. Rules that look at scheme, host and port only are asked
once per origin, and their answer is remembered. At the turn of a URL that other rules let pass,
those are asked again whose answer does not depend on when it was found.

Neighbours: `crawl` hands over the links that `process` found and puts what is kept to `seen`.
Not for: what a server permits (`fetch.robots`), what a document holds (`process`), or parts of
sites that have no end (`traps`).
"""

from typing import TYPE_CHECKING

from gossamer.lazy import late

if TYPE_CHECKING:
    from gossamer.filter.chain import (
        FilterChain,
        FilterRules,
        build_chain,
        check_patterns,
        followed_kinds,
        is_copy_in_place,
        sitemap_may_name,
    )
    from gossamer.filter.rules import (
        UrlFilter,
        UserFilter,
        as_user_filter,
        named_filter,
        url_filter,
    )
else:
    __getattr__ = late(
        __name__,
        {
            "chain": (
                "FilterChain FilterRules build_chain check_patterns followed_kinds "
                "is_copy_in_place sitemap_may_name"
            ),
            "rules": "UrlFilter UserFilter as_user_filter named_filter url_filter",
        },
    )
