"""Machines that know one another by certificates, and strangers that are told nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gossamer.clock import SystemClock
from gossamer.cluster import (
    ClusterHead,
    ClusterHome,
    ClusterNode,
    Connection,
    HeadAnswer,
    HeadQuestion,
    Mail,
    ToCommand,
    address_of,
    bound_socket,
    client_context,
    found_cluster,
    join_cluster,
    listen,
    read_token,
    server_context,
)
from gossamer.cluster.certificates import joining_context
from gossamer.cluster.messages import Hello, PeerMessage
from gossamer.errors import CannotGoOn, ConfigError


@asynccontextmanager
async def head_in(folder: Path) -> AsyncIterator[ClusterHome]:
    """Bring up the head of a cluster."""
    end, home = bound_socket("127.0.0.1"), ClusterHome(folder)
    found_cluster(home, "first", address_of(end))
    head = ClusterHead(home, SystemClock())
    server = await head.open(end)
    try:
        yield home
    finally:
        server.close()


async def asked(home: ClusterHome, by: ClusterHome) -> HeadAnswer | None:
    connection: Connection[ToCommand] = await Connection.dial(
        home.membership().head, client_context(by.root), ToCommand
    )
    connection.send(HeadQuestion("status"))
    said = await connection.receive()
    connection.close()
    return said if isinstance(said, HeadAnswer) else None


async def test_a_machine_with_the_token_joins_and_is_listed(tmp_path: Path) -> None:
    async with head_in(tmp_path / "one") as home:
        other = ClusterHome(tmp_path / "two")
        await join_cluster(other, home.token(), "second")
        node = asyncio.ensure_future(ClusterNode(other, 3, SystemClock()).run())
        try:
            for _ in range(500):
                answer = await asked(home, other)
                assert answer is not None
                if answer.nodes:
                    break
                await asyncio.sleep(0.01)
            assert [(one.name, one.cores) for one in answer.nodes] == [("second", 3)]
        finally:
            node.cancel()
            await asyncio.gather(node, return_exceptions=True)


async def test_a_name_that_a_living_machine_has_is_refused(tmp_path: Path) -> None:
    async with head_in(tmp_path / "one") as home:
        other = ClusterHome(tmp_path / "two")
        await join_cluster(other, home.token(), "second")
        node = asyncio.ensure_future(ClusterNode(other, 3, SystemClock()).run())
        try:
            for _ in range(500):
                answer = await asked(home, other)
                if answer is not None and answer.nodes:
                    break
                await asyncio.sleep(0.01)
            with pytest.raises(ConfigError, match="there is a node 'second' already"):
                await join_cluster(ClusterHome(tmp_path / "three"), home.token(), "second")
            assert not (tmp_path / "three").exists()
        finally:
            node.cancel()
            await asyncio.gather(node, return_exceptions=True)
        await join_cluster(ClusterHome(tmp_path / "four"), home.token(), "second")


async def test_a_wrong_token_is_refused_with_what_to_do(tmp_path: Path) -> None:
    async with head_in(tmp_path / "one") as home:
        wrong = read_token(home.token().head, f"other.{home.token().fingerprint}")
        with pytest.raises(ConfigError, match="another cluster"):
            await join_cluster(ClusterHome(tmp_path / "two"), wrong, "second")
        assert not (tmp_path / "two").exists()


async def test_the_secret_is_not_sent_to_a_machine_that_is_not_the_head(tmp_path: Path) -> None:
    async with head_in(tmp_path / "one") as home:
        wrong = read_token(home.token().head, f"{home.token().secret}.{'0' * 64}")
        with pytest.raises(ConfigError, match="nothing was sent"):
            await join_cluster(ClusterHome(tmp_path / "two"), wrong, "second")


async def test_who_has_no_certificate_is_told_nothing(tmp_path: Path) -> None:
    async with head_in(tmp_path / "one") as home:
        connection: Connection[ToCommand] = await Connection.dial(
            home.membership().head, joining_context(), ToCommand
        )
        connection.send(HeadQuestion("status"))
        assert await connection.receive() is None
        connection.close()


async def test_a_machine_of_another_cluster_is_told_nothing(tmp_path: Path) -> None:
    async with head_in(tmp_path / "one") as home:
        stranger = ClusterHome(tmp_path / "other")
        found_cluster(stranger, "stranger", "127.0.0.1:1")
        try:
            assert await asked(home, stranger) is None
        except OSError:
            return  # its call was not even taken


async def test_nobody_listening_is_told_with_the_address(tmp_path: Path) -> None:
    token = read_token("127.0.0.1:1", f"secret.{'0' * 64}")
    with pytest.raises(CannotGoOn, match=r"127\.0\.0\.1:1 cannot be reached"):
        await join_cluster(ClusterHome(tmp_path / "two"), token, "second")


@pytest.mark.parametrize("words", ["", "secret", "secret.short", f".{'0' * 64}"])
def test_what_is_no_token_is_refused(words: str) -> None:
    with pytest.raises(ConfigError, match="expected the token"):
        read_token("127.0.0.1:1", words)


def test_a_machine_of_no_cluster_is_told_what_to_type(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="gossamer cluster up"):
        ClusterHome(tmp_path).membership()


def test_keys_are_their_owners_alone(tmp_path: Path) -> None:
    home = ClusterHome(tmp_path / "one")
    found_cluster(home, "first", "127.0.0.1:1")
    for name in ("authority.key", "node.key", "cluster.json"):
        assert (home.root / name).stat().st_mode & 0o077 == 0, name


async def test_what_is_no_message_ends_the_line_and_nothing_else(tmp_path: Path) -> None:
    home = ClusterHome(tmp_path / "one")
    found_cluster(home, "first", "127.0.0.1:1")
    heard: list[PeerMessage | None] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection: Connection[PeerMessage] = Connection(reader, writer, PeerMessage)
        while True:
            heard.append(await connection.receive())
            if heard[-1] is None:
                break
        connection.close()

    end = bound_socket("127.0.0.1")
    server = await listen(end, server_context(home.root), serve)
    for message in ({"no": "message"}, Mail(0, 1, 2, [])):
        connection: Connection[PeerMessage] = await Connection.dial(
            address_of(end), client_context(home.root), PeerMessage
        )
        connection.send(Hello(0, 1))
        connection.send(message)
        connection.send(Hello(0, 2))
        if isinstance(message, Mail):
            connection.close()
        else:
            assert await connection.receive() is None
            connection.close()
        await asyncio.sleep(0.05)
    server.close()
    assert heard[:2] == [Hello(0, 1), None]
    assert heard[2:] == [Hello(0, 1), Mail(0, 1, 2, []), Hello(0, 2), None]
