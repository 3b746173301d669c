"""What the model is fed with: measured costs, each with its benchmark and date, and assumptions."""

import json
import subprocess
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Any, NamedTuple

RESULTS = Path(__file__).parents[1] / "results"
REPOSITORY = RESULTS.parents[1]


class Measured(NamedTuple):
    """A figure of a kept result."""

    name: str
    value: float
    source: str
    date: str


class Costs(NamedTuple):
    """What was measured on one machine."""

    crawl_cpu_ms: float
    """Of a page: everything from the request to the commit."""
    index_cpu_ms: float
    """Of a page that is indexed beside the crawl."""
    near_cpu_share: float
    """That near-duplicates add to the crawl's CPU."""
    rss_mb: dict[int, float]
    """Of a shard, by known URLs."""
    seen_bytes: float
    """On disk, of a known URL."""
    queued_bytes: float
    """On disk, of a queued URL."""
    record_bytes: float
    """Of the row of a URL that had its turn, before compression."""
    restart_s: float
    """To open a state of 100 M URLs."""
    objects_fixed: float
    """That a checkpoint puts into the store, archive included, and the more for each page."""
    objects_of_a_page: float
    state_fixed: float
    """Bytes of a checkpoint's state, and the more for each page."""
    state_of_a_page: float
    start_cpu_s: float
    """Of a process that imports everything for itself, as those of a cluster do."""
    shard_start_cpu_s: float
    """Of a shard of a cluster: two processes, and what it reads and writes until it crawls."""
    interval_s: float
    """From one checkpoint of a busy shard to the next, with `store.ship_s` of 5 s."""
    cluster_cpu_ms: float
    """Of a page, in a crawl with a store of this benchmark, on the day of its costs."""
    archive_bytes: float
    """Of a page of the real web."""
    archive_sent_share: float
    """Uploaded of the archive, beside what is kept: open files go in parts, closed ones whole."""
    letter_bytes: float
    """Of a task in a letter."""
    mailed: dict[int, float]
    """Tasks that leave their shard for each page, by the number of shards."""
    tls_us: float
    """Of a new connection; each page is taken to need one, since a polite crawl lets them go."""
    index_bytes: float
    """Of the index, of a page."""
    graph_others: float
    """URLs of other shards in the graph of a shard, for each of its own."""
    graph_shards: int
    """With so many shards."""

    def objects(self, pages: float) -> float:
        """Return how many objects a checkpoint of so many pages puts into the store."""
        return self.objects_fixed + self.objects_of_a_page * pages

    def state_sent(self, pages: float) -> float:
        """Return how many bytes of state it sends."""
        return self.state_fixed + self.state_of_a_page * pages

    def rss_of(self, known: float) -> float:
        """Return the MiB that a shard takes which knows so many URLs."""
        return _between(self.rss_mb, known)

    def mailed_of(self, shards: int) -> float:
        """Return how many tasks of a page go to other shards."""
        return _between(self.mailed, shards)


class Assumptions(NamedTuple):
    """What was not measured: said beside every figure that hangs on it."""

    pages_a_month: float = 1e9
    known_urls: float = 15e9
    queued_share: float = 0.9
    """Of the known URLs, those that are queued."""
    archive_bytes: float = 40_000.0
    """Of a page of the open web, compressed, with its text and links. Common Crawl's monthly
    archives have about 35 kB for each page; the local real web is smaller."""
    urls_per_shard: float = 100e6
    most_urls_per_shard: float = 200e6
    ship_s: float = 30.0
    lease_s: float = 10.0
    detect_s: float = 5.0
    """Until the loss of a machine is noticed: three health checks and a connection that ends."""
    machine_cores: int = 16
    machine_gb: float = 64.0
    machine_disk_tb: float = 2.0
    machine_gbit: float = 10.0
    machine_price: float = 600.0
    """Dollars a month."""
    restore_share: float = 0.5
    """Of a machine's network, for what it takes over."""
    deaths_a_year: float = 0.56
    """Of a machine: 1,000 of 1,800 in a year (J. Dean, LADIS 2009)."""
    rack_losses_a_year: float = 0.44
    """Of a rack of 40 machines, for one to six hours: 20 a year in 45 racks (the same talk)."""
    restarts_a_year: float = 12.0
    """Of a machine, drained first: updates."""
    replaced_h: float = 1.0
    """Until a machine that is dead has a successor."""
    put_price: float = 5e-6
    """Dollars a request: list prices of S3, us-east-1, as remembered in November 2026."""
    get_price: float = 4e-7
    gb_month_price: float = 0.022
    cold_gb_month_price: float = 0.004
    """Of a class that answers at once and costs more for each reading (Glacier Instant)."""
    graph_bytes_per_url: float = 30.0
    """Memory in which a graph is built: `GraphOptions.memory_bytes`."""
    puts_per_s: float = 3_500.0
    """What a prefix of S3 takes, by its documentation."""
    most_shards: int = 1_024
    """That a crawl is split into, by the design."""
    revisits: float = 0.5
    """Of the pages of a month: the others are new."""
    unchanged: float = 0.32
    """Of the revisits: they leave a record, and no body (watch: `not_modified_share`)."""
    headroom: float = 0.7
    """No resource is used to more than this."""
    domain_skew: float = 0.8
    """Domains have pages by rank to the power of minus this: the largest of 100 M has 0.5 %."""
    domains: int = 100_000_000


