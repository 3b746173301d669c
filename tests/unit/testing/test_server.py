import asyncio
import gzip
import ssl
import zlib
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import brotli
import pytest
import zstandard

from gossamer.testing import (
    CannedResponse,
    ConnectionEnd,
    FakeServer,
    FakeWeb,
    FaultLocation,
    FaultStep,
    ManualClock,
    Pause,
    Request,
    ScriptedWeb,
    ServerOptions,
    fault_paths,
    hits,
    make_certificate,
    most_connections,
    repeats,
    serve_in_process,
    serve_in_thread,
    smallest_gap,
)
from gossamer.testing.faults import bomb

pytestmark = pytest.mark.slow

HOST = "h00.fake0.test"
WEB = FakeWeb(seed=5, hosts=10, pages_per_host=10)


HANGING = {"/fault/silent", "/fault/drip", "/fault/drip-header"}
SILENT = {"/fault/silent", "/fault/drop", "/fault/reset"}


async def ask(
    server: FakeServer[FakeWeb] | FakeServer[ScriptedWeb], host: str, target: str, *more: str
) -> bytes:
    """Ask once, on a connection of its own, and return what comes, up to a megabyte."""
    reader, writer = await asyncio.open_connection(server.resolve[host], server.port)
    lines = [f"GET {target} HTTP/1.1", f"Host: {host}:{server.port}", *more, "Connection: close"]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    received = b""
    try:
        async with asyncio.timeout(0.3 if target in HANGING else 30):
            while len(received) < 1_000_000 and (data := await reader.read(1 << 16)):
                received += data
    except (TimeoutError, ConnectionResetError) as error:
        received += f"<{type(error).__name__}>".encode()
    writer.transport.abort()
    return received


def undo_chunks(body: bytes) -> bytes:
    whole = b""
    while True:
        size, _, body = body.partition(b"\r\n")
        if int(size, 16) == 0:
            return whole
        whole, body = whole + body[: int(size, 16)], body[int(size, 16) + 2 :]


async def test_a_page_arrives_as_the_web_says_in_every_coding() -> None:
    async with FakeServer(WEB) as server:
        for index in range(5):
            host = server.web.catalog.plan.name(index)
            head, _, body = (await ask(server, host, "/", "Accept-Encoding: gzip")).partition(
                b"\r\n\r\n"
            )
            body = undo_chunks(body) if b"Transfer-Encoding: chunked" in head else body
            body = gzip.decompress(body) if b"Content-Encoding: gzip" in head else body
            assert body == server.web.response(host, "/").body
        plain = await ask(server, server.web.catalog.plan.name(1), "/")
        assert plain.endswith(server.web.response("h01.fake0.test", "/").body)


async def test_links_name_the_port_on_which_the_web_is_served() -> None:
    async with FakeServer(WEB) as server:
        assert server.web.seeds == (f"http://{HOST}:{server.port}/",)
        assert f"http://h01.fake0.test:{server.port}/".encode() in await ask(server, HOST, "/")


async def test_a_conditional_request_is_told_that_nothing_changed() -> None:
    async with FakeServer(WEB) as server:
        answer = server.web.response(HOST, "/")
        tagged = await ask(server, HOST, "/", f"If-None-Match: {answer.header('ETag')}")
        dated = await ask(server, HOST, "/", f"If-Modified-Since: {answer.header('Last-Modified')}")
        stale = await ask(server, HOST, "/", 'If-None-Match: "other"')
    assert tagged.startswith(b"HTTP/1.1 304 ")
    assert tagged.endswith(b"\r\n\r\n")
    assert dated.startswith(b"HTTP/1.1 304 ")
    assert stale.startswith(b"HTTP/1.1 200 ")


