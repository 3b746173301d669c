"""Console: a crawl as those see it who run it. Asked by the pages of `gossamer serve`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.clock import SystemClock
from gossamer.urls import host_name

if TYPE_CHECKING:
    from gossamer.report import CrawlSample, HostDetails, Page


class Console:
    """How a crawl does, running or not. `OpenCrawl.console` is one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def history(self) -> "list[CrawlSample]":
        """Return how the crawl stood in the last day, every 10 s while it ran; oldest first."""
        from gossamer.report import read_history

        return read_history(self._folder, SystemClock().wall())

    def host(self, host: str) -> "HostDetails | None":
        """Return what is known of a host; None if no URL of it was queued."""
        from gossamer.report import host_details

        return host_details(self._folder, host_name(host))

    def replayed(self, page: "Page", address_of: Callable[[str], str]) -> str:
        """Return a stored page or style sheet whose references are `address_of` their URLs."""
        from gossamer.tables import replayed

        return replayed(page, address_of)

    def metrics(self) -> str:
        """Return the metrics of the crawl in the text format that Prometheus reads."""
        from gossamer.report import crawl_metrics, metrics_text

        found = crawl_metrics(self._folder)
        return found if isinstance(found, str) else metrics_text(found)
