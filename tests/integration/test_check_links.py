"""`check-links` on a site of planted faults: each is found once with its line, and nothing else."""

import csv
import io
import json
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from msgspec import UNSET
from msgspec.structs import replace

import gossamer
from gossamer import LinkReport, render_links
from gossamer.cli.main import exit_code
from gossamer.process import nesting_errors
from gossamer.report import linkcheck
from gossamer.testing import (
    CannedResponse,
    FakeServer,
    Request,
    ScriptedWeb,
    ServerOptions,
    html_response,
    make_certificate,
    serve_in_thread,
)
from tests.e2e.crawler import wait_until

HOSTILE = '"><script>alert(1)</script>\x1b[31m=cmd|'
LOOPBACK = ("127.0.9.0/24",)


def unused_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.9.1", 0))
        port: int = one.getsockname()[1]
        return port


def planted() -> tuple[ScriptedWeb, int]:
    web, dead = ScriptedWeb(), unused_port()
    site, other, slow = web.host("a.test"), web.host("b.test"), web.host("c.test")
    site.on(
        "/",
        f"""<!doctype html>
<title>Home</title><link rel=stylesheet href=/missing.css>
<p><a href=/fine>fine</a> <a href=/sub/page.html>sub</a>
<a
  href="/gone">a page <b>that is</b>
  gone</a>
<img src=/missing.png> <img src=/there.png>
<a href=/old>moved</a> <a href=/chain>chain</a> <a href=/elsewhere>for now</a>
<a href=/loop>loop</a> <a href=/to-nothing>to nothing</a>
<a href=/broken>server error</a> <a href=/closed>closed</a> <a href=/members>members</a>
<a href=/data.zip>archive</a> <a href=/lost.zip>lost archive</a>
<a rel=nofollow href=/hidden>hidden</a>
<a href={other.url("/fine")}>outside</a> <a href={other.url("/missing")}>outside missing</a>
<a href={other.url("/no-head")}>no head</a> <a href={slow.url("/")}>busy</a>
<a href=http://no-such-name.invalid/>no name</a> <a href=http://a.test:{dead}/>no server</a>
<a href=http://127.0.0.1:8080/admin>inside</a>
<a href=mailto:a@a.test>mail</a> <a href=javascript:void(0)>script</a> <a href=#top>up</a>
<a href=/fine#here>place</a> <a href=/fine#nowhere>no place</a> <a href=#home>own</a>
<a href=/fine#sch%C3%B6n>coded</a> <a href=/fine#/route>route</a>
<a href="/fine#:~:text=words">words</a>
<a href=/private/x>private</a> <a href=http://a.test:6000/>no port to ask</a>
<a href=http://down.test:{dead}/1>down</a> <a href=http://down.test:{dead}/2>down, too</a>""",
    )
    site.on("/fine", "<!doctype html><title>Fine</title><p id=here>x<a name='sch\u00f6n'>y</a>")
    site.on("/sub/page.html", "<!doctype html><title>S</title>\n\n<a href=../gone>again</a><p a a>")
    site.on("/gone", html_response("gone", status=410))
    site.file("/there.png", b"\x89PNG\r\n", "image/png")
    site.redirect("/old", to="/fine", status=301).redirect("/elsewhere", to="/fine")
    site.redirect("/chain", to="/chain2").redirect("/chain2", to="/fine")
    site.redirect("/loop", to="/loop2").redirect("/loop2", to="/loop")
    site.redirect("/to-nothing", to="/nothing", status=301)
    site.on("/broken", html_response("oh", status=500))
    site.on("/closed", html_response("no", status=403))
    site.on("/members", html_response("who?", status=401))
    site.file("/data.zip", b"PK", "application/zip")
    site.robots("User-agent: *\nDisallow: /private/")
    other.page("/fine")
    other.on(
        "/no-head",
        lambda asked: html_response("x", status=200 if asked.method == "GET" else 405),
    )
    slow.on("/", html_response("", status=429, headers=(("Retry-After", "3600"),)))
    return web, dead


