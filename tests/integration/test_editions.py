"""Editions: a URL as it was stored at different times, and what has changed in between."""

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import gossamer
from gossamer.testing import FakeServer, ScriptedHost, ScriptedWeb
from tests.e2e.crawler import say, wait_until
from tests.integration.threats import serving, settings

KNOBS = {"watch": {"rate_per_s": 50.0, "prior_s": 0.05, "replan_s": 0.05}}
TEXTS = ("first words", "second words\n\nand more", "third words")


@contextmanager
def watching(folder: Path, server: FakeServer[ScriptedWeb]) -> Iterator[None]:
    """Watch a crawl's pages, in another thread, for the length of a block."""
    crawl = gossamer.Crawl(folder, (), settings(server, KNOBS))
    thread = threading.Thread(target=crawl.watch, args=(60.0,))
    thread.start()
    try:
        wait_until((folder / "control.sock").exists)
        yield
    finally:
        crawl.stop()
        thread.join()


class Site:
    """A page that is crawled, changed, watched, and so on."""

    def __init__(self, folder: Path, host: ScriptedHost, server: FakeServer[ScriptedWeb]) -> None:
        self.folder, self.host, self.server = folder, host, server
        self.url = host.url("/")

    def say(self, text: str) -> None:
        self.host.file("/", f"<p>{text.replace(chr(10), '<p>')}".encode(), "text/html")

    def watch_until(self, editions: int) -> None:
        """Watch until the page has so many editions."""
        opened = gossamer.open(self.folder)
        with watching(self.folder, self.server):
            wait_until(lambda: len(opened.editions(self.url)) >= editions)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    web = ScriptedWeb()
    host = web.host("a.test")
    with serving(web) as server:
        site = Site(tmp_path_factory.mktemp("editions") / "c", host, server)
        site.say(TEXTS[0])
        gossamer.Crawl(site.folder, [site.url], settings(server, KNOBS)).run()
        for number, text in enumerate(TEXTS[1:], 2):
            time.sleep(1.1)  # editions are known to the second
            site.say(text)
            site.watch_until(number)
        opened = gossamer.open(site.folder)
        with watching(site.folder, server):
            wait_until(lambda: opened.editions(site.url)[-1].answers > 1)
        yield site


def show(site: Site, *words: str) -> Any:
    return say("show", str(site.folder), site.url, *words)


def test_editions_are_numbered_and_each_can_be_shown(site: Site) -> None:
    crawl = gossamer.open(site.folder)
    found = crawl.editions(site.url)
    assert [one.number for one in found] == [1, 2, 3]
    assert sorted(one.at for one in found) == [one.at for one in found]
    for edition, text in zip(found, TEXTS, strict=True):
        page = crawl.page(site.url, edition=edition.number)
        assert page is not None
        assert page.text().split() == text.split()
        assert show(site, "--edition", str(edition.number), "--text").out.split() == text.split()
    last = found[-1]
    assert last.answers > 1
    assert last.last_at >= last.at > found[1].last_at
    assert show(site, "--edition", "3").out == "<p>third words"


def test_a_content_that_comes_back_is_an_edition_of_its_own(site: Site, tmp_path: Path) -> None:
    site.say("alpha")
    folder = tmp_path / "c"
    gossamer.Crawl(folder, [site.url], settings(site.server, KNOBS)).run()
    again = Site(folder, site.host, site.server)
    for number, text in enumerate(("beta", "alpha"), 2):
        time.sleep(1.1)
        again.say(text)
        again.watch_until(number)
    crawl = gossamer.open(folder)
    first, second, third = crawl.editions(site.url)
    assert first.digest == third.digest != second.digest
    page = crawl.page(site.url, edition=3)
    assert page is not None
    assert page.text().split() == ["alpha"]


