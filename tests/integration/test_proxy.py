"""Crawls through a proxy: it alone resolves names, and the guard looks at what URLs say."""

import re
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import gossamer
from gossamer.cli.main import exit_code
from gossamer.config import Config, FetchConfig, FilterConfig, LimitsConfig, PolitenessConfig
from tests.integration.nameserver import naming

HIDDEN = ("http://10.1.2.3/", "http://[::1]/", "http://localhost/", "http://a.localhost/")
LINKS = "".join(f"<a href='{url}'>x</a>" for url in ("http://b.invalid/", "/two", *HIDDEN))


class ProxyTalk(socketserver.StreamRequestHandler):
    """Answers every request as if it had been passed on."""

    server: "Proxy"

    def handle(self) -> None:
        while (line := self.rfile.readline()).strip():
            while self.rfile.readline().strip():
                pass
            self._answer(line)

    def _answer(self, line: bytes) -> None:
        url = line.split()[1].decode()
        self.server.asked.append(url)
        is_robots = url.endswith("/robots.txt")
        kind, body = ("text/plain", "") if is_robots else ("text/html", f"<p>{url}</p>{LINKS}")
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        self.wfile.write((head + body).encode())


class SocksTalk(ProxyTalk):
    """A SOCKS5 proxy: it notes what it is told to connect to, then answers itself."""

    def handle(self) -> None:
        _version, methods = self.rfile.read(2)
        self.rfile.read(methods)
        self.wfile.write(b"\x05\x00")
        head = self.rfile.read(4)
        is_name = head[3] == 3
        told = self.rfile.read(self.rfile.read(1)[0]) if is_name else self.rfile.read(4)
        self.rfile.read(2)
        self.server.told.append(told.decode() if is_name else "an address")
        self.wfile.write(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50")
        super().handle()


class Proxy(socketserver.ThreadingTCPServer):
    """A proxy on loopback, with the URLs that it was asked for."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, talk: type[ProxyTalk]) -> None:
        super().__init__(("127.0.0.1", 0), talk)
        self.asked: list[str] = []
        self.told: list[str] = []

    @property
    def port(self) -> int:
        return int(self.server_address[1])


@contextmanager
def proxying(talk: type[ProxyTalk] = ProxyTalk) -> Iterator[Proxy]:
    with Proxy(talk) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()


def settings(fetch: FetchConfig) -> Config:
    return Config(
        fetch=fetch,
        politeness=PolitenessConfig(delay_s=0.0),
        filter=FilterConfig(scope="any"),
        limits=LimitsConfig(max_time_s=60.0),
    )


def pages_of(asked: list[str]) -> set[str]:
    return {url for url in asked if not re.search(r"/(robots\.txt|sitemap.*)$", url)}


def test_names_are_resolved_by_the_proxy_alone(tmp_path: Path) -> None:
    with naming(lambda _name, _times: None) as names, proxying() as proxy:
        fetch = FetchConfig(
            proxy=f"http://127.0.0.1:{proxy.port}", nameservers=(names.address,), allow_net=()
        )
        ending = gossamer.Crawl(tmp_path, ["http://a.invalid/"], settings(fetch)).run()
        assert names.asked == []
    assert ending.reason == "finished"
    wanted = {"http://a.invalid/", "http://a.invalid/two", "http://b.invalid/"}
    assert pages_of(proxy.asked) == wanted | {"http://b.invalid/two"}
    for url in HIDDEN:
        why = gossamer.why(tmp_path, url)
        assert (why.state, why.reason) == ("refused", "private_address"), url


def test_what_the_user_allowed_goes_through_the_proxy(tmp_path: Path) -> None:
    with proxying() as proxy:
        fetch = FetchConfig(proxy=f"http://127.0.0.1:{proxy.port}", allow_net=("10.1.2.0/24",))
        gossamer.Crawl(tmp_path, ["http://10.1.2.3/"], settings(fetch)).run()
    assert "http://10.1.2.3/two" in proxy.asked
    assert gossamer.why(tmp_path, "http://localhost/").reason == "private_address"


@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
def test_a_socks_proxy_is_told_the_name(scheme: str, tmp_path: Path) -> None:
    with proxying(SocksTalk) as proxy:
        fetch = FetchConfig(proxy=f"{scheme}://127.0.0.1:{proxy.port}")
        gossamer.Crawl(tmp_path, ["http://a.invalid/"], settings(fetch)).run()
    assert set(proxy.told) == {"a.invalid", "b.invalid"}
    assert "/two" in proxy.asked


def test_the_command_says_what_the_guard_cannot_see(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with proxying() as proxy:
        words = ["crawl", "http://a.invalid/", "--into", str(tmp_path / "c"), "--delay", "0"]
        words += ["--proxy", f"http://127.0.0.1:{proxy.port}", "--max-time", "60", "--shards", "1"]
        assert exit_code(words) == 0
    assert "host names are resolved by the proxy" in capsys.readouterr().err