class Checked:
    """The site, the folder of its crawl, and what was found."""

    def __init__(self, server: FakeServer[ScriptedWeb], folder: Path, dead: int) -> None:
        self.server, self.folder = server, folder
        self.home = server.web.host("a.test").url("")
        self.other = server.web.host("b.test").url("")
        self.slow = server.web.host("c.test").url("")
        self.dead, self.down = f"http://a.test:{dead}/", f"http://down.test:{dead}"
        self.report = gossamer.check_links(
            self.home + "/",
            into=folder,
            external=True,
            fragments=True,
            markup=True,
            delay=0.0,
            resolve={**server.resolve, "down.test": "127.0.9.250"},
            allow_net=LOOPBACK,
        )

    def found(self, kind: str) -> dict[str, list[tuple[str, int, str]]]:
        """Return the findings of a kind: page, line and text of the links, by target."""
        return {
            one.target: [(at.page.removeprefix(self.home), at.line, at.text) for at in one.places]
            for one in self.report.findings
            if one.kind == kind
        }


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checked]:
    web, dead = planted()
    with serve_in_thread(web) as server:
        yield Checked(server, tmp_path_factory.mktemp("links") / "crawl", dead)


def test_every_broken_link_is_found_once_with_its_line_and_text(checked: Checked) -> None:
    home, other = checked.home, checked.other
    assert checked.found("broken") == {
        f"{home}/broken": [("/", 10, "server error")],
        f"{home}/gone": [("/", 4, "a page that is gone"), ("/sub/page.html", 3, "again")],
        f"{home}/hidden": [("/", 12, "hidden")],
        f"{home}/loop": [("/", 9, "loop")],
        f"{home}/lost.zip": [("/", 11, "lost archive")],
        f"{home}/missing.css": [("/", 2, "")],
        f"{home}/missing.png": [("/", 7, "")],
        f"{home}/to-nothing": [("/", 9, "to nothing")],
        checked.dead: [("/", 15, "no server")],
        f"{other}/missing": [("/", 13, "outside missing")],
        f"{checked.down}/1": [("/", 22, "down")],
        f"{checked.down}/2": [("/", 22, "down, too")],
        "http://no-such-name.invalid/": [("/", 15, "no name")],
    }
    assert checked.report.ended == "finished"
    assert not checked.report.ok


def test_a_page_that_holds_a_broken_target_several_times_names_every_line() -> None:
    web = ScriptedWeb()
    site = web.host("a.test")
    site.on(
        "/",
        """<!doctype html><p><a href=/gone>one</a> <a href=/gone>two</a>
<a rel=nofollow href="/gone#x">three</a> <a href=/fine>fine</a>
<img src=/gone srcset="/gone 2x, /lost 3x">
<p><img src=/gone> <a href=/old>old</a>
<a href=/old>old, too</a>""",
    )
    site.page("/fine").redirect("/old", to="/fine", status=301)
    found, asked = check_of(web)
    gone, lost, old = found.findings
    assert [(at.line, at.text or at.kind, at.column) for at in gone.places] == [
        (1, "one", 19),
        (1, "two", 41),
        (2, "three", 1),
        (3, "image", 0),
        (4, "image", 0),
    ]
    assert (gone.count, lost.count, found.links) == (5, 1, 9)
    assert [at.line for at in old.places] == [4, 5]
    assert asked.count("/gone") == 1
    rows = list(csv.DictReader(io.StringIO(render_links(found, "csv"))))
    assert [row["line"] for row in rows if row["target"].endswith("/gone")] == list("11234")


