"""`gossamer crawl --serve`: the console beside a crawl, and nothing of it afterwards."""

import json
import socket
import urllib.request
from pathlib import Path

import pytest

from gossamer.testing import ScriptedWeb, serve_in_thread
from tests.e2e.crawler import Crawler, finish, flags_for, wait_until


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        found: int = one.getsockname()[1]
    return found


def live(port: int) -> dict[str, str] | None:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/crawl/live", timeout=60) as answer:
            found: dict[str, str] = json.loads(answer.read())
    except OSError:
        return None
    return found


@pytest.mark.slow
def test_a_crawl_serves_its_console_while_it_runs(tmp_path: Path) -> None:
    with serve_in_thread(ScriptedWeb()) as server:
        site = server.web.host("a.test").page("/", links=[f"/{n}" for n in range(50)])
        for number in range(50):
            site.page(f"/{number}", text=str(number))
        flags = flags_for(server.resolve, "--delay", "1", "--no-sitemaps", "--shards", "1")
        crawler = Crawler(tmp_path / "crawl", (site.url(),), flags)
        port = free_port()
        process = crawler.start("--serve", "--serve-port", str(port))
        assert wait_until(lambda: live(port) is not None, process)
        assert wait_until(lambda: int((live(port) or {"pages": "0"})["pages"]) > 0, process)
        crawler.say("stop").expect(0)
        ended = finish(process).expect(3)
    assert f"console: http://127.0.0.1:{port}/crawl" in ended.err
    assert live(port) is None


@pytest.mark.slow
def test_a_port_that_is_taken_costs_the_console_and_not_the_crawl(tmp_path: Path) -> None:
    with serve_in_thread(ScriptedWeb()) as server, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        site = server.web.host("a.test").page("/", links=[f"/{n}" for n in range(200)])
        for number in range(200):
            site.page(f"/{number}", text=str(number))
        flags = flags_for(server.resolve, "--delay", "0.5", "--no-sitemaps", "--shards", "1")
        crawler = Crawler(tmp_path / "crawl", (site.url(),), flags)
        port = str(taken.getsockname()[1])
        process = crawler.start("--serve", "--serve-port", port, is_fresh=True)
        errors = process.stderr  # type: ignore[union-attr]  # a fresh process has one
        assert errors is not None
        told = ""
        for line in errors:
            told += line
            if "the console has ended" in line:
                break
        assert f"--port {port}: Address already in use" in told
        crawler.say("stop").expect(0)
        finish(process).expect(3)


def test_a_port_that_is_none_is_refused(tmp_path: Path) -> None:
    crawler = Crawler(tmp_path / "crawl", ("http://a.test/",), ())
    told = crawler.run("--serve", "--serve-port", "many").expect(2).err
    assert "--serve-port: expected a port from 1 to 65535" in told
