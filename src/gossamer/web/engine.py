"""Engine: the crawl behind the server. The newest graph, opened again when a build replaces it.

There are two lanes. Links of one page are answered at once, in the loop; whatever may take longer
takes turns in threads, with a graph of its own, so that no long question delays a short one.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from gossamer.graph import Opened, RankWish, has_graph, hosts, info, opened, rank
from gossamer.web.door.turns import Turns

Facts = dict[str, object]
Result = TypeVar("Result")
MOST_RANKED = 10_000


class NoGraph(Exception):
    """The crawl has no graph yet; the words say how to make one."""


class Engine:
    """Answers about one crawl."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._quick = _Newest(folder)
        self._slow = _Newest(folder)
        self._turns = Turns()
        self._turns_aside = Turns()
        self._kept_for: Opened | None = None
        self._kept: dict[str, Facts] = {}

    def quick(self) -> Opened:
        """Return the newest graph, for a question that is answered at once, in the loop."""
        return self._quick.get()

    def slowly(self, ask: Callable[[Opened], Result]) -> Result:
        """Return the answer to a question that may take its time; one is answered after another."""
        with self._turns.own():
            return ask(self._slow.get())

    def once(self, name: str, ask: Callable[[Opened], Facts]) -> Facts:
        """Return the answer to a question that is the same until there is another graph."""
        with self._turns.own():
            graph = self._slow.get()
            if self._kept_for is not graph:
                self._kept_for, self._kept = graph, {}
            if name not in self._kept:
                self._kept[name] = ask(graph)
            return self._kept[name]

    def aside(self, ask: Callable[[Path], Facts]) -> Facts:
        """Return the answer to a question that is not about the graph, in turn with others."""
        with self._turns_aside.own():
            return ask(self.folder)

    def ranked(self) -> Facts:
        """Return the best pages by PageRank."""
        return self.once("rank", lambda graph: rank(graph, RankWish(top=MOST_RANKED))[0])

    def info(self) -> Facts:
        """Return what the graph is."""
        return self.once("info", lambda graph: info(graph) | {"base": graph.base.name})

    def hosts(self) -> Facts:
        """Return all hosts, the best first."""
        return self.once("hosts", lambda graph: hosts(graph, None))


class _Newest:
    """A graph that is opened anew when its files are others."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._graph: Opened | None = None

    def get(self) -> Opened:
        """Return the graph as it is on disk now."""
        if self._graph is None or not self._graph.is_current():
            if not has_graph(self._folder):
                raise NoGraph(self._missing())
            self._graph = opened(self._folder)
        return self._graph

    def _missing(self) -> str:
        if (self._folder / "archive").is_dir():
            return f"no graph yet: run `gossamer build {self._folder.name} graph`"
        return "no graph: this is an index of files that were not crawled here"
