"""What a shard does about hosts that are down, as it is told."""

from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest
from tests.unit.crawl.harness import DictState

from gossamer.cluster import OutageOrders
from gossamer.config import FrontierConfig, OutageConfig, PolitenessConfig
from gossamer.crawl.pausing import OVERDUE_EVERY, OutageDuty
from gossamer.frontier import Frontier, HostAnswer, host_failure
from gossamer.model import CONNECTION_REFUSED, Failed, FailureKind, Task, Url
from gossamer.urls import fingerprint

AWAY = OutageOrders(is_network_away=True)
HANGS = Failed(kind=FailureKind.CONNECT_TIMEOUT)
REFUSED = Failed(kind=FailureKind.CONNECT_FAILED, detail=CONNECTION_REFUSED)


@dataclass
class Bench:
    """A frontier, and what records its lost tasks."""

    frontier: Frontier
    state: DictState
    lost: list[str] = field(default_factory=list)

    def record_lost(self) -> None:
        self.lost += [one.task.url.text for one in self.frontier.parking.take_lost()]
        self.commit()

    def commit(self) -> None:
        self.state.write(self.frontier.rows_to_commit())
        self.frontier.committed()

    def add(self, *urls: str) -> None:
        self.frontier.add([task(url) for url in urls])
        self.commit()

    def fail(self, failed: Failed, now: float, times: int = 1) -> None:
        """Take whatever is ready and let it fail."""
        for _ in range(times):
            taken = self.take(now)
            failure = host_failure(failed, taken.url.origin)
            self.frontier.put_back(taken, 0.0, "")
            self.frontier.settle(
                taken, now, HostAnswer(latency_s=0.0, failure=failure, is_answer=False)
            )
            self.commit()

    def answer(self, now: float) -> None:
        taken = self.take(now)
        self.frontier.conclude(taken)
        self.frontier.settle(taken, now, HostAnswer(latency_s=0.0))
        self.commit()

    def take(self, now: float) -> Task:
        taken = self.frontier.next(now)
        if taken is None:
            self.commit()
            taken = self.frontier.next(now)
        assert taken is not None
        return taken


def task(text: str) -> Task:
    origin = "/".join(text.split("/")[:3])
    host = origin.partition("//")[2]
    return Task(url=Url(text=text, host=host, origin=origin, key=fingerprint(text, host)))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    state = DictState(tmp_path, [])
    rules = PolitenessConfig(delay_s=0.0)
    return Bench(Frontier(FrontierConfig(), rules, state, Random(7)), state)


def duty_of(bench: Bench, **config: float) -> OutageDuty:
    return OutageDuty(OutageConfig(**config), bench.frontier, bench)


def test_the_report_says_who_answered_who_failed_and_when(bench: Bench) -> None:
    bench.add("http://a.test/1", "http://a.test/2")
    bench.answer(100.0)
    bench.fail(HANGS, 103.0)
    told = duty_of(bench).report(105.0, is_waiting=True)
    assert (told.hosts, told.answered_hosts, told.parked_hosts) == (1, 1, 0)
    assert (told.answered_s, told.failed_s, told.is_waiting) == (5.0, (2.0,), True)


def test_a_refused_connection_shows_that_the_network_is_there(bench: Bench) -> None:
    bench.add("http://a.test/1", "http://a.test/2")
    bench.answer(100.0)
    bench.fail(REFUSED, 103.0)
    told = duty_of(bench).report(105.0, is_waiting=False)
    assert (told.answered_s, told.failed_s) == (2.0, ())


def test_without_a_network_one_request_is_owed_whenever_the_number_grows(bench: Bench) -> None:
    duty = duty_of(bench)
    duty.obey(AWAY, 100.0)
    assert duty.is_network_away
    assert not duty.owes_request
    duty.obey(OutageOrders(is_network_away=True, asks=1), 110.0)
    assert duty.owes_request
    duty.note_request()
    duty.obey(OutageOrders(is_network_away=True, asks=1), 111.0)
    assert not duty.owes_request


def test_a_host_that_is_asked_need_not_wait_for_its_probe(bench: Bench) -> None:
    bench.add("http://a.test/1", "http://a.test/2")
    bench.answer(100.0)
    bench.fail(HANGS, 101.0, times=2)
    assert bench.frontier.parked.hosts == 1
    duty = duty_of(bench)
    duty.obey(AWAY, 102.0)
    duty.obey(OutageOrders(is_network_away=True, asks=1), 103.0)
    assert bench.take(103.0).url.host == "a.test"


def test_when_the_network_is_back_no_host_was_down_for_its_sake(bench: Bench) -> None:
    bench.add("http://a.test/1", "http://a.test/2")
    bench.answer(100.0)
    bench.fail(HANGS, 101.0, times=2)
    duty = duty_of(bench, give_up_s=50.0)
    duty.obey(AWAY, 102.0)
    duty.obey(AWAY, 900.0)
    duty.obey(OutageOrders(), 1000.0)
    assert not duty.is_network_away
    duty.obey(OutageOrders(give_up_after=4), 1001.0)
    assert bench.lost == []
    duty.obey(OutageOrders(give_up_after=4), 1050.0)
    assert bench.lost == ["http://a.test/2"]


def test_nobody_is_given_up_without_a_network(bench: Bench) -> None:
    bench.add("http://a.test/1", "http://a.test/2")
    bench.answer(100.0)
    bench.fail(HANGS, 101.0, times=2)
    duty = duty_of(bench, give_up_s=1.0)
    for second in range(3 * OVERDUE_EVERY):
        duty.obey(OutageOrders(is_network_away=True, give_up_after=1), 200.0 + second)
    assert bench.lost == []


def test_hosts_that_were_down_too_long_are_given_up_although_others_have_work(
    bench: Bench,
) -> None:
    bench.add("http://a.test/1", "http://a.test/2")
    bench.answer(100.0)
    bench.fail(HANGS, 101.0, times=2)
    duty = duty_of(bench, give_up_s=50.0)
    for second in range(OVERDUE_EVERY - 1):
        duty.obey(OutageOrders(), 152.0 + second)
    assert bench.lost == []
    duty.obey(OutageOrders(), 300.0)
    assert bench.lost == ["http://a.test/2"]


def test_a_host_that_never_answered_is_given_up_only_when_told(bench: Bench) -> None:
    bench.add("http://a.test/1")
    bench.fail(REFUSED, 101.0, times=2)
    bench.fail(REFUSED, 112.0)
    duty = duty_of(bench)
    duty.obey(OutageOrders(), 113.0)
    duty.obey(OutageOrders(give_up_after=4), 114.0)
    assert bench.lost == []
    duty.obey(OutageOrders(give_up_after=1), 115.0)
    assert bench.lost == ["http://a.test/1"]
