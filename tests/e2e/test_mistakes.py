"""Plausible mistakes: each gets an exit code and a line: what was wrong, and what to do."""

import fcntl
import os
import resource
import shutil
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from gossamer.testing import (
    FakeServer,
    ScriptedWeb,
    ServerOptions,
    html_response,
    make_certificate,
    serve_in_thread,
)
from tests.arch.mistakes import MISTAKES, Mistake
from tests.e2e.crawler import GOSSAMER, Ended, finish, say, spawn


def scripted() -> ScriptedWeb:
    web = ScriptedWeb()
    host = web.host("site.test").page("/", links=["/a"]).page("/a")
    host.redirect("/loop", to="/round").redirect("/round", to="/loop")
    host.redirect("/away", to="http://other.test/")
    host.redirect("/ftp", to="ftp://site.test/")
    host.on("/gone", html_response("no", status=410))
    host.on("/teapot", html_response("no", status=418))
    host.on("/forbidden", html_response("no", status=403))
    host.on("/private", html_response("who?", status=401))
    web.host("shy.test").page("/").robots("User-agent: *\nDisallow: /\n")
    return web


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer[ScriptedWeb]]:
    with serve_in_thread(scripted()) as running:
        yield running


class Secure(NamedTuple):
    """A server with a certificate for one of its names, and the file to trust it by."""

    server: FakeServer[ScriptedWeb]
    authority: str


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secure | None]:
    """Serve over TLS; None where there is no `openssl`."""
    made = make_certificate(tmp_path_factory.mktemp("tls"), ["named.test"])
    if made is None:
        yield None
        return
    web = ScriptedWeb()
    for name in ("named.test", "unnamed.test"):
        web.host(name).page("/")
    with serve_in_thread(web, ServerOptions(tls=made.context())) as running:
        yield Secure(running, str(made.file))


@pytest.fixture(scope="module")
def fence(server: FakeServer[ScriptedWeb], secure: Secure | None) -> tuple[str, ...]:
    """Give the flags that keep a crawl on loopback."""
    resolve = {**server.resolve, **(secure.server.resolve if secure is not None else {})}
    pairs = (word for h, a in resolve.items() for word in ("--resolve", f"{h}:{a}"))
    return ("--allow-net", "127.0.0.0/8", "--delay", "0", "--shards", "1", *pairs)


@pytest.fixture(scope="module")
def prepared(
    server: FakeServer[ScriptedWeb],
    secure: Secure | None,
    fence: tuple[str, ...],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[str, str]]:
    """Give what the words in capitals stand for."""
    at = tmp_path_factory.mktemp("mistakes")
    origin = server.web.origin("site.test")
    say("crawl", f"{origin}/", "--into", str(at / "crawls" / "mycrawl"), *fence).expect(0)
    crawl = at / "crawls" / "mycrawl"
    for name in ("cut", "stateless", "busy"):
        shutil.copytree(crawl, at / name / name)
    settings = (at / "cut" / "cut" / "crawl.toml").read_text().splitlines()
    (at / "cut" / "cut" / "crawl.toml").write_text("\n".join(settings[:-1]))
    shutil.rmtree(at / "stateless" / "stateless" / "state")
    (at / "elsewhere").mkdir()
    files = {
        "EMPTY": b"# nothing yet\n",
        "GOOD_SEEDS": f"{origin}/\n".encode(),
        "BAD_SEEDS": b"# sites\nhttps://b.test/ news\nhtps://a.test/\n",
        "TABLE": b"https://b.test/,news\n",
        "LONG": b"https://b.test/\nhttp://a.test/" + b"x" * 300_000 + b"\n",
        "LATIN": b"https://b.test/\nhttps://caf\xe9.test/\n",
        "BINARY": b"\x7fELF\2\1\xff\0",
        "WIDE_SEEDS": "https://b.test/\n".encode("utf-16"),
        "QUOTED_SEEDS": b'https://b.test/ "news"\n',
        "MISSPELT": b'[fetch]\nuser_agnt = "me"\n',
        "BROKEN": b"[fetch]\nproxy = here\n",
        "TEXTUAL": b'[limits]\nmax_pages = "10k"\n',
    }
    for name, content in files.items():
        (at / "elsewhere" / name.lower()).write_bytes(content)
    with (
        socket.create_server(("127.0.0.1", 0)) as used,
        socket.socket() as closed,
        (at / "busy" / "busy" / "lock").open("r+") as lock,
    ):
        closed.bind(("127.0.0.1", 0))  # and never listens
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        https = secure.server.web.origin if secure is not None else str
        yield {
            **{name: str(at / "elsewhere" / name.lower()) for name in files},
            "ELSEWHERE": str(at / "elsewhere"),
            "OKK": f"{crawl}l",
            "OK": str(crawl),
            "CUT": str(at / "cut" / "cut"),
            "STATELESS": str(at / "stateless" / "stateless"),
            "USED": str(used.getsockname()[1]),
            "CLOSED": str(closed.getsockname()[1]),
            "SHY": server.web.origin("shy.test"),
            "WEB": origin,
            "SELF_SIGNED": https("named.test"),
            "OTHER_NAME": https("unnamed.test"),
            "BUSY": str(at / "busy" / "busy"),
        }


