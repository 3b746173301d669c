"""`gossamer build`: make what a crawl's folder has beside the archive again from it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec.structs import replace

from gossamer.cli.indexing import (
    PUBLISH,
    RANKS,
    SPLIT,
    SPLIT_CRAWL,
    build_index_of,
    build_index_of_store,
)
from gossamer.cli.options import (
    CODING,
    REQUIRED,
    Json,
    Memory,
    coding_of,
    declare,
    folder_to_change,
)
from gossamer.cli.parameters import argument, option
from gossamer.cli.quantities import memory_of
from gossamer.cli.screen import ALIKE, MIB, as_json, harmless, out, print_json
from gossamer.cli.updating import build_line, crawl_folder, telling
from gossamer.errors import ConfigError
from gossamer.log import counted

if TYPE_CHECKING:
    from gossamer import BuildStep, Coding, GraphFacts, GraphOptions, NearTotals, RebuiltState

_DID_GRAPH = {
    "nothing": "The graph is up to date",
    "delta": "New pages were put on top of the graph",
    "fold": "New pages were folded into the graph",
    "full": "The graph was built",
}
_DID_TABLES = {
    "nothing": "The tables are up to date",
    "news": "New pages were added to the tables",
    "full": "The tables were built",
}
MOST_NAMED = 100
KNOWN = ("state", "near", "graph", "index", "tables")


def build(**given: Any) -> None:  # noqa: ANN401 - the parser hands over what is declared below
    """Build the state, labels of near-duplicates, graph, index or tables from the archive.

    What exists is brought up to date: only what is new in the archive is read.
    Of a crawl in an object store graph and index can be built, shard by shard and
    on several machines at once; they are kept there, and asked by the same URL.
    WARC files of other crawlers (wget, Heritrix, Browsertrix) that lie in
    DIR/archive become part of the crawl when its state is built. The options of
    compression are for a graph that is written in full, those of splitting for
    an index.
    """
    what = given["what"]
    if what not in KNOWN:
        raise ConfigError(f"build: expected {', '.join(KNOWN)}, found {what!r}")
    _refuse_others(what, given)
    if what in OF_STORES and "://" in given["folder"]:
        OF_STORES[what](given["folder"], given)
        return
    given["folder"] = folder = crawl_folder(folder_to_change(given["folder"]))
    if given["shard"] is not None:
        raise ConfigError("--shard: expected the URL of a crawl's store, found a folder")
    if what == "graph":
        build_graph_of(folder, given)
    elif what == "index":
        build_index_of(folder, given)
    elif what == "tables":
        build_tables_of(folder, given)
    else:
        build_again(folder, what, is_json=given["json"])


def _refuse_others(what: str, given: dict[str, Any]) -> None:
    """Refuse options that mean nothing for what is built."""
    for kind, options in (("graph", OF_GRAPH), ("index", OF_INDEX)):
        for name, _, usual in options:
            if what != kind and given[name] != usual:
                flag = name.replace("_", "-")
                command = f"gossamer build {given['folder']} {kind}"
                raise ConfigError(f"build {what}: --{flag} is for `{command}`")


Choice = "keep|follow"
OF_GRAPH: Sequence[tuple[str, Any, Any]] = (
    (
        "fold",
        Annotated[bool, option("--fold", help="Leave no newer pages on top of the graph.")],
        False,
    ),
    (
        "redirects",
        Annotated[
            str | None,
            option(
                "--redirects",
                metavar=Choice,
                help="follow: links count for the end. If not given: as before, keep at first.",
            ),
        ],
        None,
    ),
    (
        "canonical",
        Annotated[
            str | None,
            option("--canonical", metavar=Choice, help="The same for canonical links."),
        ],
        None,
    ),
    *CODING,
)
OF_INDEX: Sequence[tuple[str, Any, Any]] = (*SPLIT, *SPLIT_CRAWL, RANKS, PUBLISH)
declare(
    build,
    (
        "folder",
        Annotated[
            str,
            argument(
                metavar="DIR|URL",
                help="The crawl's folder; for a graph or an index, or its store.",
            ),
        ],
        REQUIRED,
    ),
    (
        "what",
        Annotated[str, argument(metavar="|".join(KNOWN), help="What to build.")],
        REQUIRED,
    ),
    ("full", Annotated[bool, option("--full", help="Read the whole archive again.")], False),
    (
        "follow",
        Annotated[bool, option("--follow", help="Go on while the crawl runs.")],
        False,
    ),
    *OF_GRAPH,
    *OF_INDEX,
    (
        "shard",
        Annotated[
            list[int] | None,
            option("--shard", metavar="N", help="Of a store: only this shard. Repeatable."),
        ],
        None,
    ),
    (
        "beside",
        Annotated[int | None, option("--beside", metavar="PID", hidden=True)],
        None,
    ),
    ("memory", Memory, "512MiB"),
    ("json", Json, False),
)


def build_graph_of(folder: Path, given: dict[str, Any]) -> None:
    """Build the graph of a crawl, or follow it."""
    if given["follow"]:
        _follow_graph(folder, graph_options_of(given), is_json=given["json"])
        return
    from gossamer import OpenCrawl

    with telling("graph") as tell:
        facts = OpenCrawl(folder).build_graph(graph_options_of(given), tell)
    _tell_built(facts, is_json=given["json"])


def build_graph_of_store(url: str, given: dict[str, Any]) -> None:
    """Build the graph of a crawl's store: a part for each shard."""
    from gossamer import GraphOptions, StoredLinkGraph

    if given["follow"]:
        raise ConfigError("--follow: a store's graph is built as of its newest checkpoint")
    options = GraphOptions(
        redirects=given["redirects"] or "keep",
        canonical=given["canonical"] or "keep",
        is_full=given["full"],
        memory_bytes=memory_of(given["memory"]),
        coding=coding_of(given),
    )
    with telling("graph") as tell:
        facts = StoredLinkGraph.build(
            url, shards=tuple(given["shard"] or ()), options=options, on_progress=tell
        )
    if given["json"]:
        print_json(as_json(facts))
        return
    for one in facts.shards:
        words = f"shard {one.shard}: {one.pages:,} pages, {one.nodes:,} URLs, {one.arcs:,} links"
        known = f"{one.all_nodes:,} with those of other shards"
        out().print(f"{words}; {known}; memory {one.peak_bytes / MIB:.0f} MiB")
    if facts.did == "part":
        out().print("The graphs of other shards are missing yet: it is asked when all are there")
        return
    did = _DID_GRAPH[facts.did]
    out().print(f"{did}: {facts.pages:,} pages, {facts.nodes:,} URLs, {facts.arcs:,} links.")


