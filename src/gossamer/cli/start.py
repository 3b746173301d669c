"""Start a crawl, or go on with one: what `gossamer crawl` does once its arguments are read."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from gossamer.cli.flags import given_knobs, max_time_of, named_by_flag, with_flags
from gossamer.cli.screen import (
    FailedSeed,
    FailedSeeds,
    as_json,
    harmless,
    out,
    print_json,
    progress,
    progress_line,
    summary,
)
from gossamer.config import Config
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.log import set_up
from gossamer.secrets import FILE, Secrets, read_secrets, separate, with_secrets
from gossamer.settings import load_config, load_crawl_config

if TYPE_CHECKING:
    from gossamer import Ending, OpenCrawl, Seed, Status
    from gossamer.cli.beside import ConsoleServer, Indexer, NoConsole


CONSOLE_PORT = "8080"
PARTS = frozenset(("archive", "far", "graph", "index", "linkcheck", "marks", "state", "tables"))
"""Folders in a crawl's folder, in which no other crawl is kept."""
SEEDS_TOLD = 3
"""So many seeds are named with their reasons when none could be fetched."""


BY_PROXY = (
    "host names are resolved by the proxy: private addresses are refused only where a URL "
    "contains one"
)


class CrawlArguments(Struct, kw_only=True):
    """What `gossamer crawl` was asked besides the flags that turn knobs."""

    seed: list[str] | None = None
    into: Path
    seeds: Path | None = None
    label: list[str] | None = None
    config: Path | None = None
    index: bool = False
    serve: bool = False
    serve_port: str = ""
    take_over: bool = False
    cluster: str = ""
    json: bool = False
    verbose: bool = False
    log: str = ""
    metrics_port: str = ""


def start(given: Mapping[str, Any]) -> int:
    """Crawl as the arguments ask, by name; return the exit code. An absent one was not given."""
    if given.get("into") is None:
        given = {**given, "into": _folder_of_cluster(given)}
    arguments = CrawlArguments(
        **{name: given[name] for name in CrawlArguments.__struct_fields__ if name in given}
    )
    set_up(verbose=arguments.verbose)
    _expect_folder(arguments.into)
    new = settle(arguments, given)
    _expect_store(given, new)
    try:
        return _run(arguments, new, max_time_of(given))
    except ConfigError as error:
        raise named_by_flag(error, given_knobs(given)) from None


def _folder_of_cluster(given: Mapping[str, Any]) -> Path:
    """Return the folder of a crawl that is kept by a cluster: of what was asked, and no more."""
    if not given.get("cluster"):
        raise ConfigError(
            "Missing option '--into': give the folder to keep the crawl in, such as "
            "--into mycrawl; see `gossamer crawl --help`"
        )
    from gossamer import coordinator_folder

    return coordinator_folder(str(given.get("store") or ""))


def settle(arguments: CrawlArguments, given: Mapping[str, object]) -> Config:
    """Return what the folder shall say: what it says now, or --config FILE, and then the flags."""
    if arguments.config is None:
        return with_flags(load_crawl_config(arguments.into, Config()), given)
    base = with_secrets(load_config(arguments.config), read_secrets(arguments.config.parent))
    is_there = (arguments.into / "crawl.toml").exists()
    old = load_crawl_config(arguments.into) if is_there else Config()
    # What was planted stays a seed: the scope is measured from it. What was trusted stays trusted.
    seeds = tuple(dict.fromkeys((*old.seeds, *base.seeds)))
    trust = tuple(dict.fromkeys((*old.traps.trust, *base.traps.trust)))
    traps = replace(base.traps, trust=trust)
    labels = old.seed_labels | base.seed_labels
    return with_flags(replace(base, seeds=seeds, seed_labels=labels, traps=traps), given)


def given_seeds(
    urls: Sequence[str] | None, file: Path | None, labels: Sequence[str] | None
) -> "list[Seed]":
    """Return the seeds of a command, those of a file included, all with its labels."""
    from gossamer import Seed, read_seeds

    seeds = [Seed(url=url) for url in urls or ()] + (read_seeds(file) if file else [])
    if not labels:
        return seeds
    return [Seed(one.url, ",".join(filter(None, (one.label, *labels)))) for one in seeds]


