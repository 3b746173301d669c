"""Resolver against a stub name server on loopback."""

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gossamer.config import FetchConfig
from gossamer.errors import ConfigError
from gossamer.fetch import Resolver
from gossamer.model import Failed, FailureKind
from gossamer.testing.clock import ManualClock

A, AAAA = 1, 28
NOERROR, SERVFAIL, NXDOMAIN, REFUSED = 0, 2, 3, 5
Zone = Callable[[str, int], tuple[int, list[tuple[bytes, int]]] | None]


class StubServer(asyncio.DatagramProtocol):
    """Answers each question as `zone(name, type)` says: a code and (address, ttl) pairs."""

    def __init__(self, zone: Zone) -> None:
        self.zone = zone
        self.asked: list[tuple[str, int]] = []

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        self.transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode())
            at += 1 + data[at]
        (kind,) = struct.unpack_from("!H", data, at + 1)
        name = ".".join(labels).lower()
        self.asked.append((name, kind))
        said = self.zone(name, kind)
        if said is None:
            return
        code, found = said
        answer = data[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, len(found), 0, 0)
        answer += data[12 : at + 5]
        for address, ttl_s in found:
            answer += struct.pack("!HHHIH", 0xC00C, kind, 1, ttl_s, len(address)) + address
        self.transport.sendto(answer, addr)


@asynccontextmanager
async def resolving(
    zone: Zone, hosts_file: Path = Path("/nonexistent"), **knobs: object
) -> AsyncIterator[tuple[Resolver, StubServer, ManualClock]]:
    loop = asyncio.get_running_loop()
    transport, stub = await loop.create_datagram_endpoint(
        lambda: StubServer(zone), local_addr=("127.0.0.1", 0)
    )
    port = transport.get_extra_info("sockname")[1]
    clock = ManualClock()
    config = FetchConfig(nameservers=(f"127.0.0.1:{port}",), **knobs)  # type: ignore[arg-type]
    resolver = Resolver(config, clock, hosts_file)
    try:
        yield resolver, stub, clock
    finally:
        await resolver.close()
        transport.close()


def one_address(_name: str, kind: int) -> tuple[int, list[tuple[bytes, int]]]:
    return (NOERROR, [(b"\x01\x02\x03\x04", 60)] if kind == A else [])


def kind_of(answer: object) -> FailureKind:
    assert isinstance(answer, Failed), answer
    return answer.kind


async def test_an_answer_is_kept_for_its_time_to_live() -> None:
    async with resolving(one_address) as (resolver, stub, clock):
        assert resolver.cached("a.test") is None
        assert await resolver.resolve("a.test") == ("1.2.3.4",)
        assert resolver.cached("a.test") == ("1.2.3.4",)
        clock.advance(59)
        assert await resolver.resolve("a.test") == ("1.2.3.4",)
        assert stub.asked == [("a.test", A)]
        clock.advance(2)
        assert resolver.cached("a.test") is None


async def test_those_who_ask_at_once_share_one_question() -> None:
    async with resolving(one_address) as (resolver, stub, _):
        answers = await asyncio.gather(*(resolver.resolve("a.test") for _ in range(20)))
        assert set(answers) == {("1.2.3.4",)}
        assert stub.asked == [("a.test", A)]


async def test_a_name_without_ipv4_is_asked_for_ipv6() -> None:
    def zone(_name: str, kind: int) -> tuple[int, list[tuple[bytes, int]]]:
        return (NOERROR, [] if kind == A else [(bytes(15) + b"\x01", 60)])

    async with resolving(zone) as (resolver, _, _):
        assert await resolver.resolve("a.test") == ("::1",)


async def test_a_name_that_does_not_exist_is_remembered() -> None:
    async with resolving(lambda _name, _kind: (NXDOMAIN, [])) as (resolver, stub, clock):
        for _ in range(3):
            assert kind_of(await resolver.resolve("no.test")) is FailureKind.DNS_NO_SUCH_HOST
            clock.advance(60)
        assert len(stub.asked) == 1


@pytest.mark.parametrize("code", [SERVFAIL, REFUSED])
async def test_an_outage_is_not_a_missing_name_and_soon_forgotten(code: int) -> None:
    async with resolving(lambda _name, _kind: (code, [])) as (resolver, stub, clock):
        assert kind_of(await resolver.resolve("a.test")) is FailureKind.DNS_UNREACHABLE
        assert kind_of(await resolver.resolve("a.test")) is FailureKind.DNS_UNREACHABLE
        asked = len(stub.asked)
        stub.zone = one_address
        clock.advance(5)
        assert await resolver.resolve("a.test") == ("1.2.3.4",)
        assert asked == 1


async def test_literals_and_tables_need_no_server(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("# a comment\n10.0.0.1 one.test ONE # more\n::1 one.test\nrubbish two.test\n")
    table = {"Table.test": "127.0.0.9", "both.test": "10.1.1.1, ::2"}
    async with resolving(one_address, hosts, resolve=table) as (resolver, stub, clock):
        assert resolver.cached("127.0.0.1") == ("127.0.0.1",)
        assert resolver.cached("[::1]") == ("::1",)
        assert resolver.cached("table.test") == ("127.0.0.9",)
        assert resolver.cached("both.test") == ("10.1.1.1", "::2")
        assert resolver.cached("one.test") == ("10.0.0.1", "::1")
        assert resolver.cached("one") == ("10.0.0.1",)
        assert resolver.cached("localhost") == ("127.0.0.1",)
        assert resolver.cached("two.test") is None
        hosts.write_text("10.0.0.2 one.test changed\n")
        clock.advance(10)
        assert resolver.cached("one.test") == ("10.0.0.2",)
        assert stub.asked == []


async def test_the_cache_is_bounded() -> None:
    async with resolving(one_address, dns_cache=10) as (resolver, _, _):
        for number in range(30):
            await resolver.resolve(f"h{number}.test")
        assert len(resolver._cache) == 10
        assert resolver.cached("h29.test") == ("1.2.3.4",)


@pytest.mark.parametrize("name", ["a" * 64 + ".test", "a..test", "x" * 300, ""])
async def test_a_name_that_cannot_be_asked_for_is_no_exception(name: str) -> None:
    async with resolving(one_address) as (resolver, _, _):
        assert isinstance(await resolver.resolve(name), Failed)


def test_an_address_that_is_none_is_an_operator_error() -> None:
    with pytest.raises(ConfigError, match=r"found 'b\.test'"):
        Resolver(FetchConfig(resolve={"a.test": "b.test"}), ManualClock())
