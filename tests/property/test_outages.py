"""Outages at random: no URL is lost, no probe comes too early, an outage charges a URL once."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.examples import examples
from tests.unit.frontier.rows import DictRows

from gossamer.config import FrontierConfig, PolitenessConfig, UrlConfig
from gossamer.fetch import delay_s, next_try_at
from gossamer.frontier import FailedTry, Frontier, HostAnswer, HostFailure, host_failure
from gossamer.frontier.rows import LEASE
from gossamer.model import Failed, FailureKind, LinkKind, Task
from gossamer.urls import parse

DELAY_S = 1.0
KINDS = (
    FailureKind.CONNECT_FAILED,
    FailureKind.FIRST_BYTE_TIMEOUT,
    FailureKind.HTTP_5XX,
    FailureKind.DISCONNECTED,
)


class World:
    """Some hosts, each with an outage of a kind, and a frontier that is asked second by second."""

    def __init__(
        self, seed: int, kinds: list[FailureKind], began: list[int], took: list[int]
    ) -> None:
        self.random = Random(seed)
        self.rows = DictRows()
        self.now = 1_000.0
        self.outages = {
            f"h{n}.test": (kind, 1_000.0 + began[n], 1_000.0 + began[n] + took[n])
            for n, kind in enumerate(kinds)
        }
        self.done: set[int] = set()
        self.uncommitted: set[int] = set()
        self.failed: set[int] = set()
        self.charged: dict[int, int] = {}
        self.last_at: dict[str, float] = {}
        self.frontier = self.fresh()
        self.urls = {
            url.key: url
            for host in self.outages
            for n in range(12)
            if (url := parse(f"http://{host}/{n}", UrlConfig())) is not None
        }
        self.frontier.add([Task(url=url, kind=LinkKind.ANCHOR) for url in self.urls.values()])

    def fresh(self) -> Frontier:
        rules = PolitenessConfig(delay_s=DELAY_S)
        return Frontier(FrontierConfig(lease_urls=3), rules, self.rows, self.random)

    def commit(self) -> None:
        self.rows.write(self.frontier.rows_to_commit())
        self.frontier.committed()
        self.done |= self.uncommitted
        self.uncommitted.clear()

    def die(self) -> None:
        self.uncommitted.clear()
        self.frontier = self.fresh()
        self.frontier.recover(self.now, lambda t: t.url.key in self.done, all_wait=False)
        self.commit()
        assert not [key for key in self.rows.rows if key.startswith(LEASE)]
        self.last_at.clear()

    def ask(self, task: Task) -> None:
        host, key = task.url.host, task.url.key
        probe_at = self.frontier.parking.probe_at(host)
        assert probe_at is None or self.now >= probe_at
        assert self.now >= self.last_at.get(host, 0.0) + DELAY_S
        self.last_at[host] = self.now
        kind, since, until = self.outages[host]
        is_witness = task.kind is LinkKind.WITNESS
        if since <= self.now < until:
            failed = Failed(kind=kind)
            failure = host_failure(failed, task.url.origin)
            assert failure is not None
            answer = HostAnswer(latency_s=0.0, failure=failure, is_witness=is_witness)
            if is_witness:
                self.frontier.conclude(task)
            else:
                self.frontier.parking.set_failed(task, self.tried(task, failed, failure))
        else:
            assert is_witness or key not in self.done | self.uncommitted
            answer = HostAnswer(latency_s=0.0, is_witness=is_witness)
            self.frontier.conclude(task)
            if not is_witness:
                self.charged[key] = task.attempt
                self.uncommitted.add(key)
        self.frontier.settle(task, self.now, answer)
        self.failed |= {lost.task.url.key for lost in self.frontier.parking.take_lost()}

    def tried(self, task: Task, failed: Failed, failure: HostFailure) -> FailedTry:
        again_at = next_try_at(failed, task.attempt, self.now)
        at = again_at if again_at is not None else self.now + delay_s(failed.kind, task.attempt)
        reason, kind = failed.kind.value, failure.kind.value
        return FailedTry(task.url.key, reason, "", kind, at, again_at is None)

    def step(self) -> None:
        while (task := self.frontier.next(self.now)) is not None:
            self.ask(task)
        self.commit()
        assert self.frontier.queued == len(self.urls) - len(self.done) - len(self.failed) + sum(
            lease.kind is LinkKind.WITNESS for lease in self.leased()
        )
        assert 0 <= self.frontier.parked.urls <= self.frontier.queued
        self.now += 1.0

    def leased(self) -> list[Task]:
        hosts = self.frontier._bench.hosts.values()
        return [task for host in hosts for lease in host.leases for task in lease.tasks]


@settings(max_examples=examples(60), deadline=None)
@given(
    seed=st.integers(0, 1000),
    kinds=st.lists(st.sampled_from(KINDS), min_size=3, max_size=3),
    began=st.lists(st.integers(0, 20), min_size=3, max_size=3),
    took=st.lists(st.sampled_from([1, 3, 10, 60, 180, 600]), min_size=3, max_size=3),
    deaths=st.sets(st.integers(0, 600), max_size=4),
)
def test_an_outage_loses_no_url_and_charges_each_once(
    seed: int, kinds: list[FailureKind], began: list[int], took: list[int], deaths: set[int]
) -> None:
    world = World(seed, kinds, began, took)
    for second in range(2_000):
        world.step()
        if second in deaths:
            world.die()
        if not world.frontier.queued:
            break
    assert not world.failed
    assert world.done == set(world.urls)
    assert max(world.charged.values()) <= 1
    assert world.frontier.parked.urls == 0
    assert not [key for key in world.rows.rows if key[:1] in b"qldf"]


def test_a_task_keeps_its_attempts_through_an_outage() -> None:
    world = World(1, [FailureKind.CONNECT_FAILED] * 3, [0, 0, 0], [60, 60, 60])
    world.frontier = world.fresh()
    tasks = [Task(url=url, kind=LinkKind.ANCHOR) for url in world.urls.values()]
    world.frontier.add([replace(task, attempt=2) for task in tasks])
    for _ in range(400):
        world.step()
    assert set(world.charged.values()) == {2}
