"""What an index is made of: all of a crawl's archive, or what one shard of a crawl's store owns."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from gossamer.report import probations_of
from gossamer.search.manifest import Manifest
from gossamer.search.sources.archive import HeldProbations, PageFacts
from gossamer.store import CrawlFolder, Lengths, archive_of, counted_lengths, is_locked


class ArchivePart(Protocol):
    """Pages, and what is said of them."""

    @property
    def folder(self) -> CrawlFolder:
        """Where its archive is read, and its index is."""

    def counted(self) -> Lengths:
        """Return how much of each file of links and texts counts at this moment."""

    def probations(self) -> HeldProbations:
        """Return which pages are left out because they were fetched on probation."""

    def is_running(self) -> bool:
        """Return True if the crawl runs: what it holds may change, and full builds wait."""

    def is_ours(self, url: str) -> bool:
        """Return True if a URL is of this part; the files may have others, too."""

    def said_elsewhere(self) -> Iterator[PageFacts]:
        """Yield what pages of other parts say of ours: a URL, and links."""

    def noted(self, manifest: Manifest) -> Manifest:
        """Return a manifest with how much of that was read."""

    def has_more_said(self, manifest: Manifest, share: float) -> bool:
        """Return True if much more than a full build has read is said elsewhere by now."""


class WholeArchive:
    """All of a crawl, in its folder."""

    def __init__(self, root: Path) -> None:
        self.folder = archive_of(root)

    def counted(self) -> Lengths:
        """Return how much of each file of links and texts counts at this moment."""
        return counted_lengths(self.folder, "links", "text")

    def probations(self) -> HeldProbations:
        """Return which pages are left out because they were fetched on probation."""
        if self.is_running():
            return HeldProbations()
        return HeldProbations(frozenset(probations_of(self.folder)))

    def is_running(self) -> bool:
        """Return True if a process crawls in the folder."""
        return is_locked(self.folder)

    def is_ours(self, url: str) -> bool:  # noqa: ARG002 - all of them are
        """Return True."""
        return True

    def said_elsewhere(self) -> Iterator[PageFacts]:
        """Yield nothing: all that is known is in the archive."""
        yield from ()

    def noted(self, manifest: Manifest) -> Manifest:
        """Return the manifest."""
        return manifest

    def has_more_said(self, manifest: Manifest, share: float) -> bool:  # noqa: ARG002 - nothing is
        """Return False."""
        return False
