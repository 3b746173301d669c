"""Where a crawl's graph lies, and which files of it are left over."""

from pathlib import Path

from gossamer.graph.build.delta import names_path, rows_path
from gossamer.graph.build.manifest import read_manifest
from gossamer.store import Derived


def place_of(root: Path) -> Derived:
    """Return the place of a crawl's graph."""
    return Derived(root, "graph", lambda folder: read_manifest(folder) is not None)


def graph_folder(root: Path) -> Path:
    """Return the folder of a crawl's graph."""
    return place_of(root).folder


def whole_folder(root: Path) -> Path | None:
    """Return the folder of the graph that holds, also while it is being replaced; None if none."""
    return place_of(root).whole()


def tidy(root: Path) -> None:
    """Finish or delete what a killed builder left."""
    place_of(root).settle()
    graph = graph_folder(root)
    manifest = read_manifest(graph)
    number = manifest.delta if manifest is not None else 0
    kept = {names_path(graph, number), rows_path(graph, number)}
    for path in graph.glob("delta-*"):
        if path not in kept:
            path.unlink()
