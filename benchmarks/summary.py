"""The aims of the benchmarks, and what the newest results say about them.

`make bench-NAME` exits 1 if a result misses one of its aims or lacks its figure; `make bench` ends
with the table that is printed here.
"""

import json
from typing import Any, NamedTuple

from provenance import REPOSITORY

RESULTS = REPOSITORY / "benchmarks" / "results"


class Aim(NamedTuple):
    """A figure of a result and the bound that it is held to."""

    result: str
    figure: str
    about: str
    """In words; names in braces are other figures of the same result."""
    bound: float
    is_floor: bool = False

    def is_reached(self, value: float) -> bool:
        """Return True if a value keeps within the bound."""
        return value >= self.bound if self.is_floor else value <= self.bound

    def words(self) -> str:
        """Return the bound for people."""
        return f"{'at least' if self.is_floor else 'at most'} {self.bound:,g}"


AIMS = (
    Aim("main-text", "kept", "main text: content kept, judged pages, %", 97, is_floor=True),
    Aim("main-text", "left_out", "main text: boilerplate left out, %", 90, is_floor=True),
    Aim("cpu", "cpu_ms_per_page", "CPU per page, 1 shard, start-up included, ms", 1.25),
    Aim("cpu", "us_per_kb", "the same per kB of HTML, µs", 22.0),
    Aim("cpu", "before_ratio", "the same over that of {before}, in turns", 0.68),
    Aim("cpu", "script_ratio", "the same over an asyncio script that stores nothing", 0.85),
    Aim("cpu", "bare_parses", "the same in bare parses of the same pages", 5.0),
    Aim("cpu", "rss_mb", "memory of one shard at {pages:,} pages, MiB", 280),
    Aim("shards", "speedup", "pages per second, {shards} shards over 1", 1.7, is_floor=True),
    Aim("shards", "cpu_ratio", "CPU per page, {shards} shards over 1", 1.1),
    Aim(
        "cluster",
        "cpu_ratio",
        "CPU per page, a cluster of {shards} shards over a local crawl with its store",
        1.08,
    ),
    Aim("growth", "cpu_ratio", "CPU per page, {urls:,} known URLs over 100,000", 1.1),
    Aim("growth", "rss_mb", "memory of a shard with {urls:,} known URLs, MiB", 1024),
    Aim("growth", "seen_bytes_per_url", "disk per known URL, bytes", 9),
    Aim("growth", "frontier_bytes_per_url", "disk per queued URL, bytes", 60),
    Aim("growth", "longest_pause_ms", "longest pause of the loop, ms", 100),
    Aim("growth", "restart_s", "start after a crash with {urls:,} known URLs, s", 60),
    Aim("checkpoints", "pause_ms", "pause by a checkpoint's cut, 1 M known URLs, p99, ms", 20),
    Aim("checkpoints", "large_pause_ms", "the same with {urls:,} known URLs, ms", 50),
    Aim("politeness", "short_gaps", "gaps too short, {hosts:,} hosts, kills included", 0),
    Aim("addresses", "too_short", "gaps of addresses too short, 1 to 8 shards, kills included", 0),
    Aim(
        "addresses",
        "host_interval_ratio",
        "time between requests to a host with its own address, 8 shards beside 1",
        1.1,
    ),
    Aim("politeness", "throughput_share", "share of the possible pages per s", 0.9, is_floor=True),
    Aim(
        "slow-hosts",
        "smallest_share",
        "speed of good hosts beside slow ones, share of it without",
        0.8,
        is_floor=True,
    ),
    Aim("slow-hosts", "extra_mb", "more memory beside {flood_hosts:,} slow hosts, MiB", 32),
    Aim(
        "watch", "of_foretold", "freshness over sockets, share of the forecast", 0.95, is_floor=True
    ),
    Aim("watch", "short_gaps", "gaps too short in a watch, a kill included", 0),
    *(
        Aim("traps", f"{group}.{figure}", about.replace("…", words), bound, is_floor)
        for group, words in (("held_out", "held-out families"), ("snares", "older snares"))
        for figure, about, bound, is_floor in (
            ("honest_coverage", "share of the honest pages, …", 1.0, True),
            ("trap_share", "share of requests to traps up to the last honest page, …", 0.2, False),
            (
                "after_share",
                "requests to a trap's domain after it, over the allowance, …",
                1,
                False,
            ),
            ("unfinished", "crawls that did not end by themselves, …", 0, False),
            ("unlisted", "traps that status does not list, …", 0, False),
        )
    ),
    Aim(
        "traps", "archive_coverage", "share of {archive_pages:,} numbered pages", 1.0, is_floor=True
    ),
    Aim("traps", "index_trap_share", "share of traps in the index of a site with traps (S5)", 0.05),
    Aim("traps", "false_stops_realweb", "stops on {real_pages:,} pages of the real web", 0),
    Aim("tls", "new_to_bare", "CPU that TLS adds to a fetch, in bare handshakes of OpenSSL", 1.6),
    Aim("tls", "resumed_to_bare", "the same with sessions resumed, both ways", 1.9),
    Aim("cpu-best", "cpu_ratio_per_kb", "CPU per kB, best first over breadth first", 1.1),
    Aim("order", "ours.share_10", "PageRank after 10 % of {graph}", 0.37, is_floor=True),
    Aim("order", "ours.share_20", "PageRank after 20 % of {graph}", 0.48, is_floor=True),
    Aim("order", "ours.cross_trap_20", "fetches lost in a cross-linked trap", 0.02),
    Aim(
        "neardup",
        "recall_1",
        "near-duplicates found, 1 % of the words replaced",
        0.98,
        is_floor=True,
    ),
    Aim("neardup", "recall_5", "the same with 5 % replaced", 0.9, is_floor=True),
    Aim("neardup", "false_positive_random", "wrongly found per pair of two sites", 1e-6),
    Aim("neardup", "false_positive_same_site", "wrongly dropped per pair of one site", 1e-4),
    Aim("neardup", "us_per_page", "CPU of a sketch of 30 kB of text, µs", 60),
    Aim("neardup", "lookup_us", "look-up among {lookup_sketches:,} sketches, µs", 20),
    Aim("neardup", "crawl_cpu_ratio", "CPU of a crawl with, over without", 1.03),
    Aim("freshness", "known", "freshness, rates known, share of the optimum", 0.99, is_floor=True),
    Aim("freshness", "learned", "the same, rates learned, {pages:,} pages", 0.97, is_floor=True),
    Aim("freshness", "replan_ms", "CPU to plan {pages:,} pages anew, ms", 50),
    Aim("freshness", "pick_ns", "CPU to pick a page that is due, ns", 1000),
    Aim("graph", "bits_out", "bits per link of {graph}, as WebGraph's own", 2.898),
    Aim("graph", "bits_in", "the same of its transpose", 2.343),
    Aim("graph", "bits_smallest", "the same in the smallest mode", 2.45),
    Aim("graph", "encode_marcs_s", "million links written per CPU second", 10, is_floor=True),
    Aim("graph", "decode_marcs_s", "million links read per CPU second", 80, is_floor=True),
    Aim("graph", "successors_us", "one random row, in a kernel, µs", 1.0),
    Aim("graph", "successors_python_us", "one random row, from Python, µs", 3.0),
    Aim("ranks", "l1_from_scipy", "PageRank's distance from scipy's, L1", 1e-9),
    Aim(
        "ranks",
        "with_ranks.partial.share_10",
        "PageRank after 10 %, with ranks",
        0.4,
        is_floor=True,
    ),
    Aim("urlmap", "bytes_per_url", "URL ↔ number, {urls:,} real URLs, bytes per URL", 10),
    Aim("urlmap", "node_us", "number of a URL, one call from Python, µs", 3),
    Aim("urlmap", "url_us", "URL of a number, one call from Python, µs", 3),
    Aim("urlmap", "nodes_of_keys_us", "number of a key, many at once, µs", 1),
    Aim("urlmap", "large.bytes_per_url", "bytes per URL of millions, sorted on disk", 10),
    Aim("serve", "p99_quiet_ms", "a row of links over HTTP, p99 of {nodes:,} nodes, ms", 1.0),
    Aim("edges", "rss_mb", "memory to make a graph of {arcs:,} links, MiB", 2048),
    Aim("edges", "cpu_ratio", "CPU per link of it, over that of a tenth", 1.1),
    Aim("webgraph", "cpu_us_per_link", "CPU from archive to graph, both ways, µs per link", 5),
    Aim("webgraph", "wrong_answers", "links of {sample:,} URLs that differ from the archive's", 0),
    Aim("webgraph", "difference_after_kills", "links that differ after {kills} kills", 0),
    Aim(
        "graph-shards", "different_urls", "{shards} shards: URLs of {sample:,} with other links", 0
    ),
    Aim("graph-shards", "rank_difference", "{shards} shards: PageRank, largest difference", 1e-6),
    Aim("graph-shards", "different_urls_after_kills", "other links after {kills} kills", 0),
    Aim("graph-shards", "rank_difference_after_kills", "PageRank after {kills} kills", 1e-6),
    Aim(
        "index-shards",
        "agreement",
        "first ten as of one index, {shards} shards in a store",
        0.99,
        is_floor=True,
    ),
    Aim(
        "index-shards",
        "agreement_while_built",
        "the same while a shard is built anew",
        0.99,
        is_floor=True,
    ),
    Aim(
        "index-shards",
        "agreement_after_kills",
        "the same after {kills} kills of builds",
        0.99,
        is_floor=True,
    ),
    Aim("export", "cpu_s", "pages and links of {pages:,} pages to Parquet, CPU s", 4),
    Aim("export", "markdown_cpu_s", "the same with Markdown, CPU s", 8),
    Aim("export", "rss_mb", "memory of an export of {extrapolated_to:,} pages, MiB", 512),
    Aim("indexing", "cpu_ratio", "CPU of a crawl, with live indexing over without", 1.1),
    Aim(
        "indexing",
        "docs_per_cpu_s",
        "pages of a full build per CPU second",
        1050,
        is_floor=True,
    ),
    Aim("indexing", "difference_after_kills", "URLs of the index amiss after {kills} kills", 0),
    Aim(
        "relevance",
        "gain",
        "MRR over BM25 alone, {questions} held-out questions",
        0.1,
        is_floor=True,
    ),
    Aim("relevance", "p", "the same by a paired randomisation test, p", 0.01),
    Aim("relevance", "mrr_full", "MRR of known items", 0.805, is_floor=True),
    Aim(
        "relevance",
        "gain_natural",
        "MRR over the best baseline, {questions_natural} held-out natural questions",
        0.05,
        is_floor=True,
    ),
    Aim("relevance", "p_natural", "the same by a paired randomisation test, p", 0.01),
    Aim("search", "agreement_4", "first ten as of one index, 4 shards, exact", 0.99, is_floor=True),
    Aim("search", "agreement_16", "the same, 16 shards", 0.99, is_floor=True),
    Aim("search", "agreement_16_fast", "the same, not rescored", 0.95, is_floor=True),
    Aim("search", "p50_ms", "an answer with snippets, {pages:,} pages, p50, ms", 4.0),
    Aim("search", "p99_ms", "the same, p99, ms", 50.0),
    Aim("search", "shards_16_p50_ratio", "the same with 16 shards over one, p50", 2.0),
    Aim("search", "shards_16_p99_ratio", "the same, p99", 2.0),
    Aim(
        "organisations",
        "agreement_16",
        "first ten, 16 shards of terms, as of documents rescored",
        0.99,
        is_floor=True,
    ),
    Aim("envelope", "cores_for_400_pages_s", "cores for 400 pages of 500 kB per second", 3.5),
    Aim(
        "one-host", "ratio", "CPU of one host's 564 pages over an asyncio script, gzip records", 1.3
    ),
    Aim("equality", "targets", "real pages whose link targets differ, one pass and tree", 0),
    Aim("equality", "kinds", "real pages whose links differ in kind", 0),
    Aim("equality", "left_share", "share of {pages:,} real pages left to the tree", 0.03),
)


