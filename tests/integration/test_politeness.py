"""Politeness, judged by the server's log: gaps, Crawl-delay, Retry-After, robots outages."""

import socket
import struct
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path

import pytest
from typing_extensions import override

from gossamer.testing import (
    CannedResponse,
    FakeServer,
    LoggedRequest,
    ScriptedHost,
    ScriptedWeb,
    by_host,
    html_response,
    most_connections,
    serve_in_thread,
    smallest_gap,
)
from tests.e2e.archive import read_archive
from tests.e2e.crawler import Crawler, Knobs, flags_for, wait_until, write_knobs

EARLY = 0.95
"""A gap is judged at 95 %: the log notes when a request arrives, not when it was sent."""


@contextmanager
def crawling(
    web: ScriptedWeb, folder: Path, *flags: str, knobs: Knobs | None = None
) -> Iterator[tuple[FakeServer[ScriptedWeb], Crawler]]:
    """Serve a web, and give a crawler whose only seed is the home of hub.test."""
    with serve_in_thread(web) as server:
        knobs_file = write_knobs(folder / "knobs.toml", knobs or {})
        words = flags_for(server.resolve, "--config", str(knobs_file), "--no-sitemaps", *flags)
        yield server, Crawler(folder / "crawl", (web.host("hub.test").url(),), words)


def site(web: ScriptedWeb, name: str, pages: int, address: str = "") -> ScriptedHost:
    """Make a host whose home links to some pages."""
    host = web.host(name, address)
    paths = [f"/p{number}" for number in range(pages)]
    host.page("/", links=paths)
    for path in paths:
        host.page(path, text=f"{name} {path}")
    return host


def gaps(visits: Iterable[LoggedRequest]) -> list[float]:
    """Return the times between requests, in order."""
    return [later.at - earlier.at for earlier, later in pairwise(visits)]


@pytest.mark.slow
def test_the_gap_holds_between_any_two_requests_to_a_host(tmp_path: Path) -> None:
    web = ScriptedWeb()
    names = [f"s{number}.test" for number in range(6)]
    sites = [site(web, name, 4) for name in names]
    web.host("hub.test").page("/", links=[host.url() for host in sites])
    with crawling(web, tmp_path, "--delay", "0.4") as (server, crawler):
        crawler.run().expect(0)
    assert set(by_host(server.requests)) == {"hub.test", *names}
    assert smallest_gap(server.requests) >= EARLY * 0.4
    assert most_connections(server.requests) == 1
    assert len(read_archive(crawler.folder).page_urls) == 1 + 6 * 5


@pytest.mark.slow
def test_without_a_delay_the_gap_is_at_least_a_second(tmp_path: Path) -> None:
    web = ScriptedWeb()
    site(web, "hub.test", 2)
    with crawling(web, tmp_path) as (server, crawler):
        crawler.run().expect(0)
    assert len(server.requests) == 4
    assert smallest_gap(server.requests) >= EARLY * 1.0


@pytest.mark.slow
def test_a_slow_host_is_given_ten_times_its_own_time(tmp_path: Path) -> None:
    web = ScriptedWeb()
    hub = web.host("hub.test").page("/", links=["/slow"])
    slow = html_response('<a href="/after">on</a>')
    hub.on("/slow", CannedResponse(headers=slow.headers, body=slow.body, wait_s=0.3)).page("/after")
    with crawling(web, tmp_path) as (server, crawler):
        crawler.run().expect(0)
    moments = {visit.target: visit.at for visit in server.requests}
    assert moments["/after"] - moments["/slow"] >= EARLY * 11 * 0.3


@pytest.mark.slow
def test_a_crawl_delay_holds_whatever_the_delay(tmp_path: Path) -> None:
    web = ScriptedWeb()
    site(web, "hub.test", 2).robots("User-agent: *\nCrawl-delay: 1.2\n")
    with crawling(web, tmp_path, "--delay", "0") as (server, crawler):
        crawler.run().expect(0)
        assert crawler.why(web.host("hub.test").url())["robots"]["crawl_delay_s"] == 1.2
    assert [v.target for v in server.requests[:2]] == ["/robots.txt", "/"]
    assert len(server.requests) == 4
    assert smallest_gap(server.requests) >= EARLY * 1.2


