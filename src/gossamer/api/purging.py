"""Purge and prune: remove what is stored for good, from a crawl that does not run."""

import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gossamer.api.arguments import texts
from gossamer.api.crawls import OpenCrawl
from gossamer.clock import SystemClock
from gossamer.config import UrlConfig
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.report import LINK_CHECK_FOLDER
from gossamer.search import QueryLog
from gossamer.settings import load_crawl_config
from gossamer.store import CrawlFolder, is_locked
from gossamer.urls import Patterns, parse

if TYPE_CHECKING:
    from gossamer.crawl import Purged
    from gossamer.model import BuildProgress


_HOST = re.compile(r"[.:/]|^localhost$")
"""What a word has in it that may be a host or a URL."""


def purge(
    folder: Path | str,
    patterns: "str | Iterable[str]" = (),
    on_progress: "BuildProgress | None" = None,
) -> "Purged":
    """Drop what patterns name, and remove it from the archive for good; what is dropped, if none.

    Copies of its content that stay get it. Graph, index and tables are built again; queries that
    name it and the answers of a check of links leave the folder, too. Killed at any moment, the
    next start, or the next call, finishes it.
    """
    from gossamer.crawl import finish_interrupted, purge_urls

    tell = on_progress or (lambda _: None)
    finish_interrupted(Path(folder), tell)
    place, given = _stopped(folder), texts(patterns)
    if given:
        OpenCrawl(place).drop(given)
    named = given or list(load_crawl_config(place).filter.drop)
    if not named:
        raise ConfigError("nothing to purge: give a pattern, or drop something first")
    asked = _without_answers(place)
    queries = QueryLog(place).forget(lambda query: _names(query, Patterns(named)))
    found = purge_urls(place, named, tell)
    removed = [*found.removed, *asked]
    return _rebuilt(place, replace(found, removed=removed, queries=queries), tell)


def prune(
    folder: Path | str,
    *,
    keep: int = 1,
    before: str | float | None = None,
    on_progress: "BuildProgress | None" = None,
) -> "Purged":
    """Remove old editions of pages from the archive for good, but for the `keep` newest of each.

    `before`: only those that were last there before a time, as in `OpenCrawl.page`; of a day, its
    beginning. Copies of their content that stay get it; see `purge`.
    """
    from gossamer.crawl import Crawl, finish_interrupted, prune_editions
    from gossamer.report import read_since

    tell = on_progress or (lambda _: None)
    finish_interrupted(Path(folder), tell)
    place = _stopped(folder)
    if keep < 1:
        raise ConfigError(f"--keep: expected at least 1 edition, found {keep}")
    now = SystemClock().wall()
    try:
        moment = read_since(before, now) if isinstance(before, str) else before
    except ConfigError as error:
        raise ConfigError(f"--before: {error}") from None
    Crawl(place).drop(())  # what a kill has left is put right
    found = prune_editions(place, keep, now if moment is None else moment, tell)
    return _rebuilt(place, found, tell)


def _without_answers(folder: Path) -> list[str]:
    """Delete what a check of links has asked for outside; return its name if there was any."""
    place = CrawlFolder(folder / LINK_CHECK_FOLDER)
    if not place.root.exists():
        return []
    if is_locked(place):
        raise CannotGoOn(
            f"links are being checked in {place.root}, and nothing was changed; run this again "
            "when that has ended"
        )
    shutil.rmtree(place.root)
    return [LINK_CHECK_FOLDER]


def _names(query: str, patterns: Patterns) -> bool:
    """Return True if a query has a URL or a host in it that patterns name."""
    for word in query.split():
        for text in {word, word.partition(":")[2]}:
            said = text.strip("\"'()-<>,")
            if not _HOST.search(said):
                continue
            url = parse(said if "://" in said else f"http://{said}", UrlConfig())
            if url is not None and patterns.match(url.text):
                return True
    return False


def _stopped(folder: Path | str) -> Path:
    crawl = OpenCrawl(folder)
    if crawl.is_running():
        raise CannotGoOn(
            f"a crawl is running in {folder}, and nothing was changed; `gossamer stop {folder}` "
            "ends it, then run this again"
        )
    return crawl.folder


def _rebuilt(folder: Path, found: "Purged", tell: "BuildProgress") -> "Purged":
    """Build again what was made from the archive before."""
    crawl = OpenCrawl(folder)
    if found.files and load_crawl_config(folder).dedupe.near:
        crawl.build_near(tell)
    if "graph" in found.removed:
        crawl.build_graph(on_progress=tell)
    if "index" in found.removed:
        crawl.build_index(on_progress=tell)
    if "tables" in found.removed:
        crawl.tables().build(on_progress=tell)
    return found
