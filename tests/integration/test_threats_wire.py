"""T8 to T12, T14, T24, T27, T28, P31, P32: servers that break the protocol, or never end."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.config import FetchConfig
from gossamer.fetch import RETRY, RetryRule
from gossamer.testing import (
    CannedResponse,
    FakeServer,
    FaultLocation,
    FaultStep,
    Pause,
    Request,
    ScriptedWeb,
    html_response,
    most_connections,
)
from tests.integration.threats import Done, crawl, serving

PAGE = b"<!doctype html><title>Fault</title><p>An ordinary paragraph.</p>\n"
CAP = 200_000
FAULTS = {
    "drop": ("failed", "disconnected"),
    "reset": ("failed", "disconnected"),
    "reset-mid-body": ("failed", "disconnected"),
    "silent": ("failed", "first_byte_timeout"),
    "drip-header": ("failed", "first_byte_timeout"),
    "drip": ("failed", "stalled"),
    "brook": ("failed", "total_timeout"),
    "endless-body": ("archived", ""),
    "endless-chunks": ("archived", ""),
    "endless-header": ("failed", "header_too_large"),
    "many-headers": ("failed", "header_too_large"),
    "huge-header": ("failed", "header_too_large"),
    "endless-103": ("failed", "header_too_large"),
    "length-too-long": ("failed", "disconnected"),
    "length-too-short": ("archived", ""),
    "two-lengths": ("failed", "bad_http"),
    "bad-chunk": ("failed", "bad_http"),
    "truncated-chunk": ("failed", "disconnected"),
    "missing-last-chunk": ("failed", "disconnected"),
    "two-answers": ("archived", ""),
    "location-crlf": ("failed", "bad_http"),
    "type-crlf": ("failed", "bad_http"),
    "not-http": ("failed", "bad_http"),
    "not-gzip": ("archived", ""),
    "warc-in-body": ("archived", ""),
}
"""What becomes of a page that is served so, once its retries (none here) are used up."""
TRUNCATED = {
    "reset-mid-body": "disconnect",
    "drip": "time",
    "brook": "time",
    "endless-body": "length",
    "endless-chunks": "length",
    "length-too-long": "disconnect",
    "bad-chunk": "unspecified",
    "truncated-chunk": "disconnect",
    "missing-last-chunk": "disconnect",
}
DEADLINES = {"first_byte_s": 2.0, "stall_s": 1.0, "total_s": 4.0, "max_body_bytes": CAP}


def forbid_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the first failure the last: what is tested is its end, not the wait for it."""
    for kind in RETRY:
        monkeypatch.setitem(RETRY, kind, RetryRule(retries=0))


def brook(_place: FaultLocation) -> Iterator[FaultStep]:
    """Send enough not to stall, and never end."""
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    while True:
        yield PAGE * 4
        yield Pause(0.2)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Done]:
    web = ScriptedWeb()
    hub = web.host("hub.test")
    links = []
    for name in FAULTS:
        host = web.host(f"{name}.test").page("/after", text=f"honest {name}")
        if name == "brook":
            host.custom_fault("/x", brook)
        else:
            host.fault("/x", name)
        links += [host.url("/x"), host.url("/after")]
    hub.page("/", links=links)
    with serving(web) as server, pytest.MonkeyPatch.context() as patch:
        forbid_retries(patch)
        folder = tmp_path_factory.mktemp("wire") / "c"
        done = crawl(server, folder, hub.url(), knobs={"fetch": DEADLINES})
        patch.undo()
        yield done


def url(done: Done, name: str, path: str = "/x") -> str:
    return done.server.web.host(f"{name}.test").url(path)


@pytest.mark.parametrize("name", FAULTS)
def test_a_page_that_breaks_the_protocol_ends_with_a_reason(name: str, done: Done) -> None:
    assert done.fate(url(done, name)) == FAULTS[name]


def test_after_every_fault_the_next_honest_page_is_fetched_whole(done: Done) -> None:
    assert done.ending.reason == "finished"
    for name in FAULTS:
        assert f"honest {name}".encode() in done.response(url(done, name, "/after")).payload
        assert done.asked[url(done, name, "/after")] == 1


@pytest.mark.parametrize("name", TRUNCATED)
def test_a_body_that_was_cut_says_so_in_the_archive(name: str, done: Done) -> None:
    record = done.response(url(done, name))
    assert record.headers["warc-truncated"] == TRUNCATED[name]
    assert record.payload[:10] in PAGE
    cut = {done.response(url(done, name)).url for name in TRUNCATED}
    marked = {r.url for r in done.archive.of_kind("response") if "warc-truncated" in r.headers}
    assert marked == cut


def test_an_endless_body_is_cut_at_the_cap_to_the_byte(done: Done) -> None:
    assert len(done.response(url(done, "endless-body")).payload) == CAP
    assert done.why(url(done, "endless-body"))["detail"] == "truncated (length)"
    chunks = done.response(url(done, "endless-chunks")).payload
    assert 0 < len(chunks) <= CAP


