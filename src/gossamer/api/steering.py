"""Add, retry, trust and set: told to the crawl that runs in a folder, else done in its place."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from gossamer.api.arguments import check_reasons, texts
from gossamer.api.running import given_seeds
from gossamer.crawl import Crawl, Seed, check_seeds
from gossamer.errors import ConfigError
from gossamer.report import (
    Added,
    ChangedSettings,
    Retried,
    Status,
    Trusted,
    add,
    retry,
    set_settings,
    trust,
)
from gossamer.urls import Patterns


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


def change_settings(folder: Path, settings: Mapping[str, object], host: str) -> ChangedSettings:
    """Change settings of a crawl, or of one of its hosts."""
    told = set_settings(folder, settings, host)
    return told if told is not None else Crawl(folder).set(settings, host)
