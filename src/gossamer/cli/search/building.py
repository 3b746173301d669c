"""`gossamer build`: make what a crawl's folder has beside the archive again from it."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from gossamer.cli.graph.building import build_again, build_graph_of, crawl_folder
from gossamer.cli.graph.options import CODING, REQUIRED, Folder, Json, Memory, declare
from gossamer.cli.search.indexing import PUBLISH, SPLIT, SPLIT_CRAWL, build_index_of
from gossamer.errors import ConfigError

KNOWN = ("state", "near", "graph", "index")


def build(**given: Any) -> None:  # noqa: ANN401 - the parser hands over what is declared below
    """Build the state, the labels of near-duplicates, the graph or the index, from the archive.

    A graph or index that exists is brought up to date: only what is new in the
    archive is read. The options of compression are for a graph that is written
    in full, those of splitting for an index.
    """
    folder, what = given["folder"], given["what"]
    if what not in KNOWN:
        raise ConfigError(f"build: expected {', '.join(KNOWN)}, found {what!r}")
    _refuse_others(what, given)
    crawl_folder(folder)
    if what == "graph":
        build_graph_of(folder, given)
    elif what == "index":
        build_index_of(folder, given)
    else:
        build_again(folder, what, is_json=given["json"])


def _refuse_others(what: str, given: dict[str, Any]) -> None:
    """Refuse options that mean nothing for what is built."""
    for kind, options in (("graph", OF_GRAPH), ("index", OF_INDEX)):
        for name, _, usual in options:
            if what != kind and given[name] != usual:
                flag = name.replace("_", "-")
                raise ConfigError(f"build {what}: --{flag} is for `gossamer build DIR {kind}`")


Choice = "keep|follow"
OF_GRAPH: Sequence[tuple[str, Any, Any]] = (
    (
        "fold",
        Annotated[bool, typer.Option("--fold", help="Leave no newer pages on top of the graph.")],
        False,
    ),
    (
        "redirects",
        Annotated[
            str | None,
            typer.Option(
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
            typer.Option("--canonical", metavar=Choice, help="The same for canonical links."),
        ],
        None,
    ),
    *CODING,
)
OF_INDEX: Sequence[tuple[str, Any, Any]] = (*SPLIT, *SPLIT_CRAWL, PUBLISH)
declare(
    build,
    ("folder", Folder, REQUIRED),
    (
        "what",
        Annotated[str, typer.Argument(metavar="|".join(KNOWN), help="What to build.")],
        REQUIRED,
    ),
    ("full", Annotated[bool, typer.Option("--full", help="Read the whole archive again.")], False),
    (
        "follow",
        Annotated[bool, typer.Option("--follow", help="Go on while the crawl runs.")],
        False,
    ),
    *OF_GRAPH,
    *OF_INDEX,
    (
        "beside",
        Annotated[int | None, typer.Option("--beside", metavar="PID", hidden=True)],
        None,
    ),
    ("memory", Memory, "512MiB"),
    ("json", Json, False),
)
