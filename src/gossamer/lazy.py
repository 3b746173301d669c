"""Front doors that open late: a name is imported from its home when it is first asked for.

A command needs little of what the rooms offer, and importing all of it takes longer than most
commands do. Such a front door imports its names under `TYPE_CHECKING`, for readers and type
checkers, and lists them again by home for the running program; a test keeps the two equal.
"""

import gc
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType


def late(room: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a front door.

    `homes` has the names that each module of the room gives, separated by blanks; `a=b` is its `b`,
    offered as `a`.
    """
    found: dict[str, tuple[str, str]] = {}
    for home, names in homes.items():
        for name in names.split():
            offered, _, own = name.partition("=")
            found[offered] = (home, own or offered)

    def give(name: str) -> object:
        if name not in found:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        home, own = found[name]
        value: object = getattr(imported(f"{room}.{home}"), own)
        setattr(sys.modules[room], name, value)
        return value

    return give


def imported(name: str) -> ModuleType:
    """Return a module. While it is imported nothing is looked for that could be freed.

    Modules stay; searching them again and again as they grow takes a tenth of a crawl's start.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return import_module(name)
    finally:
        if was_enabled:
            gc.enable()


PUBLIC = {
    "api.clusters": (
        "ClusterCrawl ClusterFacts JoinedCluster NodeFacts ShardSplit cluster_down cluster_drain "
        "cluster_join cluster_node cluster_split cluster_status cluster_up "
        "coordinator_folder run_shard"
    ),
    "api.kubernetes": "cluster_yaml",
    "api.console": "Console LiveSetting",
    "api.crawls": "OpenCrawl",
    "api.purging": "prune purge",
    "api.running": "run run_async",
    "api.checking": "CheckReport",
    "api.feeds": "write_feed",
    "api.fulltext": "SearchIndex SearchKeywords open_search open_searcher",
    "api.indexes": "ShardIndexFacts StoreShards build_store_index index_files store_indexes",
    "api.linkcheck": "check_links link_check_config",
    "api.items": "ParsedPage extract_items fetch_page parsed_page",
    "api.linkgraph": "LinkGraph LinkPicture graph_from_edges open_graph",
    "api.storedgraph": "StoredLinkGraph",
    "api.mirrors": "is_crawl_store",
    "api.opening": "open=open_crawl",
    "api.options": "CrawlOptions",
    "api.stores": "checkpoint restore",
    "api.tables": "CrawlTable LinkEntry PageRow TableFiles moment_since",
    "config": (
        "Config DedupeConfig FetchConfig FilterConfig FrontierConfig HostConfig LimitsConfig "
        "ClusterConfig OutageConfig PolitenessConfig ProcessConfig RobotsConfig ScheduleConfig "
        "SeenConfig StoreConfig TrapsConfig UrlConfig WatchConfig"
    ),
    "crawl": (
        "Checkpointed Crawl Ending NearTotals Purged RebuiltState RestoredCrawl RoundTotals Seed "
        "build_near build_state read_seeds"
    ),
    "errors": "Bug CannotGoOn ConfigError CorruptFile GossamerError TakenOver",
    "fetch": "Content Exchange Moved ProtocolModule Resource Wire protocol",
    "filter": "UrlFilter UserFilter url_filter",
    "frontier": "OutsideScore",
    "graph": (
        "BowTieSizes Coding CodingFacts ComponentSizes EdgeOptions GraphComponents GraphFacts "
        "GraphInfo GraphOptions HostLinks HostRanking HostRow HostTable HostWeight LinkList "
        "LinkPath Links MadeGraph RankedHost RankedPage Ranking SimilarPage SimilarPages "
        "ShardFacts StoredGraphFacts"
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
        "address_words HostDetails HostFetch HostGap HostReceipt HostRequest state_sentence "
        "waiting_words "
        "CrawlSample PauseState StoppedCrawl Added ChangedSettings Changes ClusterMember "
        "CopiedPage CopyCluster CopyClusters CopyFacts CrawledHost Dropped Edition EditionDiff "
        "FailureCount FilterVerdict GivenText HostSettings LinkFinding LinkFormat LinkPlace "
        "LinkReport MediaTypeCount NearCopy OrphanFacts Page PageChange Passage PassagePart "
        "PastVisit RecordLocation RedirectChain RedirectFacts RepeatedTitle ReportedHost "
        "ReportedPage Retried Revisits RobotsAnswer RobotsFacts RobotsLine SiteReport Spread "
        "Status StatusCount StoreState TaskRow TextCopies TextCopy TitleFacts TrapUnit Trusted "
        "UnreadFile UrlCounts UrlRow ValueRange WatchTotals Why add html_of links_summary "
        "render_links show status why"
    ),
    "search": (
        "Answer BadMessage Facets FacetValue Hit HitImage IndexFacts IndexOptions LikeThis "
        "LoggedQuery MissingShard Published QueryFrequency QueryLog QueryReport Reranker "
        "RerankPage Segment ShardServer logged_query"
    ),
    "store": "BadRecord BuiltElsewhere ContentStamp LinksRecord StoredPage",
    "tables": (
        "Exported ExportOptions ItemStream ItemTotals RowFilters SqlAnswer TablesFacts plain_cell "
        "plain_json"
    ),
    "web": "serve",
}
"""Where each public name of the package itself is defined."""
