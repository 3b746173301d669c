"""Who links to a page, to whom does it link, and which of them belong into a picture?"""

from collections import Counter
from collections.abc import Iterator
from functools import cache

from msgspec import Struct

from gossamer.errors import ConfigError
from gossamer.graph.asking.opening import Direction, OpenedGraph
from gossamer.graph.asking.row import NamedLinks
from gossamer.graph.kinds import ALL, Kind, kind_names
from gossamer.graph.picture import MOST_SPOTS, Neighbourhood, Spot

DIRECTIONS: tuple[Direction, Direction] = ("in", "out")
MOST_WEIGHED = 2_000
"""Neighbours among which those of a picture are chosen."""


class LinkOptions(Struct, frozen=True, kw_only=True):
    """Which links are wanted."""

    direction: Direction | None = None
    """None: both."""
    kinds: int = ALL
    limit: int | None = None
    """Of each direction; None: all."""
    after: str = ""
    """Only those that come behind this URL, in the order in which they are given out."""


class LinkList(Struct, frozen=True, kw_only=True):
    """The links of a URL in one direction, in the order of the graph."""

    urls: list[str]
    """The pages at their other ends."""
    kinds: list[list[str]]
    """The kinds of each link: link, nofollow, redirect, canonical, embed, form, list."""
    total: int
    """How many there are; `urls` may hold fewer, if a limit was given."""
    after: str | None
    """What to give as `after` to get the next ones; None if these are the last."""


class Links(Struct, frozen=True, kw_only=True):
    """The links of a URL: those to it and those from it."""

    url: str
    incoming: LinkList | None = None
    """None if only the others were asked for."""
    outgoing: LinkList | None = None

    def json_fields(self) -> dict[str, object]:
        """Return the answer as JSON has it: with the names `in` and `out`, flat."""
        told: dict[str, object] = {"url": self.url}
        for name, row in (("in", self.incoming), ("out", self.outgoing)):
            if row is not None:
                told[name] = row.urls
                told[f"{name}_kinds"] = row.kinds
                told[f"{name}_total"] = row.total
                told[f"{name}_after"] = row.after
        return told


def links(graph: OpenedGraph, url: str, options: LinkOptions) -> Links | None:
    """Return the links of a URL, in the order of the graph; None if it is not in the graph."""
    own = graph.spelled(url)
    found: list[LinkList | None] = []
    for name in DIRECTIONS:
        if options.direction not in (name, None):
            found.append(None)
            continue
        row = graph.row(own, name, options.kinds)
        if row is None:
            return None
        start = row.behind(graph.spelled(options.after)) if options.after else 0
        if start is None:
            raise ConfigError("after: expected the last URL of the previous page of results")
        end = len(row) if options.limit is None else start + options.limit
        shown = row.part(slice(start, end))
        found.append(
            LinkList(
                urls=[one for one, _ in shown],
                kinds=[_names(kinds) for _, kinds in shown],
                total=len(row),
                after=shown[-1][0] if shown and end < len(row) else None,
            )
        )
    return Links(url=own, incoming=found[0], outgoing=found[1])


@cache
def _names(kinds: int) -> list[str]:
    """Return the names of some kinds; there are few sets of them, and rows have thousands."""
    return kind_names(kinds)


def around(graph: OpenedGraph, url: str) -> Neighbourhood | None:
    """Return the neighbours of a URL that matter most, for a picture; None if it is unknown."""
    rows = [graph.row(url, name) for name in DIRECTIONS]
    own = graph.spelled(url)
    parts: list[NamedLinks] = []
    for row in rows:
        if row is None:
            return None
        # Of very many, some that are evenly spread over them.
        some = row.part(slice(None, None, max(1, -(-len(row) // MOST_WEIGHED))))
        parts.append([one for one in some if one[0] != own])
    both = {one for one, _ in parts[0]} & {one for one, _ in parts[1]}
    ins, outs = (_spots(graph, part, both) for part in parts)
    totals = [len(row) for row in rows if row is not None]
    return Neighbourhood(url=own, ins=ins, outs=outs, ins_total=totals[0], outs_total=totals[1])


def _spots(graph: OpenedGraph, some: NamedLinks, both: set[str]) -> list[Spot]:
    """Return the most linked of some neighbours, of each host as many as of others, in order."""
    weights = graph.indegrees([url for url, _ in some])
    weak = Kind.LINK | Kind.CANONICAL
    spots = [
        Spot(url, float(weight), is_mutual=url in both, is_weak=bool(kinds) and not kinds & weak)
        for (url, kinds), weight in zip(some, weights, strict=True)
    ]
    places: Counter[str] = Counter()
    ranked: list[tuple[int, str]] = []
    for spot in sorted(spots, key=lambda spot: -spot.weight):
        host = spot.url.split("/", 3)[2] if spot.url.count("/") > 1 else ""
        ranked.append((places[host], spot.url))
        places[host] += 1
    kept = {url for _, url in sorted(ranked, key=lambda one: one[0])[:MOST_SPOTS]}
    return [spot for spot in spots if spot.url in kept]


def nearest(graph: OpenedGraph, url: str) -> str | None:
    """Return the known URL that is most likely meant by one that is not known."""
    return next((one for one in respelled(url) if graph.node(one) is not None), None)


def respelled(url: str) -> Iterator[str]:
    """Yield a URL as others might have written it, then shorter and shorter."""
    others = [url, f"{url}/", url.removesuffix("/"), url.partition("?")[0], url.lower()]
    for one in others:
        scheme, mark, rest = one.partition("://")
        if not mark:
            yield from (f"https://{one}", f"http://{one}", f"https://{one}/", f"http://{one}/")
            continue
        other = "http" if scheme == "https" else "https"
        bare = rest.removeprefix("www.")
        yield from (one, f"{other}://{rest}")
        yield from (f"{way}://{host}" for way in (scheme, other) for host in (bare, f"www.{bare}"))
    head, mark, rest = url.partition("://")
    while mark and "/" in rest.rstrip("/"):
        rest = rest.rstrip("/").rpartition("/")[0] + "/"
        yield f"{head}://{rest}"
