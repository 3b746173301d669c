"""`gossamer list`: one row per line, for pipes, beside a crawl that runs, with clear refusals."""

import csv
import io
import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import gossamer
from gossamer.tables import TABLES
from tests.e2e.crawler import GOSSAMER, say
from tests.e2e.test_urls import Site, every_state


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A crawl that has ended, with URLs in every state but queued; not to be changed."""
    with every_state(tmp_path_factory.mktemp("list"), "2") as site:
        site.crawler.run().expect(0)
        yield site


def lines(site: Site, *words: str) -> list[list[str]]:
    ended = site.crawler.say("list", *words).expect(0)
    assert ended.err == ""
    return [line.split("\t") for line in ended.out.splitlines()]


def test_urls_come_one_per_line_with_the_url_first(site: Site) -> None:
    rows = {row.url: row for row in site.urls()}
    told = lines(site, "urls")
    assert len(told) == len(rows)
    for url, state, reason, status, via, detail in told:
        row = rows[url]
        assert (state, reason, status) == (row.state, row.reason, str(row.status or ""))
        assert (via, detail) == (row.via, row.detail)


def test_flags_choose_states_reasons_and_hosts(site: Site) -> None:
    rows = site.urls()
    for state in ("failed", "refused", "held"):
        found = [row.url for row in rows if row.state == state]
        assert [line[0] for line in lines(site, "urls", f"--{state}")] == found != []
    parked = [row.url for row in rows if row.state == "parked"]
    assert [line[0] for line in lines(site, "urls", "--queued")] == parked != []
    assert [line[0] for line in lines(site, "urls", "--state", "parked")] == parked
    both = lines(site, "urls", "--failed", "--held")
    assert {line[1] for line in both} == {"failed", "held"}
    scheme = lines(site, "urls", "--refused", "--reason", "scheme", "--reason", "nofollow")
    assert {line[2] for line in scheme} == {"scheme", "nofollow"}
    assert {
        line[0].split("/")[2].partition(":")[0]
        for line in lines(site, "urls", "--host", site.hub.url())
    } == {"hub.test"}
    assert len(lines(site, "urls", "--limit", "3")) == 3
    assert lines(site, "urls", "--limit", "0") == []


def test_pages_hosts_and_links_are_listed_too(site: Site) -> None:
    status = site.crawler.status()
    assert len(lines(site, "pages")) == status["pages"]
    assert {line[0] for line in lines(site, "pages", "--host", "hub.test")} == {
        row.url for row in site.urls(host="hub.test", states="archived")
    }
    hosts = lines(site, "hosts")
    assert sum(int(line[1]) for line in hosts) == status["pages"]
    assert [line[0] for line in lines(site, "hosts", "--failed")] == ["hub.test"]
    broken = lines(site, "links", "--failed")
    assert [line[:5] for line in broken] == [
        [site.hub.url(), site.hub.url("/missing"), "a", "failed", "404"]
    ]
    assert lines(site, "links", "--failed", "--host", "words.test") == []


@pytest.mark.parametrize("table", ["urls", "pages", "hosts", "links"])
def test_json_lines_and_csv_have_all_columns(site: Site, table: str) -> None:
    names = list(TABLES[table].names)  # type: ignore[index]
    count = len(lines(site, table))
    told = site.crawler.say("list", table, "--format", "jsonl").expect(0).out
    rows = [json.loads(line) for line in told.splitlines()]
    assert [list(row) for row in rows] == [names] * count
    assert site.crawler.say("list", table, "--json").expect(0).out == told
    text = site.crawler.say("list", table, "--format", "csv").expect(0).out
    cells = list(csv.reader(io.StringIO(text)))
    assert cells[0] == names
    assert len(cells) == count + 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("pages", "--failed"), "--failed: pages are all archived; `gossamer list DIR urls"),
        (("hosts", "--held"), "hosts do not count URLs that are held"),
        (("links", "--reason", "not_found"), "--reason: only urls have reasons, not links"),
        (("urls", "--reason", "of_scope"), "did you mean off_scope?"),
        (("urls", "--state", "fetched"), "there is no state 'fetched'; expected archived"),
        (("urls", "--format", "parquet"), "--format: expected text, jsonl, csv, found 'parquet'"),
        (("urls", "--format", "csv", "--json"), "--json is --format jsonl"),
        (("images",), "there is no list of 'images'; expected urls, pages, hosts, links"),
    ],
)
def test_what_cannot_be_listed_is_refused_in_one_line(
    site: Site, words: tuple[str, ...], told: str
) -> None:
    ended = site.crawler.say("list", *words).expect(2)
    assert told in ended.err
    assert (ended.out, ended.err.count("\n")) == ("", 1)


def test_a_folder_without_a_crawl_is_refused(tmp_path: Path) -> None:
    assert "crawl" in say("list", str(tmp_path), "urls").expect(2).err


def test_a_reader_that_has_seen_enough_ends_it_without_a_word(site: Site) -> None:
    words = [GOSSAMER, "list", str(site.crawler.folder), "urls"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"http://")
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_the_counts_of_a_list_are_those_of_the_api(site: Site) -> None:
    counts = gossamer.open(site.crawler.folder).url_counts().states
    assert Counter(line[1] for line in lines(site, "urls")) == counts
