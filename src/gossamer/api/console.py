"""Console: a crawl as those see it who run it. Asked by the pages of `gossamer serve`."""

from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.clock import SystemClock

if TYPE_CHECKING:
    from gossamer.report import CrawlSample


class Console:
    """How a crawl does, running or not. `OpenCrawl.console` is one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def history(self) -> "list[CrawlSample]":
        """Return how the crawl stood in the last day, every 10 s while it ran; oldest first."""
        from gossamer.report import read_history

        return read_history(self._folder, SystemClock().wall())

    def metrics(self) -> str:
        """Return the metrics of the crawl in the text format that Prometheus reads."""
        from gossamer.report import crawl_metrics, metrics_text

        found = crawl_metrics(self._folder)
        return found if isinstance(found, str) else metrics_text(found)
