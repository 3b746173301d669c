"""The verbs of the command `gossamer`, and the parser that knows them all."""

from collections.abc import Sequence
from typing import Annotated

import typer

from gossamer import __version__
from gossamer.cli import (
    building,
    checking,
    crawl,
    dev,
    graphfiles,
    indexing,
    linkgraph,
    searching,
    serving,
    store,
)
from gossamer.errors import ConfigError

app = typer.Typer(
    name="gossamer",
    help="A web crawler that keeps what it finds and can say why.",
    epilog="Exit codes: 0 done, 1 no seed could be fetched, or `show`, `links` or `graph` do not "
    "have the URL, or `index` could not read something, 2 wrong usage, "
    "3 stopped on request, 4 could not go on, or `check` found damage.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("crawl")(crawl.crawl)
app.command("watch")(crawl.watch)
app.command("add")(store.add)
app.command("retry")(store.retry)
app.command("status")(store.status)
app.command("why")(store.why)
app.command("show")(store.show)
app.command("copies")(store.copies)
app.command("search", context_settings={"ignore_unknown_options": True})(searching.search)
app.command("links")(linkgraph.links)
app.command("rank")(linkgraph.rank)
app.command("build")(building.build)
app.command("check")(checking.check)
app.command("index")(indexing.index)
app.command("serve")(serving.serve)
graph = typer.Typer(
    help="Link graphs as files: from and to edge lists, and what can be asked of them.",
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
)
for name in ("from_edges", "to_edges", "info", "export", "reorder", "ef"):
    graph.command(name.replace("_", "-"))(getattr(graphfiles, name))
for name in ("path", "like", "hosts", "components", "picture"):
    graph.command(name)(getattr(linkgraph, name))
app.add_typer(graph, name="graph")
app.command("demo")(dev.demo)


Version = Annotated[
    bool, typer.Option("--version", is_eager=True, help="Print the version and end.")
]


@app.callback(invoke_without_command=True)
def _top(*, version: Version = False) -> None:
    """Take what stands before the verb."""
    if version:
        typer.echo(f"gossamer {__version__}")
        raise typer.Exit


def parse_and_run(words: Sequence[str]) -> object:
    """Run one command; return what it returned. Wrong usage is a `ConfigError`."""
    try:
        return app(args=list(words), prog_name="gossamer", standalone_mode=False)
    except typer.TyperException as error:
        raise ConfigError(error.format_message()) from error