def test_a_second_answer_on_the_connection_is_never_taken_for_the_next_page(done: Done) -> None:
    assert not [name for name, content in done.everything() if b"POISON" in content]
    assert done.response(url(done, "two-answers")).payload.endswith(b"paragraph.</p>\n")


def test_a_body_that_looks_like_warc_records_stays_one_body(done: Done) -> None:
    payload = done.response(url(done, "warc-in-body")).payload
    assert payload.count(b"WARC/1.1\r\nWARC-Type: response") == 3
    assert payload.endswith(b"hello\r\n\r\n")
    pages = [r for r in done.archive.records if r.url == url(done, "warc-in-body")]
    assert sorted(r.kind for r in pages) == ["conversion", "metadata", "request", "response"]


def test_no_header_of_a_server_becomes_a_header_of_a_record(done: Done) -> None:
    names = {name for record in done.archive.records for name in record.headers}
    assert not [name for name in names if "injected" in name]
    assert {r.headers["warc-type"] for r in done.archive.records} == {
        *("warcinfo", "request", "response", "metadata", "conversion")
    }


def test_what_cannot_be_decoded_is_stored_as_sent_and_said(done: Done) -> None:
    assert done.why(url(done, "not-gzip"))["detail"].startswith("decoding: ")
    assert done.raw_blocks[url(done, "not-gzip")].endswith(b"\r\n\r\nthis was never gzip")


def test_header_and_body_are_stored_exactly_as_sent(tmp_path: Path) -> None:
    answers = {
        "/odd": b"HTTP/1.1 200 Fine, thanks\r\nCONTENT-type:text/html\r\nX-Twice: 1\r\n"
        b"x-twice:2\r\n"
        b"X-Latin: caf\xe9\r\nX-Empty:\r\nContent-Length:    9 \r\n\r\n\r\n\r\nodd \xff",
        "/close": b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\nuntil the end",
        "/chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"4;x=y\r\nlast\r\n0\r\n\r\n",
    }
    web = ScriptedWeb()
    host = web.host("a.test").page("/", links=list(answers))
    for path, raw in answers.items():
        host.on(path, raw)
    with serving(web) as server:
        done = crawl(server, tmp_path / "c", host.url())
        stored = done.raw_blocks
        assert {path: stored[host.url(path)] for path in answers} == answers
        assert len(done.archive.pages) == 4


def test_a_folded_header_line_is_no_line_of_the_record(tmp_path: Path) -> None:
    folded = b"HTTP/1.1 200 OK\r\nX-Fold: a\r\n WARC/1.1\r\n WARC-Type: resource\r\n"
    web = ScriptedWeb()
    host = web.host("a.test").on("/", folded + b"Content-Length: 4\r\n\r\nfold")
    with serving(web) as server:
        done = crawl(server, tmp_path / "c", host.url())
        assert done.response(host.url()).payload == b"fold"
        assert b"WARC-Type: resource" in done.raw_blocks[host.url()]


@pytest.mark.parametrize("surplus", [0, 1])
def test_the_largest_header_that_is_kept_can_be_read_by_all(surplus: int, tmp_path: Path) -> None:
    cap = FetchConfig().max_header_bytes
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: "
    large = head + b"v" * (cap + surplus - len(head) - 4) + b"\r\n\r\n"
    web = ScriptedWeb()
    host = web.host("a.test").on("/", large + b"ok")
    with serving(web) as server:
        done = crawl(server, tmp_path / "c", host.url())
        fate = ("failed", "header_too_large") if surplus else ("archived", "")
        assert done.fate(host.url()) == fate
        assert done.archive.records


def test_line_breaks_in_a_url_never_reach_the_wire(tmp_path: Path) -> None:
    asked: list[bytes] = []

    def answer(request: Request) -> CannedResponse:
        asked.append(request.head)
        return html_response("x")

    web = ScriptedWeb()
    host = web.host("a.test")
    links = ["/a%0d%0aX-Evil:%201", "/b\tc", "/d\r\n e", "/f\x00g", "/h%00i", "/é\x7f"]
    host.page("/", links=links)
    raw = b"HTTP/1.1 302 Found\r\nLocation: /j%0d%0ak\tl\r\nContent-Length: 0\r\n\r\n"
    host.on("/moved", raw)
    for target in ("/a%0D%0AX-Evil:%201", "/bc", "/d%20e", "/h%00i", "/%C3%A9%7F", "/j%0D%0Akl"):
        host.on(target, answer)
    with serving(web) as server:
        done = crawl(server, tmp_path / "c", host.url(), host.url("/moved"))
        for head in asked:
            assert b"X-Evil" not in head.split(b"\r\n", 1)[1]
            assert head.split(b"\r\n")[0].count(b" ") == 2
        assert len(asked) >= 5
        assert done.fate(host.url("/j%0D%0Akl")) == ("archived", "")
        assert done.archive.pages


