"""The figures of a crawl as metrics, in the text format that Prometheus reads."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from gossamer.model import Histogram
from gossamer.report.records import CrawlMetrics, Status


class _Collector:
    """Hands the figures of one moment to the registry."""

    def __init__(self, metrics: CrawlMetrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        yield from _totals(self._metrics.status)
        yield from _levels(self._metrics.status, self._metrics.folder)
        yield from _of_processes(self._metrics)


def metrics_text(metrics: CrawlMetrics) -> str:
    """Return all metrics as text."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(metrics))
    return generate_latest(registry).decode()


def index_lag_text(lag_bytes: int | None) -> str:
    """Return how far the index is behind, as text; "" if that is not known."""
    if lag_bytes is None:
        return ""
    registry = CollectorRegistry(auto_describe=False)
    about = "Archived, not indexed yet."
    Gauge("gossamer_index_lag_bytes", about, registry=registry).set(lag_bytes)
    return generate_latest(registry).decode()


def _totals(status: Status) -> Iterator[Metric]:
    for name, about, value in (
        ("pages", "Stored pages.", status.pages),
        ("requests", "Requests sent.", status.requests),
        ("redirects", "Redirects.", status.redirects),
        ("duplicates", "Responses whose body was stored before.", status.revisits),
        ("archive_bytes", "Size of the archive.", status.archive_bytes),
        ("seconds", "Time spent crawling, all runs together.", status.seconds),
        ("revisits", "Revisits of stored pages.", status.watch.visits),
        ("shard_restarts", "Shards that died and were started again.", status.restarts or 0),
    ):
        yield CounterMetricFamily(f"gossamer_crawl_{name}", about, value=value)
    outcomes = CounterMetricFamily(
        "gossamer_crawl_urls",
        "URLs and links by what became of them.",
        labels=("outcome", "reason"),
    )
    outcomes.add_metric(("archived", ""), status.pages + status.sitemaps)
    outcomes.add_metric(("redirected", ""), status.redirects)
    for outcome, counts in (
        ("failed", status.failed),
        ("refused", status.refused),
        ("retried", status.retries),
    ):
        for reason, count in counts.items():
            outcomes.add_metric((outcome, reason), count)
    yield outcomes


def _levels(status: Status, folder: Path) -> Iterator[Metric]:
    fresh = status.watch.expected_freshness
    levels: list[tuple[str, str, float]] = [
        ("queued_urls", "URLs that wait.", status.queued),
        ("known_urls", "URLs that are known.", status.known_urls),
        ("held_urls", "URLs that are held on probation.", status.held),
        ("in_flight", "URLs under way.", status.in_flight),
        ("outbox_urls", "URLs on their way to another shard.", status.outbox),
        ("disk_free_bytes", "Free space on the disk.", shutil.disk_usage(folder).free),
        ("running", "1 while the crawl runs.", int(status.running)),
        ("paused", "1 while the crawl is paused.", int(bool(status.paused))),
    ]
    if fresh is not None:
        levels.append(("freshness_ratio", "Expected share of pages that are current.", fresh))
    for name, about, value in levels:
        yield GaugeMetricFamily(f"gossamer_crawl_{name}", about, value=value)
    hosts = GaugeMetricFamily("gossamer_crawl_hosts", "Hosts by state.", labels=("state",))
    hosts.add_metric(("known",), status.hosts)
    hosts.add_metric(("active",), status.active_hosts)
    hosts.add_metric(("parked",), status.parked_hosts)
    yield hosts


def _of_processes(metrics: CrawlMetrics) -> Iterator[Metric]:
    up = GaugeMetricFamily(
        "gossamer_crawl_shard_up", "1 while the shard's process runs.", labels=("shard",)
    )
    for shard, is_up in enumerate(metrics.shards_up):
        up.add_metric((str(shard),), int(is_up))
    yield up
    for name, about, found in (
        ("fetch", "From sending a request to the last byte of its answer.", metrics.fetches),
        ("commit", "How long commits take.", metrics.commits),
    ):
        if found is not None:
            yield _histogram(f"gossamer_crawl_{name}_seconds", about, found)
    if metrics.shards_up:
        about = "CPU that the crawl has spent on answering status, why, metrics and the console."
        yield CounterMetricFamily(
            "gossamer_crawl_control_cpu_seconds", about, value=metrics.control_cpu_s
        )


def _histogram(name: str, about: str, found: Histogram) -> Metric:
    buckets: list[tuple[str, float]] = []
    total = 0
    for bound, count in zip((*Histogram.BOUNDS_S, "+Inf"), found.counts, strict=True):
        total += count
        buckets.append((str(bound), total))
    return HistogramMetricFamily(name, about, buckets=buckets, sum_value=found.total_s)
