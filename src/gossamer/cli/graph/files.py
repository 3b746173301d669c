"""`gossamer graph from-edges`, `to-edges`, `info`, `export`, `reorder`, `ef`: graphs as files."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from gossamer.cli.graph.asking import graph_of, whole_graph
from gossamer.cli.graph.options import (
    CODING,
    REQUIRED,
    Base,
    Json,
    Memory,
    Place,
    bytes_of,
    coding_of,
    declare,
)
from gossamer.cli.graph.views import info_view
from gossamer.cli.screen import harmless, out, print_json
from gossamer.errors import ConfigError


def from_edges(**given: Any) -> None:  # noqa: ANN401 - the parser hands over what is declared below
    """Make a graph of lines `source target`, numbers or names; the rest of a line is ignored.

    Lines that begin with # or % are comments; gzip and zstd are unpacked; FILE
    may be -. Numbers are nodes as they are; names (URLs, any words) are sorted,
    numbered, and kept as BASE.urls.
    """
    from gossamer.graph import EdgeOptions, base_of  # noqa: PLC0415 - keeps --help fast
    from gossamer.graph import from_edges as make  # noqa: PLC0415 - keeps --help fast

    options = EdgeOptions(
        nodes=given["nodes"],
        has_names=True if given["names"] else None,
        has_transpose=given["transpose"],
        memory_bytes=bytes_of(given["memory"]),
        coding=coding_of(given),
    )
    aside = out(is_aside=True)
    base = base_of(given["base"])
    made = make(
        str(given["file"]),
        base,
        options,
        lambda told: aside.print(harmless(told), markup=False),
    )
    facts = info_of(base)
    facts |= {"lines": made.lines, "edges": made.edges, "names": made.has_names}
    if given["json"]:
        print_json(facts)
    else:
        out().print(info_view(facts))


declare(
    from_edges,
    (
        "file",
        Annotated[Path, typer.Argument(metavar="FILE", help="Lines of text; - is stdin.")],
        REQUIRED,
    ),
    ("base", Base, REQUIRED),
    (
        "nodes",
        Annotated[int | None, typer.Option("--nodes", metavar="N", min=0, help="So many nodes.")],
        None,
    ),
    (
        "names",
        Annotated[bool, typer.Option("--names", help="Words are names, even if all are numbers.")],
        False,
    ),
    (
        "transpose",
        Annotated[
            bool, typer.Option("--transpose/--no-transpose", help="Write BASE-t, too: links in.")
        ],
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
        typer.Option("--numbers/--names", help="Nodes as numbers, or by name; names if there are."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Instead of stdout.")
    ] = None,
) -> None:
    """Write the arcs of a graph as lines `source<tab>target`, in order.

    Nodes of a graph that was reordered have their old numbers, unless --numbers is given.
    """
    from gossamer.graph import (  # noqa: PLC0415 - keeps --help fast
        name_lines,
        number_lines,
        read_order,
    )

    graph = whole_graph(base, is_built=False)
    if numbers is False and graph.names is None:
        raise ConfigError(f"--names: {base} has no names, there is no file BASE.urls")
    order = None if numbers else read_order(graph.base, graph.out.nodes)
    lines = (
        number_lines(graph.out, order)
        if numbers or graph.names is None
        else name_lines(graph.out, graph.names)
    )
    _write(lines, output)


def info(
    place: Place,
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Read all files; of a crawl, compare their hashes.")
    ] = False,
    json: Json = False,
) -> None:
    """Nodes, arcs, bits per link, coding, degrees, sizes; of a crawl also what it covers."""
    facts = info_of(place, is_checked=check)
    if json:
        print_json(facts)
    else:
        out().print(info_view(facts))


def info_of(place: Path, *, is_checked: bool = False) -> dict[str, object]:
    """Return what a graph is; if it is to be checked, only after that."""
    from gossamer.graph import check  # noqa: PLC0415 - keeps --help fast
    from gossamer.graph import info as facts_of  # noqa: PLC0415 - keeps --help fast

    graph = graph_of(place, is_built=False)
    if is_checked:
        check(graph)
    return facts_of(graph) | ({"checked": True} if is_checked else {})


def export(
    place: Place,
    *,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="npz|numpy|graphml|json|edges|urls",
            help="npz: scipy.sparse.load_npz reads it. numpy: arrays offsets and targets. "
            "graphml and json (node-link) for NetworkX and others, up to a million arcs. "
            "edges: lines. urls: the name of node n in line n + 1.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The new file.")],
    json: Json = False,
) -> None:
    """Write a graph for other programs."""
    from gossamer.graph import export as write  # noqa: PLC0415 - keeps --help fast

    graph = whole_graph(place, is_built=False)
    write(graph.out, graph.names, to, output)
    size = output.stat().st_size
    if json:
        told = {"file": str(output), "to": to, "bytes": size}
        print_json({**told, "nodes": graph.out.nodes, "arcs": graph.out.arcs})
    else:
        words = f"{output}: {graph.out.nodes:,} nodes, {graph.out.arcs:,} arcs, {size:,} bytes"
        out().print(harmless(words), markup=False)


def reorder(**given: Any) -> None:  # noqa: ANN401 - the parser hands over what is declared below
    """Give nodes new numbers so that neighbours stand together: for ids that say nothing.

    NEW.order keeps the old numbers, and `to-edges NEW` tells those.
    """
    from gossamer.graph import base_of  # noqa: PLC0415 - keeps --help fast
    from gossamer.graph import reorder as make  # noqa: PLC0415 - keeps --help fast

    aside = out(is_aside=True)
    new = base_of(given["new"])
    make(
        graph_of(given["base"], is_built=False).base,
        new,
        coding_of(given),
        given["seed"],
        lambda told: aside.print(harmless(told), markup=False),
    )
    facts = info_of(new)
    if given["json"]:
        print_json(facts)
    else:
        out().print(info_view(facts))


declare(
    reorder,
    ("base", Base, REQUIRED),
    ("new", Annotated[Path, typer.Argument(metavar="NEW", help="The new files.")], REQUIRED),
    ("seed", Annotated[int, typer.Option("--seed", min=0, help="Another one, another order.")], 1),
    *CODING,
    ("json", Json, False),
)


def ef(base: Base) -> None:
    """Write BASE.ef: with it the package `webgraph` by WebGraph's authors opens the graph."""
    from gossamer.graph import write_ef  # noqa: PLC0415 - keeps --help fast

    found = graph_of(base, is_built=False).base
    write_ef(found)
    out().print(harmless(f"{found}.ef: for webgraph.BvGraph({str(found)!r})"), markup=False)


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
