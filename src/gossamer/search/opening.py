"""Where to ask: an index, wherever it lies, and the ranks of the crawl around it."""

from collections.abc import Sequence
from pathlib import Path

from gossamer.errors import CannotGoOn
from gossamer.log import tell
from gossamer.ranks import RankFile, crawl_ranks, ranks_path
from gossamer.search.broker import REFRESH_S, BrokerOptions, Place, open_images, open_reader
from gossamer.search.index_reader import IndexReader
from gossamer.search.manifest import index_folder, read_manifest, terms_folder
from gossamer.search.searcher import Searcher
from gossamer.search.terms import TermIndexReader


def has_index(root: Path | str) -> bool:
    """Return True if a folder has an index that can be asked."""
    return read_manifest(index_folder(Path(root))) is not None


def open_index(place: Place | Sequence[Place], *, is_kept_fresh: bool = False) -> IndexReader:
    """Return the index of a place, split by documents or by terms; several are one together.

    Those with others must be split by documents. `is_kept_fresh`: new commits are taken up, and
    machines that were away are asked again, in a thread, until it is closed.
    """
    places = [place] if isinstance(place, str | Path) else list(place)
    if len(places) == 1 and isinstance(places[0], Path):
        index = index_folder(places[0])
        manifest = read_manifest(index)
        if manifest is not None and manifest.organisation == "terms":
            return TermIndexReader(terms_folder(index), images=open_images(index, manifest))
    options = BrokerOptions(refresh_s=REFRESH_S) if is_kept_fresh else None
    return open_reader(places, options=options)


def open_searcher(place: Place | Sequence[Place]) -> Searcher:
    """Return who answers queries about the pages of a folder, of a URL, or of several together.

    A URL is that of a published index or of a server; new commits there are taken up, and servers
    that were away are asked again, in a thread, until it is closed.
    """
    given = [place] if isinstance(place, str | Path) else list(place)
    places = [one if isinstance(one, Path) or "://" in one else Path(one) for one in given]
    only = places[0] if len(places) == 1 else None
    if isinstance(only, Path):
        return Searcher(open_index(only), ranks_of(only))
    return Searcher(open_index(places, is_kept_fresh=True))


def ranks_of(root: Path) -> RankFile | None:
    """Return what the graph says of a crawl's pages; None if it says nothing, or is damaged."""
    try:
        return crawl_ranks(root)
    except CannotGoOn as error:
        tell("ranks.unreadable", path=ranks_path(root), error=error)
        return None
