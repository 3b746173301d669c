"""A limit that a growing crawl runs into: URLs per host."""

from collections.abc import Callable, Mapping

from gossamer.filter.api import UrlFilter
from gossamer.model import Link, Objection, Reject


def host_budget(
    max_urls: int, host_count: Callable[[str], int], kept: Mapping[str, int]
) -> UrlFilter:
    """Refuse further URLs of a host that already has its share of the queue.

    The links of a page are judged before any of them is taken. So those that were kept so far
    count too, or one sitemap could hold more than a host's budget.
    """
    objection = Objection(Reject.HOST_BUDGET, f"{max_urls} URLs of this host are taken")

    def object_to(link: Link, _depth: int, _source: str) -> Objection | None:
        host = link.target.host
        return objection if host_count(host) + kept.get(host, 0) >= max_urls else None

    return object_to