def cookie_web(seen: list[tuple[str, str]]) -> ScriptedWeb:
    """Return a web in which one host throws 700 cookies, one huge one and one for everybody."""

    def note(request: Request) -> CannedResponse:
        seen.append((request.host + request.target, request.header("cookie")))
        many = tuple(("Set-Cookie", f"c{n}=v; Domain=test") for n in range(700))
        huge = (("Set-Cookie", "huge=" + "x" * 5000),)
        return html_response("cookies", headers=(*many, *huge))

    web = ScriptedWeb()
    hub, other = web.host("hub.test"), web.host("other.test")
    hub.page("/", links=["/1", "/2", other.url("/3")])
    hub.on("/1", note).on("/2", note)
    other.on("/3", note)
    return web


@pytest.mark.parametrize("is_on", [False, True])
def test_cookies_are_off_and_even_when_on_few_small_and_at_home(
    is_on: bool,  # noqa: FBT001 - pytest passes parameters so
    tmp_path: Path,
) -> None:
    seen: list[tuple[str, str]] = []
    with serving(cookie_web(seen)) as server:
        seed = server.web.host("hub.test").url()
        done = crawl(server, tmp_path / "c", seed, knobs={"fetch": {"cookies": is_on}})
        sent = dict(seen)
        assert sent["hub.test/1"] == sent["other.test/3"] == ""
        cookies = sent["hub.test/2"].split("; ") if sent["hub.test/2"] else []
        assert len(cookies) == (50 if is_on else 0)
        assert max(map(len, cookies), default=0) < 4096
        requests = [r.payload for r in done.archive.of_kind("request")]
        assert not [r for r in done.archive.of_kind("request") if "cookie" in str(r.headers)]
        assert not [payload for payload in requests if b"ookie" in payload]


def test_a_url_that_waits_for_its_next_try_is_told_of(tmp_path: Path) -> None:
    web = ScriptedWeb()
    host = web.host("a.test").page("/", links=["/x", "/y"]).fault("/x", "drop").page("/y")
    with serving(web) as server:
        done = crawl(server, tmp_path / "c", host.url(), knobs={"limits": {"max_time_s": 0.5}})
        told = done.why(host.url("/x"))
        assert (told["state"], told["reason"]) == ("waiting", "disconnected")
        assert told["next_at"] > told["visits"][-1]["at"]
        assert "will be tried again" in told["explanation"]
        assert done.fate(host.url("/y")) == ("archived", "")
        assert done.ending.exit_code == 0
        assert not done.ending.is_finished


def test_a_broken_connection_is_not_used_again(done: Done) -> None:
    assert most_connections(done.server.requests) == 1
    by_connection: dict[int, list[str]] = {}
    for visit in done.server.requests:
        if visit.host.removesuffix(".test") in TRUNCATED:
            by_connection.setdefault(visit.connection_id, []).append(visit.target)
    assert not [seen for seen in by_connection.values() if "/x" in seen[:-1]]


def inherited_sockets() -> list[str]:
    """Return the sockets of this process that a child would inherit."""
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        try:
            flags = (
                Path(f"/proc/self/fdinfo/{entry.name}").read_text().split("flags:")[1].split()[0]
            )
            if str(entry.readlink()).startswith("socket:") and not int(flags, 8) & 0o2000000:
                found.append(entry.name)
        except OSError:
            continue
    return found


def test_no_connection_is_inherited_by_a_helper_process(tmp_path: Path) -> None:
    before = len(inherited_sockets())
    open_now: list[int] = []

    def look(_: Request) -> CannedResponse:
        open_now.append(len(inherited_sockets()))
        return html_response("seen")

    web = ScriptedWeb()
    hosts = [web.host(f"h{n}.test").on("/", look) for n in range(5)]
    with serving(web) as server:
        crawl(server, tmp_path / "c", *(host.url() for host in hosts))
    assert open_now == [before] * 5


def test_pages_for_the_helper_beside_broken_connections_disturb_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid_retries(monkeypatch)
    web = ScriptedWeb()
    links = []
    large = b"<p>" + b"a large page " * 700_000
    for number in range(12):
        host = web.host(f"h{number}.test").page("/after", text=f"honest {number}")
        host.fault("/drop", "reset-mid-body").file("/large", large, "text/html")
        links += [host.url("/drop"), host.url("/large") if number < 2 else host.url("/after")]
        links += [host.url("/after")]
    hub = web.host("hub.test").page("/", links=links)
    with serving(web) as server:
        done = crawl(server, tmp_path / "c", hub.url())
        assert done.ending.reason == "finished"
        assert done.ending.status.failed == {"disconnected": 12}
        assert done.ending.status.pages == 15


def test_the_server_saw_one_request_for_each_fault(done: Done) -> None:
    server: FakeServer[ScriptedWeb] = done.server
    again = {v.host for v in server.requests if done.asked[url(done, v.host[:-5])] > 1}
    # A request over a connection that the server closed meanwhile may be sent once more.
    assert again <= {"drop.test", "reset.test"}
