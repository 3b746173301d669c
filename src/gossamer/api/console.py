"""Console: a crawl as those see it who run it. Asked by the pages of `gossamer serve`."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, to_builtins

from gossamer.clock import SystemClock
from gossamer.config import LIVE
from gossamer.errors import ConfigError
from gossamer.settings import describe_knobs, load_crawl_config
from gossamer.urls import host_name

if TYPE_CHECKING:
    from gossamer.model import BuildStep
    from gossamer.report import CrawlSample, HostDetails, Page, Why
    from gossamer.store import ContentStamp


class LiveSetting(Struct, frozen=True, kw_only=True):
    """A setting that a running crawl obeys at once."""

    name: str
    """Such as filter.max_depth."""
    kind: str
    """The type in words."""
    value: str
    """As it is now; the values of a list have blanks between them, "" is none."""
    about: str


class Console:
    """How a crawl does, running or not. `OpenCrawl.console` is one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def history(self) -> "list[CrawlSample]":
        """Return how the crawl stood in the last day, every 10 s while it ran; oldest first."""
        from gossamer.report import read_history

        return read_history(self._folder, SystemClock().wall())

    def builds(self) -> "dict[str, BuildStep]":
        """Return which of graph, index and tables are built at this moment, and how far each is."""
        from gossamer.store import builds_under_way

        return builds_under_way(self._folder)

    def settings(self) -> list[LiveSetting]:
        """Return the settings that a running crawl obeys at once, as they are now."""
        now: dict[str, dict[str, object]] = to_builtins(load_crawl_config(self._folder))
        return [
            LiveSetting(
                name=knob.path,
                kind=knob.kind,
                value=_as_text(now[knob.section][knob.name]),
                about=knob.doc,
            )
            for knob in describe_knobs()
            if knob.path in LIVE
        ]

    def read_setting(self, name: str, value: str) -> object:
        """Return the value that a text means for such a setting; the default, if it is empty."""
        knob = next((one for one in describe_knobs() if one.path == name), None)
        if knob is None or name not in LIVE:
            raise ConfigError(f"{name}: expected one of the settings that are obeyed at once")
        if not value.strip():
            return to_builtins(knob.default)
        if knob.kind.startswith("list"):
            return value.split()
        try:
            return msgspec.json.decode(value)
        except msgspec.DecodeError:
            return value.strip()

    def why_at_once(self, url: str) -> "Why | None":
        """Return what `OpenCrawl.why` does; None if the archive would have to be read for it.

        That is so for URLs that were never queued: who links them stands in the archive alone.
        """
        from gossamer.report import why_at_once

        return why_at_once(self._folder, url)

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

    def content_stamp(self) -> "ContentStamp | None":
        """Return what changes with every commit, for whoever keeps what it has stored.

        None if nothing tells of commits.
        """
        from gossamer.store import CrawlFolder, content_stamp

        return content_stamp(CrawlFolder(self._folder))

    def index_lag(self) -> int | None:
        """Return how many bytes of text and links are archived and not in the index yet.

        None if there is no index. It counts what the next build reads, not what it will add.
        """
        from gossamer.search import index_folder, read_manifest
        from gossamer.store import CrawlFolder, counted_lengths

        found = read_manifest(index_folder(self._folder))
        if found is None:
            return None
        counted = counted_lengths(CrawlFolder(self._folder), "links", "text")
        return sum(max(end - found.covered.get(name, 0), 0) for name, end in counted.items())

    def unindexed_bytes(self) -> int | None:
        """Return how much of its text and links files the index has not taken up, by their sizes.

        Unlike `index_lag` it opens no state, so a process may ask that runs the crawl, and bytes
        that are not committed yet are counted. Without an index it is all; None if nothing is
        archived.
        """
        from gossamer.search import index_folder, read_manifest
        from gossamer.store import CrawlFolder

        folder, lag = CrawlFolder(self._folder), 0
        if not folder.archive.is_dir():
            return None
        found = read_manifest(index_folder(self._folder))
        for name in folder.archive_names():
            if name.kind in {"links", "text"}:
                covered = found.covered.get(name.file_name, 0) if found is not None else 0
                with suppress(FileNotFoundError):  # a purge has replaced it
                    size = folder.archive_path(name.file_name).stat().st_size
                    lag += max(size - covered, 0)
        return lag


def _as_text(value: object) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return "" if value is None else value if isinstance(value, str) else _json(value)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
