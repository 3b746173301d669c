"""What an address costs: a page's hrefs to canonical URLs with keys, at once and one by one.

On the hrefs of pages from all over the local real web, in microseconds of CPU per href, the best of
some rounds that take turns; every way must give the same URLs. The standard library's `urljoin`,
which neither canonicalises nor makes keys, stands beside. `first` forgets nothing between pages but
meets each page once, as a crawl does; `again` meets pages whose hrefs it knows.
Run it with `make bench-micro ONLY=canonical`; the last line is one JSON object.
"""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urljoin

import turbohtml
from realweb import bring_up, sample_pages

from gossamer.config import UrlConfig
from gossamer.urls import join, join_all

PAGES = 600
ROUNDS = 5
RULES = UrlConfig()

Page = tuple[str, list[str]]


def hrefs_of(body: bytes) -> list[str]:
    """Return the distinct hrefs of a page, in order."""
    tree = turbohtml.parse(body, positions=False)
    found = [element.attr("href") for element in tree.find_all("a")]
    return list(dict.fromkeys(href for href in found if href))


def at_once(page: Page) -> list[str]:
    """Return the page's URLs, joined in one call."""
    return [url.text if url else "" for url in join_all(*page, RULES)]


def one_by_one(page: Page) -> list[str]:
    """Return the page's URLs, each joined by the full parser."""
    base, hrefs = page
    return [url.text if (url := join(base, href, RULES)) else "" for href in hrefs]


def standard(page: Page) -> list[str]:
    """Return what the standard library makes of the hrefs, as far as it can read them."""
    base, hrefs = page
    with suppress(ValueError):
        return [urljoin(base, href) for href in hrefs]
    return []


def timed(work: Callable[[Page], list[str]], pages: list[Page]) -> float:
    """Return the CPU seconds of a pass over the pages."""
    began = time.process_time()
    for page in pages:
        work(page)
    return time.process_time() - began


def main() -> None:
    """Measure, print a table, end with JSON."""
    bring_up()
    pages = [(url, hrefs_of(body)) for url, body in sample_pages(PAGES)]
    pages = [page for page in pages if page[1]]
    count = sum(len(hrefs) for _, hrefs in pages)
    first_s = timed(at_once, pages)
    assert all(at_once(page) == one_by_one(page) for page in pages)
    arms = {"again": at_once, "one_by_one": one_by_one, "urljoin": standard}
    best = dict.fromkeys(arms, float("inf"))
    for _ in range(ROUNDS):
        for name, work in arms.items():
            best[name] = min(best[name], timed(work, pages))
    figures = {"first": 1e6 * first_s / count}
    figures |= {name: 1e6 * cpu_s / count for name, cpu_s in best.items()}
    for name, us in figures.items():
        print(f"{name:12} {us:8.2f} us/href")
    result = {f"{name}_us_per_href": round(us, 3) for name, us in figures.items()}
    print(json.dumps({**result, "hrefs": count, "hrefs_per_page": round(count / len(pages), 1)}))


if __name__ == "__main__":
    main()
