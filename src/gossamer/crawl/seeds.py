"""Seeds: where a crawl begins, and how more are added to a running one."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from gossamer.config import UrlConfig
from gossamer.crawl.assembly import Shard
from gossamer.errors import ConfigError
from gossamer.model import Link, LinkKind, Task, Url
from gossamer.store import ArchiveEntry
from gossamer.urls import join, parse, without_credentials


class Seed(Struct, frozen=True):
    """A URL to start from, with the topic or region that its owner gave it."""

    url: str
    label: str = ""


def read_seeds(path: Path | str) -> list[Seed]:
    """Read a seeds file: one URL per line, then blanks and an optional label; # comments."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the seeds file {path}: {error}") from error
    parts = [line.split(maxsplit=1) for line in lines if line.strip() and line.lstrip()[0] != "#"]
    return [Seed(url=words[0], label=words[1].strip() if words[1:] else "") for words in parts]


def url_of_seed(text: str, rules: UrlConfig) -> Url:
    """Return the URL of a seed; what is none is a mistake of whoever gave it."""
    url = parse(text, rules)
    if url is None or not url.origin:
        shown = without_credentials(text)
        raise ConfigError(
            f"{shown!r} is not a valid URL; expected one such as https://example.com/"
        )
    return url


def plant(shard: Shard, seeds: Sequence[Seed]) -> dict[str, str]:
    """Queue the seeds that are new and wanted; return the others' refusals by URL."""
    refused: dict[str, str] = {}
    for seed in seeds:
        url = url_of_seed(seed.url, shard.core.stations.urls)
        shard.core.filters.add_seed(url)
        if shard.core.splitter is not None and not shard.core.splitter.is_ours(url.key):
            continue  # its owner plants it; ours is only to know the scope
        link = Link(target=url, kind=LinkKind.SEED)
        objection = shard.core.filters.judge(link, 0, "")
        if objection is not None:
            refused[without_credentials(seed.url)] = f"{objection.reason.value}: {objection.detail}"
            continue
        _queue(shard, url, seed.label)
    return refused


def _queue(shard: Shard, url: Url, label: str) -> None:
    now = shard.engine.time.now()
    tasks = [Task(url=url, kind=LinkKind.SEED)]
    sitemap = join(url.text, "/sitemap.xml", shard.core.stations.urls)
    if (
        shard.core.stations.process.sitemaps
        and sitemap is not None
        and url.scheme.startswith("http")
    ):
        tasks.append(Task(url=sitemap, kind=LinkKind.SITEMAP, via=url.text))
    for task in _new(shard, tasks):
        shard.core.add([task])
        if task.kind is LinkKind.SEED:
            record = shard.ledger.writer.seed_record(url.text, label, now)
            shard.ledger.add_entry(ArchiveEntry(links=record))
            shard.ledger.counters.count_seed()


def _new(shard: Shard, tasks: Iterable[Task]) -> list[Task]:
    """Return the tasks whose URL was never taken in, and remember them."""
    fresh: list[Task] = []
    for task in tasks:
        if shard.core.url_seen.new_among([task.url.key]):
            shard.core.url_seen.add([task.url.key])
            fresh.append(task)
    return fresh
