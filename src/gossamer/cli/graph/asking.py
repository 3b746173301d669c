"""`gossamer links`, `rank`, and `graph path`, `like`, `hosts`, `components`, `picture`."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType
from rich.live import Live
from rich.text import Text

from gossamer.cli.graph.building import bring_up_to_date, crawl_folder
from gossamer.cli.graph.options import (
    REQUIRED,
    UNKNOWN,
    Address,
    Build,
    Json,
    Kinds,
    Place,
    declare,
)
from gossamer.cli.graph.views import (
    components_view,
    hosts_view,
    like_view,
    links_view,
    path_view,
    rank_view,
)
from gossamer.cli.screen import Facts, harmless, out, print_json
from gossamer.errors import ConfigError, CorruptFile

if TYPE_CHECKING:
    from gossamer.graph import Opened

SHOWN = 50
"""Links of a direction that a person is shown; programs get all."""

Top = Annotated[int, typer.Option("--top", metavar="N", min=0, help="So many; 0: all.")]
Limit = Annotated[
    int | None, typer.Option("--limit", metavar="N", min=0, help="At most so many; 0: all.")
]


def links(**given: Any) -> int:  # noqa: ANN401 - the parser hands over what is declared below
    """Which URLs link to a URL, and to which does it link?"""
    from gossamer.graph import LinkWish, read_kinds  # noqa: PLC0415 - keeps --help fast
    from gossamer.graph import links as links_of  # noqa: PLC0415 - keeps --help fast

    is_json, limit = given["json"], given["limit"]
    if limit is None:
        limit = 0 if is_json else SHOWN
    wish = LinkWish(
        direction=None if given["in_"] == given["out_"] else "in" if given["in_"] else "out",
        kinds=read_kinds(given["kind"] or ()),
        limit=limit or None,
    )
    graph = graph_of(given["place"], is_built=given["build"])
    with_kinds(graph, given["kind"])
    facts = links_of(graph, given["url"], wish)
    if facts is None:
        return unknown(graph, given["url"])
    # Both names are always there, so that a program can rely on them.
    shown = {"url": facts["url"], "in": [], "out": []} | facts if is_json else facts
    return show(shown, links_view, is_json=is_json)


declare(
    links,
    ("place", Place, REQUIRED),
    ("url", Address, REQUIRED),
    ("in_", Annotated[bool, typer.Option("--in", help="Only links to it.")], False),
    ("out_", Annotated[bool, typer.Option("--out", help="Only links from it.")], False),
    ("kind", Kinds, None),
    ("limit", Limit, None),
    ("build", Build, True),
    ("json", Json, False),
)


def rank(**given: Any) -> int:  # noqa: ANN401 - the parser hands over what is declared below
    """Rank the pages: PageRank (damping .85), or another measure. Convergence is shown.

    The PageRank of a crawl is also saved to DIR/graph/ranks, for others such as
    `gossamer crawl --ranks`. Links, redirects and canonical links count;
    --kind chooses others.
    """
    from gossamer.graph import (  # noqa: PLC0415 - see above
        VOTES,
        RankWish,
        rank_of_hosts,
        read_kinds,
        save_rank,
    )
    from gossamer.graph import rank as rank_of  # noqa: PLC0415 - keeps --help fast

    kinds = read_kinds(given["kind"]) if given["kind"] else VOTES
    wish = RankWish(by=given["by"], kinds=kinds, top=given["top"])
    graph = whole_graph(given["place"], is_built=given["build"])
    with_kinds(graph, given["kind"])
    if given["hosts"]:
        return show(rank_of_hosts(graph, wish), rank_view, is_json=given["json"])
    with sweeping() as tell:
        facts, ranking = rank_of(graph, wish, tell)
        if (
            given["save"]
            and wish.by == "pagerank"
            and graph.crawl is not None
            and not given["kind"]
        ):
            path = graph.base.with_name("ranks")
            save_rank(graph, ranking, path)
            facts["saved"] = str(path)
    return show(facts, rank_view, is_json=given["json"])


declare(
    rank,
    ("place", Place, REQUIRED),
    ("top", Top, 20),
    (
        "by",
        Annotated[
            str,
            typer.Option(
                "--by",
                metavar="pagerank|harmonic|hubs|authorities|indegree",
                help="The measure.",
            ),
        ],
        "pagerank",
    ),
    ("kind", Kinds, None),
    ("hosts", Annotated[bool, typer.Option("--hosts", help="Rank hosts instead.")], False),
    (
        "save",
        Annotated[bool, typer.Option("--save/--no-save", help="Write DIR/graph/ranks.")],
        True,
    ),
    ("build", Build, True),
    ("json", Json, False),
)


def path(
    place: Place,
    start: Annotated[str, typer.Argument(metavar="FROM", help="A URL.")],
    end: Annotated[str, typer.Argument(metavar="TO", help="A URL.")],
    *,
    build: Build = True,
    json: Json = False,
) -> int:
    """Find a shortest way over links from one URL to another."""
    from gossamer.graph import path as path_of  # noqa: PLC0415 - keeps --help fast

    graph = whole_graph(place, is_built=build)
    facts = path_of(graph, start, end)
    if facts is None:
        return unknown(graph, start if graph.node(start) is None else end)
    return show(facts, path_view, is_json=json)


def like(**given: Any) -> int:  # noqa: ANN401 - the parser hands over what is declared below
    """Find the pages that are linked from the same pages (or link to the same) as a URL."""
    from gossamer.graph import like as pages_like  # noqa: PLC0415 - keeps --help fast

    graph = whole_graph(given["place"], is_built=given["build"])
    facts = pages_like(graph, given["url"], given["by"], given["top"])
    if facts is None:
        return unknown(graph, given["url"])
    return show(facts, like_view, is_json=given["json"])


declare(
    like,
    ("place", Place, REQUIRED),
    ("url", Address, REQUIRED),
    (
        "by",
        Annotated[
            str, typer.Option("--by", metavar="cocitation|coupling", help="What they share.")
        ],
        "cocitation",
    ),
    ("top", Annotated[int, typer.Option("--top", metavar="N", min=1, help="So many.")], 20),
    ("build", Build, True),
    ("json", Json, False),
)


def hosts(
    place: Place,
    name: Annotated[str, typer.Argument(metavar="[HOST]", help="Its links only.")] = "",
    *,
    top: Top = 20,
    build: Build = True,
    json: Json = False,
) -> int:
    """Show the hosts by rank, or which hosts link to one and to which it links."""
    from gossamer.graph import host as host_of  # noqa: PLC0415 - keeps --help fast
    from gossamer.graph import hosts as hosts_of  # noqa: PLC0415 - keeps --help fast

    graph = whole_graph(place, is_built=build)
    facts = host_of(graph, name, top or None) if name else hosts_of(graph, top or None)
    if facts is None:
        sys.stderr.write(f"gossamer: {harmless(name)} is not a host of the graph\n")
        return UNKNOWN
    return show(facts, hosts_view, is_json=json)


def components(place: Place, *, kind: Kinds = None, build: Build = True, json: Json = False) -> int:
    """Show how the graph hangs together: strongly and weakly connected components, the bow tie."""
    from gossamer.graph import components as components_of  # noqa: PLC0415 - keeps --help fast
    from gossamer.graph import read_kinds  # noqa: PLC0415 - keeps --help fast

    kinds = read_kinds(kind or ())
    graph = whole_graph(place, is_built=build)
    with_kinds(graph, kind)
    return show(components_of(graph, kinds), components_view, is_json=json)


def picture(
    place: Place,
    url: Address,
    *,
    to: Annotated[Path, typer.Option("--to", metavar="FILE.svg", help="The new file.")],
    build: Build = True,
    json: Json = False,
) -> int:
    """Draw a URL among those that link to it and those it links to, as an SVG."""
    from gossamer.graph import around, draw  # noqa: PLC0415 - keeps --help fast

    graph = graph_of(place, is_built=build)
    found = around(graph, url)
    if found is None:
        return unknown(graph, url)
    to.write_text(draw(found), encoding="utf-8")
    facts = {"url": found.url, "file": str(to), "in": found.ins_total, "out": found.outs_total}
    return show(facts, lambda told: Text(harmless(told["file"])), is_json=json)


def whole_graph(place: Path, *, is_built: bool) -> "Opened":
    """Return a graph for a question about all of it; say so if the newest pages do not count."""
    graph = graph_of(place, is_built=is_built)
    if graph.crawl is not None and graph.crawl.stale:
        advice = f"`gossamer build {harmless(place)} graph --fold` puts them into the graph"
        sys.stderr.write(f"gossamer: newer pages do not count ({graph.crawl.stale:,}): {advice}\n")
    return graph


def graph_of(place: Path, *, is_built: bool) -> "Opened":
    """Return the graph that was asked for; a crawl's is made or brought up to date before."""
    from gossamer.graph import opened  # noqa: PLC0415 - keeps --help fast

    if place.is_dir():
        crawl_folder(place)
        if is_built:
            bring_up_to_date(place)
    try:
        return opened(place)
    except CorruptFile as error:
        if not (place.is_dir() and is_built):
            raise
        sys.stderr.write(f"gossamer: {harmless(error)}: the graph is built anew\n")
        bring_up_to_date(place, is_full=True)
        return opened(place)


def with_kinds(graph: "Opened", asked: list[str] | None) -> None:
    """Refuse to choose kinds of links where all are of one."""
    if asked and not graph.has_kinds:
        raise ConfigError(f"--kind: {graph.base} does not tell kinds of links apart")


def unknown(graph: "Opened", url: str) -> int:
    """Say that a URL is not in a graph, and which one may be meant."""
    from gossamer.graph import nearest  # noqa: PLC0415 - keeps --help fast

    near = nearest(graph, url)
    meant = f"; did you mean {harmless(near)} ?" if near else ""
    sys.stderr.write(f"gossamer: {harmless(url)} is not in the graph{meant}\n")
    return UNKNOWN


def show(facts: Facts, view: Callable[[Facts], RenderableType], *, is_json: bool) -> int:
    """Show an answer to a program, or to a person."""
    if is_json:
        print_json(facts)
    else:
        out().print(view(facts), soft_wrap=False)
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