def test_what_is_wrong_has_the_name_that_status_and_why_use(checked: Checked) -> None:
    names = {one.target: (one.status, one.reason) for one in checked.report.findings}
    home = checked.home
    assert names[f"{home}/gone"] == (410, "gone")
    assert names[f"{home}/broken"] == (500, "http_500")
    assert names[f"{home}/to-nothing"] == (404, "not_found")
    assert names["http://no-such-name.invalid/"] == (0, "dns_no_such_host")
    assert names[checked.dead] == (0, "connect_failed")
    assert names[f"{checked.down}/1"] == names[f"{checked.down}/2"] == (0, "connect_failed")
    assert names[f"{home}/loop"][1] == "too_many_redirects"


def test_moved_pages_are_told_and_are_no_errors(checked: Checked) -> None:
    home = checked.home
    assert checked.found("redirect") == {
        f"{home}/old": [("/", 8, "moved")],
        f"{home}/chain": [("/", 8, "chain")],
    }
    chain = next(one for one in checked.report.findings if one.target.endswith("/chain"))
    assert chain.chain == (f"{home}/chain2", f"{home}/fine")
    assert chain.severity == "warning"


def test_where_we_are_turned_away_a_link_could_not_be_checked(checked: Checked) -> None:
    assert {
        one.target: one.reason for one in checked.report.findings if one.kind == "unchecked"
    } == {
        "http://a.test:6000/": "bad_port",
        f"{checked.home}/closed": "http_403",
        f"{checked.home}/members": "unauthorized",
        f"{checked.home}/private/x": "robots_disallowed",
        f"{checked.slow}/": "throttled",
        "http://127.0.0.1:8080/admin": "private_address",
    }


def test_fragments_are_compared_with_ids_and_names(checked: Checked) -> None:
    assert checked.found("fragment") == {
        f"{checked.home}/fine#nowhere": [("/", 18, "no place")],
        f"{checked.home}/#home": [("/", 18, "own")],
    }


def test_parse_errors_have_a_line_and_a_column(checked: Checked) -> None:
    found = [one for one in checked.report.findings if one.kind == "markup"]
    assert all(one.places[0].column == one.column for one in found)
    assert [(one.target, one.reason, one.places[0].line, one.column) for one in found] == [
        (f"{checked.home}/sub/page.html", "duplicate-attribute", 3, 32)
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<p>a\n<b>b<p>c</span>", [(2, 1, "<b>"), (2, 9, "</span>")]),
        ("<div><i>x</div></i>", [(1, 6, "<i>"), (1, 16, "</i>")]),
        ("<p><ul><li>x</ul></p>", [(1, 18, "</p>")]),
        ("<title>x</title></head><p>y<ul><li>a<li>b</ul><dl><dt>c<dd>d</dl></body></html>", []),
        ("<table><caption>x<tr><td>y<th>z</tr></tbody></table><select><option>x</select>", []),
        ("<iframe></b></iframe><script>'</b>'</script><textarea></b></textarea><br><img>", []),
        ("<svg><path/><g/><![CDATA[ > </b> ]]></svg><math><mi>x</mi></math>", []),
        ("\r\n<div\r\n>\r\n</div\r\n><template><b>x</b></template>", []),
        ("<div><template shadowrootmode=open><b>x</b></template></div><a><div></div></a>", []),
    ],
)
def test_what_is_not_closed_or_closes_nothing_is_found_and_omitted_tags_are_fine(
    source: str, expected: list[tuple[int, int, str]]
) -> None:
    found = nesting_errors(source.encode(), "utf-8")
    assert [(one.line, one.column, one.tag) for one in found] == expected


def test_links_outside_are_asked_once_by_head_and_not_followed(checked: Checked) -> None:
    asked = [(one.method, one.target) for one in checked.server.requests_to("b.test")]
    assert sorted(asked) == [
        ("GET", "/missing"),
        ("GET", "/no-head"),
        ("HEAD", "/fine"),
        ("HEAD", "/missing"),
        ("HEAD", "/no-head"),
    ]
    archives = [one.method for one in checked.server.requests if one.target == "/data.zip"]
    assert archives == ["HEAD"]


