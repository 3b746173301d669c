"""Seeds: where a crawl begins, and how more are added to a running one."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct, field

from gossamer.config import UrlConfig
from gossamer.crawl.assembly import Shard
from gossamer.crawl.requeue import RETRIED, requeue
from gossamer.errors import ConfigError
from gossamer.model import FINAL, Link, LinkKind, Task, Url, UrlRecord
from gossamer.report import Added
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


class Planted(Struct, kw_only=True):
    """What became of seeds."""

    new: int = 0
    refused: dict[str, str] = field(default_factory=dict)
    """The reason, by URL."""
    again: dict[str, str] = field(default_factory=dict)
    """Queued again: what had become of it, by URL."""
    stored: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    """Queued before."""

    def count_new(self) -> None:
        """Count a seed that was never met before."""
        self.new += 1

    def add(self, more: "Planted") -> None:
        """Add what became of the seeds of another shard."""
        self.new += more.new
        self.refused |= more.refused
        self.again |= more.again
        self.stored += more.stored
        self.waiting += more.waiting

    def answer(self) -> Added:
        """Return it for whoever has given the seeds."""
        return Added(
            added=self.new + len(self.again),
            refused=self.refused,
            queued_again=self.again,
            already_stored=self.stored,
            already_queued=self.waiting,
        )


def plant(shard: Shard, seeds: Sequence[Seed], *, asks_again: bool = True) -> Planted:
    """Queue the seeds that are new and wanted, and again those that failed or were refused."""
    if shard.ledger.group:
        shard.ledger.commit()  # what failed a moment ago is on record, too
    planted = Planted()
    done: set[int] = set()
    failed: list[tuple[int, UrlRecord]] = []
    for seed in seeds:
        url = url_of_seed(seed.url, shard.core.stations.urls)
        shard.core.filters.add_seed(url)
        if shard.core.splitter is not None and not shard.core.splitter.is_ours(url.key):
            continue  # its owner plants it; ours is only to know the scope
        if url.key in done:
            continue
        done.add(url.key)
        shown = without_credentials(seed.url)
        link = Link(target=url, kind=LinkKind.SEED)
        objection = shard.core.filters.judge(link, 0, "")
        if objection is not None:
            planted.refused[shown] = f"{objection.reason.value}: {objection.detail}"
        elif _queue(shard, url, seed.label):
            planted.count_new()
        elif (record := shard.core.record_of(url.key)) is None:
            planted.waiting.append(shown)
        elif record.state in RETRIED and asks_again:
            failed.append((url.key, record))
            planted.again[shown] = f"{record.state.value}: {record.reason}"
        else:
            (planted.stored if record.state in FINAL else planted.waiting).append(shown)
    if failed:
        requeue(shard.core, shard.ledger, failed, shard.engine.time.now())
    return planted


def _queue(shard: Shard, url: Url, label: str) -> bool:
    """Queue a seed, and the sitemap of its host, if they are new; return True if the seed is."""
    now = shard.engine.time.now()
    tasks = [Task(url=url, kind=LinkKind.SEED)]
    sitemap = join(url.text, "/sitemap.xml", shard.core.stations.urls)
    if (
        shard.core.stations.process.sitemaps
        and sitemap is not None
        and url.scheme.startswith("http")
    ):
        tasks.append(Task(url=sitemap, kind=LinkKind.SITEMAP, via=url.text))
    is_new = False
    for task in _new(shard, tasks):
        shard.core.add([task])
        if task.kind is LinkKind.SEED:
            is_new = True
            record = shard.ledger.writer.seed_record(url.text, label, now)
            shard.ledger.add_entry(ArchiveEntry(links=record))
            shard.ledger.counters.count_seed()
    return is_new


def _new(shard: Shard, tasks: Iterable[Task]) -> list[Task]:
    """Return the tasks whose URL was never taken in, and remember them."""
    fresh: list[Task] = []
    for task in tasks:
        if shard.core.url_seen.new_among([task.url.key]):
            shard.core.url_seen.add([task.url.key])
            fresh.append(task)
    return fresh