def build_tables_of(folder: Path, given: dict[str, Any]) -> None:
    """Build the Parquet parts of a crawl's tables, or follow it."""
    from gossamer import OpenCrawl

    if given["follow"]:
        for facts in OpenCrawl(folder).tables().follow():
            if facts.did != "nothing":
                out(is_aside=True).print(f"{_DID_TABLES[facts.did]}: {facts.pages:,} pages")
    with telling("tables") as tell:
        facts = OpenCrawl(folder).tables().build(full=given["full"], on_progress=tell)
    if given["json"]:
        print_json(as_json(facts))
        return
    words = f"{facts.pages:,} pages in {counted(facts.parts, 'part')}"
    out().print(f"{_DID_TABLES[facts.did]}: {words}. ({facts.records:,} records read.)")


def graph_options_of(given: dict[str, Any]) -> "GraphOptions":
    """Return how the graph shall be built."""
    for name in ("redirects", "canonical"):
        if given[name] not in {"keep", "follow", None}:
            raise ConfigError(f"--{name}: expected keep or follow, found {given[name]!r}")
    from gossamer import OpenCrawl

    before = OpenCrawl(given["folder"]).graph_options()
    options = replace(
        before,
        redirects=given["redirects"] or before.redirects,
        canonical=given["canonical"] or before.canonical,
        is_full=given["full"],
        memory_bytes=memory_of(given["memory"]),
        coding=_coding(given, before),
    )
    return replace(options, delta_share=0.0) if given["fold"] else options


def _coding(given: dict[str, Any], before: "GraphOptions") -> "Coding":
    """Return the coding that was asked for, or that of the last time if none was."""
    asked, is_asked = coding_of(given), any(given[name] != value for name, _, value in CODING)
    return asked if given["full"] or is_asked else before.coding


def _follow_graph(folder: Path, options: "GraphOptions", *, is_json: bool) -> None:
    from gossamer import OpenCrawl

    facts: GraphFacts | None = None
    for facts in OpenCrawl(folder).follow_graph(options):
        if facts.did != "nothing":
            words = f"{_DID_GRAPH[facts.did]}: {facts.pages:,} pages, {facts.delta_pages:,} on top"
            out(is_aside=True).print(words)
    if facts is not None:
        _tell_built(facts, is_json=is_json)


def _tell_built(facts: "GraphFacts", *, is_json: bool) -> None:
    if is_json:
        print_json(as_json(facts))
        return
    words = f"{facts.pages:,} pages, {facts.nodes:,} URLs, {facts.arcs:,} links"
    top = f", and {facts.delta_pages:,} newer pages on top" if facts.delta_pages else ""
    out().print(f"{_DID_GRAPH[facts.did]}: {words}{top}. ({facts.records:,} records read.)")


def build_again(folder: Path, what: str, *, is_json: bool) -> None:
    """Make the state or the labels of copies anew."""
    from gossamer import OpenCrawl, RebuiltState

    aside, crawl = out(is_aside=True), OpenCrawl(folder)

    def tell(step: "BuildStep") -> None:
        aside.print(build_line(what, step))

    found = crawl.build_near(tell) if what == "near" else crawl.build_state(tell)
    if is_json:
        print_json(as_json(found))
        return
    out().print(_built_again(found))
    if isinstance(found, RebuiltState):
        _tell_damaged(found)


def _tell_damaged(found: "RebuiltState") -> None:
    """Name the records that were left out."""
    if not found.damaged:
        return
    again = counted(found.queued_again, "URL")
    records = counted(len(found.damaged), "damaged record")
    out().print(f"{records} left out, {again} queued again:")
    for bad in found.damaged[:MOST_NAMED]:
        out().print(f"  {harmless(bad.line())}", markup=False, soft_wrap=True)
    if (rest := len(found.damaged) - MOST_NAMED) > 0:
        out().print(f"  and {rest:,} more; --json names all")


def _built_again(found: "RebuiltState | NearTotals") -> str:
    from gossamer import RebuiltState

    pages = counted(found.pages, "page")
    if isinstance(found, RebuiltState):
        new = f" {counted(found.imported, 'page')} came from other files." if found.imported else ""
        return f"The state was built again: {pages} stored, {found.queued:,} queued.{new}"
    levels = ", ".join(f"{getattr(found, level):,} {words}" for level, words in ALIKE.items())
    return f"{pages} compared: {levels}."


OF_STORES = {"graph": build_graph_of_store, "index": build_index_of_store}
"""What is built of a crawl's store, in the store."""