def kept_results() -> dict[str, dict[str, Any]]:
    """Return the newest results by name."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))}


REAL_WEB = "the real web"
CNR_2000 = "cnr-2000"
NEEDS = {
    "cpu": REAL_WEB,
    "cpu-best": REAL_WEB,
    "equality": REAL_WEB,
    "one-host": REAL_WEB,
    "shards": REAL_WEB,
    "traps": REAL_WEB,
    "neardup": REAL_WEB,
    "urlmap": REAL_WEB,
    "serve": REAL_WEB,
    "webgraph": REAL_WEB,
    "graph-shards": REAL_WEB,
    "index-shards": REAL_WEB,
    "export": REAL_WEB,
    "indexing": REAL_WEB,
    "relevance": REAL_WEB,
    "search": REAL_WEB,
    "organisations": REAL_WEB,
    "order": CNR_2000,
    "graph": CNR_2000,
    "ranks": CNR_2000,
}
"""Data outside this repository that a benchmark needs; the others run from a clone."""


def misses(name: str, result: dict[str, Any]) -> list[str]:
    """Return a line for every aim that a new result misses, or of which it has no figure.

    Aims for graphs are those of cnr-2000 and mean nothing for another graph.
    """
    if result.get("graph", CNR_2000) != CNR_2000:
        return []
    told = []
    for aim in AIMS:
        if aim.result != name:
            continue
        value = figure_of(result, aim.figure)
        if value is None:
            told.append(f"{name}: {aim.figure} was not measured, and should be {aim.words()}")
        elif not aim.is_reached(value):
            told.append(f"{name}: {aim.figure} is {value:,g}, and should be {aim.words()}")
    return told


def figure_of(result: dict[str, Any], figure: str) -> float | None:
    """Return a figure of a result, if it is there; a dot leads into a part of the result."""
    part, _, rest = figure.partition(".")
    return figure_of(result.get(part, {}), rest) if rest else result.get(part)


def main() -> None:
    """Print a line per figure that has a bound, then which results have none."""
    results = kept_results()
    print(f"\n{'benchmark':12} {'figure':28} {'measured':>12} {'aim':>16}")
    for aim in AIMS:
        value = figure_of(results.get(aim.result, {}), aim.figure)
        told = "not measured" if value is None else f"{value:,.3f}"
        word = "" if value is None or aim.is_reached(value) else "  missed"
        print(f"{aim.result:12} {aim.figure:28} {told:>12} {aim.words():>16}{word}")
    for row in results.get("versus", {}).get("broad", []):
        print(f"{'versus':12} {row['arm']:28} {row['cpu_ms_per_page']:12,.3f} {'ms per page':>16}")
    told = ", ".join(sorted(set(results) - {aim.result for aim in AIMS} - {"versus"}))
    print(f"further results: {told or 'none'}")


if __name__ == "__main__":
    main()
