"""What is missing or out of date is built before somebody asks: graph, ranks and index."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace
from rich.live import Live
from rich.text import Text

from gossamer.cli.screen import MIB, harmless, out
from gossamer.durable import is_writable
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.log import counted

if TYPE_CHECKING:
    from gossamer import BuildProgress, BuildStep

_ABOVE = 3
"""So many folders above are looked at: archive/, state/ and the like are given by mistake."""


def crawl_folder(folder: Path) -> Path:
    """Return the folder if there is a crawl in it."""
    if not any((folder / name).exists() for name in ("crawl.toml", "archive", "state")):
        raise no_crawl_in(folder)
    return folder


def no_crawl_in(folder: Path) -> ConfigError:
    """Return the error about a folder without a crawl, with the one that may be meant."""
    wrong = f"{folder} is not a crawl folder: there is no crawl.toml in it"
    if not folder.is_dir():
        found = "is a file" if folder.exists() else "does not exist"
        wrong = f"{folder} is not a crawl folder: it {found}"
    near = folder.absolute()
    for above in near.parents[:_ABOVE]:
        if (above / "crawl.toml").exists():
            return ConfigError(f"{wrong}; did you mean {above}?")
    if (meant := _crawl_below(near)) is not None:
        return ConfigError(f"{wrong}; did you mean {meant}?")
    return ConfigError(f"{wrong}; give the DIR of a `gossamer crawl URL --into DIR`")


def _crawl_below(folder: Path) -> Path | None:
    """Return a crawl in a folder, or beside one that does not exist and under a name like it."""
    try:
        crawls = {found.parent.name: found.parent for found in folder.glob("*/crawl.toml")}
        if len(crawls) == 1:
            return next(iter(crawls.values()))
        beside = {found.parent.name: found.parent for found in folder.parent.glob("*/crawl.toml")}
    except OSError:
        return None
    names = get_close_matches(folder.name, beside, n=1) if not folder.exists() else []
    return beside[names[0]] if names else None


def bring_graph_up_to_date(folder: Path, *, is_full: bool = False) -> None:
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


def bring_index_up_to_date(folder: Path, *, is_built: bool = True, is_ranked: bool = True) -> None:
    """Build what is missing of a folder's index. Where that is not possible the old one must do.

    `is_ranked`: graph and ranks, too, if there are none.
    """
    from gossamer import BuiltElsewhere, IndexOptions, OpenCrawl
    from gossamer.cli.options import place_given

    crawl = OpenCrawl(folder)
    if not (is_built and has_archive(folder)):
        if not crawl.has_index():
            crawl_folder(folder)
            place = place_given(folder)
            raise ConfigError(f"{place} has no index: `gossamer build {place} index` makes one")
        return
    if not crawl.has_index() and is_writable(folder):
        sys.stderr.write(f"gossamer: the index of {harmless(place_given(folder))} is built first\n")
    try:
        with telling("index") as tell:
            crawl.build_index(IndexOptions(ranks=is_ranked), tell)
    except CannotGoOn as error:
        if not crawl.has_index():
            raise
        is_kept = isinstance(error, BuiltElsewhere)
        why = "another process is building it" if is_kept else harmless(error)
        sys.stderr.write(f"gossamer: the index as it is now: {why}\n")


def bring_all_up_to_date(folder: Path) -> None:
    """Build what is missing of graph, ranks and index; one of graph and index is enough."""
    from gossamer import OpenCrawl

    if not has_archive(folder):
        return
    try:
        bring_graph_up_to_date(folder)
        _bring_ranks_up_to_date(folder)
    except CannotGoOn as error:
        sys.stderr.write(f"gossamer: without a graph: {harmless(error)}\n")
    try:
        bring_index_up_to_date(folder)
    except CannotGoOn as error:
        if not OpenCrawl(folder).has_graph():
            raise
        sys.stderr.write(f"gossamer: without an index: {harmless(error)}\n")


def has_archive(folder: Path) -> bool:
    """Return True if there is an archive to build from."""
    return (folder / "archive").is_dir()


def _bring_ranks_up_to_date(folder: Path) -> None:
    """Rank the pages of a graph that is newer than its ranks."""
    from gossamer import open_graph

    graph = open_graph(folder)
    if not graph.has_current_ranks() and is_writable(folder / "graph"):
        graph.rank(top=1, save=True)


@contextmanager
def telling(what: str) -> "Iterator[BuildProgress]":
    """Give a function that shows how far a build is, on a terminal; elsewhere it is silent."""
    aside = out(is_aside=True)
    if not aside.is_terminal:
        yield lambda _: None
        return
    with Live(Text(what), console=aside, transient=True, auto_refresh=False) as live:
        yield lambda step: live.update(build_line(what, step), refresh=True)


def build_line(what: str, step: "BuildStep") -> Text:
    """Return how far a build is, in one line."""
    if step.note:
        return Text(harmless(f"{what}: {step.note}"))
    left = "" if step.bytes_left is None else f", {step.bytes_left / MIB:.1f} MiB left to read"
    return Text(f"{what}: {step.doing}, {counted(step.count, step.unit)}{left}")
