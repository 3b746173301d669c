"""T3, T4, T13, P11, P28: redirects that mislead, and certificates that do not fit."""

import base64
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gossamer.testing import (
    CannedResponse,
    Certificate,
    ScriptedHost,
    ScriptedWeb,
    ServerOptions,
    html_response,
    make_certificate,
    serve_in_thread,
)
from gossamer.testing.responses import Request
from tests.integration.test_threats_wire import forbid_retries
from tests.integration.threats import Done, Knobs, crawl, serving

SCHEMES = (
    *("file:///etc/passwd", "file://localhost/etc/passwd", "FILE:///etc/passwd"),
    *("ftp://127.0.9.1/x", "gopher://127.0.9.1:70/x", "data:text/html,<a href=/x>", "about:blank"),
    *("javascript:alert(1)", "ws://127.0.9.1/", "wss://127.0.9.1/", "ldap://127.0.9.1/x"),
    *("dict://127.0.9.1:11211/stats", "blob:http://127.0.9.1/x", "jar:http://127.0.9.1!/x"),
    *("view-source:http://127.0.9.1/", "mailto:a@b.test", "tftp://127.0.9.1/x", "php://input"),
)


def seen_from(
    hub: ScriptedHost, folder: Path, web: ScriptedWeb, knobs: Knobs | None = None
) -> Done:
    """Serve a web, crawl it from its hub, and stop serving it."""
    with serving(web) as server:
        return crawl(server, folder, hub.url(), knobs=knobs)


def test_no_scheme_but_http_is_opened_from_a_redirect_or_a_link(tmp_path: Path) -> None:
    web = ScriptedWeb()
    hub = web.host("hub.test")
    moved = [f"/moved/{number}" for number in range(len(SCHEMES))]
    hub.page("/", links=[*SCHEMES, *moved, "/last"]).page("/last")
    for path, target in zip(moved, SCHEMES, strict=True):
        hub.redirect(path, to=target)
    done = seen_from(hub, tmp_path / "c", web)
    assert done.ending.is_finished
    assert done.ending.status.refused["scheme"] >= len(SCHEMES)
    assert done.fate(hub.url("/last")) == ("archived", "")
    assert {r.url.partition(":")[0] for r in done.archive.pages} == {"http"}
    assert not [name for name, content in done.everything() if b"root:x:0:0" in content]
    for path in moved:
        assert done.fate(hub.url(path))[0] in {"redirected", "failed"}
    told = done.why("file:///etc/passwd")
    assert (told["state"], told["reason"]) == ("refused", "scheme")


def test_redirects_that_go_round_are_asked_once_each(tmp_path: Path) -> None:
    web = ScriptedWeb()
    hub, other = web.host("hub.test"), web.host("other.test")
    hub.page("/", links=["/a", "/self", "/x", "/nowhere", "/empty"])
    hub.redirect("/a", to="/b").redirect("/b", to="/a").redirect("/self", to="/self#again")
    hub.redirect("/x", to=other.url("/y"))
    other.redirect("/y", to=other.url("/z")).redirect("/z", to=hub.url("/x"))
    hub.on("/nowhere", html_response("moved", status=301)).redirect("/empty", to="http://")
    done = seen_from(hub, tmp_path / "c", web)
    assert done.ending.is_finished
    pages = {url: times for url, times in done.asked.items() if not url.endswith("/robots.txt")}
    assert set(pages.values()) == {1}
    assert {done.fate(hub.url(path)) for path in ("/a", "/x")} == {("redirected", "redirect")}
    for url in (hub.url("/b"), other.url("/z")):
        assert done.fate(url) == ("failed", "too_many_redirects")
        assert done.why(url)["detail"].startswith("a redirect loop: ")
    for path in ("/self", "/nowhere", "/empty"):
        assert done.fate(hub.url(path)) == ("failed", "bad_redirect")


