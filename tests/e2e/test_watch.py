"""Watching over real sockets: as fresh as the budget allows, polite, and not undone by a kill."""

import re
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from laboratory.changing import (
    BEGIN,
    ChangingProcess,
    ChangingWeb,
    Page,
    changes_between,
    foretold_freshness,
    serve_changing,
    true_freshness,
)

import gossamer
from gossamer.frontier.revisit import Watchlist
from gossamer.testing import LoggedRequest, most_connections, short_gaps
from tests.e2e.archive import Archive, read_archive
from tests.e2e.crawler import (
    Crawler,
    Process,
    finish,
    flags_for,
    kill,
    wait_until,
    write_knobs,
)
from tests.e2e.nursery import Child

GAP_S = 0.05
RATE_PER_S = 60.0
PRIOR_S = 10.0
WARM_S = 6.0
"""Learning takes a few looks; what is measured begins after it."""
LOOKS = (400, 800, 1400)
"""The watch is killed after so many looks, and again, and at last stopped."""
CONCURRENCY = 16
"""A kill undoes at most so many looks, the last ones: those under way or not yet committed."""
BLUR_S = 0.2
"""Between the making of an answer and its line in the log."""
EDITION = re.compile(rb"Edition (\d+)\.")
WATCH = {
    "prior_s": PRIOR_S,
    "rate_per_s": RATE_PER_S,
    "replan_s": 1.0,
    "confirm_s": 2.0,
    "confirm_gone_s": 1.0,
    "lost_s": 4.0,
}


def weight(page: Page) -> float:
    """Return what the watch takes a page's freshness to be worth: homes are nearer to the seed."""
    if page.number:
        return 1 / 3 if page.host else 1 / 2
    return 1 / 2 if page.host else 1.0


def listed(pages: Sequence[Page]) -> Watchlist:
    """Return the shipped watchlist with all pages, as they were fetched before the changes."""
    watchlist = Watchlist(1.0 / PRIOR_S)
    for key, page in enumerate(pages):
        watchlist.add(key, page.host, weight(page), None, 0.0)
    return watchlist


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ChangingProcess]:
    web = ChangingWeb(
        seed=1, hosts=20, pages_per_host=12, median_s=6.0, gone_every=17, gone_after_s=6.0
    )
    with serve_changing(web, tmp_path / "log.tsv") as server:
        yield server


@pytest.fixture
def crawler(served: ChangingProcess, tmp_path: Path) -> Crawler:
    """A crawl of all pages, as they were before they began to change."""
    knobs = write_knobs(tmp_path / "knobs.toml", {"watch": WATCH})
    flags = ("--delay", str(GAP_S), "--shards", "1", "--config", str(knobs))
    flags += ("--concurrency", str(CONCURRENCY))
    crawler = Crawler(tmp_path / "crawl", served.web.seeds, flags_for(served.web.addresses, *flags))
    assert crawler.run().expect(0).last_json["pages"] == len(served.web.fates)
    return crawler


def watch(crawler: Crawler, *words: str) -> Process:
    return Child(["watch", str(crawler.folder), *words, "--json"])


def looks(served: ChangingProcess) -> list[float]:
    """Return the moments of all requests since the changes began."""
    began_at = served.web.began_at or 0.0
    return [v.at - began_at for v in served.requests() if v.at > began_at and v.target != BEGIN]


def assert_gone_pages_have_left(
    web: ChangingWeb, visits: list[LoggedRequest], archive: Archive, crawler: Crawler
) -> None:
    """A page that was missed again and again is gone, on record, and asked for seldom."""
    absent: dict[str, list[float]] = {}
    for visit in visits:
        if visit.status in {404, 410} and visit.target[1:].isdigit():
            absent.setdefault(f"http://{visit.host}:{web.port}{visit.target}", []).append(visit.at)
    gone = {record["url"] for record in archive.metadata() if record["outcome"] == "gone"}
    # Each kill may have undone one of the looks.
    sure = {url for url, at in absent.items() if len(at) > len(LOOKS)}
    assert sure <= gone <= set(absent)
    assert len(gone) >= 5
    assert crawler.status()["watch"]["gone"] == len(gone)
    for url in gone:
        assert crawler.why(url)["state"] == "gone"
        last, *_ = sorted(absent[url], reverse=True)
        assert len([at for at in absent[url] if at > last - WATCH["lost_s"]]) <= len(LOOKS) + 1


