"""Pages that always fail on a host that answers: they end, and the good ones come without delay."""

from collections.abc import Callable
from random import Random

import pytest

from gossamer.config import FrontierConfig, PolitenessConfig, UrlConfig
from gossamer.fetch import delay_s, next_try_at
from gossamer.frontier import FailedTry, Frontier, HostAnswer, Parked, host_failure
from gossamer.model import Failed, FailureKind, LinkKind, Task
from gossamer.urls import parse

from .rows import DictRows

GOOD, BAD = 1000, 200
DELAY_S = 0.1


class Site:
    """One host of which some pages always fail, crawled with a simulated clock."""

    def __init__(self, names: list[str], kind: FailureKind) -> None:
        self.rows = DictRows()
        self.kind = kind
        self.now = 0.0
        self.good_at: list[float] = []
        self.failed: dict[str, str] = {}
        self.requests = 0
        self.witnesses = 0
        rules = PolitenessConfig(delay_s=DELAY_S)
        self.frontier = Frontier(FrontierConfig(), rules, self.rows, Random(7))
        urls = [parse(f"http://a.test/{name}", UrlConfig()) for name in names]
        self.frontier.add([Task(url=url, kind=LinkKind.ANCHOR) for url in urls if url is not None])

    def crawl(self, seconds: float) -> None:
        while self.frontier.queued and self.now < seconds:
            while (task := self.frontier.next(self.now)) is not None:
                self.ask(task)
            self.rows.write(self.frontier.rows_to_commit())
            self.frontier.committed()
            moment = self.frontier.next_moment()
            self.now = max(self.now + 0.01, moment or 0.0)

    def ask(self, task: Task) -> None:
        self.requests += 1
        is_witness = task.kind is LinkKind.WITNESS
        self.witnesses += is_witness
        failure = None
        if "bad" in task.url.text:
            failed = Failed(kind=self.kind)
            failure = host_failure(failed, task.url.origin)
            assert failure is not None
            again = next_try_at(failed, task.attempt, self.now)
            at = self.now + delay_s(self.kind, task.attempt) if again is None else again
            tried = FailedTry(
                task.url.key, self.kind.value, "", failure.kind.value, at, again is None
            )
            self.frontier.parking.set_failed(task, tried)
        else:
            self.frontier.conclude(task)
            if not is_witness:
                self.good_at.append(self.now)
        answer = HostAnswer(latency_s=0.0, failure=failure, is_witness=is_witness)
        self.frontier.settle(task, self.now, answer)
        for lost in self.frontier.parking.take_lost():
            assert lost.task.url.text not in self.failed
            self.failed[lost.task.url.text] = lost.reason


def bad_first() -> list[str]:
    return [f"bad{n}" for n in range(BAD)] + [f"good{n}" for n in range(GOOD)]


def bad_last() -> list[str]:
    return [f"good{n}" for n in range(GOOD)] + [f"bad{n}" for n in range(BAD)]


def mixed() -> list[str]:
    names = bad_first()
    Random(3).shuffle(names)
    return names


@pytest.mark.parametrize("names", [bad_first, bad_last, mixed])
def test_200_pages_that_always_fail_end_and_1000_good_ones_are_hardly_delayed(
    names: Callable[[], list[str]],
) -> None:
    site = Site(names(), FailureKind.HTTP_5XX)
    site.crawl(3600.0)
    assert len(site.good_at) == GOOD
    assert len(site.failed) == BAD
    assert set(site.failed.values()) == {"http_5xx"}
    assert site.good_at[-1] < (GOOD + 4 * BAD) * DELAY_S + 120.0
    assert site.now < 600.0
    assert site.requests < GOOD + 5 * BAD
    assert site.frontier.parked == Parked()


def test_pages_that_always_hang_end_too() -> None:
    names = [f"good{n}" for n in range(50)] + [f"bad{n}" for n in range(6)]
    site = Site(names, FailureKind.FIRST_BYTE_TIMEOUT)
    site.crawl(7200.0)
    assert (len(site.good_at), len(site.failed)) == (50, 6)


def test_a_host_whose_every_page_fails_stays_parked() -> None:
    site = Site([f"bad{n}" for n in range(50)], FailureKind.HTTP_5XX)
    site.crawl(7200.0)
    assert not site.failed
    assert site.frontier.parked == Parked(hosts=1, urls=50)
    assert site.requests < 2 + 38 + 24
