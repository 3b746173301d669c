import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from gossamer.clock import SystemClock
from gossamer.errors import CannotGoOn
from gossamer.search.broker import Broker, BrokerOptions, TierRule, Tiers
from gossamer.search.broker.fanout import ShardAnswers, ShardFanout
from gossamer.search.broker.statistics import Statistics
from gossamer.search.fields import TEXT_FIELDS
from gossamer.search.messages import Candidate, Counts, ShardQuery, Term
from gossamer.search.page import Prepared
from gossamer.search.shard import LocalShard
from tests.unit.search.made import prepared, shard_of, split, write_shard

RED = ShardQuery(groups=(("red",),), needed=1)


def pages(count: int) -> list[Prepared]:
    return [prepared(f"http://a.test/{n}", main="red " * (n + 1) + "w") for n in range(count)]


class Failing:
    """A shard that is asked in vain."""

    is_far: Final = True
    place: Final = "http://away.test"
    name: Final = "00"

    def __init__(self, wait: threading.Event | None = None) -> None:
        self._wait = wait

    def close(self) -> None:
        """Do nothing."""

    def __getattr__(self, name: str) -> object:
        def fail(*_: object) -> None:
            if self._wait is not None:
                self._wait.wait(30)
            raise CannotGoOn(f"no {name} today")

        return fail


