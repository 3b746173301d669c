"""Refuse links by a rule of your own.

A rule says what it has against a link, or nothing. It is counted and explained like any other
filter: `gossamer why` quotes what it said.

python examples/own_filter.py
"""

from small_web import small_web

from gossamer import Crawl, url_filter
from gossamer.model import Link

MAX_SEGMENTS = 2


@url_filter
def shallow_paths(link: Link) -> str | None:
    """Refuse paths with more than two segments."""
    segments = [word for word in link.target.target.partition("?")[0].split("/") if word]
    return f"{len(segments)} path segments" if len(segments) > MAX_SEGMENTS else None


def main() -> None:
    """Crawl with the rule and count what it refused."""
    with small_web() as (seed, config, folder):
        ending = Crawl(folder, [seed], config, filters=[shallow_paths]).run()
        refused = ending.status.refused
        print(f"{ending.status.pages} pages; links refused by reason: {refused}")


if __name__ == "__main__":
    main()