async def test_a_connection_is_kept_and_serves_requests_in_order() -> None:
    async with FakeServer(ScriptedWeb()) as server:
        site = server.web.host("a.test").page("/1", text="one").page("/2", text="two")
        reader, writer = await asyncio.open_connection(server.resolve["a.test"], server.port)
        for path in ("/1", "/2", "/1"):
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {site.name}\r\n\r\n".encode())
        received = b""
        while received.count(b"</h1>") < 3:
            received += await reader.read(1 << 16)
        writer.transport.abort()
    assert [visit.connection_id for visit in server.requests] == [1, 1, 1]
    assert received.index(b"one") < received.index(b"two")


async def test_the_log_tells_gaps_repeats_and_connections_open_at_once() -> None:
    clock = ManualClock()
    async with FakeServer(ScriptedWeb(), ServerOptions(clock=clock)) as server:
        server.web.host("a.test").page("/")
        await ask(server, "a.test", "/", "User-Agent: x/1")
        clock.advance(3)
        _, held = await asyncio.open_connection(server.resolve["a.test"], server.port)
        held.write(b"GET /robots.txt HTTP/1.1\r\nHost: a.test\r\n\r\n")
        await asyncio.sleep(0.05)
        clock.advance(2)
        await ask(server, "a.test", "/")
        held.transport.abort()
    assert smallest_gap(server.requests) == 2.0
    assert most_connections(server.requests) == 2
    assert hits(server.requests)["a.test", "/"] == 2
    assert repeats(server.requests) == {("a.test", "/"): 2}
    assert server.requests[0].user_agent == "x/1"
    assert [visit.target for visit in server.requests_to("a.test")] == ["/", "/"]


async def test_a_host_may_be_busy_for_some_visits() -> None:
    async with FakeServer(WEB) as server:
        answers = [await ask(server, HOST, "/fault/503/2") for _ in range(3)]
    assert [int(answer[9:12]) for answer in answers] == [503, 503, 200]
    assert b"Retry-After: 1\r\n" in answers[0]
    assert [visit.status for visit in server.requests] == [503, 503, 200]


@pytest.mark.parametrize("path", fault_paths())
async def test_a_fault_says_something_or_nothing_and_leaves_the_server_well(path: str) -> None:
    async with FakeServer(WEB) as server:
        answer = await ask(server, HOST, path)
        assert answer.startswith((b"H", b"220 ")) == (path not in SILENT)
        assert answer.endswith(b"<TimeoutError>") == (path in HANGING)
        assert (await ask(server, HOST, "/")).startswith(b"HTTP/1.1 200 OK\r\n")
    assert [visit.target for visit in server.requests] == [path, "/"]


async def test_faults_end_as_they_say() -> None:
    async with FakeServer(WEB) as server:
        assert await ask(server, HOST, "/fault/drop") == b""
        assert await ask(server, HOST, "/fault/reset") == b"<ConnectionResetError>"
        assert await ask(server, HOST, "/fault/silent") == b"<TimeoutError>"
        assert b"<ConnectionResetError>" in await ask(server, HOST, "/fault/reset-mid-body")
        assert len(await ask(server, HOST, "/fault/endless-body")) >= 1_000_000
        assert (await ask(server, HOST, "/fault/two-answers")).endswith(b"POISON")


@pytest.mark.slow
def test_bombs_are_small_and_unpack_to_a_lot() -> None:
    large = 128 << 20
    assert zlib.decompress(bomb("deflate")).count(b" ") == large
    assert len(gzip.decompress(bomb("gzip"))) == large
    assert len(gzip.decompress(gzip.decompress(bomb("gzip, gzip")))) == large
    assert len(brotli.decompress(bomb("br"))) == large
    assert len(zstandard.ZstdDecompressor().decompressobj().decompress(bomb("zstd"))) == large
    assert max(len(bomb(coding)) for coding in ("deflate", "gzip", "br", "zstd")) < large // 200


