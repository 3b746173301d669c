"""The task table: every known URL once, with what a table of a database server would say of it."""

from pathlib import Path

import gossamer
from gossamer import Seed
from gossamer.testing import ScriptedWeb
from tests.integration.threats import serving, settings


def test_every_known_url_is_in_the_table_once_and_as_why_tells_it(tmp_path: Path) -> None:
    web = ScriptedWeb()
    host = web.host("a.test").page("/", links=[f"/{number}" for number in range(30)])
    for number in range(29):
        host.page(f"/{number}", links=["/moved", f"/{number}/below"])
    host.robots("User-agent: *\nDisallow: /7\n").redirect("/moved", to="/0")
    knobs = {"limits": {"max_pages": 20}, "frontier": {"labels": {"x": 2}}}
    with serving(web) as server:
        crawl = gossamer.Crawl(tmp_path / "c", [Seed(host.url(), "x")], settings(server, knobs))
        crawl.run()
        opened = gossamer.open(tmp_path / "c")
        rows = {row.url: row for row in opened.tasks()}
        assert len(list(opened.tasks())) == len(rows) == opened.status().known_urls
        for url, row in rows.items():
            why = opened.why(url)
            told = (row.state, row.depth, row.via, row.kind, row.labels.split(","))
            assert told == (why.state, why.depth, why.via, why.kind, why.labels), url
            assert row.host == "a.test"
        states = {row.state for row in rows.values()}
        assert {"archived", "refused"} <= states
        waiting = [row for row in rows.values() if row.state in {"queued", "leased"}]
        assert waiting
        assert all(row.available_at is not None and row.fetched_at is None for row in waiting)
        assert {row.priority for row in waiting if row.state == "queued"} <= {8, 9}
        crawl = gossamer.Crawl(tmp_path / "c", (), settings(server))
        crawl.run()
        rows = {row.url: row for row in opened.tasks()}
        assert {row.state for row in rows.values()} == {
            "archived",
            "refused",
            "redirected",
            "failed",
        }
        failed = rows[host.url("/29")]
        assert (failed.reason, failed.status, failed.available_at) == ("not_found", 404, None)
