"""Add, retry, trust, drop, set: told to the crawl that runs in a folder, else done in its place."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.api.arguments import check_reasons, texts
from gossamer.api.running import given_seeds
from gossamer.crawl import Crawl, DropRequest, Seed, check_seeds, with_dropped
from gossamer.errors import ConfigError
from gossamer.report import (
    Added,
    ChangedSettings,
    Dropped,
    Retried,
    Status,
    Trusted,
    add,
    count_named,
    drop,
    retry,
    set_settings,
    trust,
)
from gossamer.settings import load_crawl_config
from gossamer.urls import Patterns

if TYPE_CHECKING:
    from gossamer.api.crawls import OpenCrawl


def add_seeds(folder: Path, seeds: str | Iterable[str | Seed]) -> Added:
    """Add seeds to a crawl."""
    given = given_seeds(seeds)
    check_seeds(given)
    told = add(folder, [(one.url, one.label) for one in given])
    return told if told is not None else Crawl(folder, given).add()


def retry_urls(
    folder: Path,
    reasons: str | Iterable[str],
    hosts: str | Iterable[str],
    urls: str | Iterable[str],
) -> Retried:
    """Queue URLs again that failed."""
    given = texts(reasons), texts(hosts), texts(urls)
    check_reasons(given[0])
    if (told := retry(folder, *given)) is not None:
        return told
    return Crawl(folder).retry(reasons=given[0], hosts=given[1], urls=given[2])


def trust_patterns(folder: Path, patterns: str | Iterable[str], now: Status) -> Trusted:
    """Let go what a crawl holds and patterns name."""
    given = list(texts(patterns))
    if not given:
        raise ConfigError("nothing to trust: give a pattern; `gossamer status` lists some")
    Patterns(given)
    whole = {note.unit: note.pattern for note in now.traps if note.pattern}
    given = [whole.get(pattern, pattern) for pattern in given]
    told = trust(folder, given)
    return told if told is not None else Crawl(folder).trust(given)


def drop_patterns(
    crawl: "OpenCrawl", patterns: str | Iterable[str], undo: str | Iterable[str], *, is_trial: bool
) -> Dropped:
    """Drop what patterns name, and no longer what others do; a trial only counts."""
    given, undone = list(dict.fromkeys(texts(patterns))), list(dict.fromkeys(texts(undo)))
    if not given and not undone:
        raise ConfigError("nothing to drop: give a pattern, such as '*/private/*' or example.org")
    Patterns(given)
    folder = crawl.steered_folder
    config = load_crawl_config(folder)
    request = DropRequest(patterns=tuple(given), undo=tuple(undone))
    kept = with_dropped(config, request).filter.drop
    urls, unmatched = count_named(crawl.folder, given) if given else ({}, [])
    removed, running = 0, False
    if not is_trial:
        told = drop(folder, given, undone)
        removed = Crawl(folder).drop(given, undone) if told is None else told
        running = told is not None
    return Dropped(
        patterns=list(kept),
        added=[one for one in given if one not in config.filter.drop],
        undone=undone,
        urls=urls,
        unqueued=removed,
        running=running,
        dry_run=is_trial,
        unmatched=unmatched,
    )


def change_settings(folder: Path, settings: Mapping[str, object], host: str) -> ChangedSettings:
    """Change settings of a crawl, or of one of its hosts."""
    told = set_settings(folder, settings, host)
    return told if told is not None else Crawl(folder).set(settings, host)
