"""Check links: crawl a site for it, ask for what the crawl did not, and report from the archive.

Links that lead outside are asked by a crawl of their own, in the folder `linkcheck` of the crawl's:
so robots.txt, gaps between requests, the address guard, caps and timeouts hold for them, a kill
loses no answer, and none is asked twice.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple, Unpack

from msgspec.structs import replace

from gossamer.api.options import CrawlOptions, settle_options
from gossamer.api.running import given_seeds
from gossamer.config import (
    KIB,
    Config,
    DedupeConfig,
    FilterConfig,
    HostConfig,
    LimitsConfig,
    OutageConfig,
    ProcessConfig,
    TrapsConfig,
)
from gossamer.errors import ConfigError
from gossamer.secrets import read_secrets, with_secrets
from gossamer.settings import load_crawl_config

if TYPE_CHECKING:
    from gossamer.crawl import Ending, Seed
    from gossamer.report import LinkReport, Status

RETRIES = 1
"""Of a URL that fails: a build that waits for the check wants to know soon."""
SITE_GIVE_UP_S, GIVE_UP_S = 20.0, 5.0
"""A host that is down is given up after so long: the site itself, and others."""
WAIT_AT_END_S = 60.0
SHORT_BYTES = 16 * KIB
"""Of a page that is asked for because its header could not be had."""
FIRST_BYTE_S, TOTAL_S = 15.0, 30.0


class LinkQuestion(NamedTuple):
    """What a check of links looks at."""

    external: bool = False
    fragments: bool = False
    markup: bool = False
    ignore: tuple[str, ...] = ()


def check_links(
    seeds: "str | Iterable[str | Seed]",
    *,
    into: Path | str | None = None,
    config: Config | None = None,
    external: bool = False,
    fragments: bool = False,
    markup: bool = False,
    ignore: Sequence[str] = (),
    on_progress: "Callable[[Status], None] | None" = None,
    **options: Unpack[CrawlOptions],
) -> "LinkReport":
    """Crawl the hosts of some seeds, images, styles and scripts included, and check all links.

    The crawl is kept in the folder `into`; without it, in a temporary one that is removed. `config`
    replaces what `link_check_config` gives; options are those of `run`. `external`: links that lead
    outside are asked once, and not followed; links to files that are not crawled, such as archives,
    are asked either way. The rest is as in `OpenCrawl.check_links`.
    """
    from gossamer.crawl import Crawl
    from gossamer.report import moved_seeds

    asked = LinkQuestion(external, fragments, markup, tuple(ignore))
    with _folder(into) as folder:
        settled = settle_options(config or link_check_config(folder), options)
        given = given_seeds(seeds)
        ending = Crawl(folder, given, settled.config).run(
            on_progress, max_time_s=settled.max_time_s
        )
        if ending.reason != "stopped" and (moved := moved_seeds(folder)):
            config = load_crawl_config(folder)
            ending = Crawl(folder, moved, config).run(on_progress, max_time_s=settled.max_time_s)
        return _asked_and_checked(folder, asked, ending, on_progress)


def check_stored(
    folder: Path,
    asked: LinkQuestion,
    on_progress: "Callable[[Status], None] | None" = None,
    max_time_s: float | None = None,
) -> "LinkReport":
    """Check the links of a stored crawl; only with `external` anything is asked for."""
    from gossamer.report import is_running, status

    if not asked.external:
        return _checked(folder, asked, "")
    if is_running(folder):
        raise ConfigError(
            f"{folder} is being crawled: external links are asked when that has ended; without "
            "--external what is stored can be checked now"
        )
    found = _askable(folder, asked, is_whole=status(folder).finished)
    ended = _ask(folder, found, on_progress, max_time_s)
    return _checked(folder, asked, ended)


def _asked_and_checked(
    folder: Path,
    asked: LinkQuestion,
    ending: "Ending",
    on_progress: "Callable[[Status], None] | None",
) -> "LinkReport":
    if ending.reason == "stopped":
        return _checked(folder, asked, ending.reason)
    found = _askable(folder, asked, is_whole=ending.is_finished)
    ended = _ask(folder, found, on_progress, None)
    return _checked(folder, asked, ended if ended not in {"", "finished"} else ending.reason)


def _checked(folder: Path, asked: LinkQuestion, ended: str) -> "LinkReport":
    from gossamer.report import LinkCheckOptions, check_stored_links

    options = LinkCheckOptions(fragments=asked.fragments, markup=asked.markup, ignore=asked.ignore)
    return check_stored_links(folder, options, load_crawl_config(folder, Config()), ended)


@contextmanager
def _folder(into: Path | str | None) -> Iterator[Path]:
    if into is not None:
        yield Path(into)
        return
    with TemporaryDirectory(prefix="gossamer-links-") as folder:
        yield Path(folder) / "crawl"


def link_check_config(folder: Path | str | None = None) -> Config:
    """Return how a site is crawled whose links are checked: with all it is made of, and soon.

    A crawl that is in the folder has its own settings.
    """
    if folder is not None and (Path(folder) / "crawl.toml").exists():
        return load_crawl_config(Path(folder))
    config = Config()
    return replace(
        config,
        shards=1,  # of one host one shard has all
        fetch=replace(config.fetch, retries=RETRIES, first_byte_s=FIRST_BYTE_S, total_s=TOTAL_S),
        filter=replace(config.filter, scope="host"),
        process=replace(config.process, embeds=True),
        dedupe=replace(config.dedupe, near=False),
        outage=OutageConfig(give_up_s=SITE_GIVE_UP_S, wait_at_end_s=WAIT_AT_END_S),
    )


def asking_config(config: Config) -> Config:
    """Return how links are asked whether they work: by their headers, following nothing.

    What the crawl sends to every host is not sent; what it has for single hosts is.
    """
    fetch = replace(
        config.fetch,
        method="head",
        retries=RETRIES,
        max_body_bytes=SHORT_BYTES,
        first_byte_s=min(config.fetch.first_byte_s, FIRST_BYTE_S),
        total_s=min(config.fetch.total_s, TOTAL_S),
        headers=(),
        header_everywhere=False,
        auth={},
        cookies=False,
        secrets=(),
    )
    filters = FilterConfig(
        scope="any",
        block=config.filter.block,
        blocklist=config.filter.blocklist,
        block_extensions=(),
        max_depth=0,
    )
    hosts = {name: replace(one, scope=None) for name, one in config.host.items()}
    return Config(
        concurrency=config.concurrency,
        shards=1,
        politeness=config.politeness,
        fetch=fetch,
        robots=config.robots,
        outage=OutageConfig(give_up_s=GIVE_UP_S, wait_at_end_s=WAIT_AT_END_S),
        urls=config.urls,
        filter=filters,
        dedupe=DedupeConfig(near=False),
        traps=TrapsConfig(enabled=False),
        process=ProcessConfig(sitemaps=False),
        store=config.store,
        limits=LimitsConfig(),
        host={name: one for name, one in hosts.items() if one != HostConfig()},
    )


def _askable(folder: Path, asked: LinkQuestion, *, is_whole: bool) -> list[str]:
    """Return the targets to ask for: those outside if they are wanted, and those that are in scope.

    In scope are files of other kinds, and links that robots shall not follow; but what a limit has
    kept the crawl from is not asked for. Where a link in scope is redirected to is part of it.
    """
    from gossamer.report import unasked_targets

    config = load_crawl_config(folder, Config())
    is_external = _scope_test(config)
    found: list[str] = []
    for url, by_redirect in unasked_targets(folder, asked.ignore):
        verdict = is_external(url)
        is_wanted = asked.external or by_redirect if verdict else is_whole
        if verdict is not None and is_wanted:
            found.append(url)
    return found


def _scope_test(config: Config) -> Callable[[str], bool | None]:
    """Return what tells whether a URL is outside; None if the rules of the crawl forbid it."""
    from gossamer.filter import build_chain
    from gossamer.model import Link, LinkKind, Reject
    from gossamer.urls import join, seed_urls

    scopes = {name: one.scope for name, one in config.host.items() if one.scope is not None}
    chain = build_chain(
        config.filter, seed_urls(config), lambda _: 0, follow_embeds=True, scopes=scopes
    )
    allowed = {Reject.EXTENSION, Reject.TOO_DEEP, Reject.NOFOLLOW, None}

    def is_external(text: str) -> bool | None:
        url = join(text, "", config.urls)
        if url is None:
            return None
        found = chain.judge(Link(url, LinkKind.ANCHOR), 0)
        reason = None if found is None else found.reason
        return True if reason is Reject.OFF_SCOPE else False if reason in allowed else None

    return is_external


def _ask(
    folder: Path,
    urls: Sequence[str],
    on_progress: "Callable[[Status], None] | None",
    max_time_s: float | None,
) -> str:
    """Ask for URLs whether they work, each once; return how that ended, "" if there are none."""
    from gossamer.crawl import Crawl
    from gossamer.report import LINK_CHECK_FOLDER

    if not urls:
        return ""
    config = with_secrets(load_crawl_config(folder, Config()), read_secrets(folder))
    crawl = Crawl(folder / LINK_CHECK_FOLDER, urls, asking_config(config))
    return crawl.run(on_progress, max_time_s=max_time_s).reason
