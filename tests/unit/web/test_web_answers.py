"""The server as a program, or a browser, has it: a process, a socket, bytes."""

import json
import re
import socket
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree as ET

import pytest

from gossamer.cli.main import exit_code
from gossamer.graph import build_graph
from gossamer.graph.build import GraphOptions
from tests.unit.graph.links_archive import LinksArchive, page
from tests.unit.web.served import HARMFUL, A, B, C, Served, crawled, serving

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(crawled(tmp_path_factory.mktemp("crawl"))) as running:
        yield running


def test_links_in_both_directions_with_their_kinds(server: Served) -> None:
    found = server.ask("/api/links", url=A)
    assert found.headers["content-type"] == "application/json"
    facts = found.json
    assert facts["url"] == A
    assert set(facts["in"]) == {B, HARMFUL[0]}
    assert set(facts["out"]) == {B, C, *HARMFUL}
    assert dict(zip(facts["out"], facts["out_kinds"], strict=True))[C] == ["nofollow"]
    assert (facts["in_total"], facts["out_total"]) == (2, 9)


def test_a_direction_and_a_kind_can_be_chosen(server: Served) -> None:
    facts = server.ask("/api/links", url=C, direction="in", kind="embed").json
    assert facts["in"] == [B]
    assert "out" not in facts
    assert server.ask("/api/links", url=C, direction="in", kind="embed,nofollow").json["in"] == [
        A,
        B,
    ]


def test_any_spelling_of_a_url_will_do(server: Served) -> None:
    assert server.ask("/api/links", url="HTTP://A.test:80#x").json["url"] == A


def test_pages_of_links_follow_each_other_without_gap(server: Served) -> None:
    found: list[str] = []
    after = ""
    while True:
        facts = server.ask("/api/links", url=B, direction="out", limit=97, after=after).json
        found += facts["out"]
        after = facts["out_after"] or ""
        if not after:
            break
    assert len(found) == len(set(found)) == facts["out_total"] == 302


def test_a_known_url_without_links_is_no_error(server: Served) -> None:
    facts = server.ask("/api/links", url=C, direction="out").json
    assert (facts["out"], facts["out_total"]) == ([], 0)


def test_an_unknown_url_is_404_with_what_may_be_meant(server: Served) -> None:
    for path in ("/api/links", "/api/like", "/picture.svg"):
        found = server.ask(path, url="http://b.test/299/more")
        assert found.status == 404
        assert found.json["error"] == "unknown_url"
        assert found.json["nearest"] == [B]
    assert server.ask("/api/path", from_=A, to="http://no.test/").status == 404


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/api/links", "url: expected a URL"),
        (f"/api/links?url={A}&limit=0", "limit: expected a number from 1 to 10000"),
        (f"/api/links?url={A}&limit=10001", "limit: expected"),
        (f"/api/links?url={A}&limit=0000100009999", "limit: expected"),
        ("/api/hosts?top=0", "top: expected"),
        (f"/api/like?url={A}&top=x", "top: expected"),
        (f"/api/links?url={A}&limit=-1", "limit: expected"),
        (f"/api/links?url={A}&limit=²", "limit: expected"),
        (f"/api/links?url={A}&direction=up", "direction: expected both, in, out"),
        (f"/api/links?url={A}&kind=nice", "kind of link: expected"),
        (f"/api/links?url={A}&after=http://nowhere.test/", "after: expected"),
        (f"/api/links?url={'x' * 8193}", "url: expected at most 8192"),
        (f"/api/like?url={A}&by=looks", "by: expected cocitation, coupling"),
        ("/api/rank?top=many", "top: expected"),
    ],
)
def test_a_bad_query_is_400_and_says_what_was_expected(
    server: Served, path: str, words: str
) -> None:
    found = server.get(path.replace("²", "%C2%B2"))
    assert found.status == 400
    assert words in found.json["detail"]
    assert found.json["error"] == "bad_query"


def test_every_question_of_the_contents_is_answered(server: Served) -> None:
    contents = server.get("/api").json
    for path in contents:
        if path in ("/api/status", "/api/why"):  # there is no state
            assert server.ask(path, url=A).status == 503
            continue
        found = server.ask(path, url=A, from_=A, to=B, q="text")
        assert found.status == 200, (path, found.body)
    assert server.ask("/api/path", from_=C, to=A).json["path"] == []
    assert server.ask("/api/path", from_=B, to=HARMFUL[1]).json["hops"] == 2
    assert server.ask("/api/rank", top=3).json["pages"][0].keys() == {"url", "rank"}
    assert server.ask("/api/hosts", host="b.test").json["urls"] == 301
    assert server.ask("/api/hosts", host="no.test").status == 404
    assert server.get("/api/graph").json["pages"] == 3
    assert server.get("/healthz").json == {"ok": True}


def test_what_is_not_there_is_not_found(server: Served) -> None:
    assert server.get("/api/nothing").json["error"] == "not_found"
    for path in ("/nothing", "/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd"):
        assert server.get(path).status == 404, path


def test_only_get_and_head_are_answered(server: Served) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        found = server.get("/api/status", method)
        assert (found.status, found.json["error"]) == (405, "method")
    assert server.get("/api/status", "HEAD").body == b""


@pytest.mark.parametrize(
    "host", ["evil.test", "127.0.0.1.evil.test", "localhost.evil.test", "", "[::1"]
)
def test_a_name_that_is_not_ours_gets_no_answer(server: Served, host: str) -> None:
    """Another site may make a browser ask us under a name of its own (DNS rebinding)."""
    for path in ("/", "/api/status", "/static/style.css", "/healthz"):
        assert server.get(path, Host=host).status == 403


