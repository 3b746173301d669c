"""Gossamer: a web crawler that keeps what it finds, survives kill -9, and can say why.

>>> import gossamer
>>> gossamer.run("https://example.org/", into="mycrawl", max_pages=100)   # doctest: +SKIP
>>> crawl = gossamer.open("mycrawl")                                      # doctest: +SKIP

docs/API.md lists everything. Names are imported when they are first asked for.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gossamer.api.checking import CheckReport
    from gossamer.api.clusters import (
        ClusterCrawl,
        ClusterFacts,
        JoinedCluster,
        NodeFacts,
        cluster_down,
        cluster_drain,
        cluster_join,
        cluster_node,
        cluster_status,
        cluster_up,
        coordinator_folder,
        run_shard,
    )
    from gossamer.api.console import Console, LiveSetting
    from gossamer.api.crawls import OpenCrawl
    from gossamer.api.feeds import write_feed
    from gossamer.api.fulltext import (
        SearchIndex,
        SearchKeywords,
        index_files,
        open_search,
        open_searcher,
    )
    from gossamer.api.items import ParsedPage, extract_items, fetch_page, parsed_page
    from gossamer.api.linkcheck import check_links, link_check_config
    from gossamer.api.linkgraph import LinkGraph, LinkPicture, graph_from_edges, open_graph
    from gossamer.api.mirrors import is_crawl_store
    from gossamer.api.opening import open_crawl as open  # noqa: A004 - read as gossamer.open
    from gossamer.api.options import CrawlOptions
    from gossamer.api.running import run, run_async
    from gossamer.api.stores import checkpoint, restore
    from gossamer.api.tables import CrawlTable, LinkEntry, PageRow, TableFiles, moment_since
    from gossamer.config import (
        Config,
        DedupeConfig,
        FetchConfig,
        FilterConfig,
        FrontierConfig,
        HostConfig,
        LimitsConfig,
        OutageConfig,
        PolitenessConfig,
        ProcessConfig,
        RobotsConfig,
        ScheduleConfig,
        SeenConfig,
        StoreConfig,
        TrapsConfig,
        UrlConfig,
        WatchConfig,
    )
    from gossamer.crawl import (
        Checkpointed,
        Crawl,
        Ending,
        NearTotals,
        RebuiltState,
        RestoredCrawl,
        RoundTotals,
        Seed,
        build_near,
        build_state,
        read_seeds,
    )
    from gossamer.errors import Bug, CannotGoOn, ConfigError, CorruptFile, GossamerError, TakenOver
    from gossamer.fetch import Content, Exchange, Moved, ProtocolModule, Resource, Wire, protocol
    from gossamer.filter import UrlFilter, UserFilter, url_filter
    from gossamer.frontier import OutsideScore
    from gossamer.graph import (
        BowTieSizes,
        Coding,
        CodingFacts,
        ComponentSizes,
        EdgeOptions,
        GraphComponents,
        GraphFacts,
        GraphInfo,
        GraphOptions,
        HostLinks,
        HostRanking,
        HostRow,
        HostTable,
        HostWeight,
        LinkList,
        LinkPath,
        Links,
        MadeGraph,
        RankedHost,
        RankedPage,
        Ranking,
        SimilarPage,
        SimilarPages,
    )
    from gossamer.model import (
        Body,
        BuildProgress,
        BuildStep,
        CheckFinding,
        Document,
        Extraction,
        Failed,
        FailureKind,
        Link,
        LinkKind,
        Objection,
        Reject,
        StoreRef,
        TrapNote,
        Url,
        UserErrors,
        WaitsFor,
        as_json,
    )
    from gossamer.process import (
        FieldRule,
        FoundItem,
        ItemRule,
        ItemRules,
        Processor,
        Tools,
        page_text,
        processor,
        read_item_rules,
        structured_data,
    )
    from gossamer.ranks import RankState
    from gossamer.report import (
        Added,
        ChangedSettings,
        Changes,
        ClusterMember,
        CopiedPage,
        CopyCluster,
        CopyClusters,
        CopyFacts,
        CrawledHost,
        CrawlSample,
        Dropped,
        Edition,
        EditionDiff,
        FailureCount,
        FilterVerdict,
        GivenText,
        HostDetails,
        HostFetch,
        HostReceipt,
        HostRequest,
        HostSettings,
        LinkFinding,
        LinkFormat,
        LinkPlace,
        LinkReport,
        MediaTypeCount,
        NearCopy,
        OrphanFacts,
        Page,
        PageChange,
        Passage,
        PassagePart,
        PastVisit,
        PauseState,
        RecordLocation,
        RedirectChain,
        RedirectFacts,
        RepeatedTitle,
        ReportedHost,
        ReportedPage,
        Retried,
        Revisits,
        RobotsAnswer,
        RobotsFacts,
        RobotsLine,
        SiteReport,
        Spread,
        Status,
        StatusCount,
        StoppedCrawl,
        StoreState,
        TaskRow,
        TextCopies,
        TextCopy,
        TitleFacts,
        TrapUnit,
        Trusted,
        UnreadFile,
        UrlCounts,
        UrlRow,
        ValueRange,
        WatchTotals,
        Why,
        add,
        address_words,
        html_of,
        links_summary,
        render_links,
        show,
        state_sentence,
        status,
        waiting_words,
        why,
    )
    from gossamer.search import (
        Answer,
        BadMessage,
        Facets,
        FacetValue,
        Hit,
        HitImage,
        IndexFacts,
        IndexOptions,
        LikeThis,
        LoggedQuery,
        MissingShard,
        Published,
        QueryFrequency,
        QueryLog,
        QueryReport,
        Reranker,
        RerankPage,
        Segment,
        ShardServer,
        logged_query,
    )
    from gossamer.store import BadRecord, BuiltElsewhere, LinksRecord, StoredPage
    from gossamer.tables import (
        Exported,
        ExportOptions,
        ItemStream,
        ItemTotals,
        RowFilters,
        SqlAnswer,
        TablesFacts,
        plain_cell,
        plain_json,
    )
    from gossamer.web import serve

__version__ = "0.1.0"

__all__ = [
    "Added",
    "Answer",
    "BadMessage",
    "BadRecord",
    "Body",
    "BowTieSizes",
    "Bug",
    "BuildProgress",
    "BuildStep",
    "BuiltElsewhere",
    "CannotGoOn",
    "ChangedSettings",
    "Changes",
    "CheckFinding",
    "CheckReport",
    "Checkpointed",
    "ClusterCrawl",
    "ClusterFacts",
    "ClusterMember",
    "Coding",
    "CodingFacts",
    "ComponentSizes",
    "Config",
    "ConfigError",
    "Console",
    "Content",
    "CopiedPage",
    "CopyCluster",
    "CopyClusters",
    "CopyFacts",
    "CorruptFile",
    "Crawl",
    "CrawlOptions",
    "CrawlSample",
    "CrawlTable",
    "CrawledHost",
    "DedupeConfig",
    "Document",
    "Dropped",
    "EdgeOptions",
    "Edition",
    "EditionDiff",
    "Ending",
    "Exchange",
    "ExportOptions",
    "Exported",
    "Extraction",
    "FacetValue",
    "Facets",
    "Failed",
    "FailureCount",
    "FailureKind",
    "FetchConfig",
    "FieldRule",
    "FilterConfig",
    "FilterVerdict",
    "FoundItem",
    "FrontierConfig",
    "GivenText",
    "GossamerError",
    "GraphComponents",
    "GraphFacts",
    "GraphInfo",
    "GraphOptions",
    "Hit",
    "HitImage",
    "HostConfig",
    "HostDetails",
    "HostFetch",
    "HostLinks",
    "HostRanking",
    "HostReceipt",
    "HostRequest",
    "HostRow",
    "HostSettings",
    "HostTable",
    "HostWeight",
    "IndexFacts",
    "IndexOptions",
    "ItemRule",
    "ItemRules",
    "ItemStream",
    "ItemTotals",
    "JoinedCluster",
    "LikeThis",
    "LimitsConfig",
    "Link",
    "LinkEntry",
    "LinkFinding",
    "LinkFormat",
    "LinkGraph",
    "LinkKind",
    "LinkList",
    "LinkPath",
    "LinkPicture",
    "LinkPlace",
    "LinkReport",
    "Links",
    "LinksRecord",
    "LiveSetting",
    "LoggedQuery",
    "MadeGraph",
    "MediaTypeCount",
    "MissingShard",
    "Moved",
    "NearCopy",
    "NearTotals",
    "NodeFacts",
    "Objection",
    "OpenCrawl",
    "OrphanFacts",
    "OutageConfig",
    "OutsideScore",
    "Page",
    "PageChange",
    "PageRow",
    "ParsedPage",
    "Passage",
    "PassagePart",
    "PastVisit",
    "PauseState",
    "PolitenessConfig",
    "ProcessConfig",
    "Processor",
    "ProtocolModule",
    "Published",
    "QueryFrequency",
    "QueryLog",
    "QueryReport",
    "RankState",
    "RankedHost",
    "RankedPage",
    "Ranking",
    "RebuiltState",
    "RecordLocation",
    "RedirectChain",
    "RedirectFacts",
    "Reject",
    "RepeatedTitle",
    "ReportedHost",
    "ReportedPage",
    "RerankPage",
    "Reranker",
    "Resource",
    "RestoredCrawl",
    "Retried",
    "Revisits",
    "RobotsAnswer",
    "RobotsConfig",
    "RobotsFacts",
    "RobotsLine",
    "RoundTotals",
    "RowFilters",
    "ScheduleConfig",
    "SearchIndex",
    "SearchKeywords",
    "Seed",
    "SeenConfig",
    "Segment",
    "ShardServer",
    "SimilarPage",
    "SimilarPages",
    "SiteReport",
    "Spread",
    "SqlAnswer",
    "Status",
    "StatusCount",
    "StoppedCrawl",
    "StoreConfig",
    "StoreRef",
    "StoreState",
    "StoredPage",
    "TableFiles",
    "TablesFacts",
    "TakenOver",
    "TaskRow",
    "TextCopies",
    "TextCopy",
    "TitleFacts",
    "Tools",
    "TrapNote",
    "TrapUnit",
    "TrapsConfig",
    "Trusted",
    "UnreadFile",
    "Url",
    "UrlConfig",
    "UrlCounts",
    "UrlFilter",
    "UrlRow",
    "UserErrors",
    "UserFilter",
    "ValueRange",
    "WaitsFor",
    "WatchConfig",
    "WatchTotals",
    "Why",
    "Wire",
    "__version__",
    "add",
    "address_words",
    "as_json",
    "build_near",
    "build_state",
    "check_links",
    "checkpoint",
    "cluster_down",
    "cluster_drain",
    "cluster_join",
    "cluster_node",
    "cluster_status",
    "cluster_up",
    "coordinator_folder",
    "extract_items",
    "fetch_page",
    "graph_from_edges",
    "html_of",
    "index_files",
    "is_crawl_store",
    "link_check_config",
    "links_summary",
    "logged_query",
    "moment_since",
    "open",
    "open_graph",
    "open_search",
    "open_searcher",
    "page_text",
    "parsed_page",
    "plain_cell",
    "plain_json",
    "processor",
    "protocol",
    "read_item_rules",
    "read_seeds",
    "render_links",
    "restore",
    "run",
    "run_async",
    "run_shard",
    "serve",
    "show",
    "state_sentence",
    "status",
    "structured_data",
    "url_filter",
    "waiting_words",
    "why",
    "write_feed",
]

_HOMES = {
    "api.clusters": (
        "ClusterCrawl ClusterFacts JoinedCluster NodeFacts cluster_down cluster_drain "
        "cluster_join cluster_node cluster_status cluster_up "
        "coordinator_folder run_shard"
    ),
    "api.console": "Console LiveSetting",
    "api.crawls": "OpenCrawl",
    "api.running": "run run_async",
    "api.checking": "CheckReport",
    "api.feeds": "write_feed",
    "api.fulltext": "SearchIndex SearchKeywords index_files open_search open_searcher",
    "api.linkcheck": "check_links link_check_config",
    "api.items": "ParsedPage extract_items fetch_page parsed_page",
    "api.linkgraph": "LinkGraph LinkPicture graph_from_edges open_graph",
    "api.mirrors": "is_crawl_store",
    "api.opening": "open",
    "api.options": "CrawlOptions",
    "api.stores": "checkpoint restore",
    "api.tables": "CrawlTable LinkEntry PageRow TableFiles moment_since",
    "config": (
        "Config DedupeConfig FetchConfig FilterConfig FrontierConfig HostConfig LimitsConfig "
        "OutageConfig PolitenessConfig ProcessConfig RobotsConfig ScheduleConfig SeenConfig "
        "StoreConfig TrapsConfig UrlConfig WatchConfig"
    ),
    "crawl": (
        "Checkpointed Crawl Ending NearTotals RebuiltState RestoredCrawl RoundTotals Seed "
        "build_near build_state read_seeds"
    ),
    "errors": "Bug CannotGoOn ConfigError CorruptFile GossamerError TakenOver",
    "fetch": "Content Exchange Moved ProtocolModule Resource Wire protocol",
    "filter": "UrlFilter UserFilter url_filter",
    "frontier": "OutsideScore",
    "graph": (
        "BowTieSizes Coding CodingFacts ComponentSizes EdgeOptions GraphComponents GraphFacts "
        "GraphInfo GraphOptions HostLinks HostRanking HostRow HostTable HostWeight LinkList "
        "LinkPath Links MadeGraph RankedHost RankedPage Ranking SimilarPage SimilarPages"
    ),
    "model": (
        "Body BuildProgress BuildStep CheckFinding Document Extraction Failed FailureKind Link "
        "LinkKind Objection Reject StoreRef TrapNote Url UserErrors WaitsFor as_json"
    ),
    "ranks": "RankState",
    "process": (
        "FieldRule FoundItem ItemRule ItemRules Processor Tools page_text processor "
        "read_item_rules structured_data"
    ),
    "report": (
        "address_words "
        "HostDetails HostFetch HostReceipt HostRequest state_sentence waiting_words "
        "CrawlSample "
        "PauseState StoppedCrawl "
        "Added ChangedSettings Changes ClusterMember CopiedPage CopyCluster CopyClusters "
        "CopyFacts CrawledHost Dropped Edition EditionDiff FailureCount FilterVerdict GivenText "
        "HostSettings LinkFinding LinkFormat LinkPlace LinkReport MediaTypeCount NearCopy "
        "OrphanFacts Page PageChange Passage PassagePart PastVisit RecordLocation RedirectChain "
        "RedirectFacts RepeatedTitle ReportedHost ReportedPage Retried Revisits RobotsAnswer "
        "RobotsFacts RobotsLine SiteReport Spread Status StatusCount StoreState TaskRow TextCopies "
        "TextCopy TitleFacts TrapUnit Trusted UnreadFile UrlCounts UrlRow ValueRange "
        "WatchTotals Why add html_of links_summary render_links show status why"
    ),
    "search": (
        "Answer BadMessage Facets FacetValue Hit HitImage IndexFacts IndexOptions LikeThis "
        "LoggedQuery MissingShard Published QueryFrequency QueryLog QueryReport Reranker "
        "RerankPage Segment "
        "ShardServer logged_query"
    ),
    "store": "BadRecord BuiltElsewhere LinksRecord StoredPage",
    "tables": (
        "Exported ExportOptions ItemStream ItemTotals RowFilters SqlAnswer TablesFacts plain_cell"
        " plain_json"
    ),
    "web": "serve",
}
"""Where each name is defined; `open` is `open_crawl` there."""


def __dir__() -> list[str]:
    """List the public names, also those that are not imported yet, for completion."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> object:
    """Import a public name from its home when it is first asked for: `import gossamer` is quick."""
    from importlib import import_module  # noqa: PLC0415 - only when a name is asked for

    for home, names in _HOMES.items():
        if name in names.split():
            named = "open_crawl" if name == "open" else name
            return getattr(import_module(f"gossamer.{home}"), named)
    raise AttributeError(f"module 'gossamer' has no attribute {name!r}")
