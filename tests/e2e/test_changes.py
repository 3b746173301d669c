"""The change monitor on a web with planted changes: each is told once, whatever dies in between."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import gossamer
from gossamer.report import change_rows
from gossamer.store import CrawlFolder, counted_lengths
from gossamer.testing import FakeServer, ScriptedHost, ScriptedWeb, html_response, serve_in_thread
from tests.e2e.crawler import Crawler, Ended, finish, flags_for, kill, say, wait_until, write_knobs
from tests.e2e.nursery import Child

ALL_DUE = {"rate_per_s": 100_000.0, "confirm_s": 0.0, "confirm_gone_s": 0.0, "lost_s": 0.0}
"""So high a rate that even a page which is hardly worth a visit is due after milliseconds."""
PAGES = 12
ATOM = "{http://www.w3.org/2005/Atom}"


@dataclass
class Monitored:
    """A crawl of three hosts, and what was planted on them."""

    server: FakeServer[ScriptedWeb]
    hosts: list[ScriptedHost]
    crawler: Crawler
    planted: dict[str, list[str]]

    def plant(self, kind: str, url: str) -> None:
        self.planted.setdefault(url, []).append(kind)

    def rounds(self, count: int, *, is_killed: bool = False) -> None:
        """Revisit all pages, some times; kill the first round in the middle."""
        words = ["watch", str(self.crawler.folder), "--once", "--json"]
        if is_killed:
            before = len(self.server.requests)
            process = Child(words)
            wait_until(lambda: len(self.server.requests) > before + PAGES, process)
            kill(process)
        for _ in range(count):
            finish(Child(words)).expect(0)

    def changes(self, *words: str) -> Ended:
        return say("changes", str(self.crawler.folder), *words)

    def told(self, *words: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for one in json.loads(self.changes(*words, "--json").expect(0).out)["changes"]:
            found.setdefault(one["url"], []).append(one["kind"])
        return found


@pytest.fixture(params=["1", "2"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Monitored]:
    with serve_in_thread(ScriptedWeb()) as server:
        hosts = [server.web.host(f"h{n}.test") for n in range(3)]
        for host in hosts:
            host.page("/", links=[f"/{n}" for n in range(PAGES)] + [one.url() for one in hosts])
            for n in range(PAGES):
                host.page(f"/{n}", text=f"{host.name} page {n}")
        knobs = write_knobs(tmp_path / "knobs.toml", {"watch": ALL_DUE})
        flags = (
            "--delay",
            "0",
            "--scope",
            "any",
            "--config",
            str(knobs),
            "--shards",
            request.param,
        )
        crawler = Crawler(tmp_path / "c", (hosts[0].url(),), flags_for(server.resolve, *flags))
        crawler.run().expect(0)
        site = Monitored(server, hosts, crawler, {})
        for host in hosts:
            for target in ("/", *(f"/{n}" for n in range(PAGES))):
                site.plant("new", host.url(target))
        yield site


def test_every_planted_change_is_told_once_though_a_round_is_killed(site: Monitored) -> None:
    first, second, third = site.hosts
    first.page("/3", text="h0.test page 3, now other")
    site.plant("changed", first.url("/3"))
    second.page("/4", text="h1.test page 4", links=["/fresh"]).page("/fresh", text="has come")
    site.plant("changed", second.url("/4"))
    site.plant("new", second.url("/fresh"))
    third.on("/5", html_response("no", status=404))
    third.on("/6", html_response("no", status=410))
    third.redirect("/7", to="/8")
    third.on("/9", html_response("<title>Page /9</title><h1>Page /9</h1><p nonce=1>h2.test page 9"))
    site.rounds(2, is_killed=True)
    site.plant("gone", third.url("/5"))
    site.plant("gone", third.url("/6"))
    site.plant("changed", third.url("/7"))
    assert site.told() == site.planted
    assert site.changes("--since", "last:x", "--format", "csv").out.count("\n") == 1 + sum(
        map(len, site.planted.values())
    )
    folder = CrawlFolder(site.crawler.folder)
    half = counted_lengths(folder, "links")
    third.page("/5", text="h2.test page 5").page("/6", text="another page")
    first.page("/3", text="h0.test page 3")
    site.rounds(1)
    site.plant("back", third.url("/5"))
    site.plant("back", third.url("/6"))
    site.plant("changed", first.url("/3"))
    assert site.told() == site.planted
    last = [third.url("/5"), third.url("/6"), first.url("/3")]
    assert sorted(site.told("--since", "last:x")) == sorted(last)
    assert site.told("--since", "last:x") == {}
    assert site.changes("--since", "last:x").out == ""
    end = counted_lengths(folder, "links")
    rows = [*change_rows(folder, {}, half), *change_rows(folder, half, end)]
    assert {url: [r.kind for r in rows if r.url == url] for url in site.planted} == site.planted
    assert len(rows) == sum(map(len, site.planted.values()))


@dataclass
class Shop:
    """A page with a price, a clock and a counter, whose editions are stored."""

    folder: Path
    url: str


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    tmp_path = tmp_path_factory.mktemp("shop")
    with serve_in_thread(ScriptedWeb()) as server:
        host = server.web.host("shop.test")

        def prices(price: int, visitors: int) -> None:
            host.on(
                "/",
                html_response(
                    f"<title>Shop & <b>'Co'</title><p id=price>CHF {price}</p><p>\x0copen &lt;i&gt;"
                    f"<p>You are visitor {visitors}<p><a href='/$(touch pwned);`x`'>more</a>"
                ),
            )

        prices(12, 1)
        host.page("/$(touch%20pwned);%60x%60", text="harmless")
        knobs = write_knobs(tmp_path / "knobs.toml", {"watch": ALL_DUE})
        flags = flags_for(server.resolve, "--delay", "0", "--shards", "1", "--config", str(knobs))
        crawler = Crawler(tmp_path / "c", (host.url(),), flags)
        crawler.run().expect(0)
        for price, visitors in ((12, 2), (14, 3)):
            prices(price, visitors)
            finish(Child(["watch", str(crawler.folder), "--once"])).expect(0)
        yield Shop(crawler.folder, host.url())


def changes(shop: Shop, *words: str) -> Ended:
    return say("changes", str(shop.folder), *words)


def kinds(ended: Ended) -> list[str]:
    return [one["kind"] for one in json.loads(ended.expect(0).out)["changes"]]


def test_lines_before_and_after_are_told(shop: Shop) -> None:
    found = [one for one in gossamer.open(shop.folder).changes() if one.url == shop.url]
    assert [one.kind for one in found] == ["new", "changed", "changed"]
    counter, price = found[1:]
    assert counter.lines == ["-You are visitor 1", "+You are visitor 2"]
    assert (counter.added, counter.removed) == (1, 1)
    assert price.lines[:2] == ["-CHF 12", "+CHF 14"]
    assert price.similarity is not None
    assert 0.5 < price.similarity < 1.0
    assert price.before_at == counter.at
    told = changes(shop).expect(0).out
    assert "2 changed\n" in told
    assert "    - CHF 12\n    + CHF 14\n" in told


def test_the_table_of_changes_has_a_row_for_each(shop: Shop, tmp_path: Path) -> None:
    path = tmp_path / "out"
    words = ("--to", str(path), "--format", "jsonl")
    say("export", str(shop.folder), "changes", *words).expect(0)
    rows = [json.loads(line) for line in (path / "changes.jsonl").read_text().splitlines()]
    mine = [row for row in rows if row["url"] == shop.url]
    assert len(rows) == 4
    assert [row["kind"] for row in mine] == ["new", "changed", "changed"]
    assert [(row["added"], row["removed"]) for row in mine[1:]] == [(1, 1), (2, 2)]
    assert mine[0].get("similarity") is None
    told = changes(shop, "--format", "jsonl").expect(0).out.splitlines()
    assert sorted(json.loads(line)["at"] for line in told) == sorted(row["at"] for row in rows)


def test_only_changes_inside_selected_elements_count(shop: Shop) -> None:
    facts = json.loads(changes(shop, "--selector", "#price", "--json").expect(0).out)
    assert facts["counts"] == {"new": 1, "changed": 1, "gone": 0, "back": 0}
    assert facts["changes"][1]["lines"] == ["-CHF 12", "+CHF 14"]
    assert kinds(changes(shop, "--selector", ".none", "--json")) == []
    wrong = changes(shop, "--selector", "#a[").expect(2)
    assert "--selector: expected a CSS selector" in wrong.err
    assert wrong.err.count("\n") == 1


def test_a_time_narrows_and_a_wrong_one_is_told(shop: Shop) -> None:
    assert kinds(changes(shop, "--since", "now", "--json")) == []
    assert len(kinds(changes(shop, "--since", "yesterday", "--json"))) == 4
    assert "--since: expected a time such as" in changes(shop, "--since", "soon").expect(2).err
    assert "last:NAME" in changes(shop, "--since", "last:../x").expect(2).err
    changes(shop, "--exit-code").expect(1)
    changes(shop, "--exit-code", "--since", "now").expect(0)


def test_a_feed_is_valid_is_added_to_and_keeps_the_newest(shop: Shop, tmp_path: Path) -> None:
    path = tmp_path / "changes.atom"
    changes(shop, "--feed", str(path)).expect(0)
    first = path.read_bytes()
    feed = ET.fromstring(first)
    entries = feed.findall(f"{ATOM}entry")
    assert len(entries) == 4
    assert len({entry.findtext(f"{ATOM}id") for entry in entries}) == 4
    for part in (feed, *entries):
        for name in ("id", "title", "updated"):
            assert len(part.findall(f"{ATOM}{name}")) == 1
    assert feed.findtext(f"{ATOM}author/{ATOM}name") == "Gossamer"
    dates = [entry.findtext(f"{ATOM}updated") or "" for entry in entries]
    assert dates == sorted(dates, reverse=True)
    assert feed.findtext(f"{ATOM}updated") == dates[0]
    content = entries[0].find(f"{ATOM}content")
    assert content is not None
    assert content.get("type") == "html"
    assert "<pre>-CHF 12\n+CHF 14\n" in (content.text or "")
    changes(shop, "--feed", str(path)).expect(0)
    assert path.read_bytes() == first
    changes(shop, "--since", "now", "--feed", str(path), "--feed-max", "2").expect(0)
    assert [one.findtext(f"{ATOM}updated") for one in ET.fromstring(path.read_bytes())[5:]] == (
        dates[:2]
    )
    other = tmp_path / "notes.txt"
    other.write_text("mine")
    assert "is not an Atom feed" in changes(shop, "--feed", str(other)).expect(2).err
    assert other.read_text() == "mine"


def test_a_command_is_run_once_and_gets_everything_by_its_standard_input(
    shop: Shop, tmp_path: Path
) -> None:
    got, runs = tmp_path / "got.json", tmp_path / "runs"
    command = f'cat > {got}; echo "$GOSSAMER_CHANGES $GOSSAMER_CHANGED" >> {runs}'
    words = ("--since", "last:cmd", "--notify", command)
    changes(shop, *words).expect(0)
    changes(shop, *words).expect(0)  # nothing has changed since
    assert runs.read_text() == "4 2\n"
    facts: dict[str, Any] = json.loads(got.read_text())
    assert [one["kind"] for one in facts["changes"]].count("changed") == 2
    assert any("touch" in one["url"] for one in facts["changes"])
    assert not list(Path().glob("pwned"))


@pytest.mark.parametrize(
    ("command", "told"),
    [("exit 7", "ended with exit code 7"), ("kill -9 $$", "ended by signal 9")],
)
def test_a_command_that_fails_is_told_and_the_changes_are_told_again(
    shop: Shop, command: str, told: str
) -> None:
    words = ("--since", f"last:f{len(command)}")
    ended = changes(shop, *words, "--notify", command).expect(4)
    assert told in ended.err
    assert len(kinds(changes(shop, *words, "--json"))) == 4


def test_a_command_that_hangs_is_ended_with_its_children(shop: Shop) -> None:
    command = "sleep 61.7 & sleep 61.7"
    ended = changes(shop, "--notify", command, "--notify-timeout", "0.3").expect(4)
    assert "took longer than 0.3 s" in ended.err
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert "sleep 61.7" not in left.stdout
