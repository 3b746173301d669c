"""Run a crawl: from seeds until nothing is left, or a limit is reached."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from gossamer.api.options import CrawlOptions, settle_options, with_options
from gossamer.config import Config
from gossamer.settings import load_crawl_config

if TYPE_CHECKING:
    from gossamer.crawl import Ending, Seed
    from gossamer.fetch import ProtocolModule
    from gossamer.filter import UrlFilter
    from gossamer.process import Processor
    from gossamer.report import Status


def run(
    seeds: "str | Iterable[str | Seed]",
    into: Path | str,
    *,
    config: Config | None = None,
    processors: "Sequence[Processor]" = (),
    filters: "Sequence[UrlFilter]" = (),
    protocols: "Sequence[ProtocolModule]" = (),
    on_progress: "Callable[[Status], None] | None" = None,
    log: Path | str = "",
    **options: Unpack[CrawlOptions],
) -> "Ending":
    """Crawl from seeds into a folder until nothing is left, or a limit is reached.

    The folder may exist: the crawl goes on then, and `seeds` may be (). `config` replaces what its
    crawl.toml says; options are those of `gossamer crawl` and change single values there, but for
    `max_time`, which is for this run only. `on_progress` is told the status once a second. `log`
    gets a line of JSON for each fetch. One process per core shares the work, unless `processors`,
    `filters` or `protocols` are given. Ctrl-C ends it cleanly. Inside a running event loop:
    `run_async`.
    """
    from gossamer.crawl import Crawl

    asked = settle_options(config or load_crawl_config(Path(into), Config()), options)
    crawl = Crawl(
        into,
        given_seeds(seeds),
        asked.config,
        processors=processors,
        filters=filters,
        protocols=protocols,
        log=log,
    )
    return crawl.run(on_progress, max_time_s=asked.max_time_s)


async def run_async(
    seeds: "str | Iterable[str | Seed]",
    into: Path | str,
    *,
    config: Config | None = None,
    processors: "Sequence[Processor]" = (),
    filters: "Sequence[UrlFilter]" = (),
    protocols: "Sequence[ProtocolModule]" = (),
    on_progress: "Callable[[Status], None] | None" = None,
    log: Path | str = "",
    **options: Unpack[CrawlOptions],
) -> "Ending":
    """Do the same inside a running event loop, as in a Jupyter notebook.

    The crawl runs in a thread of its own, as one shard: a program with threads cannot safely fork.
    `on_progress` is called in the loop. To cancel the task stops the crawl cleanly.
    """
    from gossamer.crawl import Crawl

    asked = settle_options(config or load_crawl_config(Path(into), Config()), options)
    crawl = Crawl(
        into,
        given_seeds(seeds),
        asked.config,
        processors=processors,
        filters=filters,
        protocols=protocols,
        log=log,
    )
    return await crawl.run_async(on_progress, asked.max_time_s)


def watch(
    folder: Path,
    rate: float | None,
    max_time_s: float | None,
    on_progress: "Callable[[Status], None] | None",
    *,
    is_once: bool,
) -> "Ending":
    """Revisit the pages of a crawl; `rate` requests per second, kept in its crawl.toml."""
    from gossamer.crawl import Crawl

    config = load_crawl_config(folder)
    if rate is not None:
        config = with_options(config, {"rate": rate})
    return Crawl(folder, (), config).watch(max_time_s, on_progress, is_once=is_once)


def given_seeds(given: "str | Iterable[str | Seed]") -> "list[Seed]":
    """Return seeds as the crawl takes them."""
    from gossamer.crawl import Seed

    some = [given] if isinstance(given, str) else list(given)
    return [Seed(url=one) if isinstance(one, str) else one for one in some]
