"""Where a crawl's graph lies, who may build it, and how a new one takes the place of the old.

graph/       the graph that holds: its manifest was written last
graph.new/   one that is being built, or, if it has a manifest, one that is whole
graph.old/   one that was replaced and is being deleted
"""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gossamer.errors import CannotGoOn
from gossamer.graph.build.delta import names_path, rows_path
from gossamer.graph.build.manifest import FILE, read_manifest, sync

LOCK = "graph.lock"


class BuiltElsewhere(CannotGoOn):
    """Another process builds the graph at this moment."""


def graph_folder(root: Path) -> Path:
    """Return the folder of a crawl's graph."""
    return root / "graph"


def whole_folder(root: Path) -> Path | None:
    """Return the folder of the graph that holds, also while it is being replaced; None if none."""
    graph = graph_folder(root)
    for folder in (graph, _new(root), graph):  # the new one may be moved between the two looks
        if (folder / FILE).exists():
            return folder
    return None


@contextmanager
def sole_builder(root: Path) -> Iterator[None]:
    """Make sure that nobody else builds this graph."""
    try:
        lock = os.open(root / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise CannotGoOn(
            f"cannot write to {root}: {error.strerror}; make it writable and build again"
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise BuiltElsewhere(
            f"another process builds the graph of {root}; wait until it ends, or stop it"
        ) from error
    finally:
        os.close(lock)


def tidy(root: Path) -> None:
    """Finish or delete what a killed builder left."""
    graph, new = graph_folder(root), _new(root)
    if read_manifest(new) is not None:
        swap(root)
    remove(new)
    remove(_old(root))
    manifest = read_manifest(graph)
    number = manifest.delta if manifest is not None else 0
    kept = {names_path(graph, number), rows_path(graph, number)}
    for path in graph.glob("delta-*"):
        if path not in kept:
            path.unlink()


def discard_unfinished(root: Path) -> None:
    """Delete a graph that was begun and not finished."""
    if read_manifest(_new(root)) is None:
        remove(_new(root))


def fresh_folder(root: Path) -> Path:
    """Return an empty folder to build in."""
    new = _new(root)
    remove(new)
    new.mkdir(parents=True)
    return new


def swap(root: Path) -> None:
    """Put the whole graph of the new folder into its place. May be killed at any step."""
    graph, new, old = graph_folder(root), _new(root), _old(root)
    remove(old)
    if graph.exists():
        graph.rename(old)
    new.rename(graph)
    sync(root)
    remove(old)


def remove(folder: Path) -> None:
    """Delete a folder; of a link to one, only the link."""
    if folder.is_symlink():
        folder.unlink(missing_ok=True)
    else:
        shutil.rmtree(folder, ignore_errors=True)


def _new(root: Path) -> Path:
    return root / "graph.new"


def _old(root: Path) -> Path:
    return root / "graph.old"
