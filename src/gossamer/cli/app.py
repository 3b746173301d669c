"""The verbs of the command `gossamer`, and the parser that knows them all."""

from collections.abc import Collection, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.main import get_command

from gossamer import __version__
from gossamer.errors import ConfigError

_FLAGS_OF_OTHERS = {"ignore_unknown_options": True}
_VERBS: dict[str, str] = {
    "crawl": "crawl.crawl",
    "watch": "crawl.watch",
    "add": "store.add",
    "retry": "store.retry",
    "trust": "store.trust",
    "set": "setting.set_settings",
    "drop": "steering.drop",
    "prune": "steering.prune",
    "pause": "steering.pause",
    "resume": "steering.resume",
    "stop": "steering.stop",
    "status": "store.status",
    "why": "store.why",
    "show": "store.show",
    "receipt": "receipts.receipt",
    "changes": "changing.changes",
    "list": "listing.list_rows",
    "copies": "copying.copies",
    "extract": "extracting.extract",
    "shell": "shell.shell",
    "report": "reporting.report",
    "search": "searching.search",
    "links": "linkgraph.links",
    "rank": "linkgraph.rank",
    "build": "building.build",
    "export": "exporting.export",
    "sql": "querying.sql",
    "restore": "stores.restore",
    "checkpoint": "stores.checkpoint",
    "check": "checking.check",
    "check-links": "linkcheck.check_links",
    "index": "indexing.index",
    "serve": "serving.serve",
    "graph": "",
    "cluster": "",
    "shard": "clusters.shard",
    "demo": "dev.demo",
}
"""The verbs in the order of `--help`, and where each is defined; "" of those with verbs of their
own."""
_CLUSTER_VERBS: dict[str, str] = {
    "up": "clusters.up",
    "join": "clusters.join",
    "status": "clusters.status",
    "drain": "clusters.drain",
    "down": "clusters.down",
    "node": "clusters.node",
}
_GRAPH_VERBS: dict[str, str] = {
    "from-edges": "graphfiles.from_edges",
    "to-edges": "graphfiles.to_edges",
    "info": "graphfiles.info",
    "export": "graphfiles.export",
    "reorder": "graphfiles.reorder",
    "ef": "graphfiles.ef",
    "path": "linkgraph.path",
    "like": "linkgraph.like",
    "hosts": "linkgraph.hosts",
    "components": "linkgraph.components",
    "picture": "linkgraph.picture",
}
_GROUPS: dict[str, tuple[str, dict[str, str]]] = {
    "graph": (
        "Link graphs as files: from and to edge lists, and what can be asked of them.",
        _GRAPH_VERBS,
    ),
    "cluster": ("Machines that share crawls: bring a cluster up, join it.", _CLUSTER_VERBS),
}
_WITH_FLAGS_OF_OTHERS = {"set", "search"}


def app_with(verbs: Collection[str]) -> typer.Typer:
    """Return the command with these verbs: what the others need is not imported."""
    app = typer.Typer(
        name="gossamer",
        help="A web crawler that keeps what it finds and can say why.",
        epilog="Exit codes: 0 done, 1 no seed could be fetched, or `check-links` found something, "
        "or `show`, `receipt`, `links` or `graph` do not have the URL or host, or `index` could "
        "not read something, 2 wrong usage, 3 stopped on request, 4 could not go on, or `check` "
        "found damage, 5 another machine has taken the crawl over.",
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_top)
    for verb in (one for one in _VERBS if one in verbs):
        if verb in _GROUPS:
            app.add_typer(_verbs_of(verb), name=verb)
        else:
            settings = _FLAGS_OF_OTHERS if verb in _WITH_FLAGS_OF_OTHERS else None
            app.command(verb, context_settings=settings)(_defined(_VERBS[verb]))
    return app


def _verbs_of(group: str) -> typer.Typer:
    words, verbs = _GROUPS[group]
    app = typer.Typer(
        help=words,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        no_args_is_help=True,
    )
    for verb, place in verbs.items():
        app.command(verb)(_defined(place))
    return app


def _defined(place: str) -> Any:  # noqa: ANN401 - a command, whose parameters the parser reads
    module, _, name = place.partition(".")
    return getattr(import_module(f"gossamer.cli.{module}"), name)


def __getattr__(name: str) -> typer.Typer:
    """Give the command with all its verbs as `app`, for who walks over them."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return app_with(_VERBS)


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


def _top(*, version: Version = False) -> None:
    """Take what stands before the verb."""
    if version:
        typer.echo(f"gossamer {__version__}")
        raise typer.Exit


def parse_and_run(words: Sequence[str]) -> object:
    """Run one command; return what it returned. Wrong usage is a `ConfigError`."""
    try:
        verb = words[0] if words else ""
        command = get_command(app_with({verb} if verb in _VERBS else _VERBS))
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
    own = f"gossamer {first}" if first in _VERBS and first not in _GROUPS else ""
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