def read_costs() -> tuple[Costs, list[Measured]]:
    """Return what the kept results say, and where each figure is from."""
    used: list[Measured] = []

    def figure(result: str, *path: str) -> float:
        found: Any = kept(result)
        for name in path:
            found = found[name]
        used.append(Measured(".".join(path), float(found), result, date_of(result)))
        return float(found)

    growth, fleet = kept("growth"), kept("fleet-costs")
    rss = {int(size): row["rss_mb"] for size, row in growth["sizes"].items()}
    rss[max(rss)] = figure("growth", "rss_mb")
    costs = Costs(
        crawl_cpu_ms=figure("cpu", "cpu_ms_per_page"),
        index_cpu_ms=figure("indexing", "indexer_cpu_ms_per_page"),
        near_cpu_share=figure("neardup", "crawl_cpu_share"),
        rss_mb=rss,
        seen_bytes=figure("growth", "seen_bytes_per_url"),
        queued_bytes=figure("growth", "frontier_bytes_per_url"),
        record_bytes=figure("fleet-costs", "record_bytes"),
        restart_s=figure("growth", "restart_s"),
        objects_fixed=figure("fleet-costs", "checkpoint", "objects", "fixed"),
        objects_of_a_page=figure("fleet-costs", "checkpoint", "objects", "of_a_page"),
        state_fixed=figure("fleet-costs", "checkpoint", "state_bytes", "fixed"),
        state_of_a_page=figure("fleet-costs", "checkpoint", "state_bytes", "of_a_page"),
        start_cpu_s=figure("cpu", "startup_cpu_s"),
        shard_start_cpu_s=(
            figure("cluster", "start_cpu_s", "cluster") - figure("cpu", "startup_cpu_s")
        )
        / kept("cluster")["shards"],
        interval_s=_interval_s(fleet["runs"][-1]),
        cluster_cpu_ms=figure("fleet-costs", "cpu_ms_per_page"),
        archive_bytes=figure("fleet-costs", "archive_bytes_per_page"),
        archive_sent_share=figure("fleet-costs", "archive_sent_share"),
        letter_bytes=figure("fleet-costs", "letter_bytes_per_task"),
        mailed={int(n): one for n, one in fleet["tasks_mailed_per_page"].items()},
        tls_us=figure("tls", "us_per_new_connection"),
        index_bytes=figure("search", "index_to_text")
        * 1e6
        * figure("search", "text_mb")
        / figure("search", "pages"),
        graph_others=figure("graph-shards", "node_share") - 1,
        graph_shards=int(kept("graph-shards")["shards"]),
    )
    used.append(
        Measured("mailed at 150 shards", costs.mailed[150], "fleet-costs", date_of("fleet-costs"))
    )
    return costs, used


def _interval_s(run: dict[str, float]) -> float:
    return run["shards"] * run["seconds"] / run["checkpoints"]


def kept(name: str) -> dict[str, Any]:
    """Return a kept result."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return found


def date_of(name: str) -> str:
    """Return when a result was measured: as it says, or else when it was committed."""
    if (said := kept(name).get("provenance", {}).get("date")) is not None:
        return str(said)[:10]
    command = ["git", "log", "-1", "--format=%cs", "--", f"benchmarks/results/{name}.json"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def _between(points: dict[int, float], at: float) -> float:
    """Return a figure between measured ones, by the logarithm; beyond them, the nearest grows."""
    known = sorted(points)
    if at <= known[0]:
        return points[known[0]]
    for low, high in pairwise(known):
        if at <= high:
            share = (log(at) - log(low)) / (log(high) - log(low))
            return points[low] + share * (points[high] - points[low])
    return points[known[-1]]
