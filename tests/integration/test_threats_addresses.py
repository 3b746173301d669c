"""T1, T2, T5, T25, T26: however an address is written, what is forbidden is never connected to."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import gossamer
from gossamer.config import UrlConfig
from gossamer.errors import ConfigError
from gossamer.testing import ScriptedHost, ScriptedWeb
from gossamer.urls import BAD_PORTS, parse
from tests.integration.nameserver import naming
from tests.integration.raw import fetching
from tests.integration.threats import Done, crawl, serving, settings

LINES = (Path(__file__).parents[1] / "data" / "forbidden_hosts.txt").read_text().splitlines()
SPELLINGS = [line for line in LINES if line and not line.startswith("#")]
HOSTS = [line for line in SPELLINGS if not line.startswith("!")]
NO_HOSTS = [line[1:] for line in SPELLINGS if line.startswith("!")]
NAMES = {
    "loop4.evil.test": ["127.0.0.1"],
    "loop6.evil.test": ["::1"],
    "mapped.evil.test": ["::ffff:127.0.0.1"],
    "metadata.evil.test": ["169.254.169.254"],
    "nat64.evil.test": ["64:ff9b::7f00:1"],
    "several.evil.test": ["127.0.0.1", "10.0.0.1", "0.0.0.0", "::1"],
}
FORBIDDEN = ("refused", "private_address")


@dataclass
class Canary:
    """A listener on every address of this machine that only counts who comes."""

    port: int = 0
    came: list[str] = field(default_factory=list)

    def listen(self, line: socket.socket) -> None:
        while True:
            try:
                client, address = line.accept()
            except OSError:
                return
            self.came.append(str(address))
            client.close()


@contextmanager
def canary() -> Iterator[Canary]:
    line = socket.create_server(("", 0))
    if socket.has_dualstack_ipv6():
        line.close()
        line = socket.create_server(
            ("::", 0), family=socket.AF_INET6, dualstack_ipv6=True, backlog=512
        )
    bird = Canary(line.getsockname()[1])
    thread = threading.Thread(target=bird.listen, args=(line,), daemon=True)
    thread.start()
    try:
        yield bird
    finally:
        line.shutdown(socket.SHUT_RDWR)
        line.close()
        thread.join()


def found(status: int, headers: str) -> bytes:
    return f"HTTP/1.1 {status} X\r\n{headers}\r\nContent-Length: 0\r\n\r\n".encode()


@dataclass
class Lured:
    """One crawl that was led to every spelling in every way, and the canary it should not meet."""

    done: Done
    bird: Canary
    hub: ScriptedHost

    def lure(self, way: str, number: int) -> str:
        return f"http://{HOSTS[number]}:{self.bird.port}/{way}/{number}"

    def fates(self, way: str) -> set[tuple[str, str]]:
        lures = (parse(self.lure(way, number), UrlConfig()) for number in range(len(HOSTS)))
        rows = [self.done.records.get(url.text, {}) for url in lures if url is not None]
        assert len(rows) == len(HOSTS)
        return {(row.get("outcome", ""), row.get("reason", "")) for row in rows}


def sitemap(urls: list[str]) -> bytes:
    locations = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    return f"<urlset>{locations}</urlset>".encode()


@pytest.fixture(scope="module")
def lured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lured]:
    web = ScriptedWeb()
    hub = web.host("hub.test")
    with serving(web) as server, canary() as bird, naming(lambda name, _: NAMES.get(name)) as names:
        port = bird.port

        def lures(way: str) -> list[str]:
            return [f"http://{host}:{port}/{way}/{n}" for n, host in enumerate(HOSTS)]

        nonsense = [f"http://{host}:{port}/no/{n}" for n, host in enumerate(NO_HOSTS)]
        moved = [f"/moved/{number}" for number in range(len(HOSTS))]
        hub.page("/", links=[*lures("link"), *nonsense, *moved, "/last"])
        hub.page("/last", text="an honest page")
        for path, target in zip(moved, lures("redirect"), strict=True):
            hub.on(path, found(302, f"Location: {target}"))
        hub.robots("".join(f"Sitemap: {url}\n" for url in lures("robots")) + "Sitemap: /map.xml\n")
        hub.file("/map.xml", sitemap(lures("sitemap")), "application/xml")
        hub.file("/map.txt", "\n".join(lures("text")).encode(), "text/plain")
        hub.file("/sitemap.txt", "\n".join(lures("text")).encode(), "text/plain")
        hub.file("/seeded.xml", sitemap(lures("seeded")), "application/xml")
        seeds = [hub.url(), hub.url("/seeded.xml"), hub.url("/sitemap.txt"), *lures("seed")]
        knobs = {"fetch": {"nameservers": [names.address]}, "process": {"sitemaps": True}}
        done = crawl(server, tmp_path_factory.mktemp("ssrf") / "c", *seeds, knobs=knobs)
        yield Lured(done, bird, hub)


def test_the_list_of_spellings_is_long_enough() -> None:
    assert len(set(SPELLINGS)) >= 95


def test_no_spelling_of_a_forbidden_address_is_ever_connected_to(lured: Lured) -> None:
    assert lured.bird.came == []
    with socket.create_connection(("127.0.0.1", lured.bird.port)) as line:
        assert line.recv(1) == b""
    assert len(lured.bird.came) == 1, "the canary is deaf"
    assert lured.done.ending.reason == "finished"
    assert lured.done.asked[lured.hub.url("/last")] == 1


@pytest.mark.parametrize("way", ["link", "redirect", "robots", "seed", "seeded", "text"])
def test_why_says_that_the_address_is_private(way: str, lured: Lured) -> None:
    assert lured.fates(way) == {FORBIDDEN}
    told = lured.done.why(lured.lure(way, 0))
    assert (told["state"], told["reason"]) == FORBIDDEN
    assert "127.0.0.1 is loopback" in told["detail"]


def test_a_sitemap_that_nobody_vouched_for_names_its_own_host_only(lured: Lured) -> None:
    assert lured.fates("sitemap") == {("", "")}
    told = lured.done.why(lured.lure("sitemap", 0))
    assert (told["state"], told["reason"]) == ("refused", "not_followed")
    assert told["via"] == lured.hub.url("/map.xml")


def test_what_is_not_a_url_is_neither_queued_nor_a_seed(lured: Lured, tmp_path: Path) -> None:
    for host in NO_HOSTS:
        text = f"http://{host}:{lured.bird.port}/"
        assert lured.done.why(text)["reason"] == "not_a_url"
        with pytest.raises(ConfigError, match="is not a valid URL"):
            gossamer.Crawl(tmp_path / "c", [text], settings(lured.done.server)).run()
    assert not (tmp_path / "c").exists()


def test_the_same_spellings_of_an_allowed_address_are_fetched(tmp_path: Path) -> None:
    web = ScriptedWeb()
    web.host("127.0.9.1", "127.0.9.1").page("/1", text="1").page("/2", text="2").page("/3")
    with serving(web) as server:
        spelled = ("127.0.9.1", "2130708737", "0x7f.0.011.1")
        seeds = [f"http://{host}:{server.port}/{n}" for n, host in enumerate(spelled, 1)]
        done = crawl(server, tmp_path / "c", *seeds)
    assert {done.fate(url) for url in seeds} == {("archived", "")}


def test_a_private_network_is_closed_unless_it_is_opened(tmp_path: Path) -> None:
    web = ScriptedWeb()
    host = web.host("a.test").page("/")
    with serving(web) as server:
        closed = crawl(server, tmp_path / "1", host.url(), knobs={"fetch": {"allow_net": []}})
        assert not server.requests
        assert closed.fate(host.url()) == FORBIDDEN
        assert closed.ending.exit_code == 1
        other = {"fetch": {"allow_net": ["127.0.8.0/24", "10.0.0.0/8"]}}
        assert crawl(server, tmp_path / "2", host.url(), knobs=other).fate(host.url()) == FORBIDDEN
        assert not server.requests
        opened = {"fetch": {"allow_net": [], "allow_private": True}}
        done = crawl(server, tmp_path / "3", host.url(), knobs=opened)
        assert done.fate(host.url()) == ("archived", "")


@pytest.mark.slow
def test_a_name_that_changes_its_address_never_leads_to_a_forbidden_one(tmp_path: Path) -> None:
    web = ScriptedWeb()
    host = web.host("rebind.test", "127.0.9.1").page("/", links=["/1", "/2"]).page("/1")
    mixed = web.host("mixed.test", "127.0.9.1").page("/", text="from the address that is allowed")

    def zone(name: str, before: int) -> list[str] | None:
        if name == "mixed.test":
            return ["127.0.77.1", "127.0.9.1"]
        return ["127.0.9.1"] if before < 2 else ["127.0.77.1"]

    with serving(web) as server, naming(zone) as names:
        trap = socket.create_server(("127.0.77.1", server.port))
        trap.settimeout(0.0)
        knobs = {
            "fetch": {"nameservers": [names.address], "resolve": {}},
            "politeness": {"delay_s": 1.1, "address_delay_s": 0.0},
            "limits": {"max_time_s": 6.0},
        }
        done = crawl(server, tmp_path / "c", host.url(), mixed.url(), knobs=knobs)
        with pytest.raises(BlockingIOError):
            trap.accept()
        trap.close()
    assert names.asked.count("rebind.test") > 2
    assert done.fate(host.url()) == ("archived", "")
    assert {done.fate(host.url(path)) for path in ("/1", "/2")} == {FORBIDDEN}
    assert "127.0.77.1 is loopback" in done.why(host.url("/2"))["detail"]
    assert done.fate(mixed.url()) == ("archived", "")


def test_ports_of_other_services_are_refused_from_anywhere(tmp_path: Path) -> None:
    web = ScriptedWeb()
    hub = web.host("hub.test")
    ports = sorted(BAD_PORTS - {21})
    assert {22, 25, 6379, 11211, 6667, 10080} <= set(ports)
    links = [f"http://hub.test:{port}/link" for port in ports]
    moved = [f"/moved/{port}" for port in ports]
    hub.page("/", links=[*links, *moved, "http://hub.test:21/link", "/last"]).page("/last")
    for path, port in zip(moved, ports, strict=True):
        hub.redirect(path, to=f"http://hub.test:{port}/moved")
    with serving(web) as server:
        seeds = [hub.url(), *(f"http://hub.test:{port}/seed" for port in ports)]
        done = crawl(server, tmp_path / "c", *seeds)
        assert done.ending.status.refused == {"bad_port": 3 * len(ports) + 1}
        for port in (22, 25, 6379, 11211):
            for way in ("link", "moved", "seed"):
                assert done.fate(f"http://hub.test:{port}/{way}") == ("refused", "bad_port")
        assert done.asked[hub.url("/last")] == 1


async def test_a_private_address_in_front_does_not_hide_which_public_one_is_asked() -> None:
    shared = "93.184.215.14"
    async with fetching() as fetcher:
        assert fetcher.contacted(("10.0.0.1", shared)) == shared
        assert fetcher.contacted((shared, "10.0.0.1")) == shared
        assert fetcher.contacted(("10.0.0.1", "192.168.0.1")) == ""
        assert fetcher.contacted(()) == ""