class Standing:
    """A clock that stands still: near shards are never late."""

    def wall(self) -> float:
        return 0.0

    def steady(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        """Wait for nothing."""


def parts(root: Path, count: int, shards: int) -> list[LocalShard]:
    return [shard_of(root / str(n), part) for n, part in enumerate(split(pages(count), shards))]


def test_an_answer_without_one_shard_says_so(tmp_path: Path) -> None:
    broker = Broker(Tiers([*parts(tmp_path, 20, 2), Failing()]))  # type: ignore[list-item]  # it fails
    found = broker.find(RED, is_exact=True)
    assert found.missing == 1
    assert found.total == 20
    assert len(broker.stored(found.candidates)) == 20
    assert broker.vocabulary("re", 5) == [("red", 20)]
    assert broker.languages() == ["en"]
    broker.close()


def test_a_slow_shard_is_not_waited_for_longer_than_the_limit(tmp_path: Path) -> None:
    wait = threading.Event()
    tiers = Tiers([*parts(tmp_path, 20, 2), Failing(wait)])  # type: ignore[list-item]  # it waits
    broker = Broker(tiers, BrokerOptions(limit_s=0.05), clock=Standing())
    found = broker.find(RED)
    wait.set()
    assert found.missing == 1
    assert found.total == 20
    broker.close()


def test_if_no_shard_answers_the_reason_is_told() -> None:
    broker = Broker(Tiers([Failing(), Failing()]))  # type: ignore[list-item]  # they fail
    with pytest.raises(CannotGoOn, match=r"http://away\.test: no counts today"):
        broker.find(RED)
    broker.close()


def test_a_shard_that_has_more_than_its_part_is_asked_again(tmp_path: Path) -> None:
    rich = shard_of(tmp_path / "rich", pages(60))
    poor = [
        shard_of(tmp_path / f"poor{n}", [prepared(f"http://p.test/{n}", rest="red x y z")])
        for n in range(3)
    ]
    whole = Broker(
        Tiers(
            [
                shard_of(
                    tmp_path / "whole",
                    [
                        *pages(60),
                        *(prepared(f"http://p.test/{n}", rest="red x y z") for n in range(3)),
                    ],
                )
            ]
        )
    )
    ask = ShardQuery(groups=(("red",),), needed=1, top=50)
    many = Broker(Tiers([rich, *poor])).find(ask, is_exact=True)
    assert len(many.candidates) == 50
    assert {c.key for c in many.candidates[:30]} == {c.key for c in whole.find(ask).candidates[:30]}


def test_the_low_tier_is_asked_only_if_the_high_one_has_too_little(tmp_path: Path) -> None:
    high = shard_of(
        tmp_path / "high", [prepared(f"http://h.test/{n}", title="red") for n in range(12)]
    )
    low = shard_of(tmp_path / "low", [prepared("http://l.test/", title="red blue")])
    broker = Broker(Tiers([high], [low]), BrokerOptions(rule=TierRule(good=0.1)))
    found = broker.find(RED)
    assert not found.is_low_asked
    assert found.total == 12
    found = broker.find(ShardQuery(groups=(("red",), ("blue",)), needed=2))
    assert found.is_low_asked
    assert [page.url for page in broker.stored(found.candidates)] == ["http://l.test/"]
    assert broker.counts(["red"]).having["red"][0] == 13, "statistics are of both tiers"


@pytest.mark.parametrize(
    ("scores", "wanted", "expected"),
    [
        ([], 10, False),
        ([], 0, True),
        ([5.0] * 10, 10, True),
        ([5.0] * 9, 10, False),
        ([5.0] * 3, 3, True),
        ([9.0] * 9 + [1.0] * 20, 10, False),
    ],
)
def test_what_is_enough(scores: list[float], wanted: int, *, expected: bool) -> None:
    candidates = [Candidate(score, n, 0, 0, 0) for n, score in enumerate(scores)]
    rule = TierRule(enough=10, good=0.5)
    assert rule.is_enough(candidates, wanted, most=10.0) == expected


def test_a_commit_is_taken_up_and_statistics_follow(tmp_path: Path) -> None:
    broker = Broker(Tiers(parts(tmp_path, 20, 2)))
    assert broker.find(RED).total == 20
    assert not broker.renew()
    write_shard(tmp_path / "0", [prepared(f"http://b.test/{n}", title="red") for n in range(5)])
    assert broker.renew()
    assert broker.find(RED).total == 25
    broker.settle()
    facts = broker.statistics()
    assert (facts.refreshes, facts.is_stale, facts.terms) == (1, False, 1)
    assert broker.counts(["red"]).having["red"][0] == 5
    assert broker.counts([]).pages == 25


class Source:
    """Statistics of shards that count how often they are asked."""

    def __init__(self) -> None:
        self.asked: list[Sequence[Term]] = []
        self.missing = 0
        self.having = 1

    def __call__(self, terms: Sequence[Term]) -> ShardAnswers[Counts]:
        self.asked.append(list(terms))
        row = (self.having,) * len(TEXT_FIELDS)
        counts = Counts(pages=10, tokens=row, having=dict.fromkeys(terms, row))
        return ShardAnswers({0: counts, 1: counts}, self.missing)


def test_terms_are_asked_for_once_and_the_least_used_are_forgotten() -> None:
    source = Source()
    statistics = Statistics(source, SystemClock(), most_terms=2)
    assert statistics.counts(["a", "a", "b"]).having == {
        "a": (2,) * len(TEXT_FIELDS),
        "b": (2,) * len(TEXT_FIELDS),
    }
    statistics.counts(["a"])
    statistics.counts(["c"])
    statistics.counts(["a", "b"])
    assert source.asked == [["a", "b"], ["c"], ["b"]]
    facts = statistics.facts()
    assert (facts.terms, facts.asked, facts.remembered) == (2, 6, 2)


def test_what_some_shards_do_not_say_is_not_remembered() -> None:
    source = Source()
    source.missing = 1
    statistics = Statistics(source, SystemClock())
    statistics.counts(["a"])
    statistics.counts(["a"])
    assert source.asked == [["a"], ["a"]]


def test_a_little_growth_refreshes_nothing() -> None:
    source = Source()
    statistics = Statistics(source, SystemClock())
    statistics.counts(["a"])
    statistics.renew(20)
    statistics.settle()
    assert statistics.facts().is_stale
    assert len(source.asked) == 1
    source.having = 7
    statistics.renew(22)
    statistics.settle()
    assert statistics.counts(["a"]).having["a"] == (14,) * len(TEXT_FIELDS)
    assert not statistics.facts().is_stale


def test_near_shards_after_the_limit_are_left_out(tmp_path: Path) -> None:
    fan = ShardFanout(parts(tmp_path, 4, 2), SystemClock(), limit_s=-1)
    answers = fan.ask_all(lambda shard: shard.facts().pages)
    assert (len(answers.of), answers.missing) == (1, 1)


def test_many_threads_ask_while_commits_are_taken_up(tmp_path: Path) -> None:
    broker = Broker(Tiers(parts(tmp_path, 30, 3)))
    problems: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(30):
                found = broker.find(RED, is_exact=True)
                assert found.missing == 0
                assert len(broker.stored(found.candidates)) >= 30
        except BaseException as error:  # noqa: BLE001 - the test tells it
            problems.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for n in range(3):
        write_shard(tmp_path / "1", [prepared(f"http://c.test/{n}", title="red")])
        broker.renew()
    for thread in threads:
        thread.join()
    assert not problems
    assert broker.find(RED).total == 33
