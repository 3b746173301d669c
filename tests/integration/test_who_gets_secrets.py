"""Who gets a secret: by the logs of servers that speak http and https on each of two ports.

Every origin links and redirects to every other. A row says how a crawl is started and which origins
may see the secret; all of them are asked. Afterwards the secret is looked for in all that is left.
"""

import contextlib
import gzip
import re
import socket
import ssl
import threading
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from pathlib import Path
from time import monotonic
from zipfile import ZipFile

import pytest

import gossamer
from gossamer.testing import make_certificate
from tests.e2e.crawler import GOSSAMER, Ended, finish, say, spawn

ADDRESS = "127.0.9.6"
SECRET = "S3CRETT0KEN"
NAMES = {
    "A": ("http", "a.test", 0),
    "S": ("https", "a.test", 0),
    "W": ("http", "www.a.test", 0),
    "V": ("https", "www.a.test", 0),
    "Q": ("http", "a.test", 1),
    "U": ("http", "sub.a.test", 0),
    "B": ("http", "b.test", 0),
    "C": ("https", "b.test", 0),
}
HOSTS = sorted({host for _, host, _ in NAMES.values()})
_OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b"
_MOVED = b"HTTP/1.1 302 Found\r\nLocation: %b\r\nContent-Length: 0\r\n\r\n"
_ENDS = (b"\r\n", b"")
_GONE = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


@dataclass
class Origins:
    """Servers of all origins, and what they were sent."""

    tls: ssl.SSLContext
    listeners: list[socket.socket] = field(default_factory=list)
    log: list[tuple[str, bytes]] = field(default_factory=list)
    """The letter of the origin, and the head of the request."""
    times: list[tuple[str, float]] = field(default_factory=list)

    def url(self, letter: str, path: str = "/") -> str:
        scheme, host, port = NAMES[letter]
        return f"{scheme}://{host}:{self.ports[port]}{path}"

    @property
    def ports(self) -> list[int]:
        return [one.getsockname()[1] for one in self.listeners]

    def carried(self, words: bytes = SECRET.encode()) -> str:
        """Return the origins that were sent the words, with every request; all were asked."""
        found = {
            letter: [words in head for one, head in self.log if one == letter] for letter in NAMES
        }
        assert all(found.values()), {letter: len(heads) for letter, heads in found.items()}
        assert all(len(set(heads)) == 1 for heads in found.values()), found
        return "".join(letter for letter in NAMES if any(found[letter]))

    def listen(self, line: socket.socket) -> None:
        while True:
            try:
                client, _ = line.accept()
            except OSError:
                return
            threading.Thread(target=self.talk, args=(client,), daemon=True).start()

    def talk(self, client: socket.socket) -> None:
        client.settimeout(30.0)
        with contextlib.suppress(OSError, ValueError), client:
            is_tls = client.recv(1, socket.MSG_PEEK) == b"\x16"
            port = self.ports.index(client.getsockname()[1])
            line = self.tls.wrap_socket(client, server_side=True) if is_tls else client
            with line, line.makefile("rb") as reader:
                while head := b"".join(takewhile(lambda text: text not in _ENDS, reader)):
                    line.sendall(self.answer("https" if is_tls else "http", port, head))

    def answer(self, scheme: str, port: int, head: bytes) -> bytes:
        host = re.search(rb"(?i)\r\nhost: ([^:\r]+)", head)
        target = head.split(b" ")[1].decode()
        if host is None:
            return _GONE
        known = {where: letter for letter, where in NAMES.items()}
        letter = known.get((scheme, host[1].decode(), port), "?")
        self.log.append((letter, head))
        self.times.append((letter, monotonic()))
        if target.startswith("/to/"):
            return _MOVED % self.url(target[-1], f"/from/{letter}").encode()
        if target == "/robots.txt":
            return _GONE
        links = [self.url(other, "/page") for other in NAMES] if target == "/" else []
        links += [f"/to/{other}" for other in NAMES] if target in {"/", "/page"} else []
        body = "".join(f'<a href="{link}">x</a>' for link in links) + f"{letter} {target}"
        return _OK % (len(body), body.encode())


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    made = make_certificate(tmp_path_factory.mktemp("tls"), HOSTS)
    if made is None:
        pytest.skip("there is no openssl command here")
    return made.file, made.context()


@pytest.fixture
def origins(certificate: tuple[Path, ssl.SSLContext]) -> Iterator[Origins]:
    web = Origins(certificate[1])
    web.listeners += [socket.create_server((ADDRESS, 0), backlog=256) for _ in range(2)]
    for line in web.listeners:
        threading.Thread(target=web.listen, args=(line,), daemon=True).start()
    try:
        yield web
    finally:
        for line in web.listeners:
            line.shutdown(socket.SHUT_RDWR)
            line.close()


