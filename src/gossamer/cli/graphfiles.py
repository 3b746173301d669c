"""`gossamer graph from-edges`, `to-edges`, `info`, `export`, `reorder`, `ef`: graphs as files."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from gossamer.cli.graphviews import info_view
from gossamer.cli.linkgraph import graph_of, show, whole_graph
from gossamer.cli.options import (
    CODING,
    REQUIRED,
    Base,
    Json,
    Memory,
    Place,
    coding_of,
    declare,
)
from gossamer.cli.parameters import argument, option
from gossamer.cli.quantities import memory_of
from gossamer.cli.screen import as_json, harmless, out, print_json


def from_edges(**given: Any) -> None:  # noqa: ANN401 - the parser hands over what is declared below
    """Make a graph of lines `source target`, numbers or names; the rest of a line is ignored.

    Lines that begin with # or % are comments; gzip and zstd are unpacked; FILE
    may be -. Numbers are nodes as they are; names (URLs, any words) are sorted,
    numbered, and kept as BASE.urls.
    """
    from gossamer import EdgeOptions, graph_from_edges, open_graph

    options = EdgeOptions(
        nodes=given["nodes"],
        has_names=True if given["names"] else None,
        has_transpose=given["transpose"],
        memory_bytes=memory_of(given["memory"]),
        coding=coding_of(given),
    )
    aside = out(is_aside=True)
    made = graph_from_edges(
        given["file"],
        given["base"],
        options,
        lambda told: aside.print(harmless(told), markup=False),
    )
    found = open_graph(given["base"]).info()
    if given["json"]:
        read = {"lines": made.lines, "edges": made.edges, "names": made.has_names}
        print_json({**as_json(found), **read})
    else:
        out().print(info_view(found, made))


declare(
    from_edges,
    (
        "file",
        Annotated[Path, argument(metavar="FILE", help="Lines of text; - is stdin.")],
        REQUIRED,
    ),
    ("base", Base, REQUIRED),
    (
        "nodes",
        Annotated[int | None, option("--nodes", metavar="N", min=0, help="So many nodes.")],
        None,
    ),
    (
        "names",
        Annotated[bool, option("--names", help="Words are names, even if all are numbers.")],
        False,
    ),
    (
        "transpose",
        Annotated[bool, option("--transpose/--no-transpose", help="Write BASE-t, too: links in.")],
        True,
    ),
    *CODING,
    ("memory", Memory, "1GiB"),
    ("json", Json, False),
)


def to_edges(
    base: Base,
    *,
    numbers: Annotated[
        bool | None,
        option("--numbers/--names", help="Nodes as numbers, or by name; names if there are."),
    ] = None,
    output: Annotated[
        Path | None, option("--output", "-o", metavar="FILE", help="Instead of stdout.")
    ] = None,
) -> None:
    """Write the arcs of a graph as lines `source<tab>target`, in order.

    Nodes of a graph that was reordered have their old numbers, unless --numbers is given.
    """
    _write(whole_graph(base, is_built=False).edge_lines(numbers=numbers), output)


def info(
    place: Place,
    *,
    check: Annotated[
        bool, option("--check", help="Read all files; of a crawl, compare their hashes.")
    ] = False,
    json: Json = False,
) -> None:
    """Nodes, arcs, bits per link, coding, degrees, sizes; of a crawl also what it covers."""
    show(graph_of(place, is_built=False).info(check=check), info_view, is_json=json)


def export(
    place: Place,
    *,
    to: Annotated[
        str,
        option(
            "--to",
            metavar="npz|numpy|graphml|json|edges|urls",
            help="npz: scipy.sparse.load_npz reads it. numpy: arrays offsets and targets. "
            "graphml and json (node-link) for NetworkX and others, up to a million arcs. "
            "edges: lines. urls: the name of node n in line n + 1.",
        ),
    ],
    output: Annotated[Path, option("--output", "-o", metavar="FILE", help="The new file.")],
    json: Json = False,
) -> None:
    """Write a graph for other programs."""
    graph = whole_graph(place, is_built=False)
    size = graph.export(to, output)
    if json:
        told = {"file": str(output), "to": to, "bytes": size}
        print_json({**told, "nodes": graph.nodes, "arcs": graph.arcs})
    else:
        words = f"{output}: {graph.nodes:,} nodes, {graph.arcs:,} arcs, {size:,} bytes"
        out().print(harmless(words), markup=False)


def reorder(**given: Any) -> None:  # noqa: ANN401 - the parser hands over what is declared below
    """Give nodes new numbers so that neighbours stand together: for ids that say nothing.

    NEW.order keeps the old numbers, and `to-edges NEW` tells those.
    """
    aside = out(is_aside=True)
    made = graph_of(given["base"], is_built=False).reorder(
        given["new"],
        coding=coding_of(given),
        seed=given["seed"],
        on_progress=lambda told: aside.print(harmless(told), markup=False),
    )
    show(made.info(), info_view, is_json=given["json"])


declare(
    reorder,
    ("base", Base, REQUIRED),
    ("new", Annotated[Path, argument(metavar="NEW", help="The new files.")], REQUIRED),
    ("seed", Annotated[int, option("--seed", min=0, help="Another one, another order.")], 1),
    *CODING,
    ("json", Json, False),
)


def ef(base: Base) -> None:
    """Write BASE.ef: with it the package `webgraph` by WebGraph's authors opens the graph."""
    graph = graph_of(base, is_built=False)
    words = f"{graph.write_ef()}: for webgraph.BvGraph({str(graph.base)!r})"
    out().print(harmless(words), markup=False)


def _write(pieces: Iterable[bytes], output: Path | None) -> None:
    if output is None:
        try:
            for piece in pieces:
                sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
        except BrokenPipeError:  # the reader has seen enough; the parser would call that a failure
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    with output.open("wb") as file:
        file.writelines(pieces)
