"""Start a crawl, or go on with one: what `gossamer crawl` does once its arguments are read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from gossamer.cli.flags import with_flags
from gossamer.cli.screen import as_json, harmless, out, print_json, progress, summary
from gossamer.config import Config
from gossamer.errors import ConfigError
from gossamer.log import set_up
from gossamer.settings import changed, load_config

if TYPE_CHECKING:
    from gossamer import Status
    from gossamer.cli.beside import Indexer


class Wish(Struct, kw_only=True):
    """What `gossamer crawl` was asked besides the flags that turn knobs."""

    seed: list[str] | None = None
    into: Path
    seeds: Path | None = None
    config: Path | None = None
    index: bool = False
    json: bool = False
    verbose: bool = False


def start(given: Mapping[str, Any]) -> int:
    """Crawl as the arguments ask, by name; return the exit code. An absent one was not given."""
    wish = Wish(**{name: given[name] for name in Wish.__struct_fields__ if name in given})
    set_up(verbose=wish.verbose)
    old, new = settle(wish, given)
    is_new = not (wish.into / "crawl.toml").exists()
    return _run(wish, new, [] if is_new else changed(old, new))


def settle(wish: Wish, given: Mapping[str, object]) -> tuple[Config, Config]:
    """Return what the folder says now, and what it shall say: --config FILE, then the flags."""
    path = wish.into / "crawl.toml"
    old = load_config(path) if path.exists() else Config()
    if wish.config is None:
        return old, with_flags(old, given)
    base = load_config(wish.config)
    # What was planted stays a seed: the scope is measured from it.
    seeds = tuple(dict.fromkeys((*old.seeds, *base.seeds)))
    return old, with_flags(replace(base, seeds=seeds), given)


def _run(wish: Wish, config: Config, changes: Sequence[str]) -> int:
    if not (wish.seed or wish.seeds or config.seeds or (wish.into / "crawl.toml").exists()):
        raise ConfigError("nothing to start from: give a SEED, or --seeds FILE")
    _expect_no_other_index(wish.into)
    from gossamer import Crawl, Seed, read_seeds

    seeds = [Seed(url=url) for url in wish.seed or ()]
    seeds += read_seeds(wish.seeds) if wish.seeds else []
    aside = out(is_aside=True)

    def say(line: str) -> None:
        aside.print(harmless(line), markup=False)

    with _indexing(wish, say) as indexer:

        def saved() -> None:
            for line in changes:
                say(f"crawl.toml changed: {line}")
            indexer.start()

        with progress(aside, is_live=not wish.verbose) as show:

            def tell(status: "Status") -> None:
                show(status)
                indexer.tick()

            ending = Crawl(wish.into, seeds, config).run(tell, saved)
        indexer.finish(is_stopped=ending.reason == "stopped")
    (aside if wish.json else out()).print(summary(ending.reason, ending.status, wish.into))
    if wish.json:
        print_json({**as_json(ending.status), "reason": ending.reason})
    return ending.exit_code


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
def _indexing(wish: Wish, say: Callable[[str], None]) -> "Iterator[Indexer | _NoIndexer]":
    """Give the indexer beside a crawl; nothing of it is left behind."""
    if not wish.index:
        yield _NoIndexer()
        return
    from gossamer.cli.beside import Indexer

    indexer = Indexer(wish.into, say)
    try:
        yield indexer
    finally:
        indexer.kill()
