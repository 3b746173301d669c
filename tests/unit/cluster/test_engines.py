"""Engines: what a coordinator sees of machines while their head comes and goes."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from gossamer.clock import SystemClock
from gossamer.cluster import (
    ClusterHome,
    Connection,
    CoordinatorHello,
    HeadEngine,
    NodeState,
    address_of,
    bound_socket,
    found_cluster,
    listen,
    server_context,
)
from gossamer.cluster.node_messages import ClusterEnds, NodesNow, ProcessEnded, ToHead


async def until(is_so: Callable[[], object]) -> bool:
    for _ in range(1000):
        if is_so():
            return True
        await asyncio.sleep(0.01)
    return False


async def test_a_head_that_is_away_has_no_machines_to_start_shards_on(tmp_path: Path) -> None:
    end, home = bound_socket("127.0.0.1"), ClusterHome(tmp_path)
    found_cluster(home, "first", address_of(end))
    goes = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection: Connection[ToHead] = Connection(reader, writer, ToHead)
        assert isinstance(await connection.receive(), CoordinatorHello)
        connection.send(NodesNow([NodeState(name="second", cores=2)]))
        await goes.wait()
        connection.close()

    server = await listen(end, server_context(home.root), serve)
    engine = HeadEngine(home, CoordinatorHello("file:///x", "127.0.0.1:1"), SystemClock())
    running = asyncio.ensure_future(engine.run(lambda _ended: None))
    try:
        assert await until(lambda: engine.nodes)
        server.close()
        goes.set()
        assert await until(lambda: not engine.nodes)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_processes_of_a_cluster_that_goes_down_are_heard_until_its_head_goes(
    tmp_path: Path,
) -> None:
    end, home = bound_socket("127.0.0.1"), ClusterHome(tmp_path)
    found_cluster(home, "first", address_of(end))
    seen: list[object] = []
    goes = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection: Connection[ToHead] = Connection(reader, writer, ToHead)
        await connection.receive()
        connection.send(NodesNow([NodeState(name="second", cores=2)]))
        connection.send(ClusterEnds("down"))
        await goes.wait()
        connection.send(ProcessEnded("one", 0, "second"))
        connection.close()

    server = await listen(end, server_context(home.root), serve)
    engine = HeadEngine(home, CoordinatorHello("file:///x", "127.0.0.1:1"), SystemClock())
    running = asyncio.ensure_future(engine.run(seen.append, lambda: seen.append("over")))
    try:
        assert await until(lambda: seen)
        assert [node.name for node in engine.nodes] == ["second"]
        goes.set()
        await asyncio.wait_for(running, 60.0)
    finally:
        running.cancel()
        server.close()
    assert seen == ["over", ProcessEnded("one", 0, "second")]
    assert not engine.nodes
