"""Refuse links by a rule of your own.

A rule says what it has against a link, or nothing. It is counted and explained like any other
filter: `gossamer why` quotes what it said.

python examples/own_filter.py
"""

from small_web import small_web

import gossamer
from gossamer import Link, url_filter

MAX_SEGMENTS = 2


@url_filter
def shallow_paths(link: Link) -> str | None:
    """Refuse paths with more than two segments."""
    segments = [word for word in link.target.target.partition("?")[0].split("/") if word]
    return f"{len(segments)} path segments" if len(segments) > MAX_SEGMENTS else None


def main() -> None:
    """Crawl with the rule and count what it refused."""
    with small_web() as (seed, config, folder):
        ending = gossamer.run(seed, folder, config=config, filters=[shallow_paths])
        refused = ending.status.refused
        print(f"{ending.status.pages} pages; links refused by reason: {refused}")


if __name__ == "__main__":
    main()
