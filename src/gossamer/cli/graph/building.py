"""Make the state, the labels of copies or the graph of a crawl again from its archive."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from rich.live import Live
from rich.text import Text

from gossamer.cli.graph.options import CODING, bytes_of, coding_of
from gossamer.cli.screen import as_json, harmless, out, print_json
from gossamer.errors import CannotGoOn, ConfigError

if TYPE_CHECKING:
    from gossamer import BuildProgress, Coding, GraphFacts, GraphOptions

_DID = {
    "nothing": "The graph is up to date",
    "delta": "New pages were put on top of the graph",
    "fold": "New pages were folded into the graph",
    "full": "The graph was built",
}


def build_graph_of(folder: Path, given: dict[str, Any]) -> None:
    """Build the graph of a crawl, or follow it."""
    if given["follow"]:
        _follow(folder, options_of(given), is_json=given["json"])
        return
    from gossamer import OpenCrawl

    with telling("graph") as tell:
        facts = OpenCrawl(folder).build_graph(options_of(given), tell)
    _tell_built(facts, is_json=given["json"])


def options_of(given: dict[str, Any]) -> "GraphOptions":
    """Return how the graph shall be built."""
    for name in ("redirects", "canonical"):
        if given[name] not in {"keep", "follow", None}:
            raise ConfigError(f"--{name}: expected keep or follow, found {given[name]!r}")
    from gossamer import OpenCrawl

    before = OpenCrawl(given["folder"]).graph_options()
    options = replace(
        before,
        redirects=given["redirects"] or before.redirects,
        canonical=given["canonical"] or before.canonical,
        is_full=given["full"],
        memory_bytes=bytes_of(given["memory"]),
        coding=_coding(given, before),
    )
    return replace(options, delta_share=0.0) if given["fold"] else options


def _coding(given: dict[str, Any], before: "GraphOptions") -> "Coding":
    """Return the coding that was asked for, or that of the last time if none was."""
    asked, is_asked = coding_of(given), any(given[name] != value for name, _, value in CODING)
    return asked if given["full"] or is_asked else before.coding


def crawl_folder(folder: Path) -> Path:
    """Return the folder if there is a crawl in it."""
    if not any((folder / name).exists() for name in ("crawl.toml", "archive", "state")):
        raise ConfigError(f"{folder} is not the folder of a crawl: there is no crawl.toml in it")
    return folder


def bring_up_to_date(folder: Path, *, is_full: bool = False) -> None:
    """Build what is missing of a crawl's graph. Where that is not possible the old one must do."""
    from gossamer import OpenCrawl

    crawl = OpenCrawl(folder)
    try:
        with telling("graph") as tell:
            crawl.build_graph(replace(crawl.graph_options(), is_full=is_full), tell)
    except CannotGoOn as error:
        if is_full or not crawl.has_graph():
            raise
        sys.stderr.write(f"gossamer: the graph as it was: {harmless(error)}\n")


def _follow(folder: Path, options: "GraphOptions", *, is_json: bool) -> None:
    from gossamer import OpenCrawl

    facts: GraphFacts | None = None
    for facts in OpenCrawl(folder).follow_graph(options):
        if facts.did != "nothing":
            words = f"{_DID[facts.did]}: {facts.pages:,} pages, {facts.delta_pages:,} on top"
            out(is_aside=True).print(words)
    if facts is not None:
        _tell_built(facts, is_json=is_json)


def _tell_built(facts: "GraphFacts", *, is_json: bool) -> None:
    if is_json:
        print_json(as_json(facts))
        return
    words = f"{facts.pages:,} pages, {facts.nodes:,} URLs, {facts.arcs:,} links"
    top = f", and {facts.delta_pages:,} newer pages on top" if facts.delta_pages else ""
    out().print(f"{_DID[facts.did]}: {words}{top}. ({facts.records:,} records read.)")


def build_again(folder: Path, what: str, *, is_json: bool) -> None:
    """Make the state or the labels of copies anew."""
    from gossamer import OpenCrawl

    aside, crawl = out(is_aside=True), OpenCrawl(folder)
    make = crawl.build_near if what == "near" else crawl.build_state
    facts = as_json(make(lambda told: aside.print(_building_line(what, told), markup=False)))
    if is_json:
        print_json(facts)
        return
    words = ", ".join(f"{name.replace('_', ' ')}: {value}" for name, value in facts.items())
    out().print(f"Built again: {what}. {harmless(words)}", markup=False)


@contextmanager
def telling(what: str) -> "Iterator[BuildProgress]":
    """Give a function that shows how far a build is, on a terminal; elsewhere it is silent."""
    aside = out(is_aside=True)
    if not aside.is_terminal:
        yield lambda _: None
        return
    with Live(Text(what), console=aside, transient=True, auto_refresh=False) as live:
        yield lambda facts: live.update(_building_line(what, facts), refresh=True)


def _building_line(what: str, facts: dict[str, object]) -> Text:
    words = (f"{name.replace('_', ' ')} {_number(value)}" for name, value in facts.items())
    return Text(harmless(f"{what}: {', '.join(words)}"))


def _number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
