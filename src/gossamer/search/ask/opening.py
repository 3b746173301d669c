"""Where to ask: an index, wherever it lies, and the ranks of the crawl around it."""

from collections.abc import Sequence
from pathlib import Path

from gossamer.errors import CannotGoOn
from gossamer.log import tell
from gossamer.ranks import RankFile, crawl_ranks, ranks_path
from gossamer.search.ask.searcher import Searcher
from gossamer.search.broker import Place, open_finder
from gossamer.search.finder import Finder
from gossamer.search.manifest import index_folder, read_manifest, terms_folder
from gossamer.search.terms import TermFinder


def has_index(root: Path | str) -> bool:
    """Return True if a folder has an index that can be asked."""
    return read_manifest(index_folder(Path(root))) is not None


def open_index(place: Place | Sequence[Place]) -> Finder:
    """Return the index of a place, split by documents or by terms; several are one together.

    Those with others must be split by documents.
    """
    places = [place] if isinstance(place, str | Path) else list(place)
    if len(places) == 1 and isinstance(places[0], Path):
        index = index_folder(places[0])
        manifest = read_manifest(index)
        if manifest is not None and manifest.organisation == "terms":
            return TermFinder(terms_folder(index))
    return open_finder(places)


def open_searcher(root: Path | str) -> Searcher:
    """Return who answers questions about the pages of a folder that has an index."""
    return Searcher(open_index(Path(root)), ranks_of(Path(root)))


def ranks_of(root: Path) -> RankFile | None:
    """Return what the graph says of a crawl's pages; None if it says nothing, or is damaged."""
    try:
        return crawl_ranks(root)
    except CannotGoOn as error:
        tell("ranks.unreadable", path=ranks_path(root), error=error)
        return None