@pytest.mark.slow
@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_slows_the_whole_host_and_no_other(status: int, tmp_path: Path) -> None:
    web = ScriptedWeb()
    busy = site(web, "busy.test", 3)
    wait = html_response("busy", status=status, headers=(("Retry-After", "3"),))
    then = html_response("at last")
    busy.on("/p0", CannedResponse(headers=then.headers, body=then.body, before=(wait,)))
    calm = site(web, "calm.test", 6)
    web.host("hub.test").page("/", links=[busy.url(), calm.url()])
    with crawling(web, tmp_path, "--delay", "0.1") as (server, crawler):
        crawler.run().expect(0)
    visits = server.requests_to("busy.test")
    refused = next(i for i, visit in enumerate(visits) if visit.status == status)
    assert [v.status for v in visits].count(status) == 1
    if refused + 1 < len(visits):
        assert visits[refused + 1].at - visits[refused].at >= EARLY * 3
    asked = [visit.target for visit in visits]
    assert sorted(asked) == ["/", "/p0", "/p0", "/p1", "/p2"]
    assert len(server.requests_to("calm.test")) == 7
    stored = read_archive(crawler.folder).page_urls
    assert stored[busy.url("/p0")] == 1
    assert set(stored.values()) == {1}


@pytest.mark.slow
def test_a_calm_host_is_crawled_to_the_end_while_another_asks_to_be_left_alone(
    tmp_path: Path,
) -> None:
    web = ScriptedWeb()
    busy = web.host("busy.test").answers(503, retry_after_s=600)
    calm = site(web, "calm.test", 10)
    web.host("hub.test").page("/", links=[busy.url(f"/{n}") for n in range(5)] + [calm.url()])
    with crawling(web, tmp_path, "--delay", "0") as (server, crawler), crawler.running() as process:
        wait_until(lambda: len(server.requests_to("calm.test")) == 11, process)
        wait_until(lambda: server.requests_to("busy.test"), process)
        states = [crawler.why(busy.url(f"/{n}")) for n in range(5)]
        assert {state["state"] for state in states} <= {"waiting", "queued", "leased"}
        assert max(state["next_at"] or 0 for state in states) > server.requests[-1].at + 300
        assert len(server.requests_to("busy.test")) == 1


