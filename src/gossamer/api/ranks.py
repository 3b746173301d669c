"""Graph and index together: the ranks that search goes by are built with the first index.

The two engines are strangers: the graph leaves a file of ranks, the index reads it. Here is who
sees to it that the file is there, and says how old it is.
"""

from pathlib import Path

from gossamer.errors import CannotGoOn
from gossamer.model import BuildProgress, BuildStep
from gossamer.ranks import RankState, graph_lengths, read_rank_state
from gossamer.search import IndexFacts, IndexOptions, index_folder, read_manifest
from gossamer.search import build_index as build_index_alone
from gossamer.store import CrawlFolder, has_more, is_locked

GROWN = 0.25
"""When the links archive has grown by more than this share since the ranks, and no crawl runs, they
are computed anew; the index has the same rule."""


def build_index(
    root: Path, options: IndexOptions | None = None, tell: BuildProgress | None = None
) -> IndexFacts:
    """Build a crawl's index, or bring it up to date; and before that the ranks, if they are due.

    Where there can be no ranks (a graph that another process builds, say), that is told, and the
    index is built without.
    """
    options = options or IndexOptions()
    if options.ranks and are_ranks_due(root):
        build_ranks(root, tell or (lambda _: None))
    return build_index_alone(root, options, tell)


def build_ranks(root: Path, tell: BuildProgress) -> None:
    """Bring the graph of a crawl and its ranks up to date, if that is possible."""
    from gossamer.api.linkgraph import LinkGraph, last_options
    from gossamer.graph import build_graph

    def tell_graph(step: BuildStep) -> None:
        words = step.note or f"{step.doing}, {step.count:,} {step.unit}s"
        tell(BuildStep(doing=step.doing, note=f"first the link graph: {words}"))

    try:
        build_graph(root, last_options(root), tell_graph)
        LinkGraph(root).rank(top=1, save=True)
    except CannotGoOn as error:
        tell(BuildStep(doing="reading", note=f"without ranks: {error}"))


def are_ranks_due(root: Path) -> bool:
    """Return True if a crawl has no ranks, or far more links than when they were computed."""
    folder = CrawlFolder(root)
    files = [folder.archive_path(one.file_name) for one in folder.archive_names(kind="links")]
    if read_rank_state(root) is None:
        return bool(files)
    ranked = sum(graph_lengths(root).values())
    grown = sum(file.stat().st_size for file in files) - ranked
    return grown > GROWN * ranked and not is_locked(folder)


def rank_state(root: Path) -> RankState | None:
    """Return how old the ranks of a crawl are; None if it has none."""
    found = read_rank_state(root)
    if found is None or not has_more(graph_lengths(root), _links_in_index(root)):
        return found
    return RankState(at=found.at, urls=found.urls, is_current=False)


def _links_in_index(root: Path) -> dict[str, int]:
    """Return how much of each file of links an index has."""
    manifest = read_manifest(index_folder(root))
    covered = manifest.covered if manifest is not None else {}
    return {name: end for name, end in covered.items() if name.startswith("links-")}