def has_secrets(file: Path) -> bool:
    """Return True if a file of settings has values that belong into secrets.toml."""
    return separate(load_config(file)).secrets != Secrets()


def not_rewritten(file: Path, folder: Path) -> str:
    """Return what to know about a file, given by --config, that has secrets in it."""
    return (
        f"{file} has secrets, and was not rewritten: this crawl keeps them in {folder / FILE}; "
        f"move those in the file to {file.parent / FILE}, mode 0600"
    )


def unindexed_bytes(folder: Path) -> int | None:
    """Return how much of a crawl's archive is not in its index, for its metrics."""
    from gossamer import OpenCrawl  # only who is asked for metrics needs it

    return OpenCrawl(folder).console.unindexed_bytes()


def _run(arguments: CrawlArguments, config: Config, max_time_s: float | None) -> int:
    if not (arguments.seed or arguments.seeds or config.seeds):
        _expect_a_crawl(arguments, config.store.url)
    _expect_no_other_index(arguments.into)
    from gossamer import Crawl

    seeds = given_seeds(arguments.seed, arguments.seeds, arguments.label)
    crawl = Crawl(
        arguments.into,
        seeds,
        config,
        log=arguments.log,
        verbose=arguments.verbose,
        metrics_port=arguments.metrics_port,
        unindexed_bytes=partial(unindexed_bytes, arguments.into),
        take_over=arguments.take_over,
        cluster=arguments.cluster,
    )
    aside = out(is_aside=True)

    def say(line: str) -> None:
        aside.print(harmless(line), markup=False)

    with _indexing(arguments, say) as indexer, _console(arguments, say) as console:

        def saved() -> None:
            for line in crawl.changes:
                say(f"crawl.toml changed: {line}")
            if arguments.config is not None and has_secrets(arguments.config):
                say(not_rewritten(arguments.config, arguments.into))
            if config.fetch.proxy:
                say(BY_PROXY)
            indexer.start()
            console.start()

        line = partial(progress_line, place=config.store.url if arguments.cluster else "DIR")
        with progress(aside, is_live=not arguments.verbose, line=line) as show:

            def tell(status: "Status") -> None:
                show(status)
                indexer.tick()
                console.tick()

            ending = crawl.run(tell, saved, max_time_s, say, index=arguments.index)
        indexer.finish(is_stopped=ending.reason == "stopped")
    is_early = ending.reason == "no_seed" and not ending.is_finished
    how = "no_seed_yet" if is_early else ending.reason
    place = config.store.url if arguments.cluster else arguments.into
    (aside if arguments.json else out()).print(
        summary(how, ending.status, place, _failed_seeds(place, ending))
    )
    if arguments.json:
        print_json({**as_json(ending.status), "reason": ending.reason})
    return ending.exit_code


def _expect_a_crawl(arguments: CrawlArguments, store: str) -> None:
    """Refuse a start without a seed where there is no crawl to go on with, here or in its store."""
    if (arguments.into / "crawl.toml").exists() or (store and _has_crawl(store)):
        return
    place = (
        store if arguments.cluster else f"{arguments.into} or {store}" if store else arguments.into
    )
    raise ConfigError(
        f"nothing to start from: there is no crawl in {place} yet; give a URL, or --seeds FILE"
    )


def _has_crawl(store: str) -> bool:
    """Return True if a store has a crawl; refuse one that cannot be asked.

    A process of its own asks: this one will fork, which the library of stores does not survive.
    """
    command = [sys.executable, "-m", "gossamer", "status", store, "--json"]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # our own words
    if asked.returncode not in {0, 2}:
        raise CannotGoOn(asked.stderr.strip().rpartition("\n")[2].removeprefix("gossamer: "))
    return asked.returncode == 0


