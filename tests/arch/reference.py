"""Write the generated parts of docs/API.md from signatures and docstrings. `make docs` runs it.

The parts stand between comments; the examples before them are written by hand, and a test runs
them against a small crawl.
"""

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import gossamer
from gossamer.api.options import KNOBS
from gossamer.settings import describe_knobs

PATH = Path(__file__).parents[2] / "docs" / "API.md"
_PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_WIDTH = 88

PARTS: dict[str, tuple[str, ...]] = {
    "crawling": (
        *(
            "run",
            "run_async",
            "restore",
            "RestoredCrawl",
            "checkpoint",
            "Checkpointed",
            "CrawlOptions",
            "Crawl",
            "Ending",
            "RoundTotals",
            "Seed",
            "read_seeds",
            "Config",
        ),
        *(
            "cluster_up",
            "cluster_join",
            "JoinedCluster",
            "cluster_status",
            "ClusterFacts",
            "NodeFacts",
            "ClusterCrawl",
            "cluster_drain",
            "cluster_split",
            "ShardSplit",
            "cluster_down",
            "cluster_node",
            "cluster_yaml",
            "run_shard",
            "coordinator_folder",
        ),
        *("processor", "Processor", "Document", "Body", "Tools", "Extraction"),
        *("protocol", "ProtocolModule", "Exchange", "Wire", "Content", "Resource", "Moved"),
        *("Failed", "FailureKind"),
        *(
            "url_filter",
            "UserFilter",
            "UrlFilter",
            "Objection",
            "Reject",
            "Link",
            "LinkKind",
            "Url",
        ),
    ),
    "opened": ("open", "OpenCrawl", "Console"),
    "answers": (
        *(
            "Status",
            "StoreState",
            "address_words",
            "CrawlSample",
            "ContentStamp",
            "LiveSetting",
            "waiting_words",
            "state_sentence",
            "HostFetch",
            "HostGap",
            "HostDetails",
            "HostReceipt",
            "HostRequest",
            "WatchTotals",
            "TrapNote",
            "UserErrors",
            "WaitsFor",
        ),
        *("Why", "RobotsAnswer", "FilterVerdict", "RecordLocation", "PastVisit", "Revisits"),
        *("HostSettings", "OutsideScore"),
        *(
            "Edition",
            "EditionDiff",
            "Changes",
            "PageChange",
            "write_feed",
            "TaskRow",
            "StoppedCrawl",
            "PauseState",
            "UrlRow",
            "UrlCounts",
            "CrawledHost",
        ),
        *("NearCopy", "CopyClusters", "CopyCluster", "ClusterMember"),
        *("TextCopies", "TextCopy", "GivenText", "Passage", "PassagePart", "UnreadFile"),
        *("SiteReport", "StatusCount", "FailureCount", "MediaTypeCount", "Spread", "ValueRange"),
        *("ReportedPage", "RedirectFacts", "RedirectChain", "TitleFacts", "RepeatedTitle"),
        *("OrphanFacts", "RobotsFacts", "RobotsLine", "CopyFacts", "CopiedPage", "ReportedHost"),
        "TrapUnit",
        "html_of",
        *(
            "Page",
            "StoredPage",
            "StoreRef",
            "LinksRecord",
            "Added",
            "ChangedSettings",
            "Retried",
            "Dropped",
            "Trusted",
            "RebuiltState",
            "purge",
            "prune",
            "Purged",
            "BadRecord",
            "CheckReport",
            "CheckFinding",
            "NearTotals",
            "as_json",
        ),
    ),
    "links": (
        *("check_links", "link_check_config", "LinkReport", "LinkFinding", "LinkPlace"),
        *("render_links", "links_summary", "LinkFormat"),
    ),
    "graph": (
        *("open_graph", "graph_from_edges", "LinkGraph", "Links", "LinkList"),
        *("StoredLinkGraph", "StoredGraphFacts", "ShardFacts"),
        *("Ranking", "RankedPage", "HostRanking", "RankedHost"),
        *("HostTable", "HostRow", "HostLinks", "HostWeight", "LinkPath"),
        *("SimilarPages", "SimilarPage", "GraphComponents", "ComponentSizes", "BowTieSizes"),
        *("GraphInfo", "CodingFacts", "LinkPicture", "GraphOptions", "GraphFacts", "Coding"),
        *("EdgeOptions", "MadeGraph"),
    ),
    "search": (
        *(
            "open_search",
            "open_searcher",
            "index_files",
            "SearchIndex",
            "SearchKeywords",
            "Answer",
            "Hit",
            "MissingShard",
            "HitImage",
            "Reranker",
            "RerankPage",
            "LikeThis",
            "Segment",
        ),
        *("Facets", "FacetValue", "RankState", "QueryLog", "LoggedQuery", "logged_query"),
        *("QueryReport", "QueryFrequency"),
        *("IndexOptions", "IndexFacts", "Published", "ShardServer", "BadMessage"),
        *("build_store_index", "store_indexes", "ShardIndexFacts", "StoreShards"),
        *("BuildStep", "BuildProgress", "serve", "BuiltElsewhere"),
    ),
    "tables": (
        "CrawlTable",
        "PageRow",
        "LinkEntry",
        "TableFiles",
        "ExportOptions",
        "RowFilters",
        "Exported",
        "SqlAnswer",
        "TablesFacts",
        "plain_cell",
        "plain_json",
        "is_crawl_store",
        "moment_since",
        *("extract_items", "read_item_rules", "ItemRules", "ItemRule", "FieldRule"),
        *("ItemStream", "FoundItem", "ItemTotals"),
        *("parsed_page", "fetch_page", "ParsedPage", "page_text", "structured_data"),
    ),
    "settings": (
        *(
            "LimitsConfig",
            "PolitenessConfig",
            "FetchConfig",
            "RobotsConfig",
            "OutageConfig",
            "FilterConfig",
        ),
        *("UrlConfig", "ProcessConfig", "DedupeConfig", "TrapsConfig", "FrontierConfig"),
        *("SeenConfig", "StoreConfig", "WatchConfig", "HostConfig", "ScheduleConfig"),
        "ClusterConfig",
    ),
    "errors": ("GossamerError", "ConfigError", "CannotGoOn", "CorruptFile", "TakenOver", "Bug"),
    "short": ("status", "why", "show", "add", "build_state", "build_near"),
}
"""What each part of the page lists."""


