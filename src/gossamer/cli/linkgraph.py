"""`gossamer links`, `rank`, and `graph path`, `like`, `hosts`, `components`, `picture`."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from msgspec import Struct
from rich.console import RenderableType
from rich.live import Live
from rich.text import Text

from gossamer.cli.graphviews import (
    components_view,
    host_view,
    hosts_view,
    links_view,
    path_view,
    rank_hosts_view,
    rank_view,
    similar_view,
)
from gossamer.cli.options import (
    REQUIRED,
    UNKNOWN,
    Address,
    Build,
    GraphPlace,
    Json,
    Kinds,
    Place,
    declare,
    place_given,
)
from gossamer.cli.parameters import argument, option
from gossamer.cli.screen import as_json, harmless, out, print_json
from gossamer.cli.updating import bring_graph_up_to_date, crawl_folder
from gossamer.durable import is_writable
from gossamer.errors import CorruptFile

if TYPE_CHECKING:
    from gossamer import LinkGraph, StoredLinkGraph

Shown = TypeVar("Shown", bound=Struct)
SHOWN = 50
"""Links of a direction that a person is shown; programs get all."""

Top = Annotated[int, option("--top", metavar="N", min=0, help="So many; 0: all.")]
Limit = Annotated[
    int | None, option("--limit", metavar="N", min=0, help="At most so many; 0: all.")
]


def links(**given: Any) -> int:  # noqa: ANN401 - the parser hands over what is declared below
    """Links to and from a URL."""
    is_json, limit = given["json"], given["limit"]
    if limit is None:
        limit = 0 if is_json else SHOWN
    graph = graph_to_ask_of(given["place"], is_built=given["build"])
    found = graph.links(
        given["url"],
        direction=None if given["in_"] == given["out_"] else "in" if given["in_"] else "out",
        kinds=given["kind"] or (),
        limit=limit or None,
    )
    if found is None:
        return unknown(graph, given["url"])
    if not is_json:
        return show(found, links_view, is_json=False)
    # Both names are always there, so that a program can rely on them.
    print_json({"url": found.url, "in": [], "out": []} | as_json(found))
    return 0


declare(
    links,
    ("place", GraphPlace, REQUIRED),
    ("url", Address, REQUIRED),
    ("in_", Annotated[bool, option("--in", help="Only links to it.")], False),
    ("out_", Annotated[bool, option("--out", help="Only links from it.")], False),
    ("kind", Kinds, None),
    ("limit", Limit, None),
    ("build", Build, True),
    ("json", Json, False),
)


def rank(**given: Any) -> int:  # noqa: ANN401 - the parser hands over what is declared below
    """Rank the pages: PageRank (damping .85), or another measure. Convergence is shown.

    The PageRank of a crawl is also saved to DIR/graph/ranks, for others such as
    `gossamer search` and `gossamer crawl --ranks`. Links, redirects and canonical
    links count; --kind chooses others. URLs that were never fetched have ranks, too,
    but are left out of the list.
    """
    kinds, top = given["kind"] or (), given["top"]
    if not isinstance(given["place"], Path):
        return _rank_shards(given["place"], given)
    graph = whole_graph(given["place"], is_built=given["build"])
    if given["hosts"]:
        found = graph.rank_hosts(given["by"], kinds=kinds, top=top)
        return show(found, rank_hosts_view, is_json=given["json"])
    is_saved = given["save"] and is_writable(graph.base.parent)
    with sweeping() as tell:
        ranking = graph.rank(
            given["by"],
            kinds=kinds,
            top=top,
            not_fetched=given["all"],
            save=is_saved,
            on_sweep=tell,
        )
    return show(ranking, rank_view, is_json=given["json"])


declare(
    rank,
    ("place", GraphPlace, REQUIRED),
    ("top", Top, 20),
    (
        "by",
        Annotated[
            str,
            option(
                "--by",
                metavar="pagerank|harmonic|hubs|authorities|indegree",
                help="The measure.",
            ),
        ],
        "pagerank",
    ),
    ("kind", Kinds, None),
    (
        "all",
        Annotated[bool, option("--all", help="List URLs that were never fetched, too.")],
        False,
    ),
    ("hosts", Annotated[bool, option("--hosts", help="Rank hosts instead.")], False),
    (
        "save",
        Annotated[bool, option("--save/--no-save", help="Write DIR/graph/ranks.")],
        True,
    ),
    ("build", Build, True),
    ("json", Json, False),
)


def _rank_shards(graph: "StoredLinkGraph", given: dict[str, Any]) -> int:
    """Rank the pages of a store, shard by shard."""
    if given["hosts"]:
        best = graph.rank_hosts(given["by"], kinds=given["kind"] or (), top=given["top"])
        return show(best, rank_hosts_view, is_json=given["json"])
    with sweeping() as tell:
        ranking = graph.rank(
            given["by"],
            kinds=given["kind"] or (),
            top=given["top"],
            not_fetched=given["all"],
            on_sweep=tell,
        )
    return show(ranking, rank_view, is_json=given["json"])


def path(
    place: Place,
    start: Annotated[str, argument(metavar="FROM", help="A URL.")],
    end: Annotated[str, argument(metavar="TO", help="A URL.")],
    *,
    build: Build = True,
    json: Json = False,
) -> int:
    """Find a shortest path over links from one URL to another."""
    say_all_links(place, "paths")
    graph = whole_graph(place, is_built=build)
    found = graph.path(start, end)
    if found is None:
        return unknown(graph, end if start in graph else start)
    return show(found, path_view, is_json=json)


def like(**given: Any) -> int:  # noqa: ANN401 - the parser hands over what is declared below
    """Find the pages that are linked from the same pages (or link to the same) as a URL."""
    say_all_links(given["place"], "similar pages")
    graph = whole_graph(given["place"], is_built=given["build"])
    found = graph.similar(given["url"], given["by"], given["top"])
    if found is None:
        return unknown(graph, given["url"])
    return show(found, similar_view, is_json=given["json"])


declare(
    like,
    ("place", Place, REQUIRED),
    ("url", Address, REQUIRED),
    (
        "by",
        Annotated[str, option("--by", metavar="cocitation|coupling", help="What they share.")],
        "cocitation",
    ),
    ("top", Annotated[int, option("--top", metavar="N", min=1, help="So many.")], 20),
    ("build", Build, True),
    ("json", Json, False),
)


def hosts(**given: Any) -> int:  # noqa: ANN401 - the parser hands over what is declared below
    """Show the hosts by rank, or which hosts link to one and to which it links."""
    graph, name, top = given["place"], given["name"], given["top"] or None
    if isinstance(graph, Path):
        graph = whole_graph(graph, is_built=given["build"])
    if not name:
        return show(graph.hosts(top), hosts_view, is_json=given["json"])
    found = graph.host(name, top)
    if found is None:
        sys.stderr.write(f"gossamer: {harmless(name)} is not a host of the graph\n")
        return UNKNOWN
    return show(found, host_view, is_json=given["json"])


declare(
    hosts,
    ("place", GraphPlace, REQUIRED),
    ("name", Annotated[str, argument(metavar="[HOST]", help="Its links only.")], ""),
    ("top", Top, 20),
    ("build", Build, True),
    ("json", Json, False),
)


def components(place: Place, *, kind: Kinds = None, build: Build = True, json: Json = False) -> int:
    """Show strongly and weakly connected components, and the bow tie."""
    say_all_links(place, "components")
    graph = whole_graph(place, is_built=build)
    return show(graph.components(kinds=kind or ()), components_view, is_json=json)


def picture(
    place: Place,
    url: Address,
    *,
    to: Annotated[Path, option("--to", metavar="FILE.svg", help="The new file.")],
    build: Build = True,
    json: Json = False,
) -> int:
    """Draw a URL among those that link to it and those it links to, as an SVG."""
    say_all_links(place, "pictures")
    graph = graph_of(place, is_built=build)
    found = graph.picture(url)
    if found is None:
        return unknown(graph, url)
    to.write_text(found.svg, encoding="utf-8")
    if json:
        told = {"url": found.url, "file": str(to)}
        print_json({**told, "in": found.incoming, "out": found.outgoing})
    else:
        out().print(Text(harmless(to)))
    return 0


def say_all_links(place: Path, what: str) -> None:
    """Say of a store that a question is not answered shard by shard."""
    if place_given(place) != str(place):
        sys.stderr.write(
            f"gossamer: {what} need all links at once: they are told by a graph of everything on "
            "this machine, not by those of the shards\n"
        )


def whole_graph(place: Path, *, is_built: bool) -> "LinkGraph":
    """Return a graph for a question about all of it; say so if the newest pages do not count."""
    graph = graph_of(place, is_built=is_built)
    if graph.newer_pages:
        advice = f"`gossamer build {harmless(place)} graph --fold` puts them into the graph"
        sys.stderr.write(f"gossamer: newer pages do not count ({graph.newer_pages:,}): {advice}\n")
    return graph


def graph_of(place: Path, *, is_built: bool) -> "LinkGraph":
    """Return the graph that was asked for; a crawl's is made or brought up to date before."""
    from gossamer import open_graph

    if place.is_dir():
        crawl_folder(place)
        if is_built:
            bring_graph_up_to_date(place)
    try:
        return open_graph(place)
    except CorruptFile as error:
        if not (place.is_dir() and is_built):
            raise
        sys.stderr.write(f"gossamer: {harmless(error)}: the graph is built anew\n")
        bring_graph_up_to_date(place, is_full=True)
        return open_graph(place)


