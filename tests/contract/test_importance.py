"""What every rule that passes credit does: best-first and OPIC, with ranks and with scores."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gossamer.config import UrlConfig
from gossamer.frontier.order.best_first import BestFirst
from gossamer.frontier.order.grading import GRADES, Importance
from gossamer.frontier.order.opic import Opic
from gossamer.frontier.order.prior_ranks import WithPriorRanks
from gossamer.frontier.order.scores import WithScores, read_scores
from gossamer.model import LinkKind, Task
from gossamer.ranks import RankFile, write_ranks
from gossamer.urls import parse

Make = Callable[[], Importance]


@pytest.fixture(params=["best", "opic", "best with ranks", "opic with ranks", "best with scores"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    def made() -> Importance:
        rule: Importance = BestFirst(1) if request.param.startswith("best") else Opic()
        if request.param.endswith("scores"):
            (tmp_path / "scores").write_text("ranked.test 40\nother.test 1\n")
            return WithScores(rule, read_scores(tmp_path / "scores", UrlConfig()))
        if not request.param.endswith("ranks"):
            return rule
        keys = np.array([task("http://ranked.test/").url.key], np.uint64)
        write_ranks(tmp_path / "ranks", keys, np.array([40.0]))
        return WithPriorRanks(rule, RankFile.open(tmp_path / "ranks"))

    return made


def task(text: str, **more: object) -> Task:
    url = parse(text, UrlConfig())
    assert url is not None
    return Task(url, **more)  # type: ignore[arg-type]  # a test's keywords


SEED = task("http://seed.test/", kind=LinkKind.SEED)
PAGES = [task(f"http://p{n}.test/", kind=LinkKind.ANCHOR) for n in range(6)]
KEYS = [page.url.key for page in PAGES]


def test_grades_are_between_one_and_the_highest(make: Make) -> None:
    rule = make()
    rule.deposit(SEED)
    rule.meet(KEYS, 1e9)
    for key in (*KEYS, SEED.url.key, 12345):
        assert 1 <= rule.grade(key) <= GRADES


def test_a_page_shares_nothing_below_zero_and_no_more_than_it_has(make: Make) -> None:
    rule = make()
    rule.deposit(SEED)
    rule.note_known(SEED.url.key >> 40, 3)
    share = rule.share(SEED.url.key, len(KEYS))
    assert share > 0
    assert make().share(12345, 4) >= 0
    assert rule.share(SEED.url.key, 0) >= 0


def test_urls_that_are_met_together_have_the_grade_that_was_told(make: Make) -> None:
    rule = make()
    grade = rule.meet(KEYS, 0.25)
    assert {rule.grade(key) for key in KEYS} == {grade}


def test_more_credit_never_lowers_a_grade_and_much_of_it_raises_it(make: Make) -> None:
    rule = make()
    rule.meet(KEYS, 0.001)
    grades = [rule.grade(KEYS[0])]
    for gift in (0.01, 0.1, 1.0, 10.0, 100.0):
        rule.give([KEYS[0]], gift)
        grades.append(rule.grade(KEYS[0]))
    assert grades == sorted(grades)
    assert grades[-1] > grades[0]


def test_those_whose_grade_rose_are_among_those_told_of(make: Make) -> None:
    rule = make()
    rule.meet(KEYS, 0.001)
    before = {key: rule.grade(key) for key in KEYS}
    told = rule.give(KEYS[:3], 50.0)
    risen = {key for key in KEYS if rule.grade(key) > before[key]}
    assert risen == set(KEYS[:3])
    assert risen <= set(told) <= set(KEYS[:3])


def test_credit_that_a_task_brings_counts(make: Make) -> None:
    rule = make()
    rule.deposit(PAGES[0])
    poor = rule.grade(KEYS[0])
    rule.deposit(task("http://p0.test/", kind=LinkKind.ANCHOR, credit=100.0))
    assert rule.grade(KEYS[0]) > poor


def test_what_was_saved_is_loaded_with_every_grade(make: Make) -> None:
    rule = make()
    rule.deposit(SEED)
    for number, key in enumerate(KEYS):
        rule.meet([key], 0.01 * 8.0**number)
    copy = make()
    assert copy.load(rule.save())
    keys = [*KEYS, SEED.url.key]
    assert [copy.grade(key) for key in keys] == [rule.grade(key) for key in keys]


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped"])
def test_damaged_credit_is_not_loaded_and_changes_nothing(make: Make, damage: str) -> None:
    rule = make()
    rule.meet(KEYS, 4.0)
    saved = rule.save()
    middle = len(saved) // 2
    flipped = saved[:middle] + bytes([saved[middle] ^ 1]) + saved[middle + 1 :]
    grades = [rule.grade(key) for key in KEYS]
    assert not rule.load({"empty": b"", "cut": saved[:-1], "flipped": flipped}[damage])
    assert [rule.grade(key) for key in KEYS] == grades


def test_a_link_within_a_domain_gets_no_more_than_one_to_another(make: Make) -> None:
    assert 0 < make().local <= 1