def test_a_stored_crawl_gives_the_same_without_a_request(checked: Checked) -> None:
    before = len(checked.server.requests)
    crawl = gossamer.open(checked.folder)
    again = crawl.check_links(external=True, fragments=True, markup=True)
    assert again.findings == checked.report.findings
    assert len(checked.server.requests) == before


def test_links_of_older_records_get_their_lines_from_the_page(
    checked: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    def older(folder: Any) -> Iterator[Any]:
        for ref, record in newer(folder):
            yield ref, replace(record, lines=UNSET, fragments=UNSET)

    newer = linkcheck.iter_links
    monkeypatch.setattr(linkcheck, "iter_links", older)
    found = gossamer.open(checked.folder).check_links()
    wanted = [one for one in checked.report.findings if one.kind not in {"fragment", "markup"}]
    assert found.findings == wanted


def test_what_a_pattern_matches_is_left_out(
    checked: Checked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ignored = tmp_path / "ignored"
    ignored.write_text(
        "# known\n*/lost.zip\n\na.test  # the site itself\nb.test\n*.down.test\n"
        "no-such-name.invalid\n"
    )
    assert exit_code(["check-links", str(checked.folder), "--ignore", str(ignored)]) == 0
    assert "findings ignored)" in capsys.readouterr().out
    assert exit_code(["check-links", str(checked.folder)]) == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], 1),
        (["--format", "yaml"], 2),
        (["--ignore", "no-such-file"], 2),
        (["--delay", "0"], 2),
    ],
)
def test_the_exit_code_says_whether_anything_was_found(
    checked: Checked, arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(["check-links", str(checked.folder), *arguments]) == code
    assert capsys.readouterr().out.count("\n") > 10 or code == 2


def test_a_site_without_faults_ends_with_0_and_leaves_nothing_behind(
    capsys: pytest.CaptureFixture[str],
) -> None:
    web = ScriptedWeb()
    web.host("a.test").page("/", links=["/b", "/old"]).page("/b").redirect(
        "/old", to="/b", status=301
    )
    with serve_in_thread(web) as server:
        flags = [f"--resolve=a.test:{server.resolve['a.test']}", "--allow-net=127.0.9.0/24"]
        words = ["check-links", web.host("a.test").url("/"), *flags, "--delay=0", "--json"]
        assert exit_code(words) == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["ok"], found["pages"], found["ended"]) == (True, 2, "finished")
        assert [one["kind"] for one in found["findings"]] == ["redirect"]
        assert exit_code([*words, "--strict"]) == 1


def test_what_is_neither_a_folder_nor_a_url_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["check-links", "example.org"]) == 2
    assert "a URL begins with https://" in capsys.readouterr().err


def test_a_seed_that_gives_no_page_is_broken() -> None:
    web = ScriptedWeb()
    web.host("a.test").redirect("/", to=web.host("b.test").page("/").url("/"), status=301)
    web.host("c.test").robots("User-agent: *\nDisallow: /")
    with serve_in_thread(web) as server:
        for host, reason in (("a.test", "not_fetched"), ("c.test", "robots_disallowed")):
            found = gossamer.check_links(
                web.host(host).url("/"),
                resolve=server.resolve,
                allow_net=LOOPBACK,
                delay=0.0,
            )
            assert [(one.kind, one.reason) for one in found.findings] == [("broken", reason)]
            assert not found.ok


def test_a_site_that_has_moved_within_its_domain_is_checked_where_it_is() -> None:
    web = ScriptedWeb()
    there = web.host("www.a.test").page("/", links=["/missing"])
    web.host("a.test").redirect("/", to=there.url("/"), status=301)
    with serve_in_thread(web) as server:
        found = gossamer.check_links(
            web.host("a.test").url("/"), resolve=server.resolve, allow_net=LOOPBACK, delay=0.0
        )
    assert [(one.kind, one.target) for one in found.findings] == [
        ("broken", there.url("/missing")),
        ("redirect", web.host("a.test").url("/")),
    ]


