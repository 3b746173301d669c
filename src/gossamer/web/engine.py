"""Engine: the crawl behind the server. The newest graph and index, opened again when replaced.

Or an index alone, wherever its shards are: there is no crawl then, and no graph.

There are three lanes. Links of one page are answered at once, in the loop; other questions about
the graph take turns in threads, with a graph of its own, so that no long question delays a short
one; a few searches are answered at a time.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gossamer import (
    Answer,
    BuildStep,
    ContentStamp,
    GraphComponents,
    GraphInfo,
    HostTable,
    LinkGraph,
    OpenCrawl,
    Page,
    QueryLog,
    Ranking,
    SearchIndex,
    SearchKeywords,
    Status,
    logged_query,
)
from gossamer.clock import SystemClock
from gossamer.errors import GossamerError
from gossamer.log import counted, describe_error, warn
from gossamer.web.door.turns import Turns
from gossamer.web.popular import MEMORY_MB, PopularContent, SentContent

Result = TypeVar("Result")
Kept = TypeVar("Kept", bound=Struct)
MIB = 1 << 20
OBJECT_FACTOR = 4
"""An answer takes so many times the memory of its JSON."""
_encode = msgspec.json.Encoder().encode
MOST_RANKED = 10_000
MOST_NAMED = 3
"""Places that an index is named after."""
IMAGES_AT_ONCE = 2
SEARCHES_AT_ONCE = 4
"""The index works outside the interpreter's lock."""


STATUS_FACTOR, STATUS_S = 20.0, 60.0
"""The status of a crawl that does not run is kept so many times as long as it took to read."""


class KeptStatus(NamedTuple):
    """A status, and until when it will do."""

    status: Status
    until: float


class NoGraph(Exception):
    """The crawl has no graph yet; the words say how to make one."""


class NoIndex(Exception):
    """There is no index yet; the words say how to make one."""


class BeingBuilt(Exception):
    """What is asked for is being made at this moment; the words say how far it is."""


class NoCrawl(Exception):
    """The server has no crawl of its own: it searches elsewhere."""


