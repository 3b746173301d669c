"""Where an index lies and how it is opened for writing."""

from pathlib import Path

from gossamer.errors import ConfigError
from gossamer.ranks import RankFile, crawl_ranks
from gossamer.search.build.options import IndexOptions
from gossamer.search.build.sink import DocumentSink, PageSink
from gossamer.search.manifest import Manifest, read_manifest, terms_folder
from gossamer.search.terms import TermsWriter
from gossamer.store import Derived


def place_of(root: Path) -> Derived:
    """Return the place of a crawl's index."""
    return Derived(root, "index", lambda folder: read_manifest(folder) is not None)


def open_sink(root: Path, index: Path, manifest: Manifest, options: IndexOptions) -> PageSink:
    """Return what pages are written to; `index` is the folder in which it lies at the moment."""
    if manifest.organisation == "terms":
        return TermsWriter(terms_folder(index), manifest.shards)
    ranks = crawl_ranks(root) if manifest.high_share else None
    return DocumentSink(index, manifest, options.memory_bytes, ranks=ranks)


def needed_ranks(root: Path) -> RankFile:
    """Return the ranks of a crawl's pages; say how to get them if there are none."""
    ranks = crawl_ranks(root)
    if ranks is None:
        raise ConfigError(
            f"--tiers needs ranks, and {root} has none yet: run `gossamer rank {root}`, then build "
            "the index again"
        )
    return ranks