async def test_a_script_may_be_a_page_a_redirect_raw_bytes_a_function_or_a_fault() -> None:
    def mine(place: FaultLocation) -> Iterator[FaultStep]:
        yield f"HTTP/1.1 200 OK\r\n\r\n{place.host}".encode()
        yield Pause(0.01)
        yield ConnectionEnd.CLOSE

    def echo(request: Request) -> CannedResponse:
        return CannedResponse(body=request.header("X-Word").encode())

    web = ScriptedWeb()
    other = web.host("b.test")
    site = (
        web.host("a.test").page("/", links=[other.url("/x")], text="hello").robots("User-agent: *")
    )
    site.redirect("/old", to=other.url("/"), status=301).on("/raw", b"HTTP/1.1 299 Odd\r\n\r\n!")
    site.on("/echo", echo).custom_fault("/mine", mine).fault("/bad", "drop").on("/html", "<p>hi")
    async with FakeServer(web) as server:
        port = server.port
        assert f'href="http://b.test:{port}/x"'.encode() in await ask(server, "a.test", "/")
        assert f"Location: http://b.test:{port}/\r\n".encode() in await ask(
            server, "a.test", "/old"
        )
        assert await ask(server, "a.test", "/raw") == b"HTTP/1.1 299 Odd\r\n\r\n!"
        assert (await ask(server, "a.test", "/echo?q=1", "x-word: yes")).endswith(b"yes")
        assert await ask(server, "a.test", "/mine") == b"HTTP/1.1 200 OK\r\n\r\na.test"
        assert await ask(server, "a.test", "/bad") == b""
        assert (await ask(server, "a.test", "/robots.txt")).endswith(b"User-agent: *")
        assert (await ask(server, "b.test", "/robots.txt")).startswith(b"HTTP/1.1 404 ")


async def test_a_host_can_answer_the_same_to_everything_but_robots() -> None:
    web = ScriptedWeb(base=WEB)
    web.host("slow.test").answers(503, retry_after_s=60)
    async with FakeServer(web) as server:
        assert b"503 Service Unavailable\r\n" in await ask(server, "slow.test", "/any")
        assert b"Retry-After: 60\r\n" in await ask(server, "slow.test", "/")
        assert (await ask(server, "slow.test", "/robots.txt")).startswith(b"HTTP/1.1 404 ")
        assert (await ask(server, HOST, "/")).startswith(b"HTTP/1.1 200 ")


def test_a_thread_can_serve_for_a_test_that_waits() -> None:
    web = ScriptedWeb()
    web.host("a.test").page("/", text="from a thread")
    with serve_in_thread(web) as server:
        client = HTTPConnection(server.resolve["a.test"], server.port)
        client.request("GET", "/", headers={"Host": "a.test"})
        assert b"from a thread" in client.getresponse().read()
        client.close()
    assert len(server.requests) == 1


def test_a_process_serves_the_same_web_and_writes_its_log(tmp_path: Path) -> None:
    with serve_in_process(WEB, tmp_path / "visits.tsv", is_warm=True) as server:
        client = HTTPConnection(server.resolve[HOST], server.port)
        client.request("GET", "/", headers={"Host": HOST, "User-Agent": "tab\there"})
        assert client.getresponse().read() == server.web.response(HOST, "/").body
        client.close()
        (visit,) = server.requests()
    assert (visit.host, visit.target, visit.status, visit.user_agent) == (
        HOST,
        "/",
        200,
        "tab\\there",
    )


async def test_https_is_spoken_with_a_certificate_of_its_own(tmp_path: Path) -> None:
    made = make_certificate(tmp_path, ["a.test"])
    if made is None:
        pytest.skip("there is no openssl command to make a certificate with")
    web = ScriptedWeb()
    web.host("a.test").page("/", text="secret")
    async with FakeServer(web, ServerOptions(tls=made.context())) as server:
        trust = ssl.create_default_context(cafile=str(made.file))
        reader, writer = await asyncio.open_connection(
            server.resolve["a.test"], server.port, ssl=trust, server_hostname="a.test"
        )
        writer.write(b"GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n")
        assert b"secret" in await reader.read()
        writer.close()
        assert web.host("a.test").url() == f"https://a.test:{server.port}/"
