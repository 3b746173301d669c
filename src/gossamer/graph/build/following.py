"""Follow a running crawl: its newest pages are in the graph within seconds."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.graph.build.builder import GraphFacts, GraphOptions, build_graph
from gossamer.model import BuildProgress
from gossamer.store import Pacing, archive_of, follow_builds

if TYPE_CHECKING:
    from gossamer.clock import Clock

PAUSE_S = 2.0


def follow(
    root: Path | str,
    options: GraphOptions,
    clock: "Clock",
    wait: Callable[[float], None],
    tell: BuildProgress | None = None,
) -> Iterator[GraphFacts]:
    """Build again and again while a crawl runs; yield what each time was done.

    `wait` is called with the seconds to let pass. The last time is after the crawl has ended.
    """
    pause = Pacing(clock, wait, shortest_s=PAUSE_S)
    return follow_builds(archive_of(root), lambda: build_graph(root, options, tell), pause)
