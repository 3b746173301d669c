"""The table of URLs: each that was judged is in it once, and its counts are those of `status`."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import gossamer
from gossamer import UrlRow
from gossamer.testing import CannedResponse, ScriptedHost, ScriptedWeb, not_found, serve_in_thread
from tests.e2e.crawler import Crawler, flags_for, kill, wait_until, write_knobs
from tests.integration.test_watch import QUICKER, more, watch_until

WORDS, ALLOWANCE = 90, 24
REFUSED = {
    "nofollow": 1,
    "extension": 1,
    "not_allowed": 2,
    "scheme": 1,
    "robots_disallowed": 1,
}
"""URLs of the site that are refused, by reason."""


@dataclass(frozen=True)
class Site:
    """A hub with links of every kind, a dictionary that looks like a trap, and a host that dies."""

    crawler: Crawler
    hub: ScriptedHost

    def urls(self, **wanted: Any) -> list[UrlRow]:
        found = list(gossamer.open(self.crawler.folder).urls(**wanted))
        assert len({row.url for row in found}) == len(found), "a URL is there twice"
        return found

    def expect_status(self) -> Counter[str]:
        """Compare the table with `status`; return its counts by state."""
        rows, status = self.urls(), self.crawler.status()
        count = Counter(row.state for row in rows)
        assert count["archived"] == status["pages"] + status["sitemaps"]
        assert count["redirected"] == status["redirects"]
        assert count["parked"] == status["parked"]
        assert count["held"] == status["held"]
        for state in ("failed", "refused"):
            found = Counter(row.reason for row in rows if row.state == state)
            assert dict(found) == status[state], state
        on_their_way = count["queued"] + count["parked"] - status["queued"] - status["in_flight"]
        assert 0 <= on_their_way <= status["outbox"]
        unqueued = sum(row.state == "refused" and row.first_at is None for row in rows)
        assert count.total() - unqueued - on_their_way == status["known_urls"]
        self._expect_hosts(rows, status, on_their_way)
        return count

    def _expect_hosts(self, rows: list[UrlRow], status: dict[str, Any], on_their_way: int) -> None:
        """Compare the hosts with the URLs and with `status`."""
        hosts = {one.host: one for one in gossamer.open(self.crawler.folder).hosts()}
        assert len(hosts) == status["hosts"]
        assert sum(one.pages for one in hosts.values()) == status["pages"]
        waiting = sum(row.state in {"queued", "parked"} for row in rows)
        assert sum(one.queued for one in hosts.values()) == waiting - on_their_way
        for host, found in hosts.items():
            assert [found] == [*gossamer.open(self.crawler.folder).hosts(host)]
            mine = [row for row in rows if f"//{host}:" in row.url]
            assert found.failed == sum(row.state == "failed" for row in mine)
            turns = [row for row in mine if row.state == "refused" and row.first_at]
            assert found.refused == len(turns)
            assert (found.bytes > 0) == (found.pages > 0) == (found.median_ms is not None)


@contextmanager
def every_state(place: Path, shards: str, late_s: float = 0.0) -> Iterator[Site]:
    """Serve the site; something of it waits for an answer as long as `late_s` says."""
    web = ScriptedWeb()
    hub, words, down = web.host("hub.test"), web.host("words.test"), web.host("down.test")
    for number in range(WORDS):
        others = (number * 7 + 3) % WORDS, (number * 31 + 11) % WORDS, (number + 1) % WORDS
        text = " ".join(f"{number}w{step}" for step in range(12))
        words.page(f"/w/{number}", links=[f"/w/{n}" for n in others], text=text)
    with serve_in_thread(web) as server:
        links = ["/one", "/moved", "/missing", "/no/robots", "/a.zip", words.url("/w/0")]
        other = ["http://elsewhere.example/x", "http://elsewhere.example/y", "gopher://old.test/"]
        anchors = "".join(f'<a href="{link}">To {link}</a>' for link in (*links, *other))
        hub.on(
            "/",
            f'<title>Hub</title>{anchors}<a href="/ad" rel="nofollow">ad</a>'
            f'<a href="{down.url()}">down</a><a href="/late">late</a>',
        )
        hub.page("/one", text="One.").redirect("/moved", to="/one")
        hub.robots("User-agent: *\nDisallow: /no/\n")
        hub.on("/late", CannedResponse(body=b"late", wait_s=late_s))
        down.page("/", links=[f"/{number}" for number in range(5)])
        for number in range(5):
            down.fault(f"/{number}", "reset")
        knobs = {"traps": {"allowance": ALLOWANCE}, "outage": {"wait_at_end_s": 1.0}}
        flags = flags_for(server.resolve, "--delay", "0", "--no-sitemaps", "--shards", shards)
        config = ("--config", str(write_knobs(place / "k.toml", knobs)))
        yield Site(Crawler(place / "crawl", (hub.url(),), (*flags, *config)), hub)


@pytest.mark.parametrize("shards", ["1", "2"])
def test_a_crawl_that_ended_has_every_url_once_and_as_status_counts_it(
    shards: str, tmp_path: Path
) -> None:
    with every_state(tmp_path, shards) as site:
        site.crawler.run("--max-pages", "8").expect(0)
        assert site.expect_status()["queued"]
        site.crawler.run("--max-pages", "1000").expect(0)
        count = site.expect_status()
        assert {"archived", "redirected", "failed", "refused", "held", "parked"} <= count.keys()
        assert site.expect_status()["queued"] == 0
        refused = Counter(row.reason for row in site.urls(states="refused"))
        assert refused == REFUSED
        crawl = gossamer.open(site.crawler.folder)
        for row in site.urls(states=["refused", "held", "failed", "redirected"]):
            why = crawl.why(row.url)
            told = (row.state, row.via, row.depth)
            assert told == (why.state, why.via, why.depth), row.url
            if row.state != "redirected":
                assert (row.reason, row.detail) == (why.reason, why.detail), row.url


def test_a_row_says_how_a_url_was_found_and_what_came_of_it(tmp_path: Path) -> None:
    with every_state(tmp_path, "1") as site:
        site.crawler.run().expect(0)
        rows = {row.url: row for row in site.urls()}
        moved, missing = rows[site.hub.url("/moved")], rows[site.hub.url("/missing")]
        assert (moved.state, moved.status, moved.detail) == (
            "redirected",
            302,
            site.hub.url("/one"),
        )
        assert (missing.reason, missing.status, missing.attempts) == ("not_found", 404, 1)
        assert (missing.via, missing.anchor) == (site.hub.url(), "To /missing")
        assert missing.first_at is not None
        assert missing.first_at == missing.last_at
        far = rows["http://elsewhere.example/x"]
        assert (far.state, far.reason, far.anchor) == (
            "refused",
            "not_allowed",
            "To http://elsewhere.example/x",
        )
        assert (far.first_at, far.attempts, far.via) == (None, 0, site.hub.url())
        parked = [row for row in rows.values() if row.state == "parked"]
        assert {row.reason for row in parked} == {"disconnected"}
        assert all(row.available_at is not None for row in parked)
        hub = next(gossamer.open(site.crawler.folder).hosts("hub.test"))
        assert (hub.robots, hub.failed, hub.refused, hub.gap_s) == ("rules", 1, 1, None)
        assert hub.first_at is not None
        assert hub.last_at is not None
        assert hub.first_at <= missing.first_at <= hub.last_at
        plain = {row.url: row.anchor for row in site.urls(anchors=False)}
        assert plain[missing.url] == "" != plain[far.url]


@pytest.mark.parametrize("shards", ["1", "2"])
def test_a_crawl_that_runs_has_every_url_once_and_as_status_counts_it(
    shards: str, tmp_path: Path
) -> None:
    with (
        every_state(tmp_path, shards, late_s=600.0) as site,
        site.crawler.running() as process,
    ):
        assert wait_until(lambda: _is_still(site), process)
        count = site.expect_status()
        assert count["held"]
        assert count["queued"], "what is asked for waits for its answer"


def _is_still(site: Site) -> bool:
    """Return True if nothing has changed for a second, but what waits for a late answer."""
    if not (site.crawler.folder / "control.sock").exists():
        return False
    before = site.crawler.status()
    time.sleep(1.0)
    after = site.crawler.status()
    same = ("queued", "held", "parked", "known_urls", "outbox")
    return after["held"] > 0 and all(before[name] == after[name] for name in same)


def test_rows_can_be_chosen_by_state_reason_and_host(tmp_path: Path) -> None:
    with every_state(tmp_path, "2") as site:
        site.crawler.run().expect(0)
        everything = site.urls()
        for host in ("hub.test", "words.test", "down.test", "elsewhere.example"):
            mine = [row for row in everything if f"//{host}" in row.url]
            assert {*site.urls(host=host)} == {*mine} != set(), host
        failed = [row for row in everything if row.state == "failed"]
        assert site.urls(states="failed") == failed
        assert site.urls(states=["failed"], reasons="not_found") == failed
        assert [row.url for row in site.urls(reasons="scheme")] == ["gopher://old.test/"]
        assert site.urls(states="held", reasons="scheme") == []
        counts = gossamer.open(site.crawler.folder).url_counts()
        assert counts.states == Counter(row.state for row in everything)
        assert counts.reasons["refused"] == REFUSED
        with pytest.raises(gossamer.ConfigError, match="there is no state 'fetched'; expected arc"):
            site.urls(states="fetched")


@pytest.mark.parametrize("order", ["bfs", "best"])
def test_after_a_kill_every_url_is_there_once_and_as_status_counts_it(
    order: str, tmp_path: Path
) -> None:
    with every_state(tmp_path, "2", late_s=600.0) as site:
        process = site.crawler.start("--order", order)
        assert wait_until(lambda: _is_still(site), process)
        kill(process)
        before = site.expect_status()
        assert before["held"]
        assert before["queued"]
        decided = {"archived", "redirected", "failed", "refused"}
        rows = [(row.url, row.state, row.reason) for row in site.urls(states=decided)]
        site.crawler.say("build", "state").expect(0)
        again = [(row.url, row.state, row.reason) for row in site.urls(states=decided)]
        assert sorted(again) == sorted(rows), "the archive alone is enough"
        assert len(site.urls()) == before.total()


def test_a_page_that_is_gone_keeps_when_it_was_first_asked_for(tmp_path: Path) -> None:
    web = ScriptedWeb()
    host = web.host("a.test")
    with serve_in_thread(web) as server:
        host.page("/", links=["/old"]).page("/old", text="Soon gone.")
        knobs = write_knobs(tmp_path / "k.toml", {"watch": QUICKER})
        flags = flags_for(server.resolve, "--delay", "0", "--no-sitemaps", "--shards", "1")
        crawler = Crawler(tmp_path / "crawl", (host.url(),), (*flags, "--config", str(knobs)))
        crawler.run().expect(0)
        site = Site(crawler, host)
        site.expect_status()
        first = {row.url: row.first_at for row in site.urls()}
        watch_until(crawler, more(server, "/", 12))
        host.on("/old", not_found())
        watch_until(crawler, lambda: crawler.status()["watch"]["gone"] == 1)
        rows, status = {row.url: row for row in site.urls()}, crawler.status()
        assert rows[host.url("/old")].state == "gone"
        assert rows[host.url("/old")].reason == "not_found"
        count = Counter(row.state for row in rows.values())
        assert count["gone"] == status["watch"]["gone"] == 1
        assert count["archived"] + count["gone"] == status["pages"] + status["sitemaps"]
        assert {url: row.first_at for url, row in rows.items()} == first
        home = rows[host.url()]
        assert home.first_at is not None
        assert home.last_at is not None
        assert home.first_at < home.last_at
