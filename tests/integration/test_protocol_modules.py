"""Protocol modules: whatever one does, the crawl's limits hold and the end is an outcome."""

import asyncio
import ssl
from collections.abc import Callable

import pytest

from gossamer.config import UrlConfig
from gossamer.errors import ConfigError
from gossamer.fetch import (
    Exchange,
    Moved,
    ProtocolModule,
    Resource,
    TransferWatch,
    load_protocols,
    protocol,
)
from gossamer.fetch.exchange import MAX_CONNECTIONS, OVERHEAD_BYTES
from gossamer.fetch.protocols import FetchFunction
from gossamer.model import (
    Document,
    Failed,
    FailureKind,
    Fetched,
    FetchOutcome,
    Redirected,
    RefusalKind,
    Refused,
)
from gossamer.urls import parse
from tests.integration.raw import LOOPBACK, Talk, fetching, serve


async def asked(
    fetch: FetchFunction,
    talk: Talk,
    addresses: tuple[str, ...] = LOOPBACK,
    watch: TransferWatch | None = None,
    on_user_error: Callable[[str, str], None] = lambda _name, _error: None,
    **knobs: object,
) -> FetchOutcome:
    """Ask for a URL of the scheme x by a function, at a server that talks so."""
    module = protocol("x", port=7000)(fetch)
    async with (
        serve(talk) as raw,
        fetching(protocols={"x": module}, on_user_error=on_user_error, **knobs) as fetcher,
    ):
        url = parse(f"x://a.test:{raw.port}/p", UrlConfig())
        assert url is not None
        return await fetcher.fetch(url, addresses, watch=watch)


async def read_all(exchange: Exchange) -> Resource:
    wire = await exchange.connect()
    await wire.send(b"hello\n")
    return Resource(await wire.rest(), "text/plain")


def sends(data: bytes, *, ends: bool = True) -> Talk:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()
        if ends:
            writer.write_eof()
        await reader.read()

    return talk


def document_of(outcome: FetchOutcome) -> Document:
    assert isinstance(outcome, Fetched), outcome
    return outcome.document


def kind_of(outcome: FetchOutcome) -> FailureKind:
    assert isinstance(outcome, Failed), outcome
    return outcome.kind


async def test_what_a_module_returns_is_a_document_without_a_header() -> None:
    document = document_of(await asked(read_all, sends(b"content")))
    assert (document.body.sent(), document.media_type, document.head) == (
        b"content",
        "text/plain",
        b"",
    )
    assert document.address == "127.0.0.1"
    assert document.fetched_at > 1_600_000_000


async def test_a_module_may_say_that_it_is_elsewhere() -> None:
    async def fetch(_: Exchange) -> Moved:
        return Moved("/q")

    outcome = await asked(fetch, sends(b""))
    assert isinstance(outcome, Redirected)
    assert outcome.target == "/q"


async def test_a_module_may_say_that_it_is_not_there() -> None:
    async def fetch(_: Exchange) -> Failed:
        return Failed(kind=FailureKind.NOT_FOUND, detail="no\n" * 1000)

    outcome = await asked(fetch, sends(b""))
    assert kind_of(outcome) is FailureKind.NOT_FOUND
    assert isinstance(outcome, Failed)
    assert len(outcome.detail) <= 300
    assert "\n" not in outcome.detail


async def test_lines_and_pieces_are_read_one_after_another() -> None:
    async def fetch(exchange: Exchange) -> Resource:
        wire = await exchange.connect()
        parts = [await wire.line(), await wire.line(4), await wire.read(3), await wire.line()]
        parts += [(await wire.rest()).in_memory(), await wire.line()]
        return Resource(b"|".join(parts), "text/plain")

    document = document_of(await asked(fetch, sends(b"one\r\nlonger\nabc\nrest\nof it")))
    assert document.body.sent() == b"one\r\n|long|er\n|abc\n|rest\nof it|"


# Bytes


async def test_what_exceeds_the_cap_is_cut_and_marked_and_not_read() -> None:
    talk = sends(b"x" * 5_000_000)
    document = document_of(await asked(read_all, talk, max_body_bytes=1000))
    assert (document.body.sent_bytes, document.truncated) == (1000, "length")


async def test_a_module_cannot_read_more_than_the_cap_by_reading_pieces() -> None:
    async def fetch(exchange: Exchange) -> Resource:
        wire = await exchange.connect()
        parts = []
        while piece := await wire.read(1 << 30):
            parts.append(piece)
        return Resource(b"".join(parts), "text/plain")

    seen: list[int] = []

    async def counting(exchange: Exchange) -> Resource:
        found = await fetch(exchange)
        assert isinstance(found.content, bytes)
        seen.append(len(found.content))
        return found

    talk = sends(b"x" * 5_000_000)
    document = document_of(await asked(counting, talk, max_body_bytes=1000))
    assert (document.body.sent_bytes, document.truncated) == (1000, "length")
    assert seen == [1000 + OVERHEAD_BYTES]