def test_where_a_link_is_redirected_to_is_asked_for_also_outside() -> None:
    web = ScriptedWeb()
    other = web.host("b.test").page("/there")
    site = web.host("a.test").page("/", links=["/out", "/lost", other.url("/not-asked")])
    site.redirect("/out", to=other.url("/there")).redirect("/lost", to=other.url("/nothing"))
    with serve_in_thread(web) as server:
        found = gossamer.check_links(
            site.url("/"), resolve=server.resolve, allow_net=LOOPBACK, delay=0.0
        )
    assert [(one.target, one.chain) for one in found.findings] == [
        (site.url("/lost"), (other.url("/nothing"),))
    ]
    asked = {one.target for one in server.requests_to("b.test")}
    assert asked == {"/there", "/nothing"}


def failing(
    broken: int, answer: Callable[[str], CannedResponse | Callable[[Request], CannedResponse]]
) -> ScriptedWeb:
    """Return a site whose first page has links to some broken pages, then to three good ones."""
    web = ScriptedWeb()
    site = web.host("a.test")
    paths = [f"/broken{number}" for number in range(broken)]
    for path in paths:
        site.on(path, answer(path))
    good = [f"/good{number}" for number in range(3)]
    for path in good:
        site.page(path)
    site.page("/", links=[*paths, *good])
    return web


def check_of(web: ScriptedWeb) -> tuple[LinkReport, list[str]]:
    """Return what a check of a site finds, and the paths that it has asked for."""
    with serve_in_thread(web) as server:
        found = gossamer.check_links(
            web.host("a.test").url("/"), resolve=server.resolve, allow_net=LOOPBACK, delay=0.0
        )
        return found, [one.target for one in server.requests]


@pytest.mark.parametrize("status", [500, 503])
def test_every_link_of_a_site_full_of_server_errors_is_asked_for(status: int) -> None:
    web = failing(12, lambda _: html_response("oh", status=status))
    found, asked = check_of(web)
    assert {one.target: one.status for one in found.findings} == {
        web.host("a.test").url(f"/broken{number}"): status for number in range(12)
    }
    assert {one.kind for one in found.findings} == {"broken"}
    assert all(asked.count(f"/broken{number}") == 2 for number in range(12))
    assert all(asked.count(f"/good{number}") == 1 for number in range(3))


def test_links_whose_connections_break_keep_nobody_from_asking_for_the_others() -> None:
    web = failing(0, lambda _: html_response("oh"))
    site = web.host("a.test").page("/", links=[*(f"/cut{n}" for n in range(8)), "/good0"])
    for number in range(8):
        site.fault(f"/cut{number}", "drop")
    found, asked = check_of(web)
    assert [one.reason for one in found.findings] == ["disconnected"] * 8
    assert "/good0" in asked


@pytest.mark.parametrize("status", [500, 503])
def test_a_link_that_fails_once_and_then_works_is_not_broken(status: int) -> None:
    met: Counter[str] = Counter()

    def once(path: str) -> Callable[[Request], CannedResponse]:
        def answer(_: Request) -> CannedResponse:
            met[path] += 1
            return html_response("x", status=status if met[path] == 1 else 200)

        return answer

    found, _ = check_of(failing(5, once))
    assert found.findings == []
    assert found.pages == 9


def test_what_was_never_asked_for_is_broken_only_if_its_host_could_not_be_reached() -> None:
    def verdict(reason: str, status: int = 0) -> str | None:
        ended = linkcheck._Ended("failed", reason, "host stopped answering, 2 probes", status, "")
        known = linkcheck.KnownUrls({}, set(), {"http://a.test/x": ended}, [])
        return linkcheck.verdict_on("http://a.test/x", known).kind

    assert verdict("http_5xx") == "unchecked"
    assert verdict("http_500", 500) == "broken"
    assert verdict("connect_failed") == verdict("first_byte_timeout") == "broken"


