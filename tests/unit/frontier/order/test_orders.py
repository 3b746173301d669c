"""What each order grades how, and what makes a queued URL move up."""

import sys
from asyncio import CancelledError
from fractions import Fraction
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Literal

import pytest

from gossamer.config import FrontierConfig, PolitenessConfig, UrlConfig
from gossamer.errors import ConfigError
from gossamer.frontier import Frontier, HostAnswer, LinkRanker, choose_order, named_score
from gossamer.frontier.order import GRADES
from gossamer.model import Link, LinkKind, Task, Url
from gossamer.urls import parse
from tests.unit.frontier.rows import DictRows


def url(text: str) -> Url:
    found = parse(text, UrlConfig())
    assert found is not None
    return found


def link(text: str, kind: LinkKind = LinkKind.ANCHOR, said: str = "") -> Link:
    return Link(target=url(text), kind=kind, text=said)


def seed(text: str = "http://a.test/") -> Task:
    return Task(url=url(text), kind=LinkKind.SEED)


def fetch_order(
    order: Literal["bfs", "best", "opic", "dfs"], pages: dict[str, list[str]], **knobs: object
) -> list[str]:
    """Crawl a small web without a network, one page at a time; return the URLs as they come."""
    config = FrontierConfig(order=order, lease_urls=1, **knobs)  # type: ignore[arg-type] # few are used
    chosen = choose_order(config)
    rows = DictRows()
    done = list[str]()
    frontier = Frontier(
        config,
        PolitenessConfig(delay_s=0.0),
        rows,
        Random(1),
        chosen,
        is_settled=lambda task: task.url.text in done,
    )
    ranking = LinkRanker(chosen.credit)
    first = seed(next(iter(pages)))
    frontier.add([first])
    known = {first.url.key}
    for _ in range(20 * len(pages)):
        task = frontier.next(0.0)
        if task is None:
            rows.write(frontier.rows_to_commit())
            frontier.committed()
            continue
        done.append(task.url.text)
        links = {found.target.key: found for found in map(link, pages.get(task.url.text, []))}
        new = [found for key, found in links.items() if key not in known]
        old = {key: found for key, found in links.items() if key in known}
        known |= links.keys()
        tasks, risen = ranking.follow(task, new, old)
        frontier.settle(task, 0.0, HostAnswer(latency_s=0.0))
        frontier.conclude(task)
        frontier.add(tasks)
        frontier.promote(risen)
    assert frontier.queued == 0
    return done


WEB = {
    "http://a.test/": [f"http://a.test/{n}" for n in range(150)],
    **{f"http://a.test/{n}": ["http://a.test/wanted", f"http://a.test/{n}/x"] for n in range(150)},
}


def test_best_first_brings_a_page_that_many_link_to_forward() -> None:
    late = fetch_order("bfs", WEB).index("http://a.test/wanted")
    assert fetch_order("best", WEB).index("http://a.test/wanted") < late


@pytest.mark.parametrize("order", ["bfs", "best", "opic", "dfs"])
def test_every_order_gives_every_url_once(
    order: Literal["bfs", "best", "opic", "dfs"],
) -> None:
    found = fetch_order(order, WEB)
    assert sorted(found) == sorted({*WEB, *(target for links in WEB.values() for target in links)})


def test_depth_first_goes_on_with_what_was_found_last() -> None:
    chain = {
        "http://a.test/": ["http://a.test/1", "http://a.test/2"],
        "http://a.test/1": ["http://a.test/1/1"],
        "http://a.test/1/1": ["http://a.test/1/1/1"],
    }
    found = fetch_order("dfs", chain)
    assert found.index("http://a.test/1/1/1") == found.index("http://a.test/1/1") + 1


def test_a_rule_fixes_the_grade_of_what_it_matches() -> None:
    rules = {"news.test": GRADES, "*/print/*": 1}
    for name in ("bfs", "best"):
        grade = choose_order(FrontierConfig(order=name, rules=rules)).grade  # type: ignore[arg-type]
        assert grade(Task(url=url("http://news.test/x"), depth=9, kind=LinkKind.ANCHOR)) == GRADES
        assert grade(Task(url=url("http://a.test/print/1"), depth=1, kind=LinkKind.ANCHOR)) == 1


def test_a_sitemap_can_favour_a_page() -> None:
    order = choose_order(FrontierConfig(order="best"))
    assert order.credit is not None
    ranking = LinkRanker(order.credit)
    order.credit.deposit(seed())
    dear = link("http://a.test/dear", LinkKind.SITEMAP, "lastmod=2026-01-01 priority=0.9")
    plain = link("http://a.test/plain", LinkKind.SITEMAP)
    odd = link("http://a.test/odd", LinkKind.SITEMAP, "priority=high")
    tasks, _ = ranking.follow(seed(), [dear, plain, odd], {})
    credits_ = [task.credit for task in tasks]
    assert credits_[0] == pytest.approx(1.8 * credits_[1])
    assert credits_[2] == credits_[1]