def last_looks_before(visits: list[LoggedRequest], kill_at: float) -> set[tuple[str, str]]:
    """Return the pages whose looks a kill may have undone, by the number of requests alone."""
    before = [visit for visit in visits if visit.at <= kill_at]
    return {(visit.host, visit.target) for visit in before[-CONCURRENCY:]}


def assert_every_edition_is_stored_once(
    web: ChangingWeb, visits: list[LoggedRequest], archive: Archive, kills: list[float]
) -> None:
    """What was served last is stored, and nothing is stored that was there already.

    A kill may have undone a look, and the page may not be due again by the new plan.
    """
    stored: dict[str, list[int]] = {}
    for record in archive.pages:
        found = EDITION.search(record.payload)
        stored.setdefault(record.url, []).append(int(found[1]) if found else -1)
    served: dict[tuple[str, str], float] = {}
    for visit in visits:
        if visit.status == 200:
            served[visit.host, visit.target] = visit.at
    began_at = web.began_at or 0.0
    may_be_undone = {kill_at: last_looks_before(visits, kill_at) for kill_at in kills}
    for (host, number), page in web.fates.items():
        editions = stored[web.url(host, number)]
        assert editions == sorted(set(editions)), page
        name = (f"w{host}.test", f"/{number or ''}")
        at = served[name] - began_at
        assert editions[-1] <= page.version(at), page
        is_undone = any(served[name] <= k and name in may_be_undone[k] for k in kills)
        assert is_undone or page.version(at - BLUR_S) <= editions[-1], page


def assert_every_change_is_told_once(web: ChangingWeb, archive: Archive, crawler: Crawler) -> None:
    """Each page is new once, changed as often as another edition was stored, and gone as recorded.

    A page that is gone stays so in this web.
    """
    told: dict[str, list[str]] = {}
    for change in gossamer.open(crawler.folder).changes():
        told.setdefault(change.url, []).append(change.kind)
    stored = Counter(record.url for record in archive.pages if EDITION.search(record.payload))
    gone = Counter(one["url"] for one in archive.metadata() if one["outcome"] == "gone")
    for host, number in web.fates:
        url = web.url(host, number)
        expected = ["new", *["changed"] * (stored[url] - 1), *["gone"] * gone[url]]
        assert told.pop(url) == expected, url
    assert not told


@pytest.mark.slow
def test_a_watch_is_as_fresh_as_foretold_though_it_is_killed(
    served: ChangingProcess, crawler: Crawler
) -> None:
    served.begin()
    kills: list[float] = []
    for count in LOOKS:
        process = watch(crawler)
        assert wait_until(lambda count=count: len(looks(served)) >= count, process)
        if count == LOOKS[-1]:
            process.send_signal(signal.SIGINT)
            ended = finish(process).expect(3)
        else:
            assert kill(process)
            kills.append(served.requests()[-1].at)
    moments = looks(served)
    begin, end = WARM_S, moments[-1]
    web, visits = served.web, [v for v in served.requests() if v.target != BEGIN]
    assert changes_between(web, 0.0, end) >= 1000
    measured = true_freshness(web, visits, begin, end, weight)
    foretold = foretold_freshness(web, moments, begin, weight, listed)
    assert measured == pytest.approx(foretold, rel=0.05)
    assert short_gaps(visits, GAP_S) == 0
    assert most_connections(visits) == 1
    status = ended.last_json
    archive = read_archive(crawler.folder)
    assert_gone_pages_have_left(web, visits, archive, crawler)
    assert_every_edition_is_stored_once(web, visits, archive, kills)
    assert_every_change_is_told_once(web, archive, crawler)
    assert status["pages"] == len(web.fates)
    found = status["watch"]
    assert found["visits"] <= len(moments)
    assert found["changed"] + found["unchanged"] <= found["visits"]
    assert crawler.status()["failed"] == {}