def graph_to_ask_of(
    place: "Path | StoredLinkGraph", *, is_built: bool
) -> "LinkGraph | StoredLinkGraph":
    """Return the graph that was asked for; that of a store's shards is as it was built."""
    return graph_of(place, is_built=is_built) if isinstance(place, Path) else place


def unknown(graph: "LinkGraph | StoredLinkGraph", url: str) -> int:
    """Say that a URL is not in a graph, and which one may be meant."""
    near = graph.nearest(url)
    meant = f"did you mean {harmless(near)} ?" if near else "expected the URL of a page or a link"
    sys.stderr.write(f"gossamer: {harmless(url)} is not in the graph; {meant}\n")
    return UNKNOWN


def show(found: Shown, view: Callable[[Shown], RenderableType], *, is_json: bool) -> int:
    """Show an answer to a program, or to a person."""
    if is_json:
        print_json(as_json(found))
    else:
        out().print(view(found), soft_wrap=False)
    return 0


@contextmanager
def sweeping() -> Iterator[Callable[[int, float], None] | None]:
    """Give a function that shows how a computation converges, on a terminal."""
    aside = out(is_aside=True)
    if not aside.is_terminal:
        yield None
        return
    with Live(Text("ranking"), console=aside, transient=True, auto_refresh=False) as live:
        yield lambda sweep, error: live.update(
            Text(f"sweep {sweep}: error below {error:.2e}"), refresh=True
        )
