"""OpenCrawl: everything that can be asked of a crawl's folder, and done with it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, Unpack, overload

from gossamer.api.arguments import check_states, let_pass, texts
from gossamer.api.console import Console
from gossamer.api.mirrors import place_of
from gossamer.api.options import CrawlOptions
from gossamer.api.running import run, run_async, watch
from gossamer.clock import SystemClock
from gossamer.config import Config
from gossamer.settings import load_crawl_config
from gossamer.urls import host_name

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from msgspec import Struct

    from gossamer.api.checking import CheckReport
    from gossamer.api.fulltext import SearchIndex, SearchKeywords
    from gossamer.api.linkgraph import LinkGraph, Measure
    from gossamer.api.tables import CrawlTable, LinkEntry, PageRow, TableFiles
    from gossamer.crawl import Ending, NearTotals, RebuiltState, Seed
    from gossamer.graph import GraphFacts, GraphOptions, Links, Ranking
    from gossamer.model import BuildProgress
    from gossamer.report import (
        Added,
        ChangedSettings,
        Changes,
        CopyClusters,
        CrawledHost,
        Dropped,
        Edition,
        EditionDiff,
        HostReceipt,
        LinkReport,
        Page,
        PauseState,
        Retried,
        SiteReport,
        Status,
        StoppedCrawl,
        TaskRow,
        TextCopies,
        Trusted,
        UrlCounts,
        UrlRow,
        Why,
    )
    from gossamer.search import Answer, IndexFacts, IndexOptions, Published
    from gossamer.store import LinksRecord
    from gossamer.tables import Exported, ExportOptions, SqlAnswer, TableName, TextForm

Wait = Callable[[float], None]


class OpenCrawl:
    """A crawl in a folder, or in an object store, running or not.

    Nothing is kept open between two questions but the graph and the index, and these are opened
    again when a build has replaced them. `close` lets go of them.
    """

    def __init__(self, folder: Path | str) -> None:
        self._place = place_of(folder)
        self._graph: LinkGraph | None = None
        self._index: SearchIndex | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files of the graph and the index."""
        if self._index is not None:
            self._index.close()
        self._graph = self._index = None
        self._place.close()

    @property
    def folder(self) -> Path:
        """The crawl's folder; of one that is read by the URL of its store, a cache of it."""
        return self._place.folder()

    @property
    def console(self) -> Console:
        """History, metrics and whatever else the pages of `gossamer serve` show."""
        return Console(self.folder)

    @property
    def _changed(self) -> Path:
        """The folder, to be changed; a store is refused."""
        return self._place.own_folder()

    @property
    def steered_folder(self) -> Path:
        """The folder, to ask a crawl that runs; of a store, one that leads to its coordinator."""
        return self._place.steered_folder()

    def config(self) -> Config:
        """Return what its crawl.toml says."""
        return load_crawl_config(self.folder)

    def is_running(self) -> bool:
        """Return True if a process is crawling in the folder."""
        return self._place.is_running()

    def status(self) -> "Status":
        """Return the totals: pages, queue, hosts, rates, refusals and failures by reason."""
        return self._place.status()

    def why(self, url: str) -> "Why":
        """Return everything known and decided about one URL."""
        return self._place.why(url)

    def page(
        self, url: str, *, edition: int | None = None, at: str | float | None = None
    ) -> "Page | None":
        """Return the stored page of a URL, as of its last visit; None if none is stored.

        `edition` is a number of `editions`. `at` gives the edition that was the newest at a time:
        seconds since 1970, "2026-11-01" (the end of that day), "2026-11-01T12:30Z", "2 days ago".
        """
        from gossamer.report import page, page_at

        if edition is None and at is None:
            return page(self.folder, url)
        found = self.edition(url, edition=edition, at=at)
        return None if found is None else page_at(self.folder, found.location)

    def brief_page(self, url: str) -> "Page | None":
        """Return the same without title and language: of a store, little more is fetched."""
        return self._place.brief_page(url)

    def editions(self, url: str) -> "list[Edition]":
        """Return all stored answers of a URL, the oldest first."""
        from gossamer.report import editions

        return editions(self.folder, url)

    def edition(
        self, url: str, *, edition: int | None = None, at: str | float | None = None
    ) -> "Edition | None":
        """Return the edition with a number, or the newest at a time; see `page`."""
        from gossamer.report import asked_edition

        return asked_edition(lambda: self.editions(url), url, edition, at, SystemClock().wall())

    def diff(self, url: str, before: int, after: int, *, source: bool = False) -> "EditionDiff":
        """Return what has changed between two editions: in their texts, or in the source."""
        from gossamer.report import diff_numbered

        pair = (before, after)
        return diff_numbered(self.folder, url, self.editions(url), pair, is_source=source)

    def changes(self, since: str | float | None = None, *, selector: str = "") -> "Changes":
        """Return which pages are new, changed, gone or back: iterate over it.

        `since`: a time as in `page`, of a day its beginning; or "last", "last:NAME": what came
        after `remember` was called on an earlier answer; None: all. `selector`: only changes
        inside elements that match this CSS selector, of pages that have such elements.
        """
        from gossamer.report import Changes

        return Changes(self.folder, since=since, selector=selector, now=SystemClock().wall())

    def tasks(self) -> "Iterator[TaskRow]":
        """Yield the task table: every known URL with its state, priority, moment and labels."""
        from gossamer.report import task_table

        return task_table(self.folder)

    def urls(
        self,
        *,
        states: "str | Iterable[str]" = (),
        reasons: "str | Iterable[str]" = (),
        host: str = "",
        anchors: bool = True,
    ) -> "Iterator[UrlRow]":
        """Yield every URL that was judged, once: what was fetched, refused, or waits.

        `states`, `reasons` and `host` leave others out. Without `anchors` (texts of links) the
        first rows come at once.
        """
        from gossamer.report import UrlSelection, url_table

        chosen, named = frozenset(texts(states)), tuple(texts(reasons))
        check_states(chosen)
        wanted = UrlSelection(states=chosen, reasons=named, host=host_name(host))
        return url_table(self.folder, wanted, anchors=anchors)

    def hosts(self, host: str = "") -> "Iterator[CrawledHost]":
        """Yield every host of which URLs were queued, or one: pages, failures, robots, delays."""
        from gossamer.report import host_table

        return host_table(self.folder, host_name(host))

    def receipt(self, host: str, since: str | float | None = None) -> "HostReceipt":
        """Return every request to a host, with its time, the gap before it and what allowed it."""
        from gossamer.report import host_receipt

        return host_receipt(self.folder, host, since, SystemClock().wall())

    def url_counts(self) -> "UrlCounts":
        """Return how many URLs `urls` has, by state and reason."""
        from gossamer.report import count_urls

        return count_urls(self.folder)

    @overload
    def pages(self) -> "Iterator[Page]": ...
    @overload
    def pages(self, *, text: "TextForm") -> "Iterator[PageRow]": ...
    def pages(self, *, text: "TextForm | None" = None) -> "Iterator[Page] | Iterator[PageRow]":
        """Yield every stored page with a 2xx status, in the order of the archive.

        A page that was fetched several times is given as often; sitemaps are not. With `text`
        ("none", "plain", "markdown", "main" or "html") every page is given once, as a row of the
        table `pages` with its text in that form.
        """
        from gossamer.api.tables import page_rows
        from gossamer.report import pages

        return pages(self.folder) if text is None else page_rows(self.folder, text)

    # ---- tables

    @overload
    def table(self, name: Literal["pages"]) -> "CrawlTable[PageRow]": ...
    @overload
    def table(self, name: Literal["links"]) -> "CrawlTable[LinkEntry]": ...
    @overload
    def table(self, name: Literal["urls"]) -> "CrawlTable[UrlRow]": ...
    @overload
    def table(self, name: Literal["hosts"]) -> "CrawlTable[CrawledHost]": ...
    @overload
    def table(self, name: "TableName") -> "CrawlTable[Struct]": ...
    def table(self, name: "TableName") -> "CrawlTable[Struct]":
        """Return a table: pages, urls, links, hosts, changes or images; see docs/TABLES.md."""
        from gossamer.api.tables import CrawlTable

        return CrawlTable(self.folder, name)

    def sql(
        self, query: str, on_progress: "BuildProgress | None" = None
    ) -> "AbstractContextManager[SqlAnswer]":
        """Give the answer to one SELECT over the tables: `with crawl.sql("...") as answer:`.

        The Parquet parts in the crawl's folder are brought up to date first.
        """
        from gossamer.tables import ask_sql

        return ask_sql(self.folder, query, on_progress)

    def tables(self) -> "TableFiles":
        """Return the Parquet parts of the tables in the crawl's folder: to build, or to follow."""
        from gossamer.api.tables import TableFiles

        return TableFiles(self.folder)

    def export(
        self,
        to: Path | str,
        tables: "Sequence[TableName]" = (),
        options: "ExportOptions | None" = None,
        on_progress: "BuildProgress | None" = None,
    ) -> "Exported":
        """Write tables to a folder, an object store or standard output ("-"); all, if none named.

        Each file appears under its name when it is whole.
        """
        from gossamer.tables import export_tables

        return export_tables(self.folder, tables, str(to), options, on_progress)

    def records(self) -> "Iterator[LinksRecord]":
        """Yield what became of each URL, seeds included, in the order of the links archive."""
        from gossamer.store import CrawlFolder, iter_links

        return (record for _, record in iter_links(CrawlFolder(self.folder)))

    def copies(self, url: str = "") -> "CopyClusters":
        """Return the clusters of near-duplicates, or the one that a URL is in."""
        from gossamer.report import copies

        return copies(self.folder, url)

    def copies_of(
        self, files: "Path | str | Iterable[Path | str]", *, min_words: int = 25
    ) -> "TextCopies":
        """Return the pages that hold passages of given texts, with at least so many equal words.

        `files` are files, or folders of them: plain text, Markdown, HTML, PDF. One word in ten may
        have been changed, and sentences moved; case, accents and punctuation do not count, and in
        scripts without spaces a character is a word.
        """
        from gossamer.report import copies_of

        given = [files] if isinstance(files, str | Path) else list(files)
        return copies_of(self.folder, given, min_words)

    def report(self) -> "SiteReport":
        """Return the crawl at a glance; `gossamer.html_of` makes a page of it."""
        from gossamer.report import site_report

        return site_report(self.folder, SystemClock())

    # ---- crawl

    def add(self, seeds: "str | Iterable[str | Seed]") -> "Added":
        """Add seeds to the crawl, running or stopped."""
        from gossamer.api.steering import add_seeds

        return add_seeds(self.steered_folder, seeds)

    def retry(
        self,
        *,
        reasons: "str | Iterable[str]" = (),
        hosts: "str | Iterable[str]" = (),
        urls: "str | Iterable[str]" = (),
    ) -> "Retried":
        """Queue URLs again that failed, in a crawl that runs or not: all, or only some.

        Refused URLs are queued again if their reason, or they themselves, are named.
        """
        from gossamer.api.steering import retry_urls

        return retry_urls(self.steered_folder, reasons, hosts, urls)

    def trust(self, patterns: "str | Iterable[str]") -> "Trusted":
        """Let go what the crawl holds and patterns name, running or not, and never hold it again.

        Patterns are those of `[traps] trust`, where they are kept, or names of parts of sites.
        """
        from gossamer.api.steering import trust_patterns

        return trust_patterns(self.steered_folder, patterns, self.status())

    def drop(
        self,
        patterns: "str | Iterable[str]" = (),
        *,
        undo: "str | Iterable[str]" = (),
        dry_run: bool = False,
    ) -> "Dropped":
        """Never fetch what patterns name, and leave it out of queue, index, graph and tables.

        They are kept in crawl.toml and in the archive. `undo`: no longer. `dry_run`: only count.
        """
        from gossamer.api.steering import drop_patterns

        return drop_patterns(self, patterns, undo, is_trial=dry_run)

    def set(self, settings: Mapping[str, object], *, host: str = "") -> "ChangedSettings":
        """Change settings in a crawl that runs or not; `set({"delay_s": 5}, host="x.org")`: of one.

        They are kept in crawl.toml; filters hold for what is queued, too. None takes a limit away.
        Some hold from the next start only (docs/OPERATING.md marks those that are live).
        """
        from gossamer.api.steering import change_settings

        return change_settings(self.steered_folder, settings, host)

    def pause(self) -> "PauseState":
        """Begin no request any more, in a crawl that runs or not, until `resume` is called."""
        from gossamer.report import pause

        return pause(self.steered_folder)

    def resume(self) -> "PauseState":
        """End a pause; a crawl that does not run is not started."""
        from gossamer.report import resume

        return resume(self.steered_folder)

    def stop(self, wait_s: float | None = None) -> "StoppedCrawl":
        """End a running crawl cleanly, as Ctrl-C does, and wait for that, at most `wait_s`."""
        from gossamer.report import stop

        return stop(self.steered_folder, wait_s)

    def run(
        self,
        *,
        on_progress: "Callable[[Status], None] | None" = None,
        **options: Unpack[CrawlOptions],
    ) -> "Ending":
        """Go on with the crawl until nothing is left, or a limit is reached; see `gossamer.run`."""
        return run((), self._changed, on_progress=on_progress, **options)

    async def run_async(
        self,
        *,
        on_progress: "Callable[[Status], None] | None" = None,
        **options: Unpack[CrawlOptions],
    ) -> "Ending":
        """Go on with the crawl inside a running event loop; see `gossamer.run_async`."""
        return await run_async((), self._changed, on_progress=on_progress, **options)

    def watch(
        self,
        max_time: float | None = None,
        *,
        rate: float | None = None,
        once: bool = False,
        on_progress: "Callable[[Status], None] | None" = None,
    ) -> "Ending":
        """Revisit pages, the more often they change the more often, and crawl what is new.

        `max_time`: end after so many seconds. `rate`: requests per second, kept in crawl.toml.
        `once`: revisit what is due, once, crawl what is new, and end; `Ending.round` tells of it.
        """
        return watch(self._changed, rate, max_time, on_progress, is_once=once)

    # ---- link graph

    def has_graph(self) -> bool:
        """Return True if the crawl has a graph."""
        from gossamer.graph import has_graph

        return has_graph(self.folder)

    def has_open_graph(self) -> bool:
        """Return True if the graph is open, and still the newest."""
        return self._graph is not None and self._graph.is_current()

    def graph(self) -> "LinkGraph":
        """Return the graph as it is now; it is built first if there is none.

        `build_graph` brings it up to date.
        """
        from gossamer.api.linkgraph import LinkGraph

        if self._graph is None or not self._graph.is_current():
            if not self.has_graph():
                self.build_graph()
            self._graph = LinkGraph(self.folder)
        return self._graph

    def links(self, url: str) -> "Links | None":
        """Return the links to and from a URL; None if it is not in the graph."""
        return self.graph().links(url)

    def rank(self, by: "Measure" = "pagerank", *, top: int = 20) -> "Ranking":
        """Return the best pages by PageRank or another measure; `graph().rank` knows more."""
        return self.graph().rank(by, top=top)

    def graph_options(self) -> "GraphOptions":
        """Return how the graph was built the last time; the defaults if there is none."""
        from gossamer.api.linkgraph import last_options

        return last_options(self.folder)

    def build_graph(
        self, options: "GraphOptions | None" = None, on_progress: "BuildProgress | None" = None
    ) -> "GraphFacts":
        """Build the graph, or bring it up to date; without options, as the last time."""
        from gossamer.graph import build_graph

        return build_graph(self.folder, options or self.graph_options(), on_progress)

    def follow_graph(
        self, options: "GraphOptions | None" = None, wait: Wait | None = None
    ) -> "Iterator[GraphFacts]":
        """Bring the graph up to date again and again while the crawl runs; yield what was done."""
        from gossamer.graph import follow

        how = options or self.graph_options()
        return follow(self._changed, how, SystemClock(), wait or let_pass)

    # ---- full-text search

    def has_index(self) -> bool:
        """Return True if the folder has an index."""
        from gossamer.search import has_index

        return has_index(self.folder)

    def indexed_pages(self) -> int | None:
        """Return how many pages the index has; None if there is none."""
        from gossamer.search import index_folder, read_manifest

        found = read_manifest(index_folder(self.folder))
        return found.pages if found is not None else None

    def graph_nodes(self) -> int | None:
        """Return how many URLs the graph has, newer ones left out; None if there is none."""
        from gossamer.graph import manifest_of

        found = manifest_of(self.folder)
        return found.nodes if found is not None else None

    def index(self) -> "SearchIndex":
        """Return the index; it is built first if there is none. `build_index` updates it."""
        from gossamer.api.fulltext import SearchIndex

        if not self.has_index():
            self.build_index()
        if self._index is None:
            self._index = SearchIndex([self.folder])
        return self._index

    def search(self, query: str, **keywords: "Unpack[SearchKeywords]") -> "Answer":
        """Return a page of results, the best first; see `SearchIndex.search`."""
        return self.index().search(query, **keywords)

    def search_like(
        self, like: Path | str | bytes, query: str = "", **keywords: "Unpack[SearchKeywords]"
    ) -> "Answer":
        """Return pages like a text, or images like an image; see `SearchIndex.search_like`."""
        return self.index().search_like(like, query, **keywords)

    def build_index(
        self, options: "IndexOptions | None" = None, on_progress: "BuildProgress | None" = None
    ) -> "IndexFacts":
        """Build index and ranks, or bring them up to date; without options, as the last time."""
        from gossamer.api.ranks import build_index

        return build_index(self.folder, options, on_progress)

    def follow_index(
        self, options: "IndexOptions | None" = None, wait: Wait | None = None
    ) -> "Iterator[IndexFacts]":
        """Bring the index up to date again and again while the crawl runs; yield what was done."""
        from gossamer.search import IndexOptions, follow

        return follow(self._changed, options or IndexOptions(), SystemClock(), wait or let_pass)

    def publish(self, url: str) -> "Published":
        """Bring the index into an object store: s3://BUCKET/PREFIX, file:///FOLDER."""
        from gossamer.search import index_folder, publish

        return publish(index_folder(self.folder), url)

    # ---- check

    def check(
        self,
        *,
        quick: bool = False,
        sample: int = 0,
        seed: int = 0,
        repair: bool = False,
        on_progress: "BuildProgress | None" = None,
    ) -> "CheckReport":
        """Compare everything in the folder with what was written; nothing is changed.

        `quick`: lengths, manifests and indexes of pages only. `sample`: only so many records of
        each archive file, drawn by `seed`. `repair`: what can be rebuilt is, in a crawl that does
        not run, and the report tells what is wrong afterwards.
        """
        from gossamer.api.checking import CheckQuestion, checked

        asked = CheckQuestion(quick, sample, seed, repair)
        return checked(self._changed if repair else self.folder, asked, on_progress)

    def check_links(
        self,
        *,
        external: bool = False,
        fragments: bool = False,
        markup: bool = False,
        ignore: Sequence[str] = (),
        max_time: float | None = None,
        on_progress: "Callable[[Status], None] | None" = None,
    ) -> "LinkReport":
        """Return broken links of the stored pages, those that are no URL, redirects, mixed content.

        `external`: links outside that were not asked for before are asked now, each once, for
        `max_time` seconds at most. `fragments`: what stands behind a # is looked for in the page.
        `markup`: parse errors, too. `ignore`: host globs and URL patterns of targets to leave out.
        """
        from gossamer.api.linkcheck import LinkQuestion, check_stored

        asked = LinkQuestion(external, fragments, markup, tuple(ignore))
        return check_stored(self.folder, asked, on_progress, max_time)

    # ---- build from the archive

    def build_state(self, on_progress: "BuildProgress | None" = None) -> "RebuiltState":
        """Build the state again from the archive: the queue and what is known of each URL."""
        from gossamer.crawl import build_state, finish_interrupted

        finish_interrupted(self._changed, on_progress or (lambda _: None))
        return build_state(self._changed, on_progress)

    def build_near(self, on_progress: "BuildProgress | None" = None) -> "NearTotals":
        """Find all near-duplicates again, from the archive."""
        from gossamer.crawl import build_near

        return build_near(self._changed, on_progress)
