"""Seeds: where a crawl begins, how more are added to a running one, and whose headers they get."""

import os
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, field, structs

from gossamer.cluster import read_region_rules
from gossamer.config import Config, UrlConfig
from gossamer.crawl.assembly import Shard
from gossamer.crawl.pipeline import PROBED_SITEMAP, parents
from gossamer.crawl.requeue import RETRIED, requeue
from gossamer.errors import ConfigError
from gossamer.fetch import (
    BUILT_IN,
    ProtocolModule,
    RequestHeaders,
    by_host,
    host_of,
    host_rules,
    load_protocols,
    with_proxy,
)
from gossamer.model import (
    FINAL,
    Address,
    Link,
    LinkKind,
    Objection,
    RefusalKind,
    Refused,
    Task,
    Turn,
    Url,
    UrlRecord,
    add_labels,
    labels_complaint,
    read_labels,
)
from gossamer.report import Added
from gossamer.secrets import (
    FILE,
    bind_headers,
    missing_secrets,
    read_secrets,
    tables_with,
    with_secrets,
)
from gossamer.store import ArchiveEntry
from gossamer.urls import MAX_CHARS, join, parse, registrable_domain, seed_urls, without_credentials

_HOST = re.compile(r"(localhost|[^\s/:@]+\.[^\s/:@]+)(:[0-9]+)?([/?#]|$)")
_SLASHES = re.compile(r"(https?)(?::?/+|:+|;//)(?=[^/:\s]+\.)", re.IGNORECASE)
_PORT = re.compile(r"[a-z]+://[^/?#\\]*:([0-9]{1,9})(?:[/?#\\]|$)", re.IGNORECASE)
_LIST = re.compile(
    r"\A(?:[a-z]+://)?(?![^/?#]*@)[^/?#]*/?,|\A[^?#]*[,\s][a-z]+://", re.IGNORECASE | re.ASCII
)
"""A comma right after the host, in it, or before another URL; a blank there: a list, a table."""
_BAD_PORT = re.compile(
    r"[a-z]+://[^/?#@:\[\]\\]+:([0-9]*[^0-9/?#@:\[\]\\][^/?#@:\[\]\\]*)(?:[/?#\\]|$)",
    re.IGNORECASE,
)
MAX_PORT = 65_535
SHOWN_CHARS = 200
"""Of a seed that is refused."""


class Seed(Struct, frozen=True):
    """A URL to start from, with the topics or regions that its owner gave it."""

    url: str
    label: str = ""
    """Up to four, separated by commas; everything that is found from the seed carries them."""


