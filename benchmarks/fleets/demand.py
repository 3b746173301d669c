"""What a month of crawling takes of each resource, on how many machines, and what is kept."""

from collections.abc import Iterator
from math import ceil
from typing import NamedTuple

from fleets.costs import Assumptions, Costs

MONTH_S = 365 * 86_400.0 / 12
TB, GB = 1e12, 1e9


class Use(NamedTuple):
    """How much of a resource is used."""

    resource: str
    used: float
    available: float
    unit: str

    @property
    def share(self) -> float:
        """Return the share of what is there."""
        return self.used / self.available


class Demand(NamedTuple):
    """What a crawl takes as a whole."""

    pages_per_s: float
    shards: int
    cores: float
    memory_gb: float
    state_tb: float
    index_tb: float
    fetch_mbit: float
    store_mbit: float
    mail_mbit: float
    puts_a_month: float
    heads_a_month: float
    archive_tb_a_month: float
    graph_gb: float
    """Memory in which the graph of a mean shard is built."""
    history_tb: float
    """What the state was in the last month: files that were replaced meanwhile."""


def shards_for(said: Assumptions) -> int:
    """Return the number of shards: by known URLs, at least 16."""
    return max(16, ceil(said.known_urls / said.urls_per_shard))


def demand(costs: Costs, said: Assumptions) -> Demand:
    """Return what a crawl takes, whatever the machines."""
    rate, shards = said.pages_a_month / MONTH_S, shards_for(said)
    judged = said.known_urls * (1 - said.queued_share)
    state = (
        said.known_urls * (costs.seen_bytes + said.queued_share * costs.queued_bytes)
        + judged * costs.record_bytes
    )
    checkpoints = shards * MONTH_S / said.ship_s
    pages = rate * said.ship_s / shards
    sent = shards / said.ship_s * costs.state_sent(pages)
    bodies = new_bodies(said)
    return Demand(
        pages_per_s=rate,
        shards=shards,
        cores=rate * cpu_s_per_page(costs),
        memory_gb=shards * costs.rss_of(said.known_urls / shards) * 2**20 / GB,
        state_tb=state / TB,
        index_tb=judged * costs.index_bytes / TB,
        fetch_mbit=rate * said.archive_bytes * 8 / 1e6,
        store_mbit=(rate * bodies * said.archive_bytes * costs.archive_sent_share + sent) * 8 / 1e6,
        mail_mbit=rate * costs.mailed_of(shards) * costs.letter_bytes * 8 / 1e6,
        puts_a_month=checkpoints * costs.objects(pages),
        heads_a_month=shards * MONTH_S / (said.lease_s / 3),
        graph_gb=graph_gb(costs, said, shards),
        history_tb=sent * MONTH_S / TB,
        archive_tb_a_month=said.pages_a_month * bodies * said.archive_bytes / TB,
    )


def cpu_s_per_page(costs: Costs) -> float:
    """Return the CPU of a page: crawled over TLS, compared, indexed."""
    crawl = costs.crawl_cpu_ms * (1 + costs.near_cpu_share)
    return (crawl + costs.index_cpu_ms + costs.tls_us / 1000) / 1000


def new_bodies(said: Assumptions) -> float:
    """Return the share of fetched pages that leave a body in the archive."""
    return 1 - said.revisits * said.unchanged


def uses(nodes: int, whole: Demand, skew: float, said: Assumptions) -> list[Use]:
    """Return how much of each resource is used, with one machine down; the scarcest first."""
    alive = max(nodes - 1, 1)
    found = [
        Use("CPU", whole.cores, alive * said.machine_cores, "cores"),
        Use("memory of shards", whole.memory_gb, alive * said.machine_gb, "GB"),
        Use(
            "disk: state and index",
            whole.state_tb + whole.index_tb,
            alive * said.machine_disk_tb,
            "TB",
        ),
        Use(
            "network, in and out",
            whole.fetch_mbit + whole.store_mbit + whole.mail_mbit,
            alive * said.machine_gbit * 1000,
            "Mbit/s",
        ),
        Use(
            "requests to the store",
            (whole.puts_a_month + whole.heads_a_month) / MONTH_S,
            said.puts_per_s,
            "a second",
        ),
        Use("largest shard, on one core", whole.cores * skew / whole.shards, 1, "cores"),
        Use("shards", whole.shards, said.most_shards, "shards"),
        Use(
            "graph of the largest shard, while it is built",
            whole.graph_gb * skew,
            said.machine_gb,
            "GB",
        ),
    ]
    return sorted(found, key=lambda use: -use.share)


def graph_gb(costs: Costs, said: Assumptions, shards: int) -> float:
    """Return the memory in which the graph of a mean shard is built.

    It has its own URLs, and those of others that they link to or are linked from. These were
    counted for a few shards; with more of them they grow as the mail does.
    """
    others = costs.graph_others * costs.mailed_of(shards) / costs.mailed_of(costs.graph_shards)
    return said.known_urls / shards * (1 + others) * said.graph_bytes_per_url / GB


BY_MACHINES = ("CPU", "memory of shards", "disk: state and index", "network, in and out")


def nodes_for(whole: Demand, skew: float, said: Assumptions) -> int:
    """Return the fewest machines of which none is used beyond the headroom, with one down."""
    nodes = 2
    while any(
        use.share > said.headroom
        for use in uses(nodes, whole, skew, said)
        if use.resource in BY_MACHINES
    ):
        nodes += 1
    return nodes


class Kept(NamedTuple):
    """What lies in the store at the end of a year."""

    year: int
    all_tb: float
    all_price: float
    """Dollars a month, everything at once at hand."""
    hot_tb: float
    cold_tb: float
    price: float
    """Dollars a month, by the rule."""
    paid: float
    """Dollars since the beginning, by the rule."""


HOT_MONTHS, THIN_MONTHS = 3, 24
KEPT_RULE = (
    f"all of the last {HOT_MONTHS} months, at hand; behind that, in the cold class, the first "
    f"edition of every page and one other a quarter, after {THIN_MONTHS} months one a year"
)


def storage(years: int, said: Assumptions) -> Iterator[Kept]:
    """Yield what is kept of pages at the end of each year, and what it costs."""
    first = said.pages_a_month * (1 - said.revisits) * said.archive_bytes / TB
    again = said.pages_a_month * said.revisits * (1 - said.unchanged) * said.archive_bytes / TB
    paid = 0.0
    for month in range(1, years * 12 + 1):
        hot = min(month, HOT_MONTHS) * (first + again)
        cold = 0.0
        for age in range(HOT_MONTHS, month):
            cold += first + again * (1 / 3 if age < THIN_MONTHS else 1 / 12)
        price = 1000 * (hot * said.gb_month_price + cold * said.cold_gb_month_price)
        paid += price
        if month % 12 == 0:
            whole = month * (first + again)
            yield Kept(
                month // 12, whole, 1000 * whole * said.gb_month_price, hot, cold, price, paid
            )