async def test_a_large_body_goes_to_a_temporary_file() -> None:
    document = document_of(await asked(read_all, sends(bytes(3_000_000))))
    assert document.body.is_spooled
    assert document.body.sent_bytes == 3_000_000
    document.body.close()


# Time


async def test_a_server_that_says_nothing_is_left_in_time() -> None:
    outcome = await asked(read_all, sends(b"", ends=False), first_byte_s=0.1)
    assert kind_of(outcome) is FailureKind.FIRST_BYTE_TIMEOUT


async def test_a_server_that_stalls_is_left_in_time() -> None:
    outcome = await asked(read_all, sends(b"some", ends=False), stall_s=0.1)
    assert kind_of(outcome) is FailureKind.STALLED


async def test_a_server_that_drips_is_left_in_time() -> None:
    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b".")
            await writer.drain()
            await asyncio.sleep(0.02)

    outcome = await asked(read_all, talk, total_s=0.3)
    assert kind_of(outcome) is FailureKind.TOTAL_TIMEOUT


async def test_a_module_that_goes_on_when_its_time_is_up_is_left_behind() -> None:
    is_over = asyncio.Event()

    async def fetch(exchange: Exchange) -> Resource:
        wire = await exchange.connect()
        while not is_over.is_set():
            try:
                await wire.read(10)
            except Exception:  # noqa: BLE001 -- this is what is tested
                pass
            except asyncio.CancelledError:
                await asyncio.sleep(0.01)
        return Resource(b"late", "text/plain")

    outcome = await asked(fetch, sends(b"", ends=False), total_s=0.2)
    is_over.set()
    assert kind_of(outcome) is FailureKind.TOTAL_TIMEOUT
    await asyncio.sleep(0.05)


async def test_a_slow_exchange_can_be_cut_for_the_sake_of_others() -> None:
    watch = TransferWatch()
    asking = asyncio.ensure_future(asked(read_all, sends(b"abc", ends=False), watch=watch))
    while watch.received_bytes < 3:  # noqa: ASYNC110 -- no event tells
        await asyncio.sleep(0.01)
    assert watch.is_under_way
    assert watch.cut("cut for others")
    outcome = await asking
    assert outcome == Failed(kind=FailureKind.STALLED, detail="cut for others")
    assert watch.is_over


# Addresses


async def test_a_private_address_is_refused_before_the_module_is_asked() -> None:
    calls: list[str] = []

    async def fetch(exchange: Exchange) -> Resource:
        calls.append(exchange.address)
        return Resource(b"", "text/plain")

    for address in ("127.0.0.1", "10.0.0.1", "::ffff:169.254.169.254"):
        outcome = await asked(fetch, sends(b""), (address,), allow_net=())
        assert isinstance(outcome, Refused)
        assert outcome.kind is RefusalKind.PRIVATE_ADDRESS
    assert calls == []


async def test_a_module_reaches_the_checked_address_only_whatever_the_server_says() -> None:
    async def fetch(exchange: Exchange) -> Resource:
        wire = await exchange.connect()
        place = (await wire.line()).decode()  # "127.0.0.9 2", where it would like us to go
        await exchange.connect(int(place.split()[1]))
        return Resource(b"", "text/plain")

    outcome = await asked(fetch, sends(b"127.0.0.9 2\n"))
    assert outcome == Failed(kind=FailureKind.CONNECT_FAILED, detail="Connection refused")


@pytest.mark.parametrize("port", [22, 25, 6379, -1, 70_000])
async def test_a_module_cannot_ask_ports_of_other_services(port: int) -> None:
    async def fetch(exchange: Exchange) -> Resource:
        await exchange.connect(port)
        return Resource(b"", "text/plain")

    outcome = await asked(fetch, sends(b""))
    assert outcome == Failed(
        kind=FailureKind.CONNECT_FAILED, detail=f"port {port} is not one to ask"
    )


async def test_an_exchange_has_so_many_connections() -> None:
    async def fetch(exchange: Exchange) -> Resource:
        for _ in range(MAX_CONNECTIONS + 1):
            await exchange.connect()
        return Resource(b"", "text/plain")

    assert kind_of(await asked(fetch, sends(b""))) is FailureKind.CONNECT_FAILED


