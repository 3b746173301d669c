"""T23, T29, T30, T37: secrets are in no file and no output, and what the web says is harmless."""

import contextlib
import io
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import gossamer
from gossamer.errors import ConfigError
from gossamer.log import set_up, tell
from gossamer.testing import CannedResponse, ScriptedWeb, html_response
from gossamer.testing.responses import Request
from tests.e2e.crawler import only_json, say
from tests.integration.threats import Done, crawl, serving, settings

SECRET = "S3CRETWORD"
KEY = "K3YWORD"
HEADER = "H34DERWORD"
PASSWORD = "P455WORD"
STEERING = "\x1b[31m\x1b]0;owned\x07\r\nERROR fake line\u202e\u2028\x9b5m"
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


@dataclass
class Kept:
    """A crawl that was given secrets, and all that it wrote and said."""

    done: Done
    requests: list[bytes]
    said: dict[str, str] = field(default_factory=dict)

    def ask(self, verb: str, *words: str) -> None:
        """Put a question to the command line, for people and for programs; keep the answers."""
        for flags in ((), ("--json",)):
            told = say(verb, str(self.done.folder), *words, *flags).expect(0)
            self.said[f"{verb} {words} {flags}"] = told.out + told.err


@contextlib.contextmanager
def logged() -> Iterator[io.StringIO]:
    """Keep what is logged in a block, every event of it."""
    logger, log = logging.getLogger("gossamer"), io.StringIO()
    before = logger.handlers[:], logger.level, logger.propagate
    set_up(verbose=True, stream=log)
    try:
        yield log
    finally:
        logger.handlers[:], logger.level, logger.propagate = before


def spellings(port: int) -> list[str]:
    """Return ways to write credentials that a browser understands."""
    return [
        f"http://user:{SECRET}@a.test:{port}/1",
        f"http://{SECRET}@a.test:{port}/2",
        f"http://:{SECRET}@a.test:{port}/3",
        f"http:user:{SECRET}@a.test:{port}/4",
        f"http:/user:{SECRET}@a.test:{port}/5",
        f"http:\\\\user:{SECRET}@a.test:{port}\\6",
        f"HTTP://user:{SECRET}%40x@a.test:{port}/7",
        f"http://user:x@{SECRET}@a.test:{port}/8",
        f"  http://us\ter:{SECRET}@a.test:{port}/9",
    ]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    requests: list[bytes] = []

    def note(request: Request) -> CannedResponse:
        requests.append(request.head)
        number = request.target.strip("/")
        # On a page, "http:" without slashes begins a relative path: no credentials are in it.
        absolute = [url for url in spellings(server.port) if "//" in url or "\\" in url]
        links = "".join(f'<a href="{url}">x</a>' for url in absolute)
        moved = f"http://user:{SECRET}@a.test:{server.port}/moved{number}"
        return html_response(f"{number}<a href='{moved}'>y</a>{links}")

    web = ScriptedWeb()
    host = web.host("a.test")
    for number in range(1, 10):
        host.on(f"/{number}", note).page(f"/moved{number}", text=f"moved {number}")
    host.on(
        "/redirect",
        lambda _: CannedResponse(
            status=302, headers=(("Location", f"http://u:{SECRET}@a.test:{server.port}/landed"),)
        ),
    ).page("/landed", text="landed")
    host.page("/keyed", text="keyed")
    folder = tmp_path_factory.mktemp("secrets") / "c"
    with serving(web) as server:
        keyed = host.url(f"/keyed?api_key={KEY}&access_token={KEY}&x=1&X-Amz-Signature={KEY}")
        stray = f"http://u:{SECRET}@b.a.test:22/"
        seeds = [*spellings(server.port), host.url("/redirect"), keyed, stray]
        knobs = {
            "fetch": {
                "headers": [f"X-Own: {HEADER}", f"Cookie: c={HEADER}"],
                "auth": {"a.test": f"me:{PASSWORD}"},
            }
        }
        with logged() as log:
            done = crawl(server, folder, *seeds, knobs=knobs)
            tell("page.tested", url=keyed, other=spellings(server.port)[0])
        found = Kept(done, requests, {"log": log.getvalue(), "status": str(done.ending.status)})
        found.ask("status")
        for url in (*seeds, host.url("/landed")):
            found.ask("why", url)
        yield found


def test_a_password_in_a_url_is_in_no_file_of_the_crawl(kept: Kept) -> None:
    assert kept.done.ending.is_finished
    assert len(kept.requests) == 9
    assert kept.done.asked[kept.done.server.web.host("a.test").url("/landed")] == 1
    # What a server sent is stored as it was sent; everything of our own is free of it.
    ours = [
        name
        for name, content in kept.done.everything()
        if SECRET.encode() in content
        and "response payload" not in name
        and not name.startswith("archive/pages")
    ]
    assert ours == []


def test_a_password_in_a_url_is_in_no_output(kept: Kept) -> None:
    assert [name for name, text in kept.said.items() if SECRET in text] == []


def test_a_password_in_a_url_never_goes_over_the_wire(kept: Kept) -> None:
    assert not [head for head in kept.requests if SECRET.encode() in head]
    assert not [head for head in kept.requests if b"referer" in head.lower()]


def test_secret_parameters_are_redacted_wherever_people_read(kept: Kept) -> None:
    for_people = {n: t for n, t in kept.said.items() if "--json" not in n}
    assert [name for name, text in for_people.items() if KEY in text] == []
    assert "[redacted]" in kept.said["log"]