@dataclass
class Runs:
    """Commands on one folder, and all that they said."""

    folder: Path
    environment: pytest.MonkeyPatch
    said: list[str] = field(default_factory=list)

    def crawl(self, *words: str, code: int = 0) -> Ended:
        flags = ["--into", str(self.folder), "--allow-net", f"{ADDRESS}/32", "--delay", "0"]
        flags += ["--scope", "any", "--no-sitemaps", "--max-time", "120", "--verbose"]
        resolve = [word for host in HOSTS for word in ("--resolve", f"{host}:{ADDRESS}")]
        shards = [] if "--shards" in words else ["--shards", "1"]
        return self.run("crawl", *words, *flags, *resolve, *shards, code=code)

    def run(self, *words: str, code: int = 0) -> Ended:
        """Run a command; in this process, unless it has to fork."""
        forks = words[0] == "watch" or ("2" in words and "--shards" in words)
        ended = finish(spawn([GOSSAMER, *words])) if forks else say(*words)
        self.said += [ended.expect(code).out, ended.err]
        return ended

    def expect_no_trace(self, origins: Origins, words: str = SECRET) -> None:
        """Look for a secret in every file but its own, and in all that was said."""
        for url in (origins.url("A"), origins.url("B"), origins.url("A", "/to/B")):
            for more in ((), ("--json",)):
                self.run("why", str(self.folder), url, *more)
        self.run("status", str(self.folder), "--json")
        self.run("show", str(self.folder), origins.url("A", "/page"), "--raw")
        found = [path for path, content in contents(self.folder) if words.encode() in content]
        assert [path for path in found if path.name != "secrets.toml"] == []
        assert [text for text in self.said if words in text] == []
        for path in found:
            assert path.stat().st_mode & 0o777 == 0o600


def contents(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Give every file of a folder with its bytes; packed ones also unpacked."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path, path.read_bytes()
        if path.suffix == ".gz":
            with gzip.open(path) as file:
                yield path, file.read()


@pytest.fixture
def runs(
    tmp_path: Path, certificate: tuple[Path, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch
) -> Runs:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    return Runs(tmp_path / "c", monkeypatch)


TOKEN = ("--header", f"X-Token: {SECRET}")
BEARER = ("--header", f"Authorization: Bearer {SECRET}")
ROWS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "http goes up to https and to www": ("A", TOKEN, "ASWV"),
    "https does not go down": ("S", TOKEN, "SV"),
    "www goes to the bare name": ("W", BEARER, "ASWV"),
    "www by https does not go down": ("V", TOKEN, "SV"),
    "another port is another server": ("Q", TOKEN, "Q"),
    "a subdomain is another host": ("U", BEARER, "U"),
    "two hosts of one domain": ("AU", BEARER, "ASWVU"),
    "a harmless one for two domains": (
        "AB",
        ("--header", f"Accept-Language: {SECRET}"),
        "ASWVBC",
    ),
    "everywhere": ("A", (*TOKEN, "--header-everywhere"), "ASWVQUBC"),
    "everywhere for two domains": ("AB", (*BEARER, "--header-everywhere"), "ASWVQUBC"),
    "two shards": ("A", (*TOKEN, "--shards", "2"), "ASWV"),
    "a cookie": ("S", ("--header", f"Cookie: c={SECRET}", "--cookies"), "SV"),
}


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS)
def test_a_header_goes_to_the_hosts_of_its_seeds_and_nowhere_else(
    origins: Origins, runs: Runs, row: str
) -> None:
    seeds, flags, expected = ROWS[row]
    runs.crawl(*(origins.url(letter) for letter in seeds), *flags)
    # Links and redirects led from everywhere to everywhere.
    ways = {(one, head.split(b" ")[1]) for one, head in origins.log}
    assert {(one, f"/from/{other}".encode()) for one in NAMES for other in NAMES} <= ways
    assert {(one, b"/robots.txt") for one in NAMES} <= ways
    assert origins.carried() == expected
    if "Accept-Language" not in flags[1]:
        runs.expect_no_trace(origins)
        redacted = sum(
            content.count(b"WARC-Redacted-Headers: ") for _, content in contents(runs.folder)
        )
        pages = [head for _, head in origins.log if not head.startswith(b"GET /robots.txt")]
        assert redacted == sum(SECRET.encode() in head for head in pages) > 0
        assert any(b": ***\r\n" in content for _, content in contents(runs.folder))


@pytest.mark.slow
@pytest.mark.parametrize("header", ["Authorization: x", "Cookie: x", "X-Unknown: x"])
def test_what_may_be_secret_is_refused_for_two_domains_before_anything_is_done(
    origins: Origins, runs: Runs, header: str
) -> None:
    ended = runs.crawl(origins.url("A"), origins.url("B"), "--header", header, code=2)
    assert ended.err.count("\n") == 1
    assert "would be sent to 2 sites (a.test, b.test)" in ended.err
    assert '[host."a.test"]' in ended.err
    assert not origins.log
    assert not runs.folder.exists()


