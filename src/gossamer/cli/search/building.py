"""`gossamer build`: make what a crawl's folder has beside the archive again from it."""

from typing import Annotated, Any

import typer

from gossamer.cli.graph.building import build_again, build_graph_of, crawl_folder
from gossamer.cli.graph.options import CODING, REQUIRED, Folder, Json, Memory, declare
from gossamer.cli.search.indexing import SPLIT, SPLIT_CRAWL, build_index_of
from gossamer.cli.search.publishing import PUBLISH
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
    crawl_folder(folder)
    if what == "graph":
        build_graph_of(folder, given)
    elif what == "index":
        build_index_of(folder, given)
    else:
        build_again(folder, what, is_json=given["json"])


Choice = "keep|follow"
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
        "fold",
        Annotated[bool, typer.Option("--fold", help="Leave no newer pages on top of the graph.")],
        False,
    ),
    (
        "follow",
        Annotated[bool, typer.Option("--follow", help="Go on while the crawl runs.")],
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
    *SPLIT,
    *SPLIT_CRAWL,
    PUBLISH,
    (
        "beside",
        Annotated[int | None, typer.Option("--beside", metavar="PID", hidden=True)],
        None,
    ),
    ("memory", Memory, "512MiB"),
    ("json", Json, False),
)