def read_seeds(path: Path | str, protocols: Sequence[ProtocolModule] = ()) -> list[Seed]:
    """Read a seeds file: one URL per line, then blanks and optional labels; # comments.

    Several labels are separated by commas. A line that is no URL is refused with its number, and so
    is a file without any seed. Schemes that only `protocols` know are those of a crawl that is
    given them, too.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise ConfigError(
            f"cannot read the seeds file {path}: {error.strerror}; "
            "expected a text file with a URL per line"
        ) from error
    except UnicodeDecodeError as error:
        number = error.object[: error.start].count(b"\n") + 1
        is_wide = error.object.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
        found = "it is UTF-16" if is_wide else f"line {number} is not UTF-8 text"
        raise ConfigError(
            f"cannot read the seeds file {path}: {found}; expected a URL per line, saved as UTF-8"
        ) from error
    seeds: list[Seed] = []
    for number, line in enumerate(lines, 1):
        words = line.split(maxsplit=1)
        if not words or words[0].startswith("#"):
            continue
        label = words[1].strip() if words[1:] else ""
        if complaint := seed_complaint(words[0], protocols) or labels_complaint(label):
            raise ConfigError(f"{path}, line {number}: {complaint}")
        seeds.append(Seed(url=words[0], label=label))
    if not seeds:
        raise ConfigError(f"the seeds file {path} has no seeds; expected a URL per line")
    return seeds


def seed_complaint(text: str, protocols: Sequence[ProtocolModule] = ()) -> str:
    """Return what is wrong with a URL that somebody gave as a seed, and what to write; or ""."""
    url = parse(text, UrlConfig())
    shown = without_credentials(text)
    if len(shown) > SHOWN_CHARS:
        shown = f"{shown[:SHOWN_CHARS]}..."
    if url is None and len(text) > MAX_CHARS:
        return f"{shown!r} is too long: {len(text):,} characters; expected at most {MAX_CHARS:,}"
    if url is None and (found := _BAD_PORT.match(text)) is not None:
        return f"{shown!r} has the port {found[1]!r}; expected a number from 1 to {MAX_PORT}"
    if url is None and (port := _port_of(text)) > MAX_PORT:
        return f"{shown!r} has the port {port}; expected one from 1 to {MAX_PORT}"
    if _LIST.search(text.strip()) is not None:
        return (
            f"{shown!r} has a comma or a blank where another URL or a label seems to begin; "
            "expected one URL, and in a seeds file blanks before its labels (a comma of the URL "
            "itself is %2C)"
        )
    if url is None or not url.origin:
        return f"{shown!r} is not a valid URL; {_meant(shown)}"
    return _scheme_complaint(url, shown, protocols)


def _scheme_complaint(url: Url, shown: str, protocols: Sequence[ProtocolModule]) -> str:
    """Return that nobody knows how to ask for a seed, and what to write; or ""."""
    missing, rest = missing_module(url.scheme, protocols), shown.partition(":")[2]
    is_hosted = rest.startswith("//")
    if not missing:
        is_whole = url.scheme in BUILT_IN or bool(url.host)
        return "" if is_whole else f"{shown!r} is not a valid URL: it names no host"
    near = get_close_matches(url.scheme, BUILT_IN, n=1)
    if near and is_hosted:
        return f"{shown!r} has the unknown scheme {url.scheme!r}; did you mean {near[0]}:{rest}?"
    if not is_hosted and (meant := _meant(shown)).startswith("did"):
        return f"{shown!r} is not a valid URL; {meant}"
    if is_hosted:
        return f"{shown!r} cannot be crawled: {missing}, or use another URL"
    return f"{shown!r} cannot be crawled; expected a URL with http://, https://, ftp:// or file://"


def missing_module(scheme: str, protocols: Sequence[ProtocolModule] = ()) -> str:
    """Return that nobody knows how to ask for URLs of a scheme, and what to do; "" if it is known.

    Modules that are installed are loaded only for a scheme that is not built in.
    """
    if scheme in BUILT_IN:
        return ""
    table = load_protocols(protocols)
    if scheme in table.modules:
        return ""
    problem = next((words for name, words in table.problems.items() if name == scheme), "")
    said = f" ({problem})" if problem else ""
    return (
        f"no protocol module for {scheme}{said}; install a package with one (its entry point is in "
        "the group gossamer.protocols)"
    )


def _meant(text: str) -> str:
    """Return what to write instead of a text that is no URL."""
    if _is_file(text):
        return f"it is a file: give --seeds {text} to read seeds from it"
    if text.startswith("/"):
        return f"did you mean file://{text}?"
    if text.startswith("./") or text.endswith(".txt"):
        return (
            f"if a file of seeds is meant, it does not exist: check the spelling of --seeds {text}"
        )
    if (slashes := _SLASHES.match(text)) is not None:
        return f"did you mean {slashes[1]}://{text[slashes.end() :]}?"
    if (found := _HOST.match(text)) and parse(f"http://{text}", UrlConfig()) is not None:
        scheme = "http" if found[1] == "localhost" or found[2] else "https"
        return f"did you mean {scheme}://{text}?"
    return "expected one such as https://example.com/"


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # no name of a file
        return False


def _port_of(text: str) -> int:
    """Return the port that a URL names; 0 if it names none."""
    found = _PORT.match(text)
    return int(found[1]) if found is not None else 0


def url_of_seed(text: str, rules: UrlConfig) -> Url:
    """Return the URL of a seed; what is none is a mistake of whoever gave it."""
    url = parse(text, rules)
    if url is None or not url.origin:
        raise ConfigError(seed_complaint(text) or f"{without_credentials(text)!r} is not a URL")
    return url


def check_seeds(seeds: Iterable[Seed], protocols: Sequence[ProtocolModule] = ()) -> None:
    """Raise `ConfigError` for a seed that cannot be meant, before anything is written."""
    for seed in seeds:
        complaint = seed_complaint(seed.url, protocols) or labels_complaint(seed.label)
        if complaint:
            raise ConfigError(complaint)


def check_labels(config: Config) -> None:
    """Raise `ConfigError` for labels or regions of a configuration that cannot be meant."""
    if config.regions:
        read_region_rules(config.regions)
    for url, text in config.seed_labels.items():
        if complaint := labels_complaint(text):
            raise ConfigError(f"seed_labels: {without_credentials(url)}: {complaint}")


def with_seeds(config: Config, more: Sequence[Seed]) -> Config:
    """Return the configuration with further seeds, each once, credentials removed."""
    texts = (*config.seeds, *(seed.url for seed in more))
    labels = dict(config.seed_labels)
    for seed in more:
        if found := read_labels(seed.label):
            name = without_credentials(seed.url)
            labels[name] = add_labels(labels.get(name, ""), found)
    seeds = tuple(dict.fromkeys(map(without_credentials, texts)))
    return structs.replace(config, seeds=seeds, seed_labels=labels)


def configured_seeds(config: Config) -> list[Seed]:
    """Return the seeds of a configuration with their labels."""
    return [Seed(url=url, label=config.seed_labels.get(url, "")) for url in config.seeds]


def check_schemes(config: Config, protocols: Sequence[ProtocolModule]) -> None:
    """Raise `ConfigError` for a scheme that is wanted and that nobody knows how to ask for.

    Also on resume: without its module everything that is queued would be refused.
    """
    for scheme in config.filter.schemes:
        if scheme == "file":
            raise ConfigError("filter.schemes: file cannot be followed; it only works as a seed")
        if missing := missing_module(scheme, protocols):
            raise ConfigError(f"filter.schemes: {missing}, or leave {scheme} out")
    for text in config.seeds:
        scheme = url_of_seed(text, config.urls).scheme
        if missing := missing_module(scheme, protocols):
            shown = without_credentials(text)
            raise ConfigError(f"{shown} is a seed: {missing}, or remove it from crawl.toml")


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
    failed: list[tuple[int, UrlRecord]] = []
    for url, shown, labels in _own_seeds(shard, seeds):
        link = Link(target=url, kind=LinkKind.SEED)
        objection = shard.core.filters.judge(link, 0, "")
        if objection is not None:
            planted.refused[shown] = f"{objection.reason.value}: {objection.detail}"
            _refuse(shard, url, labels, objection)
        elif _queue(shard, url, labels):
            planted.count_new()
            continue
        elif (record := shard.core.record_of(url.key)) is None:
            planted.waiting.append(shown)
        elif record.state in RETRIED and asks_again:
            failed.append((url.key, record))
            planted.again[shown] = f"{record.state.value}: {record.reason}"
        else:
            (planted.stored if record.state in FINAL else planted.waiting).append(shown)
        if labels and objection is None:
            _add_labels(shard, url, labels)
    if failed:
        requeue(shard.core, shard.ledger, failed, shard.engine.time.now())
    return planted


class _OwnSeed(NamedTuple):
    """A seed that belongs to a shard."""

    url: Url
    shown: str
    labels: str


def _own_seeds(shard: Shard, seeds: Sequence[Seed]) -> Iterable[_OwnSeed]:
    """Return the seeds of a shard, each once and with all its labels; let it know all of them."""
    ours: dict[int, _OwnSeed] = {}
    for seed in seeds:
        url = url_of_seed(seed.url, shard.core.stations.urls)
        shard.core.filters.add_seed(url)
        if shard.core.splitter is not None and not shard.core.splitter.is_ours(url.key):
            continue  # its owner plants it; ours is only to know the scope
        known = ours.get(url.key) or _OwnSeed(url, without_credentials(seed.url), "")
        labels = add_labels(known.labels, read_labels(seed.label))
        ours[url.key] = known._replace(labels=labels)
    return ours.values()


def _add_labels(shard: Shard, url: Url, labels: str) -> None:
    """Add labels to a seed that is known already, and let the archive know."""
    if shard.core.labels.add_to(url, labels):
        record = shard.ledger.writer.seed_record(url.text, labels, shard.engine.time.now())
        shard.ledger.add_entry(ArchiveEntry(links=record))
        shard.ledger.commit()


def _queue(shard: Shard, url: Url, labels: str) -> bool:
    """Queue a seed if it is new, and what is tried with it; return True if the seed is new.

    That is the sitemap of its host and, if the crawl ascends, the folders above it.
    """
    core, rules = shard.core, shard.core.filters.checksum
    tasks = [Task(url=url, kind=LinkKind.SEED, labels=labels, rules=rules)]
    sitemap = join(url.text, PROBED_SITEMAP, core.stations.urls)
    if core.stations.process.sitemaps and sitemap is not None and url.scheme.startswith("http"):
        kind = LinkKind.SITEMAP
        tried = Task(url=sitemap, kind=kind, via=url.text, labels=labels, rules=rules)
        tasks += [tried] if core.objection_to(tried) is None else []
    is_new = False
    for task in _new(shard, tasks):
        core.add([task])
        if task.kind is LinkKind.SEED:
            is_new = True
            _note(shard, url, labels)
    if core.stations.ascends:
        _queue_parents(shard, url, labels, is_new=is_new)
    return is_new


def _note(shard: Shard, url: Url, labels: str) -> None:
    """Count a seed that is new, and let the archive know of it."""
    now = shard.engine.time.now()
    record = shard.ledger.writer.seed_record(url.text, labels, now)
    shard.ledger.add_entry(ArchiveEntry(links=record))
    shard.ledger.counters.count_seed()


def _refuse(shard: Shard, url: Url, labels: str, objection: Objection) -> None:
    """Record that the filters refuse a seed, if it is new: once, as of any URL of the queue."""
    task = Task(url=url, kind=LinkKind.SEED, labels=labels)
    if not _new(shard, [task]):
        return
    _note(shard, url, labels)
    shard.core.frontier.hosts.note_known(url.host)
    refused = Refused(kind=RefusalKind(objection.reason.value), detail=objection.detail)
    now = shard.engine.time.now()
    shard.ledger.record(Turn(task=task, outcome=refused, at=now), now)


def _queue_parents(shard: Shard, seed: Url, labels: str, *, is_new: bool) -> None:
    """Queue the folders above a seed that are new and wanted; they are as deep as the seed."""
    core, address = shard.core, Address(seed.text, seed.origin, seed.key)
    wanted, refused = core.filters.keep([*parents([address], core.stations)], 0, seed.text)
    if is_new:
        shard.ledger.counters.count_refused(refused)
    whence = Task(url=seed, depth=-1, labels=labels, rules=core.filters.checksum)
    core.add(_new(shard, [whence.follow(link) for link in wanted]))


def _new(shard: Shard, tasks: Iterable[Task]) -> list[Task]:
    """Return the tasks whose URL was never taken in, and remember them."""
    fresh: list[Task] = []
    for task in tasks:
        if shard.core.url_seen.new_among([task.url.key]):
            shard.core.url_seen.add([task.url.key])
            fresh.append(task)
    return fresh


# Whose headers

_WEB = frozenset({"http", "https"})


def settle_secrets(config: Config, stored: Config, given: Sequence[Seed], folder: Path) -> Config:
    """Return settings with all their secrets, each header in the tables of whom it is for.

    `stored` is what crawl.toml says, `given` the seeds of this command. Headers that crawl.toml
    holds are for its own seeds. New ones are for the seeds that come with them; without any, for
    whoever has such a header now, otherwise for all seeds. Seeds that are added later get none.
    """
    is_new = config.fetch.headers != stored.fetch.headers
    whole = with_secrets(config, read_secrets(folder))
    if not is_new:
        return bind_headers(whole, _origins(stored.seeds or config.seeds, config))
    more = [text for text in config.seeds if text not in stored.seeds]
    origins = _origins([*(seed.url for seed in given), *more], config)
    if not origins:
        tables = tables_with(whole)
        origins = {name: registrable_domain(host_of(name)) for name in tables}
    return bind_headers(whole, origins or _origins(config.seeds, config))


def _origins(seeds: Sequence[str], config: Config) -> dict[str, str]:
    """Return the origins of seeds, each with its registrable domain."""
    urls = [url_of_seed(text, config.urls) for text in seeds]
    return {url.origin: registrable_domain(url.host) for url in urls if url.scheme in _WEB}


def expect_secrets(config: Config, folder: Path) -> None:
    """Raise `ConfigError` if a secret is missing or cannot be sent, or if tables contradict.

    Before anything is written.
    """
    if missing := missing_secrets(config):
        raise ConfigError(
            f"{folder / FILE} lacks {', '.join(missing)}, which crawl.toml names; put it back, or "
            "remove the name from `secrets` in crawl.toml"
        )
    by_host(config, lambda table: table.delay_s)
    by_host(config, lambda table: table.scope)
    rules = host_rules(config, seed_urls(config), os.environ)
    RequestHeaders(with_proxy(config.fetch, os.environ), rules)
