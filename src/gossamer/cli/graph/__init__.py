"""LINK GRAPH on the command line: `links`, `rank` and `graph ...`.

`options` are what the verbs share, `views` turns answers into what a person likes to read.

Neighbours: asks `gossamer.LinkGraph`. Not for: answering.
"""

import typer

from gossamer.cli.graph.asking import components, hosts, like, links, path, picture, rank
from gossamer.cli.graph.files import ef, export, from_edges, info, reorder, to_edges

__all__ = ["app", "links", "rank"]

app = typer.Typer(
    help="Graphs as files: from and to edge lists, and what can be asked of them.",
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
)
app.command("from-edges")(from_edges)
app.command("to-edges")(to_edges)
app.command("info")(info)
app.command("export")(export)
app.command("reorder")(reorder)
app.command("ef")(ef)
app.command("path")(path)
app.command("like")(like)
app.command("hosts")(hosts)
app.command("components")(components)
app.command("picture")(picture)