def generated() -> str:
    """Return the page as it should be, made of the page as it is."""
    text = PATH.read_text(encoding="utf-8")
    return _PART.sub(lambda m: f"{m[1]}{_part(m[2])}{m[3]}", text)


def _part(name: str) -> str:
    return "".join(f"{line}\n" for one in PARTS[name] for line in _entry(one))


def _entry(name: str) -> Iterator[str]:
    found = getattr(gossamer, name)
    yield f"### `gossamer.{name}`"
    yield ""
    if not (inspect.isclass(found) or inspect.isfunction(found)):
        yield f"A type alias: `{_alias(name)}`"
        yield ""
        return
    node = node_of(found)
    if name == "CrawlOptions":
        yield from _options(node)
    elif isinstance(node, ast.ClassDef):
        yield from _class(node, is_error=issubclass(found, Exception))
    else:
        yield from _function(node, name)


def _options(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """Give the options of a crawl, worded by config.py."""
    yield from _docstring(node)
    words = {knob.path: knob.doc for knob in describe_knobs()}
    yield "| option | type | |"
    yield "|---|---|---|"
    for name, kind, _ in fields_of(node):
        yield f"| `{name}` | `{kind}` | {words[KNOBS[name]].replace('|', chr(92) + '|')} |"
    yield ""


def _alias(name: str) -> str:
    home = SOURCE_OF[name]
    for node in ast.parse(home.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.AnnAssign) and node.value and ast.unparse(node.target) == name:
            return ast.unparse(node.value)
    raise LookupError(name)


_SOURCE = Path(gossamer.__file__).parent
SOURCE_OF = {
    "BuildProgress": _SOURCE / "model/progress.py",
    "LinkFormat": _SOURCE / "report/linkformats.py",
    "Reranker": _SOURCE / "search/ranking/rerank.py",
    "UrlFilter": _SOURCE / "filter/rules.py",
}
"""Files of type aliases, which do not know where they are defined."""


def node_of(found: object) -> ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef:
    """Return the definition of a class or function."""
    path = inspect.getsourcefile(found) or ""  # type: ignore[arg-type]
    name = getattr(found, "__name__", "")
    for node in _tree(path).body:
        if (
            isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name == name
        ):
            return node
    raise LookupError(f"{name} in {path}")


@cache
def _tree(path: str) -> ast.Module:
    return ast.parse(Path(path).read_text(encoding="utf-8"))


def _class(node: ast.ClassDef, *, is_error: bool) -> Iterator[str]:
    yield from _docstring(node)
    if is_error:
        return
    fields = list(fields_of(node))
    if fields:
        yield "| field | type | |"
        yield "|---|---|---|"
        yield from (f"| `{name}` | `{kind}` | {doc} |" for name, kind, doc in fields)
        yield ""
    for one in node.body:
        is_function = isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
        if is_function and (not one.name.startswith("_") or one.name == "__init__"):
            if one.name == "__init__" and (fields or len(one.args.args + one.args.kwonlyargs) < 2):
                continue
            yield from _method(node.name, one)


def fields_of(node: ast.stmt) -> Iterator[tuple[str, str, str]]:
    """Yield name, type and description of the fields of a class."""
    if not isinstance(node, ast.ClassDef):
        return
    for one, after in zip(node.body, [*node.body[1:], None], strict=True):
        if not isinstance(one, ast.AnnAssign) or not isinstance(one.target, ast.Name):
            continue
        doc = ""
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            doc = " ".join(str(after.value.value).split())
        kind = _unquoted(ast.unparse(one.annotation)).replace("|", "\\|")
        if one.target.id[0] != "_" and "ClassVar" not in kind:
            yield one.target.id, kind, doc.replace("|", "\\|")


def _method(owner: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    is_property = any("property" in ast.unparse(one) for one in node.decorator_list)
    if node.name == "json_fields":
        return
    if is_property:
        kind = _unquoted(ast.unparse(node.returns)) if node.returns else ""
        yield f"**`.{node.name}`** → `{kind}`"
    else:
        shown = owner if node.name == "__init__" else f".{node.name}"
        yield "```python"
        yield _signature(node, shown, skip_self=True)
        yield "```"
    yield ""
    yield from _docstring(node)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> Iterator[str]:
    yield "```python"
    yield _signature(node, f"gossamer.{name}", skip_self=False)
    yield "```"
    yield ""
    yield from _docstring(node)


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str, *, skip_self: bool) -> str:
    arguments = node.args
    is_bound = bool(skip_self and arguments.args and arguments.args[0].arg in {"self", "cls"})
    plain = arguments.args[1:] if is_bound else arguments.args
    missing = len(plain) - len(arguments.defaults)
    words = [
        _argument(one, arguments.defaults[n - missing] if n >= missing else None)
        for n, one in enumerate(plain)
    ]
    words += [f"*{_argument(arguments.vararg, None)}"] if arguments.vararg else []
    words += ["*"] if arguments.kwonlyargs and not arguments.vararg else []
    words += [
        _argument(one, default)
        for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    words += [f"**{_argument(arguments.kwarg, None)}"] if arguments.kwarg else []
    returns = _unquoted(ast.unparse(node.returns)) if node.returns else "None"
    before = "await " if isinstance(node, ast.AsyncFunctionDef) else ""
    end = "" if node.name == "__init__" else f" -> {returns}"
    line = f"{before}{name}({', '.join(words)}){end}"
    if len(line) <= _WIDTH:
        return line
    inner = "".join(f"    {word},\n" for word in words)
    return f"{before}{name}(\n{inner}){end}"


def _argument(one: ast.arg, default: ast.expr | None) -> str:
    kind = f": {_unquoted(ast.unparse(one.annotation))}" if one.annotation else ""
    value = "" if default is None else f" = {ast.unparse(default)}"
    return f"{one.arg}{kind}{value}"


def _unquoted(annotation: str) -> str:
    """Return an annotation without the quotes of a forward reference; literals keep theirs."""
    if "Literal[" in annotation:
        return annotation
    return annotation.replace("'", "").replace('"', "")


def _docstring(
    node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef,
) -> Iterator[str]:
    words = ast.get_docstring(node) or ""
    text = "\n".join(line for line in words.splitlines() if ">>>" not in line)
    if text.strip():
        yield text.strip()
        yield ""


if __name__ == "__main__":
    PATH.write_text(generated(), encoding="utf-8")
