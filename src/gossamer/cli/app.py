"""The verbs of the command `gossamer`, and the parser that knows them all."""

from collections.abc import Sequence
from typing import Annotated

import typer

from gossamer import __version__
from gossamer.cli import crawl, dev, graph, search, store, watch
from gossamer.errors import ConfigError

app = typer.Typer(
    name="gossamer",
    help="A web crawler that keeps what it finds and can say why.",
    epilog="Exit codes: 0 done, 1 no seed could be fetched or a URL is not known, 2 wrong usage, "
    "3 stopped on request, 4 could not go on.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("crawl")(crawl.crawl)
app.command("watch")(watch.watch)
app.command("add")(store.add)
app.command("status")(store.status)
app.command("why")(store.why)
app.command("show")(store.show)
app.command("copies")(store.copies)
app.command("search", context_settings={"ignore_unknown_options": True})(search.search)
app.command("links")(graph.links)
app.command("rank")(graph.rank)
app.command("build")(search.build)
app.command("index")(search.index)
app.command("serve")(search.serve)
app.add_typer(graph.app, name="graph")
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
