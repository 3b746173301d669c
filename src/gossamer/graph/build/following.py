"""Follow a running crawl: its newest pages are in the graph within seconds."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.graph.build.builder import GraphFacts, GraphOptions, build_graph
from gossamer.model import BuildProgress
from gossamer.store import BuiltElsewhere

if TYPE_CHECKING:
    from gossamer.clock import Clock

PAUSE_S = 2.0
SHARE = 0.5
"""Of the time, at most, that is spent on building."""


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
    from gossamer.report import is_running  # noqa: PLC0415 - a fifth of a second, for this alone

    while True:
        was_running = is_running(root)
        began_at = clock.steady()
        try:
            facts = build_graph(root, options, tell)
        except BuiltElsewhere:  # by somebody who asks a question, say
            wait(PAUSE_S)
            continue
        yield facts
        if not was_running:
            return
        took_s = clock.steady() - began_at
        wait(max(PAUSE_S, took_s * (1 / SHARE - 1)))
