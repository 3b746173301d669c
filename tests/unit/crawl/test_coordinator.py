"""Where a coordinator starts shards, by an engine of which machines go."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from gossamer.clock import SystemClock
from gossamer.cluster import NodeState, ShardProcess, bound_socket
from gossamer.cluster.engines import OnEnded, OnOver, ignore
from gossamer.crawl.cluster_claim import CoordinatorOffer, claim_cluster
from gossamer.crawl.coordinator import START_S, Coordinator

FIRST, SECOND = NodeState(name="first", cores=2), NodeState(name="second", cores=2)


class GoingEngine:
    """Two machines; the one that is to start a shard first goes before it does."""

    def __init__(self) -> None:
        self.nodes: Sequence[NodeState] = [FIRST, SECOND]
        self.started: list[str] = []
        self.has_started = asyncio.Event()

    async def run(self, on_ended: OnEnded, on_over: OnOver = ignore) -> None:  # noqa: ARG002 - a Protocol's
        await asyncio.Event().wait()

    async def start(self, node: str, process: ShardProcess) -> None:  # noqa: ARG002 - the same
        self.started.append(node)
        if len(self.started) == 1:
            self.nodes = [one for one in self.nodes if one.name != node]
        else:
            self.has_started.set()

    async def stop(self, node: str, process: str) -> None:
        """Nothing runs."""


async def test_a_shard_whose_machine_goes_before_it_has_called_is_started_elsewhere_at_once(
    tmp_path: Path,
) -> None:
    offer = CoordinatorOffer(
        url=f"file://{tmp_path}",
        address="127.0.0.1:1",
        fingerprint="",
        lease_s=1.0,
        shards=2,
        usual_shards=2,
    )
    with bound_socket("127.0.0.1") as end:
        coordinator = Coordinator(
            claim=claim_cluster(offer, SystemClock()),
            engine=(engine := GoingEngine()),
            home=tmp_path,
            url=offer.url,
            ship_s=1.0,
            clock=SystemClock(),
            orders=lambda *_: (_ for _ in ()).throw(AssertionError),
            answer=lambda _: asyncio.Future(),
            say=lambda _: None,
            end=end,
            rejoin_s=0.0,
        )
        starting = asyncio.get_running_loop().create_task(coordinator.start(0))
        async with asyncio.timeout(START_S / 2):
            await engine.has_started.wait()
        assert sorted(engine.started) == ["first", "second"]
        starting.cancel()
