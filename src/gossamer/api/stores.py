"""A crawl out of its object store, or into one, by hand."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.clock import SystemClock

if TYPE_CHECKING:
    from gossamer.crawl import Checkpointed, RestoredCrawl


def restore(
    url: str, into: Path | str, *, at: str | None = None, shards: int | None = None
) -> "RestoredCrawl":
    """Bring a crawl back from its object store as a folder, as it was last or at a moment.

    `at` is a moment as in `gossamer show --at`: the newest checkpoint not after it. Such a folder
    is a crawl of its own, and wants a store of its own. With `shards` the state is split anew.
    """
    from gossamer.crawl import restore_crawl
    from gossamer.report import read_moment

    moment = None if at is None else read_moment(at, SystemClock().wall())
    return restore_crawl(url, into, at=moment, shards=shards)


def checkpoint(
    folder: Path | str,
    to: str,
    *,
    take_over: bool = False,
    say: Callable[[str], None] = lambda _line: None,
) -> "Checkpointed":
    """Bring all of a crawl that does not run into an object store."""
    from gossamer.crawl import checkpoint_crawl

    return checkpoint_crawl(folder, to, take_over=take_over, say=say)