def test_links_of_other_shards_carry_their_credit_with_them() -> None:
    order = choose_order(FrontierConfig(order="best"))
    assert order.credit is not None
    foreign = link("http://b.test/")
    ranking = LinkRanker(order.credit, is_ours=lambda key: key != foreign.target.key)
    tasks, _ = ranking.follow(seed(), [foreign, link("http://a.test/1")], {})
    by_url = {task.url.text: task for task in tasks}
    assert by_url["http://b.test/"].credit > 0.0
    assert by_url["http://a.test/1"].credit == 0.0
    _, moved = ranking.follow(seed(), [], {foreign.target.key: foreign})
    assert [task.url.text for task in moved] == ["http://b.test/"]
    other = choose_order(FrontierConfig(order="best")).credit
    assert other is not None
    assert LinkRanker(other).receive(moved[0])


def test_opic_keeps_its_lambda_page_over_a_restart() -> None:
    order = choose_order(FrontierConfig(order="opic"))
    assert order.credit is not None
    ranking = LinkRanker(order.credit)
    order.credit.deposit(seed())
    for n in range(250):
        page = Task(url=url(f"http://a.test/{n}"), kind=LinkKind.ANCHOR)
        ranking.follow(page, [link(f"http://a.test/{n + 1}")], {})
    again = choose_order(FrontierConfig(order="opic")).credit
    assert again is not None
    assert again.load(order.credit.save())
    key = url("http://a.test/250").key
    assert again.grade(key) == order.credit.grade(key)
    assert again.share(key, 1) == pytest.approx(order.credit.share(key, 1))


def test_a_score_of_ones_own_becomes_a_grade(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taste.py").write_text(
        "def taste(url, anchor, depth):\n"
        "    if 'boom' in url: raise ValueError\n"
        "    return 0.5 if 'b' in url else 1\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    errors: list[tuple[str, str]] = []
    grade = named_score("taste:taste", lambda *told: errors.append(told))
    assert grade("http://x/", "", 1) == GRADES
    assert grade("http://x/b", "", 1) == 9
    assert errors == []
    assert grade("http://x/boom", "", 1) == 1
    assert grade("http://x/boom", "", 1) == 1
    assert errors == [("score taste:taste", "ValueError")] * 2
    sys.modules.pop("taste")


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        (float("nan"), "ValueError: expected a number from 0 to 1, found nan"),
        (float("inf"), "ValueError: expected a number from 0 to 1, found inf"),
        (-0.01, "ValueError: expected a number from 0 to 1, found -0.01"),
        (7, "ValueError: expected a number from 0 to 1, found 7"),
        ("0.5", "TypeError: expected a number from 0 to 1, found '0.5'"),
        (None, "TypeError: expected a number from 0 to 1, found None"),
    ],
)
def test_a_score_that_is_no_number_from_0_to_1_is_an_error_and_grades_its_url_last(
    returned: object, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("odd_scores")
    module.__dict__["odd"] = lambda *_: returned
    monkeypatch.setitem(sys.modules, "odd_scores", module)
    errors: list[tuple[str, str]] = []
    assert (
        named_score("odd_scores:odd", lambda *error: errors.append(error))("http://x/", "", 1) == 1
    )
    assert errors == [("score odd_scores:odd", told)]


@pytest.mark.parametrize(
    ("returned", "expected"),
    [(0, 1), (1, GRADES), (0.0, 1), (1.0, GRADES), (True, GRADES), (Fraction(1, 2), 9)],
)
def test_a_score_may_be_a_number_of_any_kind(
    returned: object, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("odd_scores")
    module.__dict__["odd"] = lambda *_: returned
    monkeypatch.setitem(sys.modules, "odd_scores", module)
    assert named_score("odd_scores:odd")("http://x/", "", 1) == expected


@pytest.mark.parametrize("error", [SystemExit(7), CancelledError(), GeneratorExit()])
def test_a_score_that_wants_to_end_the_program_grades_its_url_last(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave(*_: object) -> float:
        raise error

    module = ModuleType("odd_scores")
    module.__dict__["leave"] = leave
    monkeypatch.setitem(sys.modules, "odd_scores", module)
    errors: list[tuple[str, str]] = []
    grade = named_score("odd_scores:leave", lambda *told: errors.append(told))
    assert grade("http://x/", "", 1) == 1
    assert [told.partition(":")[0] for _, told in errors] == [type(error).__name__]


def test_ctrl_c_in_a_score_is_not_the_scores_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> float:
        raise KeyboardInterrupt

    module = ModuleType("odd_scores")
    module.__dict__["interrupted"] = interrupted
    monkeypatch.setitem(sys.modules, "odd_scores", module)
    with pytest.raises(KeyboardInterrupt):
        named_score("odd_scores:interrupted")("http://x/", "", 1)


@pytest.mark.parametrize("name", ["nowhere", "no.such.module:f", "math:nothing", "math:pi"])
def test_a_score_that_cannot_be_found_is_told_in_one_line(name: str) -> None:
    with pytest.raises(ConfigError, match=r"frontier\.score"):
        named_score(name)