def test_an_edition_is_found_by_time(site: Site) -> None:
    found = gossamer.open(site.folder).editions(site.url)
    second = found[1]
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second.at))
    assert show(site, "--at", stamp, "--text").out.split() == TEXTS[1].split()
    earlier = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(second.at - 1))
    assert show(site, "--at", earlier, "--text").out.split() == TEXTS[0].split()
    today = time.strftime("%Y-%m-%d", time.gmtime(found[-1].at))
    for late in (today, "now", "0 s ago"):
        assert show(site, "--at", late, "--text").out.split() == TEXTS[2].split()
    before = show(site, "--at", "3w").expect(1)
    assert before.err == show(site, "--at", "3 weeks ago").err
    assert before.out == ""
    assert "was first stored at" in before.err
    assert before.err.count("\n") == 1


def test_two_editions_are_compared_by_their_text_or_their_source(site: Site) -> None:
    found = gossamer.open(site.folder).editions(site.url)
    one, two = [str(edition.number) for edition in found][:2]
    told = show(site, "--diff", one, two).expect(0).out.splitlines()
    assert told[0].startswith(f"--- {site.url} edition {one} (20")
    assert "-first words" in told
    assert "+second words" in told
    assert "-<p>first words" in show(site, "--diff", one, two, "--raw").expect(0).out
    same = show(site, "--diff", one, one).expect(0)
    assert (same.out, same.err) == ("", "gossamer: the text of both editions is the same\n")
    answer = json.loads(show(site, "--diff", one, two, "--json").expect(0).out)
    assert answer["of"] == "text"
    assert "-first words" in answer["lines"]
    assert answer["before"]["number"] == int(one)


def test_json_and_why_tell_the_editions(site: Site) -> None:
    found = gossamer.open(site.folder).editions(site.url)
    answer = json.loads(show(site, "--edition", "1", "--json").expect(0).out)
    assert (answer["edition"], answer["editions"], answer["status"]) == (1, len(found), 200)
    assert answer["text"].split() == TEXTS[0].split()
    newest = json.loads(show(site, "--json").expect(0).out)
    assert newest["text"].split() == TEXTS[2].split()
    why = gossamer.why(site.folder, site.url)
    assert why.editions == found
    assert why.editions_total == len(found)
    told = say("why", str(site.folder), site.url).expect(0).out
    assert "more answer" in told
    assert f"sha1:{found[0].digest}" in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--edition", "99"], "--edition: http.* has \\d+ editions; expected a number from 1 to"),
        (["--diff", "1", "99"], "--diff: http.* expected a number from 1 to"),
        (["--at", "soon"], "--at: expected a time such as 2026-11-01"),
        (["--at", "2026-13"], "--at: expected a time such as"),
        (["--at", "now", "--edition", "1"], "--at, --edition and --diff: give one of them"),
    ],
)
def test_what_cannot_be_meant_is_told_in_one_line(site: Site, words: list[str], told: str) -> None:
    ended = show(site, *words).expect(2)
    assert ended.err.count("\n") == 1
    assert re.search(told, ended.err), ended.err


def test_editions_of_a_file_that_is_still_open_are_known(site: Site, tmp_path: Path) -> None:
    crawl = gossamer.Crawl(tmp_path / "c", [site.url], settings(site.server, KNOBS))
    crawl.run()
    opened = gossamer.open(tmp_path / "c")
    with watching(tmp_path / "c", site.server):
        for number in range(2, 12):  # more than the visits that a record keeps
            site.say(f"words number {number}")
            wait_until(lambda number=number: len(opened.editions(site.url)) >= number)
        live = opened.editions(site.url)
    found = gossamer.open(tmp_path / "c").editions(site.url)
    assert [one.digest for one in found[: len(live)]] == [one.digest for one in live]
    for path in (tmp_path / "c" / "archive").glob("*.cdxj"):
        path.unlink()  # as after kill -9
    assert gossamer.open(tmp_path / "c").editions(site.url) == found
    first = gossamer.open(tmp_path / "c").page(site.url, edition=1)
    assert first is not None
    assert first.text() != ""
