"""Follow a running crawl: its newest pages are searchable within seconds."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.model import BuildProgress
from gossamer.search.build.builder import IndexBuild
from gossamer.search.build.options import IndexFacts, IndexOptions
from gossamer.search.sources import WholeArchive
from gossamer.store import BuiltElsewhere, CrawlFolder, Pacing, is_locked

if TYPE_CHECKING:
    from gossamer.clock import Clock

PAUSE_S, LONGEST_PAUSE_S = 1.5, 5.0
"""Between two looks: as long as the last one took, so that half of the time is left to others."""


def follow(
    root: Path,
    options: IndexOptions,
    clock: "Clock",
    wait: Callable[[float], None],
    tell: BuildProgress | None = None,
) -> Iterator[IndexFacts]:
    """Take in what is new again and again while a crawl runs; yield what each time was done.

    `wait` is called with the seconds to let pass. The last time is after the crawl has ended.
    What the end makes due (a full build) is left to `build_index`.
    """
    folder = CrawlFolder(root)
    while not folder.archive.is_dir() and is_locked(folder):  # it has only begun
        wait(PAUSE_S)
    pause = Pacing(clock, wait, shortest_s=PAUSE_S, longest_s=LONGEST_PAUSE_S)
    building = IndexBuild(WholeArchive(root), options, tell or (lambda _: None))
    while True:
        try:
            with building.place.sole_builder():
                yield from building.follow(lambda: is_locked(folder), pause)
        except BuiltElsewhere:  # by somebody who asks a question, say
            wait(PAUSE_S)
        else:
            return
