"""Hosts that are down: what is told of them, and how a crawl ends that has nothing else left."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.e2e.archive import read_archive
from tests.e2e.crawler import Crawler, write_knobs

NET = ("--allow-net", "127.0.0.0/8", "--delay", "0.05", "--scope", "any", "--allow", "*.test")


class Site(BaseHTTPRequestHandler):
    """Ten pages that link to each other."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        is_page = self.path == "/" or self.path.startswith("/p")
        links = "".join(f'<a href="/p{number}">{number}</a>' for number in range(10))
        body = f"<title>{self.path}</title><p>This is {self.path} of our site.</p>{links}".encode()
        self.send_response(200 if is_page else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        """Say nothing."""


@contextmanager
def serving(port: int = 0) -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", port), Site) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.mark.slow
@pytest.mark.parametrize("shards", ["1", "2"])
def test_a_crawl_of_ones_own_dead_server_says_so_and_ends(shards: str, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}/"
    crawler = Crawler(tmp_path / "crawl", (url,), ("--allow-net", "127.0.0.0/8"))
    ended = crawler.run("--shards", shards).expect(1)
    assert "Connection refused" in ended.err
    assert "waiting" in ended.err
    assert ended.last_json["failed"] == {"connect_failed": 1}, "the guess at a sitemap is none"


@pytest.mark.slow
@pytest.mark.parametrize("shards", ["1", "2"])
def test_hosts_that_died_are_waited_for_and_the_same_command_goes_on(
    shards: str, tmp_path: Path
) -> None:
    knobs = write_knobs(tmp_path / "knobs.toml", {"outage": {"wait_at_end_s": 3.0}})
    with serving() as port:
        url = f"http://a.test:{port}/"
        flags = (*NET, "--resolve", "a.test:127.0.0.1", "--shards", shards)
        crawler = Crawler(tmp_path / "crawl", (url,), flags)
        crawler.run("--max-pages", "3", "--config", str(knobs)).expect(0)
    ended = crawler.run("--max-pages", "99").expect(0)
    status = ended.last_json
    assert (status["finished"], status["reason"]) == (False, "parked")
    assert (status["parked"], status["parked_hosts"]) == (status["queued"], 1)
    assert status["parked"] > 0
    assert "goes on" in ended.err
    with serving(port):
        assert crawler.run("--max-pages", "99").expect(0).last_json["finished"] is True
    stored = read_archive(crawler.folder).page_urls
    assert stored.total() == len(stored) == 11