@pytest.mark.slow
def test_hosts_that_are_added_later_get_nothing_and_a_resumed_crawl_sends_it_again(
    origins: Origins, runs: Runs
) -> None:
    runs.crawl(origins.url("A"), *TOKEN)
    assert origins.carried() == "ASWV"
    origins.log.clear()
    folder = str(runs.folder)
    runs.run("add", folder, *(origins.url(letter, "/added") for letter in NAMES))
    runs.crawl()
    assert origins.carried() == "ASWV"
    origins.log.clear()
    # The same again, with the new hosts among the seeds of crawl.toml.
    runs.run("add", folder, *(origins.url(letter, "/again") for letter in NAMES))
    runs.crawl("--shards", "2")
    assert origins.carried() == "ASWV"
    origins.log.clear()
    runs.run("watch", folder, "--max-time", "6", "--rate", "200", "--shards", "1")
    assert origins.carried() == "ASWV"
    runs.expect_no_trace(origins)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["jsonl", "sqlite", "markdown", "warc", "wacz", "mirror"])
def test_no_export_has_a_secret(origins: Origins, runs: Runs, tmp_path: Path, kind: str) -> None:
    runs.crawl(origins.url("A"), *TOKEN, "--auth", f"a.test=me:{SECRET}")
    assert origins.carried() == "ASWV"
    place = tmp_path / ("out.wacz" if kind == "wacz" else "out")
    runs.run("export", str(runs.folder), "--to", str(place), "--format", kind)
    if kind == "wacz":
        with ZipFile(place) as packed:
            packed.extractall(tmp_path / "unpacked")
    found = dict(contents(tmp_path / "unpacked" if kind == "wacz" else place))
    assert sum(map(len, found.values())) > 1000
    told = {SECRET.encode(), b64encode(f"me:{SECRET}".encode())}
    assert [path for path, content in found.items() if any(one in content for one in told)] == []
    runs.expect_no_trace(origins)
    runs.expect_no_trace(origins, b64encode(f"me:{SECRET}".encode()).decode())


@pytest.mark.slow
def test_each_command_has_its_own_seeds_and_headers(origins: Origins, runs: Runs) -> None:
    runs.crawl(origins.url("S"), *TOKEN)
    assert origins.carried() == "SV"
    origins.log.clear()
    runs.crawl(origins.url("B", "/two"), "--header", "X-Token: 0THERT0KEN")
    runs.run("add", str(runs.folder), *(origins.url(letter, "/added") for letter in NAMES))
    runs.crawl()
    assert origins.carried() == "SV"
    assert origins.carried(b"0THERT0KEN") == "BC"
    origins.log.clear()
    # A new one without a seed takes the place of the old ones.
    ended = runs.crawl("--header", "X-Token: N3WT0KEN", code=2)
    assert "2 sites" in ended.err
    runs.expect_no_trace(origins)
    runs.expect_no_trace(origins, "0THERT0KEN")


@pytest.mark.slow
def test_a_table_of_a_file_is_obeyed_and_the_file_is_left_as_it_is(
    origins: Origins, runs: Runs, tmp_path: Path
) -> None:
    config = tmp_path / "mine.toml"
    config.write_text(
        f'[host."b.test"]\nheaders = ["X-Token: {SECRET}"]\n'
        f'[host."sub.a.test"]\nauth = "me:{SECRET}"\n'
        f'[host."https://a.test:{origins.ports[0]}"]\ncookies = "env:OURS"\n'
    )
    before = config.read_bytes()
    runs.environment.setenv("OURS", "session=FR0MOUTSIDE")
    seeds = (origins.url("A"), origins.url("B"), origins.url("U"))
    ended = runs.crawl(*seeds, "--config", str(config))
    assert "mine.toml has secrets, and was not rewritten: this crawl keeps them in " in ended.err
    assert config.read_bytes() == before
    assert origins.carried() == "BC"
    assert origins.carried(b"Authorization: Basic") == "U"
    assert origins.carried(b"FR0MOUTSIDE") == "SV"
    runs.expect_no_trace(origins)
    runs.expect_no_trace(origins, "FR0MOUTSIDE")
    assert "FR0MOUTSIDE" not in (runs.folder / "secrets.toml").read_text()
    shown = runs.run("why", str(runs.folder), origins.url("B")).out
    assert "sends X-Token" in shown
    runs.environment.delenv("OURS")
    ended = runs.crawl(code=2)
    assert "the environment variable OURS is not set" in ended.err
    assert "not rewritten" not in ended.err