@pytest.mark.parametrize(("steps", "arrives"), [(10, True), (30, False)])
def test_ten_hops_are_followed_and_no_more(
    steps: int,
    arrives: bool,  # noqa: FBT001 - pytest passes parameters so
    tmp_path: Path,
) -> None:
    web = ScriptedWeb()
    hub = web.host("hub.test").page("/", links=["/0"]).page(f"/{steps}", text="the end")
    for step in range(steps):
        hub.redirect(f"/{step}", to=f"/{step + 1}", status=(301, 302, 303, 307, 308)[step % 5])
    done = seen_from(hub, tmp_path / "c", web)
    assert done.asked[hub.url("/10")] == 1
    if arrives:
        assert done.fate(hub.url("/10")) == ("archived", "")
        assert done.why(hub.url("/10"))["depth"] == 1
    else:
        assert done.fate(hub.url("/10")) == ("failed", "too_many_redirects")
        assert not done.asked[hub.url("/11")]


def test_every_hop_meets_robots_and_scope(tmp_path: Path) -> None:
    web = ScriptedWeb()
    hub, barred = web.host("hub.test"), web.host("barred.test")
    away = web.host("away.example")
    barred.robots("User-agent: *\nDisallow: /no\n").page("/no/page").page("/fine")
    away.page("/")
    hub.page("/", links=["/to-barred", "/to-fine", "/away"]).redirect("/away", to=away.url())
    hub.redirect("/to-barred", to=barred.url("/no/page")).redirect(
        "/to-fine", to=barred.url("/fine")
    )
    knobs = {"filter": {"allow": ["*.test"]}}
    done = seen_from(hub, tmp_path / "c", web, knobs)
    told = done.why(barred.url("/no/page"))
    assert (told["state"], told["reason"]) == ("refused", "robots_disallowed")
    assert told["robots"]["line"] == "Disallow: /no"
    assert not done.asked[barred.url("/no/page")]
    assert done.fate(barred.url("/fine")) == ("archived", "")
    assert done.fate(away.url()) == ("refused", "not_allowed")
    assert not done.server.requests_to("away.example", with_robots=True)


def test_credentials_stay_with_their_origin_port_and_scheme_included(tmp_path: Path) -> None:
    seen: list[tuple[str, str]] = []

    def note(request: Request) -> CannedResponse:
        seen.append((request.header("host") + request.target, request.header("authorization")))
        return html_response("noted")

    web, elsewhere = ScriptedWeb(), ScriptedWeb()
    hub, other = web.host("hub.test"), web.host("other.test")
    elsewhere.host("hub.test", "127.0.9.2").on("/port", note)
    hub.on("/in", note).on("/again", note)
    other.on("/out", note).redirect("/home", to=hub.url("/again"))
    with serving(elsewhere) as second, serving(web) as server:
        port = elsewhere.host("hub.test").url("/port")
        hub.page("/", links=["/in", "/to-other", "/to-port", "/to-host", other.url("/home")])
        hub.redirect("/to-other", to=other.url("/out")).redirect("/to-port", to=port)
        hub.redirect("/to-host", to=other.url("/out?2"))
        knobs = {"fetch": {"auth": {"hub.test": "u:s3cret"}}}
        done = crawl(server, tmp_path / "c", hub.url(), knobs=knobs)
        assert done.ending.is_finished
        assert second.requests
    sent = {
        where.partition("/")[0].partition(":")[0] + where.partition("/")[2]: words
        for where, words in seen
    }
    basic = "Basic " + base64.b64encode(b"u:s3cret").decode()
    assert sent == {
        "hub.testin": basic,
        "hub.testagain": basic,
        "hub.testport": "",
        "other.testout": "",
        "other.testout?2": "",
    }


# Certificates


AUTHORITY = """
[ca]
default_ca = us
[us]
database = {place}/index.txt
new_certs_dir = {place}
rand_serial = yes
default_md = sha256
policy = any
copy_extensions = copy
[any]
commonName = supplied
"""