def test_resources_by_http_in_a_page_by_https_are_found(tmp_path: Path) -> None:
    web = ScriptedWeb()
    made = make_certificate(tmp_path, ["a.test"])
    if made is None:
        pytest.skip("there is no openssl command to make a certificate with")
    page = """<meta property=og:image content=http://b.test/card.png>
<a href=http://b.test/>a link is fine</a>
<img src=http://b.test/i.png> <script src=http://b.test/s.js></script>"""
    site = web.host("a.test")
    site.on("/", page)
    site.on(
        "/upgraded",
        f'<meta http-equiv=content-security-policy content="upgrade-insecure-requests">{page}',
    )
    with serve_in_thread(web, ServerOptions(tls=made.context())) as server:
        urls = [f"https://a.test:{server.port}/", f"https://a.test:{server.port}/upgraded"]
        found = gossamer.check_links(
            urls, resolve=server.resolve, allow_net=LOOPBACK, delay=0.0, insecure=True
        )
    assert {one.target: [(at.page, at.line) for at in one.places] for one in found.findings} == {
        "http://b.test/i.png": [(urls[0], 3)],
        "http://b.test/s.js": [(urls[0], 3)],
    }
    assert {one.kind for one in found.findings} == {"mixed_content"}


def test_what_is_written_as_a_link_and_is_no_url_is_found_with_its_places(tmp_path: Path) -> None:
    web = ScriptedWeb()
    site = web.host("a.test")
    site.on(
        "/",
        """<!doctype html><title>x</title>
<a href="http://exa mple.test/">blank</a> <a href="http://[::1/">bracket</a>
<a href="https://b.test:http/x">port</a> <a href=" https://:8080/ ">no host</a>
<img src="//b.test:99999/i.png"> <a href="htps://b.test/">letter</a>
<a href="javascript:go('http://[')">no</a> <a href="mailto:a b@[">no</a> <a href="tel:+1">no</a>
<a href="zoom://join/1">no</a> <a href="/a b|c[d]?e=f g">fine</a> <a href="x:y">no</a>
<img src="data:image/png;base64,%s"> <a href="#http://[">no</a> <a href="http:/fine">no</a>
<a href="http://[::1/">bracket again</a>"""
        % ("A" * 70_000),
    )
    site.page("/a%20b%7Cc[d]?e=f%20g", links=["http://[::1/", "http://exa mple.test/"])
    for path in ("/a%20b|c[d]?e=f%20g", "/fine"):
        site.page(path, links=["http://[::1/"])
    with serve_in_thread(web) as server:
        root = site.url("/")
        found = gossamer.check_links(
            root, into=tmp_path / "c", resolve=server.resolve, allow_net=LOOPBACK, delay=0.0
        )
    bad = [one for one in found.findings if one.kind == "malformed"]
    assert {one.kind for one in found.findings} == {"malformed"}, found.findings
    assert {one.target: (one.reason, one.severity) for one in bad} == {
        "http://exa mple.test/": ("bad_host", "error"),
        "http://[::1/": ("bad_host", "error"),
        "https://b.test:http/x": ("bad_port", "error"),
        "https://:8080/": ("no_host", "error"),
        "//b.test:99999/i.png": ("bad_port", "error"),
        "htps://b.test/": ("misspelt_scheme", "error"),
    }
    here = {one.target: [at for at in one.places if at.page == root] for one in bad}
    assert [(at.line, at.text, at.kind) for at in here["http://[::1/"]] == [
        (2, "bracket", "a"),
        (8, "bracket again", "a"),
    ]
    assert [(at.line, at.kind) for at in here["//b.test:99999/i.png"]] == [(4, "image")]
    assert not found.ok
    for form in ("text", "json", "csv", "junit", "sarif", "html"):
        assert "mple.test" in render_links(found, form), form
    assert "6 malformed URLs" in render_links(found, "text")
    stored = gossamer.open(tmp_path / "c").check_links(ignore=["*mple.test*"])
    assert {one.target for one in stored.findings} == set(here) - {"http://exa mple.test/"}


