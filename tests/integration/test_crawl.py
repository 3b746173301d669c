"""A complete crawl, from seeds to archive, and what `status`, `why` and `show` say of it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from gossamer.testing import (
    FakeWeb,
    ServerProcess,
    most_connections,
    serve_in_process,
)
from tests.e2e.archive import Archive, read_archive
from tests.e2e.crawler import (
    Crawler,
    Ended,
    flags_for,
)
from tests.e2e.judge import FILES, Judge, page_hits, settled


@dataclass(frozen=True)
class Done:
    """A crawl of a fake web that has ended."""

    server: ServerProcess
    crawler: Crawler
    ended: Ended
    archive: Archive

    @property
    def web(self) -> FakeWeb:
        return self.server.web


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Done]:
    place = tmp_path_factory.mktemp("done")
    web = FakeWeb(seed=401, hosts=16, pages_per_host=12)
    with serve_in_process(web, place / "log.tsv") as server:
        flags = flags_for(server.resolve, "--delay", "0")
        crawler = Crawler(place / "crawl", server.web.seeds, flags)
        ended = crawler.run().expect(0)
        yield Done(server, crawler, ended, read_archive(crawler.folder))


def test_a_complete_crawl_stores_the_truth_once(done: Done) -> None:
    Judge(done.web).assert_complete(done.archive)
    assert set(page_hits(done.server.requests()).values()) == {1}
    assert most_connections(done.server.requests()) == 1


def test_robots_of_every_kind_are_obeyed(done: Done) -> None:
    Judge(done.web).assert_obedient(done.server.requests())
    asked = {v.host for v in done.server.requests() if v.target == "/robots.txt"}
    assert asked == set(done.web.addresses)


def test_a_mirror_becomes_revisit_records(done: Done) -> None:
    mirrors = [i for i in range(done.web.hosts) if done.web.catalog.site(i).source != i]
    assert mirrors
    copies = {record.url for record in done.archive.revisits}
    truth = done.web.truth()
    for index in mirrors:
        here = {u for u in truth if u.startswith(done.web.url(index, "/"))}
        source = done.web.catalog.site(index).source
        pairs = {u: u.replace(done.web.url(index, ""), done.web.url(source, "")) for u in here}
        assert pairs
        assert all((mine in copies) != (theirs in copies) for mine, theirs in pairs.items())


def test_files_are_stored_and_read(done: Done) -> None:
    stored = done.archive.page_urls
    for path in FILES:
        assert stored[done.web.url(0, path)] == 1, path
    text = done.archive.text_of(done.web.url(0, "/files/report.pdf"))
    assert done.web.token(0, "/files/report.pdf") in text


def test_the_text_of_every_page_is_kept(done: Done) -> None:
    press = done.web.catalog.renderer(0)
    for number in range(press.site.pages):
        assert done.web.token(0, number) in done.archive.text_of(
            done.web.url(0, press.path(number))
        )


def test_what_happened_to_every_url_is_in_the_links_archive(done: Done) -> None:
    told = {row.get("url") for row in done.archive.metadata()}
    outcomes = {done.web.url(0, path) for path in ("/gone/404", "/gone/410", "/old/1")}
    assert set(done.archive.page_urls) | outcomes <= told


def test_the_last_line_is_the_status_and_the_status_is_right(done: Done) -> None:
    status = done.crawler.status()
    same = ("pages", "html_pages", "queued", "in_flight", "hosts", "known_urls", "finished")
    assert {name: done.ended.last_json[name] for name in same} == {n: status[n] for n in same}
    assert status["finished"] is True
    assert status["pages"] + status["sitemaps"] == done.archive.page_urls.total()
    assert status["sitemaps"] == sum("/sitemap" in url for url in done.archive.page_urls)
    truth = done.web.truth()
    html = [url for url in done.archive.page_urls if url in truth]
    assert status["html_pages"] == len(html)
    assert status["hosts"] == done.web.hosts
    assert status["queued"] == status["in_flight"] == 0
    assert status["refused"]["robots_disallowed"] > 0
    assert status["failed"]["not_found"] > 0
    assert settled(status) == status["known_urls"]


def test_running_a_finished_crawl_again_asks_for_nothing(done: Done) -> None:
    before = len(done.server.requests())
    again = done.crawler.run().expect(0)
    assert again.last_json["finished"] is True
    assert len(done.server.requests()) == before


def test_why_of_an_archived_page(done: Done) -> None:
    found = done.crawler.why(done.web.url(3, "/"))
    assert found["state"] == "archived"
    assert found["canonical"] == done.web.url(3, "/")
    assert len(found["fingerprint"]) == 16
    assert found["shard"] == 0
    assert found["via"].startswith("http://")
    assert found["depth"] >= 1
    assert found["robots"]["allowed"] is True
    visit = found["visits"][-1]
    assert visit["status"] == 200
    assert (done.crawler.folder / "archive" / visit["file"]).stat().st_size > visit["offset"]


def test_why_understands_any_spelling(done: Done) -> None:
    url = done.web.url(0, "/").replace("http://h00", "HTTP://H00")
    found = done.crawler.why(url + "x/../#part")
    assert found["canonical"] == done.web.url(0, "/")
    assert found["state"] == "archived"


def test_why_of_a_redirect(done: Done) -> None:
    found = done.crawler.why(done.web.url(0, "/old/4"))
    assert (found["state"], found["target"]) == ("redirected", done.web.url(0, "/old/1"))


@pytest.mark.parametrize(("path", "reason"), [("/gone/404", "not_found"), ("/gone/410", "gone")])
def test_why_of_a_failure(path: str, reason: str, done: Done) -> None:
    found = done.crawler.why(done.web.url(0, path))
    assert (found["state"], found["reason"]) == ("failed", reason)
    assert found["via"] == done.web.url(0, "/")
    assert found["visits"][-1]["status"] == int(path[-3:])


def test_why_of_a_page_that_robots_forbids_names_the_line(done: Done) -> None:
    index = next(i for i in range(done.web.hosts) if done.web.catalog.site(i).robots == "disallow")
    found = done.crawler.why(done.web.url(index, "/private/ledger.html"))
    assert (found["state"], found["reason"]) == ("refused", "robots_disallowed")
    assert found["robots"]["allowed"] is False
    assert (found["robots"]["line"], found["robots"]["number"]) == ("Disallow: /private/", 2)
    assert found["via"] == done.web.url(index, "/")


def test_why_of_a_url_that_was_never_met(done: Done) -> None:
    found = done.crawler.why(done.web.url(0, "/never/heard/of"))
    assert found["state"] == "unknown"
    assert not found["visits"]


def test_why_speaks_english_too(done: Done) -> None:
    said = done.crawler.ask("why", done.web.url(0, "/gone/404")).expect(0).out
    assert "not_found" in said
    assert done.web.url(0, "/") in said


def test_show_gives_the_page_back(done: Done) -> None:
    url = done.web.url(0, "/")
    body = Judge(done.web).body(url)
    assert body is not None
    assert done.crawler.ask("show", url).expect(0).out == body.decode()
    assert done.web.token(0, 0) in done.crawler.say("show", url, "--text").expect(0).out
    assert done.crawler.say("show", url, "--headers").expect(0).out.startswith("HTTP/1.1 200")
    raw = done.crawler.say("show", url, "--raw").expect(0).out
    assert raw.startswith("HTTP/1.1 200")
    assert done.web.token(0, 0) in raw


def test_show_gives_a_copy_back_from_its_original(done: Done) -> None:
    truth = done.web.truth()
    copy = next(r.url for r in done.archive.revisits if r.url in truth)
    body = Judge(done.web).body(copy)
    assert body is not None
    shown = done.crawler.say("show", copy).expect(0).out
    assert shown.encode() == body
    assert done.crawler.why(copy)["copy_of"] in done.archive.page_urls


def test_show_of_what_is_not_stored_is_one_line_and_exit_1(done: Done) -> None:
    said = done.crawler.ask("show", done.web.url(0, "/never/heard/of"))
    assert said.expect(1).err.strip().count("\n") == 0


def test_a_crawl_is_a_folder_as_described(done: Done) -> None:
    folder = done.crawler.folder
    assert (folder / "crawl.toml").exists()
    assert (folder / "state" / "00").is_dir()
    kinds = {path.name.split("-")[0] for path in (folder / "archive").glob("*.gz")}
    assert kinds == {"pages", "text", "links"}
    lines = [
        line
        for path in (folder / "archive").glob("*.cdxj")
        for line in path.read_text().splitlines()
    ]
    rows = [json.loads(line.split(" ", 2)[2]) for line in lines]
    assert {row["url"] for row in rows} >= set(done.archive.page_urls)