def test_headers_and_credentials_of_ours_are_sent_and_not_archived(kept: Kept) -> None:
    assert all(HEADER.encode() in head for head in kept.requests)
    assert all(b"Authorization: Basic" in head for head in kept.requests)
    ours = [
        name
        for name, content in kept.done.everything()
        if re.search(f"{HEADER}|{PASSWORD}".encode(), content)
    ]
    assert ours == ["secrets.toml"]
    assert (kept.done.folder / "secrets.toml").stat().st_mode & 0o077 == 0
    requests = kept.done.archive.of_kind("request")
    assert {r.headers["warc-redacted-headers"] for r in requests} == {"X-Own,Authorization,Cookie"}


def test_a_seed_that_is_refused_is_named_without_its_password(tmp_path: Path) -> None:
    with serving(ScriptedWeb()) as server:
        seeds = [f"http://u:{SECRET}@b.test:22/", f"http:u:{SECRET}@c.test:25/x"]
        done = crawl(server, tmp_path / "c", *seeds)
        assert done.ending.exit_code == 1
        assert "bad_port" in str(done.ending.status.refused_seeds)
        assert SECRET not in str(done.ending.status)
        with pytest.raises(ConfigError) as caught:
            crawl(server, tmp_path / "d", f"http://u:{SECRET}@:80/")
        assert SECRET not in str(caught.value)
        added = say("add", str(tmp_path / "c"), f"http:u:{SECRET}@d.test/", "--json").expect(0)
        assert only_json(added)["added"] == 1
        assert SECRET not in (tmp_path / "c" / "crawl.toml").read_text()


# What the web says, and what a terminal is told


class Screen(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def on_screen(*words: str) -> str:
    """Run a command whose output goes to a terminal; return what the terminal was told."""
    screen = Screen(io.BytesIO(), "utf-8", newline="")
    with contextlib.redirect_stdout(screen):
        from gossamer.cli.main import exit_code  # noqa: PLC0415 - as the command line does

        assert exit_code(words) == 0
    screen.flush()
    buffer = screen.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()


def test_strings_from_the_web_cannot_steer_a_terminal_or_forge_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    web = ScriptedWeb()
    host = web.host("a.test")
    host.on(
        "/",
        html_response(
            f"<title>{STEERING}</title><a href='/no{STEERING}'>{STEERING}</a><a href='/bad'>x</a>",
            headers=(("X-Title", "a\x1b[31mb"),),
        ),
    )
    host.file("/robots.txt", f"User-agent: *\nDisallow: /no # {STEERING}\n".encode(), "text/plain")
    raw = b"HTTP/1.1 302 \x1b[2J\r\nLocation: http://\x1b[31m/\r\nContent-Length: 0\r\n\r\n"
    host.on("/bad", raw)
    with serving(web) as server:
        done = crawl(server, tmp_path / "c", host.url())
        folder = str(done.folder)
        for url in (host.url(), host.url(f"/no{STEERING}"), host.url("/bad")):
            for words in (("why", folder, url), ("why", folder, url, "--json")):
                told = say(*words).expect(0)
                assert not _UNSAFE.search(told.out.replace("\n", "")), words
                assert "\nERROR" not in told.out
        for words in (("show",), ("show", "--text"), ("show", "--headers"), ("show", "--raw")):
            told_screen = on_screen(words[0], folder, host.url(), *words[1:])
            assert not _UNSAFE.search(told_screen.replace("\r\n", "")), words
        assert not _UNSAFE.search(on_screen("status", folder))
    with logged() as log:
        tell("page.read", title=STEERING)
    assert log.getvalue().count("\n") == 1
    assert not _UNSAFE.search(log.getvalue())


def test_no_name_of_a_file_comes_from_the_web(tmp_path: Path) -> None:
    web = ScriptedWeb()
    host = web.host("a.test")
    paths = ["/../../../../tmp/x", "/%2e%2e/%2e%2e/x", "/..%2f..%2fx", "/a%00b", "/" + "n" * 300]
    host.page("/", links=[*paths, "http://..$PORT/x", "//..\\..\\x/"])
    for path in ("/tmp/x", "/x", "/..%2F..%2Fx", "/a%00b", "/" + "n" * 300):
        host.page(path, text=path)
    before = {path.name for path in tmp_path.parent.iterdir()}
    with serving(web) as server:
        done = crawl(server, tmp_path / "c", host.url(), knobs={"limits": {"max_time_s": 1.0}})
        assert len(done.archive.pages) == 6
    names = {str(path.relative_to(done.folder)) for path in done.folder.rglob("*")}
    usual = re.compile(
        r"(state/)?crawl\.toml|lock|archive|archive/ends-00|state|state/00|state/near\.seed"
        r"|archive/(pages|text|links)-00-0001-00000\.(warc\.gz|warc\.wet\.gz|cdxj)"
        r"|state/00/[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)?"
    )
    assert [name for name in sorted(names) if not usual.fullmatch(name)] == []
    assert {path.name for path in tmp_path.parent.iterdir()} == before
    assert {path.name for path in tmp_path.iterdir()} == {"c"}


def test_a_folder_may_have_any_name_that_the_system_takes(tmp_path: Path) -> None:
    web = ScriptedWeb()
    host = web.host("a.test").page("/")
    with serving(web) as server:
        odd = tmp_path / "a b\n\x1b[31m'\"$(x)é" / ("n" * 200)
        assert crawl(server, odd, host.url()).ending.is_finished
        told = say("status", str(odd)).expect(0)
        assert not _UNSAFE.search(told.out.replace("\n", ""))
        for name in ("n" * 300, "nul\0"):
            with pytest.raises((gossamer.errors.GossamerError, ValueError)):
                gossamer.Crawl(tmp_path / name, [host.url()], settings(server)).run()