async def test_a_module_may_try_another_port_if_one_is_closed() -> None:
    async def fetch(exchange: Exchange) -> Resource:
        try:
            wire = await exchange.connect(9)
        except Exception:  # noqa: BLE001 -- a bad port, here
            wire = await exchange.connect()
        return Resource(await wire.rest(), "text/plain")

    assert document_of(await asked(fetch, sends(b"x"))).body.sent() == b"x"


async def test_tls_that_is_not_spoken_is_a_failure() -> None:
    async def fetch(exchange: Exchange) -> Resource:
        await exchange.connect(tls=ssl.create_default_context())
        return Resource(b"", "text/plain")

    assert kind_of(await asked(fetch, sends(b"not TLS\r\n" * 9))) is FailureKind.TLS_FAILED


async def test_a_module_does_not_go_around_a_proxy() -> None:
    outcome = await asked(read_all, sends(b""), proxy="http://127.0.0.1:1")
    assert isinstance(outcome, Refused)
    assert outcome.kind is RefusalKind.UNSUPPORTED_SCHEME
    assert "proxy" in outcome.detail


# Strangers' code


@pytest.mark.parametrize(
    "error", [ValueError("oh"), SystemExit(3), KeyError("k"), asyncio.CancelledError(), OSError(5)]
)
async def test_a_module_that_raises_is_told_and_costs_its_url_only(error: BaseException) -> None:
    async def fetch(_: Exchange) -> Resource:
        raise error

    told: list[tuple[str, str]] = []
    outcome = await asked(fetch, sends(b""), on_user_error=lambda *words: told.append(words))
    assert kind_of(outcome) is FailureKind.PROTOCOL_FAILED
    assert isinstance(outcome, Failed)
    assert outcome.detail.startswith("the protocol module x failed: ")
    assert type(error).__name__ in outcome.detail
    assert [name for name, _ in told] == ["protocol x"]


@pytest.mark.parametrize(
    "answer",
    [
        None,
        b"bytes",
        Resource("text", "text/plain"),  # type: ignore[arg-type]
        Resource(b"", "text/plain\r\nX: y"),
        Resource(b"", ""),
        Resource(b"", 3),  # type: ignore[arg-type]
        Resource(b"", "text/plain", 3),  # type: ignore[arg-type]
        Moved(""),
        Moved(None),  # type: ignore[arg-type]
        Failed(kind="not_found"),  # type: ignore[arg-type]
        Failed(kind=FailureKind.INTERNAL),
        Failed(kind=FailureKind.NOT_FOUND, detail=3),  # type: ignore[arg-type]
        Failed(kind=FailureKind.THROTTLED, retry_after_s=-1.0),
        Failed(kind=FailureKind.THROTTLED, retry_after_s=float("nan")),
    ],
)
async def test_what_is_no_answer_is_a_failure_of_the_module(answer: Resource) -> None:
    async def fetch(_: Exchange) -> Resource:
        return answer

    assert kind_of(await asked(fetch, sends(b""))) is FailureKind.PROTOCOL_FAILED


async def test_a_server_that_breaks_off_or_is_not_there_is_no_failure_of_the_module() -> None:
    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    told: list[str] = []
    outcome = await asked(read_all, talk, on_user_error=lambda name, _: told.append(name))
    assert isinstance(outcome, Fetched) or kind_of(outcome) is FailureKind.DISCONNECTED

    async def elsewhere(exchange: Exchange) -> Resource:
        await exchange.connect(2)  # nothing listens there
        return Resource(b"", "text/plain")

    outcome = await asked(elsewhere, talk, on_user_error=lambda name, _: told.append(name))
    assert kind_of(outcome) is FailureKind.CONNECT_FAILED
    assert isinstance(outcome, Failed)
    assert "Connection refused" in outcome.detail
    assert told == []


# The table


def module(*schemes: str, name: str = "m") -> ProtocolModule:
    return ProtocolModule(name=name, schemes=schemes, port=7000, fetch=read_all)


def test_modules_given_by_hand_are_found_by_scheme() -> None:
    ours = module("x", "xs")
    table = load_protocols([ours])
    assert table.modules["x"] is table.modules["xs"] is ours


async def _coroutine(_: Exchange) -> Resource:
    return Resource(b"", "text/plain")


def _function(_: Exchange) -> Resource:
    return Resource(b"", "text/plain")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([module("http")], "http is built in"),
        ([module("X")], "is no scheme"),
        ([module()], "has no schemes"),
        ([module("x"), module("x", name="other")], "x is what m asks for already"),
        ([_coroutine], "expected a ProtocolModule, found function"),
        (
            [ProtocolModule(name="m", schemes=("x",), port=1, fetch=_function)],  # type: ignore[arg-type]
            "async def",
        ),
    ],
)
def test_a_module_that_cannot_be_meant_is_refused_in_words(given: list[object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        load_protocols(given)  # type: ignore[arg-type]