@pytest.mark.slow
def test_credentials_of_a_host_without_a_seed_go_by_https_only(
    origins: Origins, runs: Runs
) -> None:
    host = f"b.test:{origins.ports[0]}"
    runs.crawl(origins.url("A"), "--auth", f"{host}=me:{SECRET}")
    assert origins.carried(b"Authorization: Basic") == "C"
    runs.expect_no_trace(origins)


@pytest.mark.slow
def test_secrets_of_today_move_out_of_crawl_toml_and_are_still_sent(
    origins: Origins, runs: Runs
) -> None:
    runs.crawl(origins.url("A"), "--max-pages", "1")
    path = runs.folder / "crawl.toml"
    text = path.read_text()
    path.write_text(
        re.sub(r"\n#headers = \[\]", f'\nheaders = ["X-Token: {SECRET}"]', text).replace(
            "max_pages = 1 ", "max_pages = 900 "
        )
    )
    assert SECRET in path.read_text()
    origins.log.clear()
    ended = runs.crawl()
    assert "crawl.toml changed: fetch.headers: moved to secrets.toml" in ended.err
    runs.run("add", str(runs.folder), *(origins.url(letter, "/added") for letter in NAMES))
    runs.crawl()
    assert origins.carried() == "ASWV"
    runs.expect_no_trace(origins)
    kept = runs.folder / "secrets.toml"
    kept.chmod(0o644)
    assert f"chmod 600 {kept}" in runs.crawl(code=2).err
    kept.unlink()
    ended = runs.crawl(code=2)
    assert "lacks X-Token of [host." in ended.err


@pytest.mark.slow
def test_a_python_program_obeys_the_same_rule(origins: Origins, tmp_path: Path, runs: Runs) -> None:
    options: gossamer.CrawlOptions = {
        "allow_net": [f"{ADDRESS}/32"],
        "delay": 0.0,
        "scope": "any",
        "sitemaps": False,
        "shards": 1,
        "resolve": dict.fromkeys(HOSTS, ADDRESS),
    }
    both = [origins.url("A"), origins.url("B")]
    with pytest.raises(gossamer.ConfigError, match="2 sites"):
        gossamer.run(both, tmp_path / "no", header=[f"X-Token: {SECRET}"], **options)
    ending = gossamer.run(origins.url("S"), runs.folder, header=[f"X-Token: {SECRET}"], **options)
    assert ending.exit_code == 0
    assert origins.carried() == "SV"
    with gossamer.open(runs.folder) as crawl:
        assert SECRET not in repr(crawl.config())
        why = crawl.why(origins.url("V", "/page"))
        assert why.settings is not None
        assert why.settings.headers == ["X-Token"]
        assert crawl.why(origins.url("A", "/page")).settings is None
    runs.expect_no_trace(origins)


@pytest.mark.slow
@pytest.mark.parametrize("shards", ["1", "2"])
def test_a_bad_certificate_is_accepted_for_its_host_only(
    origins: Origins, runs: Runs, tmp_path: Path, shards: str
) -> None:
    stranger = make_certificate(tmp_path, ["stranger.test"])
    assert stranger is not None
    runs.environment.setenv("SSL_CERT_FILE", str(stranger.file))
    config = tmp_path / "mine.toml"
    config.write_text('[host."www.a.test"]\ninsecure = true\n')
    runs.crawl(origins.url("A"), "--config", str(config), "--shards", shards)
    asked = {letter for letter, _ in origins.log}
    assert asked == set(NAMES) - {"S", "C"}
    assert "any certificate" in runs.run("why", str(runs.folder), origins.url("V")).out
    failed = runs.run("why", str(runs.folder), origins.url("S", "/page")).out
    assert "tls_certificate" in failed


@pytest.mark.slow
@pytest.mark.parametrize("shards", ["1", "2"])
def test_delay_and_scope_of_a_host_are_its_own(
    origins: Origins, runs: Runs, tmp_path: Path, shards: str
) -> None:
    config = tmp_path / "mine.toml"
    config.write_text(
        '[host."b.test"]\ndelay_s = 0.3\nscope = "prefix"\n[host."sub.a.test"]\nscope = "host"\n'
    )
    seeds = (origins.url("A"), origins.url("B", "/deep/seed"))
    runs.crawl(*seeds, "--config", str(config), "--shards", shards)
    asked = {(letter, head.split(b" ")[1].decode()) for letter, head in origins.log}
    assert {target for letter, target in asked if letter in "BC"} == {"/robots.txt", "/deep/seed"}
    assert not [target for letter, target in asked if letter == "U"]
    assert ("Q", "/page") in asked
    times = [at for letter, at in origins.times if letter == "B"]
    assert min(later - at for at, later in pairwise(times)) >= 0.95 * 0.3
    shown = runs.run("why", str(runs.folder), origins.url("B", "/page")).out
    assert "delay 0.3 s; scope prefix" in shown
    assert "off_scope" in shown
