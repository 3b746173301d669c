"""Details of a page and its stored copy, as a browser has them; and the log of queries."""

import json
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer import OpenCrawl, QueryLog
from gossamer.cli.main import exit_code
from gossamer.store import scanning
from tests.browser.site import HARM_PATH, LIVE_PATH, SCRIPT, crawl
from tests.unit.web.indexed import indexed, spider
from tests.unit.web.served import Served, serving
from tests.unit.web.test_web_answers import Tags

pytestmark = pytest.mark.slow  # each test serves a crawl or an index of its own


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(crawl(tmp_path_factory.mktemp("crawled") / "spiders")) as running:
        yield running


@pytest.fixture(scope="module")
def urls(server: Served) -> dict[str, str]:
    """Return the URLs of the site by their paths."""
    found = [page.url for page in OpenCrawl(server.folder).pages()]
    return {f"/{url.split('/', 3)[3]}": url for url in found}


def test_details_say_what_is_known_and_who_links_here(server: Served, urls: dict[str, str]) -> None:
    page = server.ask("/page", url=urls["/spiders/3.html"])
    assert page.status == 200
    assert "archived" in page.text
    assert "Linked from 1 page" in page.text
    assert "Found on" in page.text
    assert "/copy?url=" in page.text
    assert "0 (a seed)" in server.ask("/page", url=urls["/"]).text


def test_of_a_url_that_nobody_knows_the_details_say_so(server: Served) -> None:
    for _ in range(100):
        found = server.ask("/page", url="http://nowhere.test/x")
        if "being looked for" not in found.text:
            break
        time.sleep(0.1)
    assert found.status == 404
    assert "not_wanted" in found.text
    assert server.ask("/page", url="not a url").status == 404
    assert server.get("/page").status == 400
    assert server.ask("/copy", url="http://nowhere.test/x").status == 404
    assert server.get("/copy").status == 400


def test_the_stored_text_is_text(server: Served, urls: dict[str, str]) -> None:
    for path in ("/spiders/3.html", HARM_PATH, LIVE_PATH):
        page = server.ask("/copy", url=urls[path])
        assert page.status == 200
        found = Tags()
        found.feed(page.text)
        assert not found.names & {"script", "iframe", "object", "base", "style", "img", "form"}
        assert not {name for name in found.attributes if name.startswith("on") or name == "style"}
        assert not set(page.text) & set("\u202e\u2066\x07")
    assert "spins silk" in server.ask("/copy", url=urls["/spiders/3.html"]).text


def test_the_source_is_plain_text_and_a_stored_page_can_do_nothing(
    server: Served, urls: dict[str, str]
) -> None:
    source = server.ask("/copy", url=urls[LIVE_PATH], form="source")
    assert source.headers["content-type"].startswith("text/plain")
    assert source.headers["x-content-type-options"] == "nosniff"
    assert "<script>" in source.text
    page = server.ask("/copy", url=urls[LIVE_PATH], form="page")
    assert page.headers["content-type"].startswith("text/html")
    assert "http://elsewhere.test" not in page.text  # what it refers to comes from the archive
    assert "<h1>A scorpion</h1>" in page.text
    for answer in (source, page):
        policy = [part.strip() for part in answer.headers["content-security-policy"].split(";")]
        assert "sandbox" in policy
        assert "default-src 'none'" in policy
        assert not any(part.startswith(("script-src", "connect-src")) for part in policy)


@pytest.mark.parametrize(
    "query",
    ["form=exe", "edition=0", "edition=x", "edition=99", "form=page&edition=1"],
)
def test_what_cannot_be_had_is_told_and_no_error_of_ours(
    server: Served, urls: dict[str, str], query: str
) -> None:
    found = server.get(f"/copy?url={urls['/']}&{query}")
    assert found.status == (200 if query.endswith("=1") else 400)


def test_an_index_that_was_not_crawled_here_has_no_copies(tmp_path: Path) -> None:
    with serving(indexed(tmp_path, spider(1)), "--no-build") as others:
        assert others.ask("/copy", url="http://h1.test/1").status == 404
        assert others.ask("/page", url="http://h1.test/1").status == 404
        assert "not crawled here" in others.ask("/page", url="http://h1.test/1").text
        assert "/copy?" not in others.ask("/search", q="spider").text


