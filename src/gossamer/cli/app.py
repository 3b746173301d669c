"""The verbs of the command `gossamer`, and the parser that knows them all."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.main import get_command

from gossamer import __version__
from gossamer.cli import (
    building,
    changing,
    checking,
    copying,
    crawl,
    dev,
    exporting,
    extracting,
    graphfiles,
    indexing,
    linkcheck,
    linkgraph,
    listing,
    querying,
    reporting,
    searching,
    serving,
    setting,
    shell,
    steering,
    store,
    stores,
)
from gossamer.errors import ConfigError

app = typer.Typer(
    name="gossamer",
    help="A web crawler that keeps what it finds and can say why.",
    epilog="Exit codes: 0 done, 1 no seed could be fetched, or `check-links` found something, or "
    "`show`, `links` or `graph` do not have the URL, or `index` could not read something, "
    "2 wrong usage, 3 stopped on request, 4 could not go on, or `check` found damage, "
    "5 another machine has taken the crawl over.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("crawl")(crawl.crawl)
app.command("watch")(crawl.watch)
app.command("add")(store.add)
app.command("retry")(store.retry)
app.command("trust")(store.trust)
app.command("set", context_settings={"ignore_unknown_options": True})(setting.set_settings)
app.command("pause")(steering.pause)
app.command("resume")(steering.resume)
app.command("stop")(steering.stop)
app.command("status")(store.status)
app.command("why")(store.why)
app.command("show")(store.show)
app.command("changes")(changing.changes)
app.command("list")(listing.list_rows)
app.command("copies")(copying.copies)
app.command("extract")(extracting.extract)
app.command("shell")(shell.shell)
app.command("report")(reporting.report)
app.command("search", context_settings={"ignore_unknown_options": True})(searching.search)
app.command("links")(linkgraph.links)
app.command("rank")(linkgraph.rank)
app.command("build")(building.build)
app.command("export")(exporting.export)
app.command("sql")(querying.sql)
app.command("restore")(stores.restore)
app.command("checkpoint")(stores.checkpoint)
app.command("check")(checking.check)
app.command("check-links")(linkcheck.check_links)
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

ELSEWHERE: dict[str, str] = {
    **dict.fromkeys(
        ("-O", "-o", "-P", "--output", "--output-dir", "--directory-prefix"),
        "--into DIR says where a crawl is kept",
    ),
    **dict.fromkeys(("-i", "--input-file"), "--seeds FILE reads seeds from a file"),
    **dict.fromkeys(("-l", "--level", "--depth"), "--max-depth N limits the depth"),
    **dict.fromkeys(("-w", "--wait", "--download-delay"), "--delay S sets the gap per host"),
    **dict.fromkeys(("-Q", "--quota"), "--max-bytes SIZE limits the archive"),
    **dict.fromkeys(("--limit", "--pages", "-n"), "--max-pages N limits the pages"),
    **dict.fromkeys(("-k", "--no-check-certificate"), "--insecure accepts any certificate"),
    **dict.fromkeys(("-A", "--accept", "--include"), "--allow GLOB names what is wanted"),
    **dict.fromkeys(("-R", "--reject", "--exclude"), "--block GLOB names what is not wanted"),
    **dict.fromkeys(("-U", "--agent"), "--user-agent UA names us"),
    **dict.fromkeys(("-H",), "--header 'Name: value' adds a header"),
    **dict.fromkeys(("-u", "--user"), "--auth HOST=USER:PASS gives credentials"),
    **dict.fromkeys(("-x",), "--proxy URL names a proxy"),
    **dict.fromkeys(("-j", "--jobs", "--threads", "--workers"), "--concurrency N sets how many"),
    **dict.fromkeys(
        ("-r", "-m", "--recursive", "--mirror"), "links are followed anyway, as far as --scope says"
    ),
}
"""What flags of wget, curl and other crawlers are called here."""

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
        command = get_command(app)
        if not {"-h", "--help"}.isdisjoint(words):
            _show_brackets(command)
        return command(args=list(words), prog_name="gossamer", standalone_mode=False)
    except typer.TyperException as error:
        raise ConfigError(usage_error(error, words)) from error


def _show_brackets(command: Any) -> None:  # noqa: ANN401 - of the parser library, which hides it
    """Let the help of a command and its parts show what stands in brackets: it is not markup."""
    for one in (command, *command.params):
        if getattr(one, "help", None):
            one.help = escape(one.help)
    for part in getattr(command, "commands", {}).values():
        _show_brackets(part)


def usage_error(error: typer.TyperException, words: Sequence[str]) -> str:
    """Return what is wrong with a line of arguments, and what to write instead."""
    first = words[0] if words else ""
    context = getattr(error, "ctx", None)
    own = f"gossamer {first}" if any(one.name == first for one in app.registered_commands) else ""
    command = context.command_path if context is not None else own or "gossamer"
    see = f"see `{command} --help`"
    option = getattr(error, "option_name", "")
    said = error.format_message().partition(" (Possible")[0].rstrip(".")
    if near := get_close_matches(option, getattr(error, "possibilities", None) or (), n=1):
        said += f"; did you mean {near[0]}?"
    if getattr(getattr(error, "param", None), "name", "") == "into":
        return f"{said}: give the folder to keep the crawl in, such as --into mycrawl"
    if not said:  # its help was printed
        return f"which of its commands? {see.capitalize()}"
    if said.startswith("No such command") and "://" in first:
        return f"{first!r} is not a command; did you mean `gossamer crawl {first} --into DIR`?"
    if option in ELSEWHERE and command.endswith(("crawl", "watch")):
        return f"No such option: {option}; {ELSEWHERE[option]}; {see}"
    return f"{said} (or {see})" if said.endswith("?") else f"{said}; {see}"
