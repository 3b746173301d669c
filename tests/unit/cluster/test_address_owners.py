"""An IP address has one owner, whoever asks from wherever."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from gossamer.cluster import (
    Connection,
    FileAddressClocks,
    OwnedAddressClocks,
    address_of,
    bound_socket,
    client_context,
    found_cluster,
    listen,
    server_context,
)
from gossamer.cluster.address_owners import AWAY_S, AddressOwners
from gossamer.cluster.home import ClusterHome
from gossamer.cluster.messages import AddressAsk, AddressGrant, AddressTouch, PeerMessage

GAP_S = 5.0


def clocks_in(folder: Path, name: str) -> FileAddressClocks:
    return FileAddressClocks(
        folder / name, 100.0, boot_id="b", offset_s=0.0, longest_s=GAP_S, is_first=True
    )


@asynccontextmanager
async def two_machines(
    folder: Path, now: list[float]
) -> AsyncIterator[tuple[OwnedAddressClocks, OwnedAddressClocks, list[bool]]]:
    """Give the clocks of shards 0 and 1 on two machines; shard 0 owns every address."""
    home = ClusterHome(folder / "home")
    found_cluster(home, "one", "127.0.0.1:1")
    owner = AddressOwners(lambda _to: None)
    own = clocks_in(folder, "first")
    owner.open(own, lambda: now[0], lambda _address: True)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection: Connection[PeerMessage] = Connection(reader, writer, PeerMessage)
        while isinstance(said := await connection.receive(), AddressAsk | AddressTouch):
            owner.asked(connection, said)
        connection.close()

    end = bound_socket("127.0.0.1")
    server = await listen(end, server_context(home.root), serve)
    way: Connection[PeerMessage] = await Connection.dial(
        address_of(end), client_context(home.root), PeerMessage
    )
    asker = AddressOwners(lambda _to: None if is_away else way)
    is_away: list[bool] = []

    async def hear() -> None:
        while isinstance(said := await way.receive(), AddressGrant):
            asker.granted(said)

    hearing = asyncio.ensure_future(hear())
    first = OwnedAddressClocks(own, lambda _key: 0, 0, owner, lambda: False)
    second = OwnedAddressClocks(
        clocks_in(folder, "second"), lambda _key: 0, 1, asker, lambda: False
    )
    try:
        yield first, second, is_away
    finally:
        way.close()
        await hearing
        server.close()
        first.close()
        second.close()


async def test_an_address_is_granted_to_one_of_two_machines(tmp_path: Path) -> None:
    now = [100.0]
    async with two_machines(tmp_path, now) as (first, second, _):
        assert await second.take("192.0.2.1", GAP_S, now[0]) is None
        assert await first.take("192.0.2.1", GAP_S, now[0]) == 105.0
        assert await second.take("192.0.2.1", GAP_S, now[0]) == 105.0
        assert await second.take("192.0.2.2", GAP_S, now[0]) is None
        now[0] = 105.0
        assert await first.take("192.0.2.1", GAP_S, now[0]) is None


async def test_an_answer_moves_the_owners_clock(tmp_path: Path) -> None:
    now = [100.0]
    async with two_machines(tmp_path, now) as (first, second, _):
        assert await second.take("192.0.2.1", GAP_S, now[0]) is None
        now[0] = 103.0
        second.touch("192.0.2.1", GAP_S, now[0])
        assert await second.take("192.0.2.9", GAP_S, now[0]) is None  # the touch came before it
        assert await first.take("192.0.2.1", GAP_S, now[0]) == 108.0


async def test_an_owner_that_is_away_grants_nothing(tmp_path: Path) -> None:
    now = [100.0]
    async with two_machines(tmp_path, now) as (_, second, is_away):
        is_away.append(True)
        assert await second.take("192.0.2.1", GAP_S, now[0]) == now[0] + AWAY_S


async def test_on_one_machine_its_clocks_are_asked_directly(tmp_path: Path) -> None:
    own = clocks_in(tmp_path, "first")
    owners = AddressOwners(lambda _to: None)
    clocks = OwnedAddressClocks(own, lambda _key: 0, 1, owners, lambda: True)
    assert await clocks.take("192.0.2.1", GAP_S, 100.0) is None
    assert await clocks.take("192.0.2.1", GAP_S, 100.0) == 105.0
    clocks.close()