def test_text_and_title_of_every_page_are_found_by_bisection(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "_SEARCHED_BYTES", 256)
    opened = OpenCrawl(server.folder)
    pages = list(opened.pages())
    assert len(pages) > 30
    for page in pages:
        again = opened.page(page.url)
        assert again is not None
        assert (again.title, again.text()) == (page.title, page.text())


def test_without_being_told_to_nothing_is_logged(server: Served) -> None:
    server.ask("/search", q="spider")
    assert not (server.folder / "queries.jsonl").exists()


def test_a_server_that_is_told_to_keeps_queries_and_nothing_of_who_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = indexed(tmp_path, *map(spider, range(30)))
    with serving(folder, "--no-build", "--query-log") as logging:
        agent = {"User-Agent": "AGENT", "Referer": "REFERRER", "Cookie": "COOKIE=1"}
        assert logging.get("/search?q=spider", **agent).status == 200
        assert logging.get("/search?q=spider&page=2", **agent).status == 200
        assert logging.get("/api/search?q=zebra", **agent).status == 200
        assert logging.get("/search?q=spidder", **agent).status == 200
    log = folder / "queries.jsonl"
    text = log.read_text()
    rows = [json.loads(line) for line in text.splitlines()]
    assert [row["query"] for row in rows] == ["spider", "spider", "zebra", "spidder"]
    assert [row["total"] for row in rows] == [30, 30, 0, 0]
    assert (rows[1]["page"], rows[3]["corrected"]) == (2, "spider")
    assert {name for row in rows for name in row} <= {
        *("at", "query", "total", "took_ms", "page", "corrected"),
    }
    assert not any(word in text for word in ("127.0.0.1", "AGENT", "REFERRER", "COOKIE"))
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert exit_code(["search", str(folder), "--log-report", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [one["query"] for one in report["empty"]] == ["spidder", "zebra"]
    assert (report["queries"], report["without_results"]) == (3, 2)
    assert exit_code(["search", str(folder), "--log-report"]) == 0
    told = capsys.readouterr().out
    assert told.index("Without results") < told.index("zebra") < told.index("Most frequent")


def test_a_log_that_cannot_be_written_costs_no_answer(tmp_path: Path) -> None:
    folder = indexed(tmp_path, spider(1))
    (folder / "queries.jsonl").mkdir()
    with serving(folder, "--no-build", "--query-log") as logging:
        assert logging.ask("/api/search", q="spider").json["total"] == 1
        assert logging.ask("/search", q="spider").status == 200


def test_the_search_command_logs_only_when_it_is_told_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = indexed(tmp_path, spider(1))
    assert exit_code(["search", str(folder), "spider", "--no-build"]) == 0
    assert not (folder / "queries.jsonl").exists()
    assert exit_code(["search", str(folder), "spider", "--no-build", "--query-log"]) == 0
    assert QueryLog(folder).report().queries == 1
    assert exit_code(["search", str(folder), "--log-report", "words"]) == 2
    assert exit_code(["search", str(folder)]) == 2
    assert exit_code(["search", "http://127.0.0.1:9", "--log-report"]) == 2
    capsys.readouterr()


def test_facets_are_told_in_words_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = indexed(tmp_path, *map(spider, range(30)))
    assert exit_code(["search", str(folder), "spider", "--no-build", "--facets"]) == 0
    told = capsys.readouterr().out
    assert "h0.test 5 · h1.test 5" in told
    assert "language  en 30" in told
    assert "year      2027 30" in told
    assert exit_code(["search", str(folder), "spidder", "--no-build"]) == 0
    assert "Nothing was found for spidder" in capsys.readouterr().out


def test_the_title_of_a_copy_is_shown_as_it_was_written(
    server: Served, urls: dict[str, str]
) -> None:
    assert (
        SCRIPT.replace("<", "&lt;").replace(">", "&gt;").replace("'", "&#x27;")
        in server.ask("/copy", url=urls[HARM_PATH]).text
    )