class Engine:
    """Answers about one crawl, or from one index."""

    def __init__(
        self,
        served: Path | SearchIndex,
        query_log: QueryLog | None = None,
        is_building: Callable[[], bool] = lambda: False,
        *,
        memory_mb: int = MEMORY_MB,
    ) -> None:
        self._folder = served if isinstance(served, Path) else None
        self._index = None if isinstance(served, Path) else served
        self.name = _name(served)
        """For people."""
        self._paths = _paths(served)
        self.is_building = is_building
        """Returns True until what was due when the server started has been built."""
        self._query_log = query_log
        """None: queries are not written down."""
        self._is_log_bad = False
        self._crawl = OpenCrawl(served) if isinstance(served, Path) else None
        self._slow = OpenCrawl(served) if isinstance(served, Path) else None
        self._turns = Turns()
        self._turns_aside = Turns()
        self._turns_status = Turns()
        self._turns_search = Turns(SEARCHES_AT_ONCE)
        self._turns_images = Turns(IMAGES_AT_ONCE)
        self._status: KeptStatus | None = None
        self._kept_for: LinkGraph | None = None
        self._kept: dict[str, object] = {}
        self.kept_hits = self.kept_misses = 0
        """Questions about the status and the whole graph that memory answered, and the others."""
        clock, parts = SystemClock(), memory_mb * MIB // 4
        self.stored: PopularContent[SentContent] = PopularContent(3 * parts, clock)
        """Stored copies of pages in any form, and what belongs to them."""
        self.answered: PopularContent[Answer] = PopularContent(parts, clock)
        """Answers to queries."""

    @property
    def crawl(self) -> OpenCrawl:
        """The crawl; raise if there is none."""
        return _own(self._crawl)

    def has_graph(self) -> bool:
        """Return True if there is a link graph."""
        return self._crawl is not None and self._crawl.has_graph()

    def graph_nodes(self) -> int | None:
        """Return how many URLs the graph has; None if there is none."""
        return None if self._crawl is None else self._crawl.graph_nodes()

    def indexed_pages(self) -> int | None:
        """Return how many pages can be searched; None if there is no index yet."""
        return self.crawl.indexed_pages() if self._index is None else self._index.pages()

    def missing_shards(self) -> int | None:
        """Return how many shards do not answer now; None if all of them are on this machine."""
        return None if self._index is None else len(self._index.missing())

    def quick(self) -> LinkGraph:
        """Return the newest graph, for a question that is answered at once, in the loop."""
        return self._graph(self.crawl)

    def slowly(self, ask: Callable[[LinkGraph], Result]) -> Result:
        """Return the answer to a question that may take its time; one is answered after another."""
        with self._turns.own():
            return ask(self._graph(_own(self._slow)))

    def aside(self, ask: Callable[[OpenCrawl], Result]) -> Result:
        """Return the answer to a question that is not about the graph, in turn with others."""
        with self._turns_aside.own():
            return ask(self.crawl)

    def content_stamp(self) -> ContentStamp | None:
        """Return what changes with every commit of the crawl."""
        return self.crawl.console.content_stamp()

    def index_lag(self) -> int | None:
        """Return how many archived bytes are not indexed yet; None if that cannot be said."""
        if self._index is not None or not self.has_archive():
            return None
        try:
            return self.aside(lambda crawl: crawl.console.index_lag())
        except (GossamerError, OSError):
            return None

    def metrics(self) -> str:
        """Return the metrics of the crawl; "" if there is none, or it cannot be asked."""
        if not self.has_archive():
            return ""
        try:
            return self.aside(lambda crawl: crawl.console.metrics())
        except GossamerError:
            return ""

    def building(self) -> str:
        """Return what is being built at this moment and how far that is; "" if nothing is."""
        if self._crawl is None or not self.has_archive():
            return ""
        found = self._crawl.console.builds()
        if not found and self.is_building():
            return "what is new is being looked for"
        return "; ".join(f"the {name} is being built: {step_words(found[name])}" for name in found)

    def changing(self, change: Callable[[OpenCrawl], Result]) -> Result:
        """Change something; one change is made after another, and the status is asked anew."""
        with self._turns_aside.own():
            try:
                return change(self.crawl)
            finally:
                self._status = None

    def status(self) -> Status:
        """Return the status; of a crawl that does not run it may be some seconds old."""
        clock = SystemClock()
        now, kept = clock.steady(), self._status
        if kept is not None and now < kept.until:
            self.kept_hits += 1
            return kept.status
        self.kept_misses += 1
        with self._turns_status.own():
            found = self.crawl.status()
        took_s = clock.steady() - now
        age_s = min(STATUS_FACTOR * took_s, STATUS_S)
        # What runs is asked, and answers at once; else its state is read.
        self._status = KeptStatus(found, 0.0 if found.running else clock.steady() + age_s)
        return found

    def search(self, query: str, keywords: SearchKeywords) -> Answer:
        """Return the answer to a query; a few are answered at a time."""
        began = SystemClock().steady()
        index = self._searched()

        def found() -> Answer:
            with self._turns_search.own():
                return index.search(query, **keywords)

        key = (query, *((name, _hashed(value)) for name, value in keywords.items()))
        answer = self.answered.of(key, index.stamp(), found, _answer_bytes)
        took_ms = round((SystemClock().steady() - began) * 1e3, 3)
        answer = replace(answer, took_ms=min(answer.took_ms, took_ms))
        if self._query_log is not None:
            self._log(self._query_log, answer)
        hidden = [
            replace(one, place=self.without_paths(one.place), reason=self.without_paths(one.reason))
            for one in answer.missing
        ]
        return replace(answer, missing=hidden) if hidden else answer

    def without_paths(self, words: str) -> str:
        """Return words that do not tell where on this machine its folders lie."""
        for path, name in self._paths:
            words = words.replace(path, name)
        return words

    def search_like(self, like: str, query: str, keywords: SearchKeywords) -> Answer:
        """Return what is like a text, or a URL of the index. It is not logged: it may be long."""
        with self._turns_search.own():
            return self._searched().search_like(like, query, **keywords)

    def image(self, url: str) -> Page | None:
        """Return a stored image; None if there is none."""
        with self._turns_images.own():
            return self.crawl.page(url) if self.has_archive() else None

    def _searched(self) -> SearchIndex:
        """Return the index that is searched."""
        if self._index is not None:
            return self._index
        if not self.crawl.has_index():
            if words := self.building():
                raise BeingBuilt(f"no index yet; {words}")
            raise NoIndex(f"no index yet: run `gossamer build {self.name} index`")
        return self.crawl.index()

    def _log(self, log: QueryLog, answer: Answer) -> None:
        """Write a query down. If that cannot be done, it is answered all the same."""
        try:
            log.append(logged_query(answer, SystemClock().wall()))
        except OSError as error:
            if not self._is_log_bad:
                warn("query_log.failed", error=describe_error(error))
            self._is_log_bad = True
        else:
            self._is_log_bad = False

    def has_archive(self) -> bool:
        """Return True if its pages were crawled here, so that they are stored."""
        return self._folder is not None and (self._folder / "archive").is_dir()

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
            graph = self._graph(_own(self._slow))
            if self._kept_for is not graph:
                self._kept_for, self._kept = graph, {}
            found = self._kept.get(kind.__name__)
            if isinstance(found, kind):
                self.kept_hits += 1
                return found
            self.kept_misses += 1
            self._kept[kind.__name__] = answer = ask(graph)
            return answer

    def _graph(self, crawl: OpenCrawl) -> LinkGraph:
        if not crawl.has_open_graph() and not crawl.has_graph():
            if words := self.building():
                raise BeingBuilt(f"no graph yet; {words}")
            raise NoGraph(self._missing())
        return crawl.graph()

    def _missing(self) -> str:
        if self.has_archive():
            return f"no graph yet: run `gossamer build {self.name} graph`"
        return "no graph: this is an index of files that were not crawled here"


def _answer_bytes(answer: Answer) -> int | None:
    """Return about how much memory an answer takes; None for one that lacks shards."""
    return None if answer.missing else OBJECT_FACTOR * len(_encode(answer))


def _hashed(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def step_words(step: BuildStep) -> str:
    """Return how far a build is, in words."""
    left = f", {step.bytes_left / MIB:,.1f} MiB left to read" if step.bytes_left else ""
    return f"{step.doing}, {counted(step.count, step.unit)}{left}"


def _paths(served: Path | SearchIndex) -> list[tuple[str, str]]:
    """Return the paths of its folders, however they may be written, and what to call them."""
    places = [str(served)] if isinstance(served, Path) else served.places
    folders = [Path(place) for place in places if "://" not in place]
    ways = {
        str(way): folder.resolve().name
        for folder in folders
        for way in (folder.absolute(), folder.resolve())
    }
    return sorted(ways.items(), reverse=True)  # those inside of others first


def _own(crawl: OpenCrawl | None) -> OpenCrawl:
    if crawl is None:
        raise NoCrawl("there is no crawl here: this server searches an index, and no more")
    return crawl


def _name(served: Path | SearchIndex) -> str:
    if isinstance(served, Path):
        return served.resolve().name
    names = [place.rstrip("/").rpartition("/")[2] for place in served.places]
    return ", ".join(names[:MOST_NAMED]) + (" and others" if len(names) > MOST_NAMED else "")
