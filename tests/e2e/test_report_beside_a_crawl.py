"""`report` and `copies --of` are asked of a crawl that runs: they tell what was committed."""

from pathlib import Path

from gossamer.testing import ScriptedWeb, serve_in_thread
from tests.e2e.crawler import Crawler, flags_for, only_json, wait_until
from tests.unit.dedupe.prose import prose


def test_a_crawl_that_runs_is_reported_on(tmp_path: Path) -> None:
    web = ScriptedWeb()
    host = web.host("a.test").page("/", links=[f"/{n}" for n in range(200)], title="Start")
    for n in range(200):
        host.page(f"/{n}", text=" ".join(prose(n, 120)), title=f"Page {n}")
    given = tmp_path / "given.txt"
    given.write_text(" ".join(prose(0, 120)))
    with serve_in_thread(web) as server:
        flags = flags_for(server.resolve, "--delay", "0.2", "--no-sitemaps", "--shards", "1")
        crawler = Crawler(tmp_path / "crawl", (host.url(),), flags)
        with crawler.running() as process:
            control = crawler.folder / "control.sock"
            assert wait_until(lambda: control.exists() and crawler.status()["pages"] > 4, process)
            before = crawler.status()["pages"]
            told = only_json(crawler.say("report", "--json"))
            after = crawler.status()["pages"]
            assert told["running"]
            assert before <= told["pages"] <= after
            assert told["queued"] > 0
            copies = only_json(crawler.say("copies", "--of", str(given), "--json"))
            assert [one["url"] for one in copies["copies"]] == [host.url("/0")]
