"""A line for each fetch, metrics while the crawl runs and after it, and samples of its last day."""

import json
import shutil
import socket
import subprocess
import urllib.error
import urllib.request
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

import gossamer
from gossamer.testing import CannedResponse, ScriptedWeb, serve_in_thread
from tests.e2e.crawler import Crawler, finish, flags_for, wait_until

PAGES = 12


def web_of(late_s: float = 0.0) -> ScriptedWeb:
    web = ScriptedWeb()
    site = web.host("a.test").page("/", links=[f"/{n}" for n in range(PAGES)] + ["/gone", "/no/x"])
    for number in range(PAGES):
        site.page(f"/{number}", text=f"Page number {number} of the site.")
    site.robots("User-agent: *\nDisallow: /no/\n")
    site.on("/late", CannedResponse(body=b"late", wait_s=late_s))
    web.host("b.test").page("/", text="Another host.")
    return web


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def values(text: str) -> dict[tuple[str, ...], float]:
    """Return every sample of some metrics by its name and labels."""
    return {
        (sample.name, *(f"{k}={v}" for k, v in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.mark.slow
@pytest.mark.parametrize("shards", ["1", "2"])
def test_the_log_has_one_line_for_each_fetch_and_metrics_say_what_status_says(
    shards: str, tmp_path: Path
) -> None:
    with serve_in_thread(web_of()) as server:
        site, other = server.web.host("a.test"), server.web.host("b.test")
        flags = flags_for(server.resolve, "--delay", "0", "--no-sitemaps", "--shards", shards)
        crawler = Crawler(tmp_path / "crawl", (site.url(), other.url()), flags)
        log = tmp_path / "fetches.log"
        status = crawler.run("--log", str(log)).expect(0).last_json
    told = lines_of(log)
    by_url = {line["url"]: line for line in told}
    assert len(by_url) == len(told) == PAGES + 4
    assert Counter(line["outcome"] for line in told) == {
        "archived": status["pages"],
        "failed": 1,
        "refused": 1,
    }
    page = by_url[site.url("/3")]
    assert (page["status"], page["reason"], page["via"]) == (200, "", site.url())
    assert page["bytes"] > 0
    assert page["ms"] > 0
    assert page["time"].endswith("Z")
    assert by_url[site.url("/gone")]["reason"] == "not_found"
    refused = by_url[site.url("/no/x")]
    assert (refused["reason"], refused["status"], refused["bytes"]) == (
        *("robots_disallowed", None),
        None,
    )
    found = values(gossamer.open(crawler.folder).console.metrics())
    assert found["gossamer_crawl_pages_total",] == status["pages"]
    assert found["gossamer_crawl_queued_urls",] == 0
    assert found["gossamer_crawl_running",] == 0
    assert found["gossamer_crawl_urls_total", "outcome=failed", "reason=not_found"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("shards", ["1", "2"])
def test_a_running_crawl_serves_its_metrics_and_keeps_samples(shards: str, tmp_path: Path) -> None:
    with serve_in_thread(web_of()) as server:
        site = server.web.host("a.test")
        flags = flags_for(server.resolve, "--delay", "1", "--no-sitemaps", "--shards", shards)
        crawler = Crawler(tmp_path / "crawl", (site.url(),), flags)
        port = free_port()
        with crawler.running("--metrics-port", str(port), "-v") as process:
            crawl = gossamer.open(crawler.folder) if wait_for(crawler, process) else None
            assert crawl is not None
            wait_until(lambda: crawl.status().pages, process)
            crawl.pause()  # so that nothing changes between two questions
            wait_until(lambda: not crawl.status().in_flight, process)
            text = read(port, "/metrics")
            found = values(text)
            told = crawl.status()
            assert found["gossamer_crawl_pages_total",] == told.pages
            assert found["gossamer_crawl_queued_urls",] == told.queued
            assert found["gossamer_crawl_hosts", "state=known"] == told.hosts
            assert found["gossamer_crawl_fetch_seconds_count",] >= 1
            assert found["gossamer_crawl_commit_seconds_count",] >= 1
            assert found["gossamer_crawl_shard_up", "shard=0"] == 1
            assert found["gossamer_crawl_control_cpu_seconds_total",] < 10
            own = {name for name, *_ in found} - {"gossamer_index_lag_bytes"}
            assert {name for name, *_ in values(crawl.console.metrics())} == own
            assert found["gossamer_index_lag_bytes",] > 0
            assert text.count("# TYPE gossamer_index_lag_bytes gauge\n") == 1
            wait_until(partial(is_indexed, crawl, port), process)
            with pytest.raises(urllib.error.HTTPError):
                read(port, "/")
            wait_until(crawl.console.history, process)
            sample = crawl.console.history()[-1]
            assert sample.pages <= told.pages
            assert sample.disk_free_bytes > 0
            if promtool := shutil.which("promtool"):
                words = [promtool, "check", "metrics"]
                subprocess.run(words, input=text, text=True, check=True)
            crawler.say("stop").expect(0)
            ended = finish(process).expect(3)
    assert "archived 200 " in ended.err
    assert site.url() in ended.err


def is_indexed(crawl: gossamer.OpenCrawl, port: int) -> bool:
    crawl.build_index()
    return values(read(port, "/metrics"))["gossamer_index_lag_bytes",] == 0


def wait_for(crawler: Crawler, process: Any) -> bool:
    return wait_until((crawler.folder / "control.sock").exists, process)


def read(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
        found: str = answer.read().decode()
    return found


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        found: int = one.getsockname()[1]
    return found


def test_a_metrics_port_that_is_none_is_refused_before_anything_is_touched(tmp_path: Path) -> None:
    crawler = Crawler(tmp_path / "crawl", ("http://a.test/",), ())
    told = crawler.run("--metrics-port", "many").expect(2)
    assert "--metrics-port: expected a port from 1 to 65535, or ADDRESS:PORT" in told.err
    assert not crawler.folder.exists()
