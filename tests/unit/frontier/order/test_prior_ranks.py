"""Ranks of an earlier crawl: what the file knows starts with credit; what is queued moves up."""

from pathlib import Path
from random import Random
from typing import Literal

import numpy as np
import pytest

from gossamer.config import Config, FrontierConfig, PolitenessConfig
from gossamer.errors import ConfigError
from gossamer.frontier import Frontier, choose_order, queued_tasks
from gossamer.frontier.order import GRADES
from gossamer.model import LinkKind, Task
from gossamer.ranks import write_ranks
from gossamer.settings import check
from gossamer.urls import fingerprint_of
from tests.unit.frontier.order.test_orders import fetch_order, url
from tests.unit.frontier.rows import DictRows

HOME = "http://a.test/"
PAGES = [f"http://a.test/{n}" for n in range(60)]
WEB = {HOME: PAGES, **{page: list[str]() for page in PAGES}}


def file_of(folder: Path, ranks: dict[str, float], name: str = "ranks") -> str:
    keys = np.array([fingerprint_of(text) for text in ranks], np.uint64)
    write_ranks(folder / name, keys, np.array(list(ranks.values())))
    return str(folder / name)


@pytest.mark.parametrize("order", ["best", "opic"])
def test_what_the_file_favours_comes_first_and_in_its_order(
    order: Literal["best", "opic"], tmp_path: Path
) -> None:
    ranks = file_of(tmp_path, {PAGES[50]: 300.0, PAGES[41]: 40.0, PAGES[33]: 100.0})
    found = fetch_order(order, WEB, ranks=ranks)
    assert found[:4] == [HOME, PAGES[50], PAGES[33], PAGES[41]]
    assert sorted(found) == sorted([HOME, *PAGES])
    assert fetch_order(order, WEB)[1:4] != found[1:4]


def test_a_url_has_its_rank_once_however_it_comes(tmp_path: Path) -> None:
    ranks = file_of(tmp_path, {PAGES[0]: 33.0})
    order = choose_order(FrontierConfig(order="best", ranks=ranks))
    assert order.credit is not None
    task = Task(url=url(PAGES[0]), kind=LinkKind.ANCHOR, credit=0.25)
    first = order.grade(task)
    assert order.credit.credits.of(task.url.key) == pytest.approx(1.25)
    order.grade(task)
    assert order.credit.credits.of(task.url.key) == pytest.approx(1.5)
    assert first == order.credit.grade(task.url.key) == 13
    stranger = Task(url=url(PAGES[1]), kind=LinkKind.ANCHOR, credit=0.25)
    order.grade(stranger)
    assert order.credit.credits.of(stranger.url.key) == pytest.approx(0.25)


def queued_frontier(rows: DictRows, config: FrontierConfig) -> Frontier:
    """Return a frontier, without ranks, in whose rows all pages wait."""
    frontier = Frontier(
        config, PolitenessConfig(delay_s=0.0), rows, Random(1), choose_order(config)
    )
    frontier.add([Task(url=url(page), kind=LinkKind.ANCHOR, credit=0.01) for page in PAGES])
    rows.write(frontier.rows_to_commit())
    frontier.committed()
    return frontier


def test_queued_urls_move_up_once_when_a_crawl_is_given_ranks(tmp_path: Path) -> None:
    rows = DictRows()
    before = queued_frontier(rows, FrontierConfig(order="best"))
    assert before.order.credit is not None
    kept = before.order.credit.save()
    ranks = file_of(
        tmp_path, {PAGES[7]: 300.0, PAGES[8]: 3.0, PAGES[6]: 0.9, "http://b.test/": 9.0}
    )
    order = choose_order(FrontierConfig(order="best", ranks=ranks))
    assert order.credit is not None
    assert order.credit.load(kept)
    lifted = [task for lift in order.lifts for task in lift(queued_tasks(rows))]
    assert [(task.url.text, task.grade) for task in lifted] == [(PAGES[7], GRADES), (PAGES[8], 9)]
    again = choose_order(FrontierConfig(order="best", ranks=ranks))
    assert again.credit is not None
    assert again.credit.load(order.credit.save())
    assert [lift(queued_tasks(rows)) for lift in again.lifts] == [[]]
    news = file_of(tmp_path, {PAGES[9]: 300.0}, "news")
    other = choose_order(FrontierConfig(order="best", ranks=news))
    assert other.credit is not None
    assert other.credit.load(again.credit.save())
    (lift,) = other.lifts
    assert [task.url.text for task in lift(queued_tasks(rows))] == [PAGES[9]]


def test_an_order_without_ranks_lifts_nothing() -> None:
    assert choose_order(FrontierConfig()).lifts == ()


def test_queued_tasks_are_all_that_wait() -> None:
    rows = DictRows()
    queued_frontier(rows, FrontierConfig(order="best"))
    assert sorted(task.url.text for task in queued_tasks(rows)) == sorted(PAGES)


@pytest.mark.parametrize("order", ["bfs", "dfs"])
def test_orders_without_credit_refuse_ranks(order: Literal["bfs", "dfs"]) -> None:
    with pytest.raises(ConfigError, match="best or opic"):
        check(Config(frontier=FrontierConfig(order=order, ranks="x")))
    with pytest.raises(ConfigError, match="best or opic"):
        check(Config(frontier=FrontierConfig(order="best", score="a:b", ranks="x")))


def test_a_file_that_is_none_is_an_error_of_whoever_named_it(tmp_path: Path) -> None:
    (tmp_path / "odd").write_bytes(b"no ranks")
    for name in ("odd", "missing"):
        with pytest.raises(ConfigError, match=r"frontier.ranks: .*" + name):
            choose_order(FrontierConfig(order="best", ranks=str(tmp_path / name)))
