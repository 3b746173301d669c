"""The verbs of the command `gossamer`: where each is defined, and how one is run."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from gossamer import __version__
from gossamer.cli.parameters import Declaration, declarations_of
from gossamer.cli.parsing import HELP, given_values, wrong_usage
from gossamer.errors import ConfigError
from gossamer.lazy import imported

_NAME = "gossamer"
_ABOUT = "A web crawler that keeps what it finds and can say why."
_CODES = (
    "Exit codes: 0 done, 1 no seed could be fetched, or `check-links` found something, "
    "or `show`, `receipt`, `links` or `graph` do not have the URL or host, or `index` could "
    "not read something, 2 wrong usage, 3 stopped on request, 4 could not go on, or `check` "
    "found damage, 5 another machine has taken the crawl over."
)
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
    "split": "clusters.split",
    "down": "clusters.down",
    "yaml": "clusters.yaml",
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
"""Verbs to which an option that they do not know is a word as any other."""


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
        ("--no-robots", "--ignore-robots"),
        "robots.txt is always obeyed; robots.own_hosts in crawl.toml names hosts that are yours",
    ),
    **dict.fromkeys(
        ("-r", "-m", "--recursive", "--mirror"), "links are followed anyway, as far as --scope says"
    ),
}
"""What flags of wget, curl and other crawlers are called here."""

_OF_A_CRAWL = {"crawl", "watch"}


def parse_and_run(words: Sequence[str]) -> object:
    """Run one command; return what it returned. Wrong usage is a `ConfigError`."""
    first, *rest = words
    if first == "--version":
        sys.stdout.write(f"{_NAME} {__version__}\n")
        return None
    if first in HELP:
        sys.stdout.write(_help_of(_NAME, _ABOUT, _VERBS, _CODES))
        return None
    if first.startswith("-"):
        said = f"No such option: {first.partition('=')[0]}"
        behind = f"; a command comes first, as in `gossamer crawl {first} ...`" if rest else ""
        near = (
            "" if rest else next(iter(get_close_matches(first, ("--version", "--help"), n=1)), "")
        )
        raise wrong_usage(f"{said}; did you mean {near}?" if near else said + behind, _NAME, near)
    if first == "help":
        raise ConfigError(
            "'help' is not a command; `gossamer --help` lists them, `gossamer crawl --help` one"
        )
    if first == "version":
        raise ConfigError("'version' is not a command; `gossamer --version` shows it")
    if "://" in first:
        line = f"gossamer crawl {first} --into DIR"
        raise ConfigError(f"{first!r} is not a command; did you mean `{line}`?")
    _expect_command(first, _VERBS, _NAME)
    if first in _GROUPS:
        return _run_of_group(first, rest)
    return _run(f"{_NAME} {first}", _VERBS[first], rest)


def every_command() -> Iterator[tuple[str, tuple[Declaration, ...]]]:
    """Yield each command, as typed behind `gossamer`, with its parameters."""
    for verb, place in _VERBS.items():
        if place:
            yield verb, declarations_of(_defined(place))
    for group, (_, verbs) in _GROUPS.items():
        for verb, place in verbs.items():
            yield f"{group} {verb}", declarations_of(_defined(place))


def _run_of_group(group: str, words: Sequence[str]) -> object:
    about, verbs = _GROUPS[group]
    path = f"{_NAME} {group}"
    if not words or words[0] in HELP:
        sys.stdout.write(_help_of(path, about, verbs))
        if not words:
            raise ConfigError(f"which of its commands? See `{path} --help`")
        return None
    first, *rest = words
    if first.startswith("-"):
        raise wrong_usage(f"No such option: {first}", path)
    _expect_command(first, verbs, path)
    return _run(f"{path} {first}", verbs[first], rest)


def _expect_command(name: str, verbs: Mapping[str, str], path: str) -> None:
    if name not in verbs:
        near = next(iter(get_close_matches(name, verbs, n=1)), "")
        said = f"No such command {name!r}"
        raise wrong_usage(f"{said}. Did you mean {near!r}?" if near else said, path, near)


def _run(path: str, place: str, words: Sequence[str]) -> object:
    command, verb = _defined(place), path.partition(" ")[2]
    declarations = declarations_of(command)
    given = given_values(
        declarations,
        words,
        path,
        ours_alone=verb not in _WITH_FLAGS_OF_OTHERS,
        elsewhere=ELSEWHERE if verb in _OF_A_CRAWL else None,
    )
    if given is None:
        from gossamer.cli.helping import help_of_command

        sys.stdout.write(help_of_command(command, declarations, path))
        return None
    return command(**given)


def _help_of(path: str, about: str, verbs: Mapping[str, str], notes: str = "") -> str:
    from gossamer.cli.helping import HelpRow, help_of_group, summary_of

    rows = (
        HelpRow(verb, summary_of(_defined(place)) if place else _GROUPS[verb][0])
        for verb, place in verbs.items()
    )
    return help_of_group(path, about, rows, notes)


def _defined(place: str) -> Callable[..., Any]:
    module, _, name = place.partition(".")
    found: Callable[..., Any] = getattr(imported(f"gossamer.cli.{module}"), name)
    return found
