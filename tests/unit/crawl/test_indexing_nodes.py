"""Which machines of a cluster index, when one of them is started again, and how long is waited."""

import asyncio
from collections.abc import Callable

from gossamer.cluster import NodeState, NodeWork, ProcessEnded, ShardProcess
from gossamer.crawl.indexing_nodes import AGAIN_S, IndexingNodes
from gossamer.testing import ManualClock

URL = "file:///store"


class Machines:
    """An engine that notes what is started where."""

    def __init__(self, *names: str) -> None:
        self.nodes = [NodeState(name=name, cores=2) for name in names]
        self.started: list[tuple[str, ShardProcess]] = []

    async def run(self, on_ended: Callable[[ProcessEnded], None]) -> None:
        """Do nothing."""

    async def start(self, node: str, process: ShardProcess) -> None:
        self.started.append((node, process))

    async def stop(self, node: str, process: str) -> None:
        """Do nothing."""


def indexing(engine: Machines, clock: ManualClock, said: list[str]) -> IndexingNodes:
    return IndexingNodes(engine=engine, url=URL, clock=clock, say=said.append)


def test_each_machine_that_has_shards_indexes_once() -> None:
    engine, clock = Machines("a", "b", "c"), ManualClock()
    nodes = indexing(engine, clock, [])
    for _ in range(3):
        asyncio.run(nodes.look({"a", "b", "gone"}))
    assert [(name, one.store, one.work) for name, one in engine.started] == [
        ("a", URL, NodeWork.INDEX),
        ("b", URL, NodeWork.INDEX),
    ]


def test_one_that_died_is_started_again_but_not_at_once() -> None:
    engine, clock = Machines("a"), ManualClock()
    nodes = indexing(engine, clock, [])
    asyncio.run(nodes.look({"a"}))
    nodes.note_ended(ProcessEnded(engine.started[0][1].process, -9, "a"))
    nodes.note_ended(ProcessEnded("a shard", -9, "a"))
    asyncio.run(nodes.look({"a"}))
    assert len(engine.started) == 1
    clock.advance(AGAIN_S)
    asyncio.run(nodes.look({"a"}))
    assert len(engine.started) == 2


def test_one_that_an_older_coordinator_has_started_is_taken_as_it_is() -> None:
    engine, clock = Machines(), ManualClock()
    theirs = ShardProcess("older", URL, 0, work=NodeWork.INDEX)
    other = ShardProcess("other", "file:///other", 0, work=NodeWork.INDEX)
    engine.nodes = [
        NodeState(name="a", cores=2, processes=[theirs]),
        NodeState(name="b", cores=2, processes=[other, ShardProcess("shard", URL, 1)]),
    ]
    asyncio.run(indexing(engine, clock, []).look({"a", "b"}))
    assert [name for name, _ in engine.started] == ["b"]
    assert [one.process for one in engine.nodes[1].shards] == ["shard"]


def test_the_end_waits_for_all_but_machines_that_are_gone() -> None:
    engine, clock, said = Machines("a", "b", "c"), ManualClock(), list[str]()
    nodes = indexing(engine, clock, said)

    async def end() -> None:
        waiting = asyncio.ensure_future(nodes.finish({"a", "b", "c"}))
        await turns()
        first, second, _ = (one.process for _, one in engine.started)
        nodes.note_ended(ProcessEnded(first, 0, "a"))
        nodes.note_ended(ProcessEnded(second, 1, "b"))
        clock.advance(1.0)
        await turns()
        assert not waiting.done()
        engine.nodes = engine.nodes[:2]
        clock.advance(1.0)
        await waiting

    asyncio.run(end())
    assert len(said) == 2
    assert "not all is indexed on b: `gossamer build file:///store index`" in said[1]


async def turns() -> None:
    """Let whatever is due run."""
    for _ in range(20):
        await asyncio.sleep(0)