def test_names_of_this_machine_are_ours(server: Served) -> None:
    for host in ("localhost", "localhost:99", "127.0.0.1:8080", "127.9.9.9", "[::1]:8080"):
        assert server.get("/healthz", Host=host).status == 200, host


def test_a_request_that_is_none_does_not_end_the_server(server: Served) -> None:
    place = urlsplit(server.address)
    for garbage in (b"\x00\xff\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"GET /" + b"a" * 100_000):
        with socket.create_connection((place.hostname, place.port or 0)) as line:
            line.sendall(garbage)
            line.shutdown(socket.SHUT_WR)
            line.recv(1000)
    assert server.get("/healthz").status == 200


class Tags(HTMLParser):
    """Which tags and attributes a page has, and which addresses they name."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name in {"href", "src", "action"}]


def pages(server: Served) -> Iterator[str]:
    yield server.get("/").text
    yield server.get("/links").text
    yield server.get("/ranks").text
    yield server.get("/hosts").text
    for harm in (*HARMFUL, A, "<script>alert(1)</script>"):
        yield server.ask("/", url=harm).text
        yield server.ask("/links", url=harm).text
        yield server.ask("/hosts", host=harm).text
        yield server.ask("/path", from_=harm, to=harm).text
        yield server.ask("/path", from_=A, to=harm).text
        yield server.ask("/", url=A, kind=harm).text


def test_text_from_the_web_never_becomes_markup(server: Served) -> None:
    for text in pages(server):
        found = Tags()
        found.feed(text)
        assert not found.names & {"script", "iframe", "object", "base", "style"}
        assert not {name for name in found.attributes if name.startswith("on")}
        assert "style" not in found.attributes
        for link in found.links:
            assert link.startswith(("/", "http://", "https://", "#main")), link
        images = [one for one in found.names if one == "img"]
        assert text.count("<img") == text.count('<img class="picture"') or not images


def test_links_of_the_explorer_lead_to_what_they_show(server: Served) -> None:
    text = server.ask("/links", url=A).text
    assert server.ask("/", url=A).text == text  # where the explorer was before
    found = Tags()
    found.feed(text)
    asked = {parse_qs(urlsplit(link).query).get("url", [""])[0] for link in found.links}
    assert set(HARMFUL) <= asked


def test_every_answer_carries_the_rules_for_browsers(server: Served) -> None:
    for path in ("/", f"/?url={A}", "/api/status", "/static/style.css", "/nothing", "/healthz"):
        headers = server.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'self'; img-src 'self'")
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers


def test_a_picture_is_plain_xml_in_a_sandbox(server: Served) -> None:
    for url in (A, B, HARMFUL[1]):
        found = server.ask("/picture.svg", url=url)
        assert found.headers["content-type"] == "image/svg+xml"
        assert "sandbox" in found.headers["content-security-policy"]
        tags = {element.tag.rpartition("}")[2] for element in ET.fromstring(found.body).iter()}
        assert tags <= {"svg", "title", "style", "rect", "text", "path", "circle"}
        assert not re.search(r"<[^>]*\son\w+=", found.text)


@pytest.mark.slow
def test_a_new_graph_is_taken_up_without_a_restart(tmp_path: Path) -> None:
    folder = crawled(tmp_path)
    with serving(folder, "--no-build") as server:
        assert server.ask("/api/links", url=C, direction="in").json["in_total"] == 2
        LinksArchive(folder).write([page("http://new.test/", C, at=9.0)], number=1)
        build_graph(folder, GraphOptions(delta_share=1e9, small_arcs=0))
        assert server.ask("/api/links", url=C, direction="in").json["in_total"] == 3
        build_graph(folder, GraphOptions(is_full=True))
        facts = server.ask("/api/links", url=C, direction="in").json
        assert "http://new.test/" in facts["in"]
        assert server.ask("/api/like", url="http://new.test/").status == 200


@pytest.mark.slow
def test_without_a_graph_it_says_what_to_do(tmp_path: Path) -> None:
    folder = crawled(tmp_path)
    (folder / "graph" / "manifest.json").unlink()
    with serving(folder, "--no-build") as server:
        found = server.ask("/api/links", url=A)
        assert (found.status, found.json["error"]) == (503, "no_graph")
        assert "gossamer build" in found.json["detail"]
        assert server.get("/links").status == 503
        assert "gossamer build" in server.get("/").text
        assert server.get("/healthz").status == 200


@pytest.mark.slow
def test_a_port_that_is_taken_and_a_host_that_is_none_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(crawled(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert exit_code(["serve", folder, "--no-build", "--port", port]) == 2
    assert exit_code(["serve", folder, "--no-build", "--host", "no.such.host.invalid"]) == 2
    assert exit_code(["serve", str(tmp_path / "none")]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert len(told.err.splitlines()) == 3
    assert json.dumps(told.err).count("Traceback") == 0


@pytest.mark.slow
def test_pages_that_are_newer_than_the_graph_are_told_and_can_be_folded_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = crawled(tmp_path)
    LinksArchive(folder).write([page("http://new.test/", C, at=9.0)], number=1)
    build_graph(folder, GraphOptions(delta_share=1e9, small_arcs=0))
    assert exit_code(["links", str(folder), "http://new.test/", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["out"] == [C]
    assert exit_code(["rank", str(folder), "--json", "--no-save"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["newer_pages"] == 1
    assert "newer pages do not count (1)" in told.err
    assert exit_code(["build", str(folder), "graph", "--fold", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["did"] == "fold"
    assert exit_code(["rank", str(folder), "--json", "--no-save"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["newer_pages"] == 0
    assert told.err == ""
