"""Engine: the crawl behind the server. The newest graph and index, opened again when replaced.

There are three lanes. Links of one page are answered at once, in the loop; other questions about
the graph take turns in threads, with a graph of its own, so that no long question delays a short
one; a few searches are answered at a time.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from gossamer import (
    Answer,
    GraphComponents,
    GraphInfo,
    HostTable,
    LinkGraph,
    OpenCrawl,
    Ranking,
)
from gossamer.web.asked import SearchOptions
from gossamer.web.door.turns import Turns

Result = TypeVar("Result")
Kept = TypeVar("Kept", bound=Struct)
MOST_RANKED = 10_000
SEARCHES_AT_ONCE = 4
"""The index works outside the interpreter's lock."""


class NoGraph(Exception):
    """The crawl has no graph yet; the words say how to make one."""


class NoIndex(Exception):
    """There is no index yet; the words say how to make one."""


class Engine:
    """Answers about one crawl."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.crawl = OpenCrawl(folder)
        self._slow = OpenCrawl(folder)
        self._turns = Turns()
        self._turns_aside = Turns()
        self._turns_search = Turns(SEARCHES_AT_ONCE)
        self._kept_for: LinkGraph | None = None
        self._kept: dict[str, object] = {}

    def quick(self) -> LinkGraph:
        """Return the newest graph, for a question that is answered at once, in the loop."""
        return self._graph(self.crawl)

    def slowly(self, ask: Callable[[LinkGraph], Result]) -> Result:
        """Return the answer to a question that may take its time; one is answered after another."""
        with self._turns.own():
            return ask(self._graph(self._slow))

    def aside(self, ask: Callable[[OpenCrawl], Result]) -> Result:
        """Return the answer to a question that is not about the graph, in turn with others."""
        with self._turns_aside.own():
            return ask(self.crawl)

    def search(self, query: str, options: SearchOptions) -> Answer:
        """Return the answer to a query; a few are answered at a time."""
        with self._turns_search.own():
            if not self.crawl.has_index():
                name = self.folder.resolve().name
                raise NoIndex(f"no index yet: run `gossamer build {name} index`")
            return self.crawl.search(
                query,
                page=options.page,
                per_page=options.per_page,
                exact=options.exact,
                without=options.without,
            )

    def ranked(self, top: int) -> Ranking:
        """Return the best pages by PageRank."""
        found = self._once(Ranking, lambda graph: graph.rank(top=MOST_RANKED))
        return replace(found, pages=found.pages[:top])

    def info(self) -> GraphInfo:
        """Return size, coding and degrees of the graph."""
        return self._once(GraphInfo, lambda graph: replace(graph.info(), base=graph.base.name))

    def hosts(self, top: int) -> HostTable:
        """Return the hosts, the best first."""
        found = self._once(HostTable, lambda graph: graph.hosts(None))
        return replace(found, hosts=found.hosts[:top])

    def components(self) -> GraphComponents:
        """Return the components of the graph."""
        return self._once(GraphComponents, lambda graph: graph.components())

    def _once(self, kind: type[Kept], ask: Callable[[LinkGraph], Kept]) -> Kept:
        """Return the answer to a question that is the same until there is another graph."""
        with self._turns.own():
            graph = self._graph(self._slow)
            if self._kept_for is not graph:
                self._kept_for, self._kept = graph, {}
            found = self._kept.get(kind.__name__)
            if not isinstance(found, kind):
                found = self._kept[kind.__name__] = ask(graph)
            return found

    def _graph(self, crawl: OpenCrawl) -> LinkGraph:
        if not crawl.has_open_graph() and not crawl.has_graph():
            raise NoGraph(self._missing())
        return crawl.graph()

    def _missing(self) -> str:
        if (self.folder / "archive").is_dir():
            return f"no graph yet: run `gossamer build {self.folder.name} graph`"
        return "no graph: this is an index of files that were not crawled here"
