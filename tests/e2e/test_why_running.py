"""`gossamer why` of a running crawl says what it says of the same crawl when it has stopped."""

import re
from pathlib import Path

import pytest

from gossamer.testing import ScriptedWeb, serve_in_thread
from tests.e2e.crawler import Crawler, finish, flags_for, only_json, wait_until

LINKS = 300


def web() -> ScriptedWeb:
    """Return a site of many pages that links another one."""
    made = ScriptedWeb()
    links = [*(f"/{n}" for n in range(LINKS)), "http://elsewhere.test/x"]
    made.host("a.test").page("/", links=links)
    made.host("elsewhere.test").page("/x")
    return made


@pytest.mark.slow
@pytest.mark.parametrize("shards", ["1", "2"])
def test_why_says_the_same_of_a_running_crawl_as_of_a_stopped_one(
    tmp_path: Path, shards: str
) -> None:
    """Of a URL that was stored, that waits, that a filter refused, and that nobody has named."""
    with serve_in_thread(web()) as server:
        flags = flags_for(
            server.resolve, "--no-sitemaps", "--shards", shards, "--delay", "0.3", "--scope", "host"
        )
        home = server.web.host("a.test").url()
        crawler = Crawler(tmp_path / "crawl", (home,), flags)
        elsewhere = home.replace("a.test", "elsewhere.test")
        urls = (
            home,
            f"{home}{LINKS - 1}",
            "http://elsewhere.test/x",
            f"{elsewhere}never",
            "mailto:a@b",
        )

        def told() -> list[tuple[object, ...]]:
            found = [only_json(crawler.say("why", url, "--json").expect(0)) for url in urls]
            names = ("state", "reason", "detail", "via", "depth", "kind", "explanation")
            said = [tuple(one.get(name) for name in names) for one in found]
            return [(*rest, re.sub(r" Its host waits.*", "", str(last))) for *rest, last in said]

        with crawler.running() as process:
            socket = crawler.folder / "control.sock"
            wait_until(lambda: socket.exists() and crawler.status()["pages"] >= 1, process)
            crawler.say("pause").expect(0)
            while_it_runs = told()
            crawler.say("stop").expect(0)
            finish(process)
        assert while_it_runs == told()
        assert while_it_runs[2][:4] == ("refused", "off_scope", while_it_runs[2][2], home)
