"""Clients that mean harm: none of them keeps others from answers, or learns of its files."""

import os
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Event, Thread
from urllib.parse import urlsplit

import pytest

from gossamer.web.door.guard import is_loopback
from gossamer.web.door.patience import MOST_REQUEST_BYTES
from gossamer.web.door.turns import MOST_WAITING, Busy
from gossamer.web.engine import Engine
from gossamer.web.server import MOST_CONNECTIONS, connections_in
from tests.unit.web.served import PATIENCE_S, A, Served, crawled, serving

pytestmark = pytest.mark.slow  # servers in processes, and many connections


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(crawled(tmp_path_factory.mktemp("hostile")), "--no-build") as found:
        yield found


def said(server: Served, *pieces: bytes) -> bytes:
    """Return all that the server says to some bytes until it hangs up."""
    place = urlsplit(server.address)
    found = b""
    with socket.create_connection((place.hostname, place.port), PATIENCE_S) as line:
        try:
            for piece in pieces:
                line.sendall(piece)
            while more := line.recv(1 << 16):
                found += more
        except ConnectionError:
            pass
    return found


def test_headers_without_end_are_cut(server: Served) -> None:
    start = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
    line = b"X: " + b"a" * 8000 + b"\r\n"
    found = said(server, start, *[line] * 1000)  # the last piece is never sent, or never read
    assert b"200 OK" not in found
    assert server.get("/healthz").status == 200


def test_a_body_without_end_is_cut(server: Served) -> None:
    start = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n"
    found = said(server, start, *[b"a" * MOST_REQUEST_BYTES] * 200)
    assert not found or b" 405 " in found or b" 400 " in found
    assert server.get("/healthz").status == 200


def test_many_questions_in_one_piece_are_all_answered(server: Served) -> None:
    one = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert said(server, one * 3000, last).count(b"200 OK") == 3001


HALF_QUESTIONS = {
    "silent": b"",
    "half a line": b"GET /healthz",
    "half a head": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n",
    "no body": b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
}


@pytest.fixture(scope="module", autouse=True)
def descriptors() -> Iterator[None]:
    """Let this process have a thousand connections."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, before[1]), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("name", HALF_QUESTIONS)
def test_a_thousand_half_open_connections_shut_nobody_out(server: Served, name: str) -> None:
    place = urlsplit(server.address)
    with ExitStack() as held:
        for n in range(1000):
            line = socket.create_connection((place.hostname, place.port), PATIENCE_S)
            held.enter_context(line)
            line.sendall(HALF_QUESTIONS[name])
            if n % 50 == 0:
                assert server.get("/healthz").status == 200
        for _ in range(20):
            assert server.get("/healthz").status == 200
            assert server.ask("/api/links", url=A).status == 200


def test_the_connection_that_was_idle_for_longest_goes_first(server: Served) -> None:
    place = urlsplit(server.address)
    with ExitStack() as held:
        lines = [
            held.enter_context(socket.create_connection((place.hostname, place.port), PATIENCE_S))
            for _ in range(MOST_CONNECTIONS + 10)
        ]
        assert lines[0].recv(1) == b""
        lines[-1].sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200 OK" in lines[-1].recv(1 << 16)


def test_few_descriptors_mean_few_connections() -> None:
    assert connections_in(20_000) == MOST_CONNECTIONS
    assert connections_in(256) == 64
    assert connections_in(64) == 16


def test_answers_to_what_is_no_request_carry_the_rules_too(server: Served) -> None:
    found = said(server, b"HELLO\r\n\r\n")
    assert b" 400 " in found
    assert found.count(b"x-content-type-options: nosniff") == 1
    assert server.get("/healthz").headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("host", ["[::1", "::1]", "[localhost]", "", "localhost.", "[[::1]]"])
def test_half_brackets_are_no_address(host: str) -> None:
    assert not is_loopback(host)


def test_too_many_long_questions_are_told_to_come_again(tmp_path: Path) -> None:
    engine = Engine(tmp_path)
    begun, end = Event(), Event()

    def hold(_: object) -> dict[str, object]:
        begun.set()
        end.wait(PATIENCE_S)
        return {}

    threads = [Thread(target=engine.aside, args=(hold,)) for _ in range(MOST_WAITING)]
    for thread in threads:
        thread.start()
    begun.wait(PATIENCE_S)
    free = engine._turns_aside._waiting
    while free.acquire(blocking=False):
        free.release()
    with pytest.raises(Busy, match="again"):
        engine.aside(lambda _: {})
    end.set()
    for thread in threads:
        thread.join()
    assert engine.aside(lambda _: {"ok": True}) == {"ok": True}


def test_a_graph_that_is_damaged_deleted_or_made_anew_while_it_is_served(tmp_path: Path) -> None:
    folder = crawled(tmp_path)
    with serving(folder, "--no-build") as server:
        assert server.ask("/api/links", url=A).status == 200
        assert str(tmp_path) not in server.get("/api/graph").text
        path = folder / "graph" / "web.graph"
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        os.utime(folder / "graph" / "manifest.json")
        for where in ("/api/links", "/api/like", "/links"):
            found = server.ask(where, url=A)
            assert found.status == 503
            assert "web.graph is damaged" in found.text
            assert str(tmp_path) not in found.text
        (folder / "graph" / "manifest.json").unlink()
        found = server.ask("/api/links", url=A)
        assert (found.status, found.json["error"]) == (503, "no_graph")
        assert str(tmp_path) not in found.text
        crawled(folder)
        assert server.ask("/api/links", url=A).status == 200