def make_expired(place: Path) -> Certificate | None:
    """Make a certificate of yesteryear with the `openssl` command; None where there is none."""
    command = shutil.which("openssl")
    if command is None:
        return None
    place.mkdir()
    (place / "index.txt").touch()
    (place / "ca.cnf").write_text(AUTHORITY.format(place=place))
    made = Certificate(place / "old.pem", place / "old.key")
    wish = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=old"]
    wish += ["-keyout", str(made.key), "-out", str(place / "csr")]
    grant = ["-config", str(place / "ca.cnf"), "-keyfile", str(made.key), "-out", str(made.file)]
    grant += ["-startdate", "20200101000000Z", "-enddate", "20210101000000Z", "-notext"]
    for words in (
        ["req", "-new", *wish, "-addext", "subjectAltName=DNS:old.test"],
        ["ca", "-batch", "-selfsign", *grant, "-in", str(place / "csr")],
    ):
        subprocess.run([command, *words], check=True, capture_output=True)
    return made


@contextmanager
def shouting(reply: bytes, times: int = 1) -> Iterator[int]:
    """Listen on loopback, answer every client with the same bytes, and give the port."""
    line = socket.create_server(("127.0.9.3", 0))

    def talk() -> None:
        while True:
            try:
                client, _ = line.accept()
                with client:
                    client.recv(4096)
                    for _ in range(times):
                        client.sendall(reply)
            except OSError:
                if line.fileno() < 0:
                    return

    thread = threading.Thread(target=talk, daemon=True)
    thread.start()
    try:
        yield line.getsockname()[1]
    finally:
        line.shutdown(socket.SHUT_RDWR)
        line.close()
        thread.join(5.0)


def test_certificates_are_checked_and_what_is_wrong_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_certificate(tmp_path, ["good.test"])
    old = make_expired(tmp_path / "old")
    if made is None or old is None:
        pytest.skip("there is no openssl command here")
    (tmp_path / "trusted.pem").write_text(made.file.read_text() + old.file.read_text())
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "trusted.pem"))
    forbid_retries(monkeypatch)
    web, late, hub_web = ScriptedWeb(), ScriptedWeb(), ScriptedWeb()
    good, wrong = web.host("good.test").page("/"), web.host("wrong.test").page("/")
    gone = late.host("old.test").page("/")
    hub = hub_web.host("hub.test")
    alert = b"\x15\x03\x01\x00\x02\x01\x5a"
    version = b"\x15\x03\x01\x00\x02\x02\x46"
    with (
        serve_in_thread(web, ServerOptions(tls=made.context())) as server,
        serve_in_thread(late, ServerOptions(tls=old.context())),
        serving(hub_web) as home,
        shouting(version) as tls10,
        shouting(alert, times=10_000) as storm,
        shouting(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nplain") as plain,
    ):
        odd = {
            f"https://odd.test:{tls10}/": "tls_failed",
            f"https://odd.test:{storm}/": "tls_failed",
            f"https://odd.test:{plain}/": "tls_failed",
            wrong.url(): "tls_certificate",
            gone.url(): "tls_certificate",
        }
        hub.page("/", links=[good.url(), *odd, "/last"]).page("/last", text="honest")
        resolve = {**home.resolve, **server.resolve, "old.test": late.addresses["old.test"]}
        knobs = {
            "fetch": {"resolve": {**resolve, "odd.test": "127.0.9.3"}},
            "robots": {"own_hosts": ["odd.test"]},
        }
        done = crawl(home, tmp_path / "c", hub.url(), knobs=knobs)
        assert done.fate(good.url()) == ("archived", "")
        assert {url: done.fate(url)[1] for url in odd} == odd  # odd.test is probed for minutes
        assert done.fate(hub.url("/last")) == ("archived", "")
        assert done.why(wrong.url())["detail"].startswith("the certificate is for another name")
        assert done.why(gone.url())["detail"].startswith("the certificate has expired")
        assert done.ending.status.certificates == {"expired": 1, "other_name": 1}
        assert not server.requests_to("wrong.test", with_robots=True)
        trusting = {"fetch": {**knobs["fetch"], "insecure": True}}
        lax = crawl(home, tmp_path / "lax", wrong.url(), knobs=trusting)
        assert "the certificate is not valid" in lax.why(wrong.url())["detail"]
        assert lax.fate(wrong.url()) == ("archived", "")