def test_a_check_that_was_killed_goes_on_and_asks_no_link_twice_but_one(tmp_path: Path) -> None:
    web = ScriptedWeb()
    other = web.host("b.test")
    paths = [f"/{number}" for number in range(40)]
    for path in paths[1:]:
        other.page(path)
    site = web.host("a.test").page("/", links=[other.url(path) for path in paths])
    folder = tmp_path / "crawl"
    with serve_in_thread(web) as server:
        resolved = [f"--resolve={name}:{address}" for name, address in server.resolve.items()]
        flags = ["--delay=0.05", "--allow-net=127.0.9.0/24", *resolved, f"--into={folder}"]
        words = [sys.executable, "-m", "gossamer", "check-links", site.url("/"), "--external"]
        child = subprocess.Popen([*words, *flags], stdout=subprocess.DEVNULL)
        wait_until(lambda: len(server.requests_to("b.test")) >= 10)
        child.kill()
        child.wait()
        found = gossamer.open(folder).check_links(external=True)
    assert [one.target for one in found.findings] == [other.url("/0")]
    assert found.unasked == 0
    asked = [one.target for one in server.requests_to("b.test") if one.method == "HEAD"]
    assert set(asked) == set(paths)
    assert len(asked) <= len(paths) + 1


# ---- forms


@pytest.fixture(scope="module")
def hostile() -> LinkReport:
    web = ScriptedWeb()
    quoted = HOSTILE.replace('"', "&quot;").replace("<", "&lt;")
    web.host("a.test").on(
        "/", f"<p>\n<a href='/x\"><img onerror=1>'>{quoted}</a><a href='/=1+1#\u0001'>\u202e</a>"
    )
    with serve_in_thread(web) as server:
        return gossamer.check_links(
            web.host("a.test").url("/"), resolve=server.resolve, allow_net=LOOPBACK, delay=0.0
        )


def test_junit_is_xml_that_has_a_failure_for_each_error(hostile: LinkReport) -> None:
    suite = ET.fromstring(render_links(hostile, "junit"))
    assert suite.tag == "testsuites"
    assert suite.attrib["failures"] == "2"
    assert set(suite.attrib) <= {"name", "time", "tests", "failures", "errors"}  # Jenkins' schema
    failures = suite.findall(".//testcase/failure")
    assert len(failures) == 2
    assert all("not found" in one.attrib["message"] for one in failures)
    assert any("<script>" in (one.text or "") for one in failures)


def test_sarif_has_what_the_standard_requires(hostile: LinkReport) -> None:
    found = json.loads(render_links(hostile, "sarif"))
    assert found["version"] == "2.1.0"
    (run,) = found["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(run["results"]) == 2
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"] == "broken"
        assert result["level"] == "error"
        assert result["message"]["text"]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"].startswith("http://a.test")
        assert place["region"]["startLine"] == 2


def test_csv_has_a_row_for_each_link_and_no_formula(hostile: LinkReport) -> None:
    rows = list(csv.DictReader(io.StringIO(render_links(hostile, "csv"))))
    assert [row["line"] for row in rows] == ["2", "2"]
    assert {row["status"] for row in rows} == {"404"}
    cells = [cell for row in rows for cell in row.values()]
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)
    assert not any("\x1b" in cell for cell in cells)


class Tags(HTMLParser):
    """Gathers the tags and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_html_shows_hostile_texts_as_text(hostile: LinkReport) -> None:
    found = Tags()
    found.feed(render_links(hostile, "html"))
    assert not found.tags & {"script", "img", "iframe", "object"}
    assert not any(name.startswith("on") for name in found.attributes)


def test_text_names_page_and_line_and_steers_no_terminal(hostile: LinkReport) -> None:
    text = render_links(hostile, "text")
    assert "\x1b" not in text
    assert ':2  "' in text
    assert text.endswith(
        "2 broken links to 2 targets on 1 page (2 links of 1 page to 2 targets).\n"
    )
