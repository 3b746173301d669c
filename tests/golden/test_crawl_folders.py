"""Crawl folders of every released on-disk format are opened, asked and finished by this version.

The folders were left behind by kill -9 (`make.py` says how). The judges are the archive, read by
warcio and FastWARC, and the web that the folders were made of.
"""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.archive import Archive, Record, read_archive
from tests.e2e.crawler import Crawler, only_json, say
from tests.e2e.judge import settled
from tests.golden.web import HOSTS, SLOW, SLOW_PAGE, GoldenWeb, page_target, served, url_of, word_of

HERE = Path(__file__).parent
VERSIONS = sorted(path.parent.name for path in HERE.glob("v*/crawl"))
SAME_WHEN_STOPPED = (
    *("pages", "html_pages", "queued", "hosts", "known_urls", "refused", "failed", "finished"),
    *("running", "requests", "redirects", "revisits", "copies", "retries", "archive_bytes"),
    *("outbox", "shards"),
)
WEB = GoldenWeb()


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def crawler(version: str, tmp_path: Path) -> Crawler:
    """A copy of a golden folder; its crawl.toml says all that a crawl needs."""
    folder = tmp_path / "crawl"
    shutil.copytree(HERE / version / "crawl", folder)
    return Crawler(folder, (), ())


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def stored_in(folder: Path) -> dict[str, Record]:
    """Return the pages of an archive by record id."""
    archive = read_archive(folder)
    return {record.id: record for record in [*archive.pages, *archive.revisits]}


def assert_complete(archive: Archive) -> None:
    """Every page of the web is stored once, with the bytes that were served, and nothing else."""
    wanted = WEB.wanted()
    stored = Counter(record.url for record in [*archive.pages, *archive.revisits])
    assert stored == dict.fromkeys(wanted, 1)
    assert [r.url for r in archive.pages if r.payload != wanted[r.url]] == []
    originals = {record.id: record for record in archive.pages}
    for copy in archive.revisits:
        original = originals[copy.headers["warc-refers-to"]]
        assert wanted[copy.url] == original.payload, copy.url


def asked(crawler: Crawler, verb: str, *words: str) -> dict[str, Any]:
    return only_json(crawler.say(verb, *words, "--json").expect(0))


def test_there_is_a_folder_of_every_format() -> None:
    assert VERSIONS[0] == "v0.1"


def test_a_folder_that_was_left_behind_says_how_far_it_came_and_is_not_changed_by_that(
    crawler: Crawler, version: str
) -> None:
    expected = json.loads((HERE / version / "status.json").read_text())
    archive = files_of(crawler.folder / "archive")
    status = crawler.status()
    for name in SAME_WHEN_STOPPED:
        assert status[name] == expected[name], name
    assert files_of(crawler.folder / "archive") == archive
    assert files_of(crawler.folder / "state" / "00" / "seen")


def test_urls_of_a_folder_that_was_left_behind_are_those_that_status_counts(
    crawler: Crawler, version: str
) -> None:
    states = json.loads((HERE / version / "states.json").read_text())
    status = crawler.status()
    rows = [line.split("\t") for line in crawler.say("list", "urls").expect(0).out.splitlines()]
    found = {url: state for url, state, *_ in rows}
    assert len(found) == len(rows)
    count = Counter(found.values())
    assert count["archived"] == status["pages"] + status["sitemaps"]
    assert count["queued"] + count["parked"] == status["queued"]
    waiting = {"queued", "leased", "waiting"}
    for url, state in states.items():
        if state in {"unknown", "not_wanted"}:
            assert url not in found
            continue
        assert found[url] == ("queued" if state in waiting else state), url
    hosts = crawler.say("list", "hosts").expect(0).out.splitlines()
    assert len(hosts) == status["hosts"]


@pytest.mark.slow
def test_why_names_the_state_of_urls_of_a_folder_that_was_left_behind(
    crawler: Crawler, version: str
) -> None:
    states = json.loads((HERE / version / "states.json").read_text())
    assert Counter(states.values())["archived"] == crawler.status()["pages"]
    of_state: dict[str, list[str]] = {}
    for url, state in states.items():
        of_state.setdefault(state, []).append(url)
    for state, urls in of_state.items():
        assert {url: crawler.why(url)["state"] for url in urls[:6]} == dict.fromkeys(
            urls[:6], state
        )


@pytest.mark.slow
def test_a_folder_that_was_left_behind_is_finished_with_every_page_stored_once(
    crawler: Crawler,
) -> None:
    with served(WEB) as server:
        before = stored_in(crawler.folder)
        ended = crawler.run("--delay", "0").expect(0)
        visits = list(server.requests)
    assert ended.last_json["finished"] is True
    archive = read_archive(crawler.folder)
    assert_complete(archive)
    after = {record.id: record for record in archive.records}
    assert {id_: after.get(id_) for id_ in before} == before
    again = {url_of(v.host, v.target) for v in visits} & {r.url for r in before.values()}
    assert again == set(), "asked for though it was stored"
    _assert_answers(crawler, len(WEB.wanted()))


def _assert_answers(crawler: Crawler, pages: int) -> None:
    """All verbs know the finished crawl: what was stored before, and what came now."""
    status = crawler.status()
    assert (status["pages"], status["finished"], status["shards"]) == (pages, True, 2)
    assert (status["queued"], status["outbox"]) == (0, 0)
    assert settled(status) == status["known_urls"]
    for host in HOSTS:
        for page in (0, SLOW_PAGE, 21):
            url = url_of(host, page_target(page))
            assert crawler.why(url)["state"] == "archived"
            assert crawler.say("show", url).expect(0).out.encode() == WEB.wanted()[url]
    say("build", str(crawler.folder), "graph").expect(0)
    say("build", str(crawler.folder), "index").expect(0)
    home = url_of(HOSTS[0], "/")
    links = asked(crawler, "links", home)
    assert links["in"], links
    for host in (HOSTS[0], SLOW[0]):
        answer = asked(crawler, "search", word_of(host, 21))
        assert [hit["url"] for hit in answer["hits"]] == [url_of(host, page_target(21))]
