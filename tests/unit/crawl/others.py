"""The other shards of a crawl for tests: everything real but the supervisor's end of the wire."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

from tests.unit.crawl.harness import DictState

from gossamer.clock import CrawlTime
from gossamer.cluster import (
    Connection,
    DatagramSocket,
    Hello,
    Mail,
    Mailbox,
    Outbox,
    Ring,
)
from gossamer.cluster.messages import PeerMessage
from gossamer.config import FrontierConfig, PolitenessConfig, UrlConfig
from gossamer.crawl.contents import SharedContents
from gossamer.crawl.engine import RunState
from gossamer.crawl.peers import OtherShards
from gossamer.dedupe import ContentSeen
from gossamer.frontier import Frontier
from gossamer.linux import short_path
from gossamer.model import Counters, Task
from gossamer.testing import ManualClock
from gossamer.urls import parse


def foreign_task(path: str = "x") -> Task:
    """Return a task of a host that shard 1 of two owns."""
    url = parse(f"http://a.test/{path}", UrlConfig())
    assert url is not None
    assert Ring.even(2).owner_of(url.key) == 1
    return Task(url=url)


class Wire:
    """Notes what is sent."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def send(self, message: Any) -> None:
        self.sent.append(message)


class Two:
    """Shard 0 of two, as far as it knows of the other."""

    def __init__(self, path: Path, **more: Any) -> None:
        clock = ManualClock()
        state = DictState(path, [])
        self.outbox = Outbox(Ring.even(2), 0, 1, state.get)
        self.taken: list[Mail] = []
        self.has_mail = asyncio.Event()
        self.path = path / "mail.sock"
        self.mailbox = Mailbox(self.path, self._take)
        self.supervisor, self.courier = Wire(), Wire()
        self.run, self.counters = RunState(), Counters()
        self.contents = SharedContents(
            ring=Ring.even(2),
            shard=0,
            seen=ContentSeen(state.get),
            rows=(),
            wire=DatagramSocket(lambda _to: path / "contents.sock", 0, 2, 1),
            on_wanted=self.run.wake,
        )
        rules = PolitenessConfig(delay_s=0.0)
        self.frontier = Frontier(FrontierConfig(), rules, state, Random(7))
        options = {
            "is_limited": False,
            "acknowledges_at_commit": False,
            "reports_commits": False,
            **more,
        }
        self.peers = OtherShards(
            outbox=self.outbox,
            mailbox=self.mailbox,
            couriers={1: self.courier},  # type: ignore[dict-item]
            contents=self.contents,
            connection=self.supervisor,  # type: ignore[arg-type]
            run=self.run,
            frontier=self.frontier,
            time=CrawlTime.anchored(clock),
            counters=self.counters,
            **options,
        )

    def commit(self) -> None:
        """Do what a ledger does with those who have rows."""
        self.outbox.rows_to_commit()
        self.peers.rows_to_commit()
        self.peers.committed()

    @asynccontextmanager
    async def received(self, mail: Mail) -> AsyncIterator[None]:
        """Let a letter of the other shard come, over a connection that stays open meanwhile."""
        await self.mailbox.open()
        with short_path(self.path) as short:
            streams = await asyncio.open_unix_connection(short)
        connection: Connection[PeerMessage] = Connection(*streams, PeerMessage)
        try:
            connection.send(Hello(1, 1))
            connection.send(mail)
            await self.has_mail.wait()
            yield
        finally:
            connection.close()
            self.mailbox.close()
            await asyncio.sleep(0.01)

    def _take(self, mail: Mail) -> None:
        self.taken.append(mail)
        self.has_mail.set()