def filled(text: str, prepared: Mapping[str, str]) -> str:
    """Return a text with what its words in capitals stand for, the longest first."""
    for name in sorted(prepared, key=len, reverse=True):
        text = text.replace(name, prepared[name])
    return text


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.title)
def test_a_mistake_is_told_with_what_to_do(
    mistake: Mistake,
    prepared: dict[str, str],
    fence: tuple[str, ...],
    secure: Secure | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "certificate" in mistake.title and secure is None:
        pytest.skip("there is no openssl command to make a certificate with")
    if "another name" in mistake.title and secure is not None:
        monkeypatch.setenv("SSL_CERT_FILE", secure.authority)
    meant = {**prepared, "NEW": str(tmp_path / "new")}
    words = [
        word
        for part in mistake.words.split()
        for word in (fence if part == "FENCE" else (filled(part, meant),))
    ]
    ended = say(*words).expect(mistake.code)
    lines = (ended.err + ended.out).splitlines()
    wrong, remedy = filled(mistake.wrong, meant), filled(mistake.remedy, meant)
    assert [line for line in lines if wrong in line and remedy in line], "\n".join(lines)
    if mistake.code == 2:
        assert ended.err.startswith("gossamer: ")
        assert (ended.err.count("\n"), ended.out) == (1, "")
        assert not (tmp_path / "new").exists()  # what cannot be meant leaves nothing behind


def limited(kind: int, size: int, *words: str) -> Ended:
    """Run a command in a process of its own that may have no more of something than that."""

    def limit() -> None:
        resource.setrlimit(kind, (size, size))

    return finish(spawn([GOSSAMER, *words], preexec_fn=limit))


def test_too_little_memory_is_told_before_a_library_ends_the_process(tmp_path: Path) -> None:
    words = ("crawl", "http://127.0.0.1:9/", "--into", str(tmp_path / "c"))
    ended = limited(resource.RLIMIT_AS, 200 << 20, *words).expect(4)
    assert ended.err.startswith("gossamer: not enough memory: it is limited to 200 MiB (ulimit -v)")
    assert "raise it" in ended.err
    assert ended.err.count("\n") == 1


def test_too_few_open_files_are_told(
    server: FakeServer[ScriptedWeb], fence: tuple[str, ...], tmp_path: Path
) -> None:
    seed = server.web.origin("site.test") + "/"
    words = ("crawl", seed, *fence, "--into")
    ended = limited(resource.RLIMIT_NOFILE, 32, *words, str(tmp_path / "c")).expect(4)
    assert "only 32 files may be open at once (ulimit -n)" in ended.err
    assert "`ulimit -n 1024`" in ended.err
    ended = limited(resource.RLIMIT_NOFILE, 64, *words, str(tmp_path / "d")).expect(0)
    assert "open_files.low limit=64 connections=8" in ended.err
    assert "2 stored" in ended.out


def test_what_a_terminal_cannot_show_is_replaced(
    prepared: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    ended = say("why", prepared["OK"], f"{prepared['WEB']}/caf\u00e9").expect(0)
    assert "/caf" in ended.out
    say("search", prepared["OK"], "caf\u00e9").expect(0)


def test_there_are_at_least_forty_of_them() -> None:
    assert len(MISTAKES) >= 40
    assert len({mistake.title for mistake in MISTAKES}) == len(MISTAKES)