@pytest.mark.slow
def test_a_throttled_host_without_retry_after_waits_longer_each_time(tmp_path: Path) -> None:
    web = ScriptedWeb()
    web.host("hub.test").answers(503, times=3)
    knobs = {"politeness": {"throttle_s": 0.5}}
    with crawling(web, tmp_path, "--delay", "0", knobs=knobs) as (server, crawler):
        crawler.run().expect(0)
    waits = gaps(server.requests_to("hub.test"))
    assert len(waits) == 3
    assert all(wait >= EARLY * least for wait, least in zip(waits, (0.5, 1.0, 2.0), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("status", [500, 503])
def test_while_robots_cannot_be_had_no_page_is_asked_for_and_other_hosts_go_on(
    status: int, tmp_path: Path
) -> None:
    web = ScriptedWeb()
    dark = site(web, "dark.test", 3)
    dark.on("/robots.txt", html_response("down", status=status))
    calm = site(web, "calm.test", 8)
    web.host("hub.test").page("/", links=[dark.url(), calm.url()])
    with crawling(web, tmp_path, "--delay", "0") as (server, crawler):
        with crawler.running() as process:
            wait_until(lambda: len(server.requests_to("calm.test")) == 9, process)
            wait_until(lambda: len(server.requests_to("dark.test", with_robots=True)) >= 2, process)
            assert not server.requests_to("dark.test")
            assert crawler.why(dark.url())["state"] in {"queued", "leased", "waiting"}
            dark.robots("User-agent: *\nDisallow: /p1\n")
            process.wait(60)
        assert crawler.status()["finished"] is True
    pages = server.requests_to("dark.test")
    first = next(v for v in server.requests if v.host == "dark.test" and v.status == 200)
    assert first.target == "/robots.txt"
    assert sorted(v.target for v in pages) == ["/", "/p0", "/p2"]


@pytest.mark.slow
def test_a_host_whose_robots_stays_unreachable_is_given_up_with_that_reason(
    tmp_path: Path,
) -> None:
    web = ScriptedWeb()
    dark = site(web, "dark.test", 3)
    dark.on("/robots.txt", html_response("down", status=503))
    web.host("hub.test").page("/", links=[dark.url(), dark.url("/p1")])
    knobs = {"outage": {"give_up_s": 1.0}}
    with crawling(web, tmp_path, "--delay", "0", knobs=knobs) as (server, crawler):
        ended = crawler.run().expect(0).last_json
        assert ended["finished"] is True
        for url in (dark.url(), dark.url("/p1")):
            found = crawler.why(url)
            assert (found["state"], found["reason"]) == ("refused", "robots_unreachable")
    assert not server.requests_to("dark.test")
    asked = [v for v in server.requests if v.host == "dark.test"]
    assert len(asked) == 2
    assert gaps(asked)[0] >= EARLY * 5.0


@pytest.mark.slow
def test_hosts_that_share_an_address_share_a_smaller_gap(tmp_path: Path) -> None:
    web = ScriptedWeb()
    web.host("hub.test", "127.0.9.1")
    sites = [site(web, f"s{number}.test", 1, "127.0.9.2") for number in range(6)]
    web.host("hub.test").page("/", links=[host.url() for host in sites])
    knobs = {"politeness": {"address_delay_s": 0.25}}
    with crawling(web, tmp_path, "--delay", "0.5", knobs=knobs) as (server, crawler):
        crawler.run().expect(0)
    shared = sorted((v for v in server.requests if v.host != "hub.test"), key=lambda v: v.at)
    assert len(shared) == 18
    assert min(gaps(shared)) >= EARLY * 0.25


@pytest.mark.slow
def test_one_slow_host_does_not_hold_up_the_rest(tmp_path: Path) -> None:
    web = ScriptedWeb()
    slow = web.host("slow.test").page("/", links=["/never"])
    slow.on("/robots.txt", CannedResponse(status=404))
    slow.on("/never", CannedResponse(body=b"late", wait_s=300.0))
    calm = [site(web, f"s{number}.test", 10) for number in range(4)]
    links = [slow.url(), slow.url("/never"), *(host.url() for host in calm)]
    web.host("hub.test").page("/", links=links)
    with crawling(web, tmp_path, "--delay", "0", "--concurrency", "2") as (server, crawler):
        with crawler.running() as process:
            wait_until(lambda: server.requests_to("slow.test"), process)
            wait_until(
                lambda: all(len(server.requests_to(host.name)) == 11 for host in calm), process
            )
            assert process.poll() is None
        assert len([v for v in server.requests if v.target == "/never"]) <= 1


@pytest.mark.slow
def test_a_gap_holds_across_a_clean_stop(tmp_path: Path) -> None:
    web = ScriptedWeb()
    site(web, "hub.test", 3)
    with crawling(web, tmp_path, "--delay", "3") as (server, crawler):
        crawler.run("--max-pages", "1").expect(0)
        crawler.run("--max-pages", "2").expect(0)
    assert len(server.requests) == 3
    assert smallest_gap(server.requests) >= EARLY * 3


class HangingUp(ThreadingHTTPServer):
    """A server of some pages that resets every connection at its second request."""

    pages = 8

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), HangingUpHandler)
        self.requests: list[tuple[float, str]] = []

    @override
    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: the connection was to break."""


class HangingUpHandler(BaseHTTPRequestHandler):
    """Answers the first request of a connection."""

    protocol_version = "HTTP/1.1"
    server: HangingUp
    is_used = False

    def do_GET(self) -> None:
        self.server.requests.append((time.monotonic(), self.path))
        if self.is_used:
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.connection.close()
            raise ConnectionAbortedError
        self.is_used = True
        links = "".join(f'<a href="/p{n}">{n}</a>' for n in range(self.server.pages))
        body = (links if self.path == "/" else f"<p>{self.path}</p>").encode()
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.mark.slow
def test_a_server_that_resets_kept_connections_is_asked_no_sooner_and_loses_no_page(
    tmp_path: Path,
) -> None:
    with HangingUp() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        port = server.server_address[1]
        words = flags_for({"a.test": "127.0.0.1"}, "--delay", "0.5", "--no-sitemaps")
        crawler = Crawler(tmp_path / "crawl", (f"http://a.test:{port}/",), words)
        status = crawler.run().expect(0).last_json
        server.shutdown()
        thread.join()
    assert status["pages"] == server.pages + 1
    assert status["retries"]["stale_connection"] > 1
    moments = [at for at, _ in server.requests]
    assert min(after - before for before, after in pairwise(moments)) >= EARLY * 0.5
