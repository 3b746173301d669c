"""`[fetch] method = "head"`: headers first, pages only where that fails, one request at a time."""

from pathlib import Path

import pytest

from gossamer import Crawl
from gossamer.store import CrawlFolder, iter_links, iter_pages
from gossamer.testing import ScriptedWeb, html_response, smallest_gap
from tests.integration.threats import serving, settings

HEAD = {"fetch": {"method": "head", "retries": 1}, "filter": {"max_depth": 0}}


def test_a_page_that_answers_head_is_stored_without_a_body(tmp_path: Path) -> None:
    web = ScriptedWeb()
    site = web.host("a.test").page("/", text="words", links=["/b"])
    with serving(web) as server:
        assert Crawl(tmp_path / "c", [site.url("/")], settings(server, HEAD)).run().is_finished
    asked = [one.method for one in server.requests if one.target == "/"]
    assert asked == ["HEAD"]
    folder = CrawlFolder(tmp_path / "c")
    (page,) = (
        page
        for name in folder.archive_names(kind="pages")
        for page in iter_pages(folder.archive / name.file_name)
        if page.url == site.url("/")
    )
    assert (page.status, page.payload) == (200, b"")
    (record,) = (one for _, one in iter_links(folder) if one.outcome == "fetched")
    assert (record.status, record.links) == (200, [])


@pytest.mark.parametrize("status", [403, 404, 405, 500, 501])
def test_a_server_that_knows_no_head_is_asked_again_by_get_after_the_gap(
    tmp_path: Path, status: int
) -> None:
    web = ScriptedWeb()
    web.host("a.test").on(
        "/", lambda asked: html_response("x", status=200 if asked.method == "GET" else status)
    )
    knobs = {**HEAD, "politeness": {"delay_s": 0.3}}
    with serving(web) as server:
        seeds = [web.host("a.test").url("/")]
        ending = Crawl(tmp_path / "c", seeds, settings(server, knobs)).run()
    assert ending.reason == "finished"
    assert [one.method for one in server.requests if one.target == "/"] == ["HEAD", "GET"]
    assert smallest_gap(server.requests) >= 0.28
    assert [one.outcome for _, one in iter_links(CrawlFolder(tmp_path / "c"))][-1] == "fetched"


def test_a_head_of_a_chunked_and_compressed_answer_is_whole(tmp_path: Path) -> None:
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n"
        b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    web = ScriptedWeb()
    web.host("a.test").on("/", head)
    with serving(web) as server:
        seeds = [web.host("a.test").url("/")]
        Crawl(tmp_path / "c", seeds, settings(server, HEAD)).run()
    records = [one for _, one in iter_links(CrawlFolder(tmp_path / "c")) if one.url == seeds[0]]
    assert (records[-1].outcome, records[-1].oddities) == ("fetched", ())