def _failed_seeds(folder: Path | str, ending: "Ending") -> FailedSeeds | None:
    """Return what is known of the first seeds if none could be fetched, or of some that failed."""
    some = () if ending.reason == "stopped" else tuple(ending.status.seed_failures)
    if ending.reason != "no_seed" and not some:
        return None
    from gossamer import OpenCrawl

    crawl = OpenCrawl(folder)
    if ending.reason != "no_seed":
        failed = [_failed_seed(crawl, seed) for seed in some]
        failed = [seed for seed in failed if seed.why.state != "archived"]
        return FailedSeeds(failed, len(failed))
    seeds = crawl.config().seeds
    return FailedSeeds([_failed_seed(crawl, seed) for seed in seeds[:SEEDS_TOLD]], len(seeds))


def _failed_seed(crawl: "OpenCrawl", seed: str) -> FailedSeed:
    """Return a seed with what became of the last URL that it leads to."""
    why = crawl.why(seed)
    url, met = why.url, {why.url}
    while why.state == "redirected" and why.target not in met:
        met.add(why.target)
        why = crawl.why(why.target)
    return FailedSeed(url, why)


def _expect_folder(into: Path) -> None:
    """Refuse to keep a crawl in a file, or below one, in a store, or in a part of another crawl."""
    if ":/" in str(into):
        raise ConfigError(
            f"--into {into}: expected a folder; `--into DIR --store URL` keeps checkpoints in a "
            "store, and goes on from there"
        )
    for place in (into, *into.parents):
        if place.exists() and not place.is_dir():
            raise CannotGoOn(
                f"--into {into}: {place} is a file and is not a folder; give the name of a new "
                "folder, or of one with a crawl in it"
            )
    place = into.absolute()
    for part in (place, *place.parents):
        if part.name in PARTS and (part.parent / "crawl.toml").exists():
            raise ConfigError(
                f"--into {into}: that is inside the crawl {part.parent}; give a folder of its own, "
                "or that one to go on with it"
            )


def _expect_store(given: Mapping[str, Any], config: Config) -> None:
    """Refuse an empty store, which a shell makes of a variable that is not set."""
    if given.get("store") == "":
        raise ConfigError(
            "--store is empty: is a variable not set? Expected s3://BUCKET/PREFIX, gs://, az:// or "
            "file:///FOLDER; `gossamer set DIR store.url=` lets a crawl go on without its store"
        )
    if given.get("take_over") and not config.store.url:
        raise ConfigError(
            "--take-over ends a crawl that runs elsewhere, by its store: give --store URL, too"
        )


def _expect_no_other_index(into: Path) -> None:
    """Refuse a folder that `gossamer index` has made: a crawl's index would take that one's place.

    The names are those of `gossamer.search`, which is slow to load.
    """
    is_crawl = any((into / name).exists() for name in ("crawl.toml", "archive"))
    if not is_crawl and (into / "index" / "manifest.json").exists():
        raise ConfigError(f"{into} has an index of files of others: give another folder")


class _NoIndexer:
    """Stands where nobody wants pages to be indexed while they come."""

    def start(self) -> None:
        """Do nothing."""

    def tick(self) -> None:
        """Do nothing."""

    def finish(self, *, is_stopped: bool) -> None:
        """Do nothing."""


@contextmanager
def _console(
    arguments: CrawlArguments, say: Callable[[str], None]
) -> "Iterator[ConsoleServer | NoConsole]":
    """Give the console beside a crawl; nothing of it is left behind."""
    from gossamer.cli.beside import ConsoleServer, NoConsole

    port = arguments.serve_port or CONSOLE_PORT
    if not port.isdecimal() or not 0 < int(port) < 2**16:
        raise ConfigError(f"--serve-port: expected a port from 1 to 65535, found {port!r}")
    console = ConsoleServer(arguments.into, int(port), say) if arguments.serve else NoConsole()
    try:
        yield console
    finally:
        console.kill()


@contextmanager
def _indexing(
    arguments: CrawlArguments, say: Callable[[str], None]
) -> "Iterator[Indexer | _NoIndexer]":
    """Give the indexer beside a crawl; nothing of it is left behind."""
    if not arguments.index or arguments.cluster:  # machines of a cluster index what they have
        yield _NoIndexer()
        return
    from gossamer.cli.beside import Indexer

    indexer = Indexer(arguments.into, say)
    try:
        yield indexer
    finally:
        indexer.kill()
