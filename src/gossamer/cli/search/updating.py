"""What is missing or behind is built before somebody asks: the index, and the ranks it looks at."""

import sys
from pathlib import Path

from gossamer.cli.graph.building import bring_up_to_date, crawl_folder, telling
from gossamer.cli.screen import harmless
from gossamer.errors import CannotGoOn, ConfigError


def bring_index_up_to_date(folder: Path, *, is_built: bool = True) -> None:
    """Build what is missing of a folder's index. Where that is not possible the old one must do."""
    from gossamer import BuiltElsewhere, OpenCrawl

    crawl = OpenCrawl(folder)
    if not (is_built and has_archive(folder)):
        if not crawl.has_index():
            crawl_folder(folder)
            raise ConfigError(f"{folder} has no index: `gossamer build {folder} index` makes one")
        return
    if not crawl.has_index():
        sys.stderr.write(f"gossamer: the index of {harmless(folder)} is built first\n")
    try:
        with telling("index") as tell:
            crawl.build_index(None, tell)
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
        bring_up_to_date(folder)
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
    """Tell whether there is something to build from."""
    return (folder / "archive").is_dir()


def _bring_ranks_up_to_date(folder: Path) -> None:
    """Rank the pages of a graph that is newer than its ranks."""
    from gossamer import open_graph

    graph = open_graph(folder)
    if not graph.has_current_ranks():
        graph.rank(top=1, save=True)
