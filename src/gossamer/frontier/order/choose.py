"""choose_order: the order that a configuration asks for, with the rules that overrule it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import SupportsFloat

from gossamer.config import FrontierConfig
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.frontier.order.best_first import BestFirst
from gossamer.frontier.order.grading import GRADES, Importance, LabelMoves, Order
from gossamer.frontier.order.opic import Opic
from gossamer.frontier.order.prior_ranks import WithPriorRanks
from gossamer.frontier.order.scores import ScoreTable, WithScores
from gossamer.log import OnUserError, describe_error, ignore_error, tell
from gossamer.model import LinkKind, Task
from gossamer.ranks import RankFile
from gossamer.urls import Patterns


def breadth_first(grades: int, scores: ScoreTable | None = None) -> Order:
    """Return the order in which shallow URLs come first, but for those with a grade already.

    The priority in a sitemap moves a URL by a class or two (its task carries that as credit), and
    so does its score.
    """

    def grade(task: Task) -> int:
        if task.grade:
            return task.grade
        shift = int(task.credit) + (scores.class_shift(task.url) if scores is not None else 0)
        return min(max(grades - task.depth + shift, 1), grades)

    return Order(grade=grade)


def choose_order(config: FrontierConfig, seeds: int = 1, scores: ScoreTable | None = None) -> Order:
    """Return the order of a configuration; ConfigError if a rule or a function is no good."""
    order = _plain_order(config, seeds, scores)
    if config.labels:
        order = replace(order, grade=_moved(order.grade, LabelMoves(config.labels)))
    if not config.rules:
        return order
    return replace(order, grade=_overruled(order.grade, config.rules))


def _plain_order(config: FrontierConfig, seeds: int, scores: ScoreTable | None) -> Order:
    if config.score:
        return Order(grade=_by_grade, is_strict=True)
    if config.order == "dfs":
        return Order(grade=_by_kind, is_newest_first=True)
    if config.order == "bfs":
        return breadth_first(config.grades, scores)
    rule: Importance = BestFirst(seeds) if config.order == "best" else Opic()
    lifts: list[Callable[[Iterator[Task]], list[Task]]] = []
    if config.ranks:
        ranked = WithPriorRanks(rule, _ranks(config.ranks))
        rule = ranked
        lifts.append(ranked.lift)
    if scores is not None:
        scored = WithScores(rule, scores)
        rule = scored
        lifts.append(scored.lift)
    return Order(
        grade=_by_credit(rule),
        credit=rule,
        is_strict=True,
        lifts=tuple(lifts),
        has_score=scores.has if scores is not None else None,
    )


def _ranks(name: str) -> RankFile:
    try:
        return RankFile.open(Path(name))
    except CannotGoOn as problem:
        raise ConfigError(f"frontier.ranks: {problem}") from None


def _by_kind(task: Task) -> int:
    """Return the grade of a task in the depth-first order: sitemaps come after the pages.

    They name pages of any depth.
    """
    is_list = task.kind is LinkKind.SITEMAP and (task.nesting > 0 or task.depth <= 0)
    return 1 if is_list else GRADES // 2


def _by_grade(task: Task) -> int:
    """Return the grade that a task came with; one that a death gave back goes first."""
    return task.grade or GRADES


def _by_credit(credit: Importance) -> Callable[[Task], int]:
    def grade(task: Task) -> int:
        if task.grade:
            return task.grade
        credit.deposit(task)
        return credit.grade(task.url.key)

    return grade


def _moved(grade: Callable[[Task], int], moves: LabelMoves) -> Callable[[Task], int]:
    """Return a grading in which labels move what has no grade yet."""

    def moved(task: Task) -> int:
        given = grade(task)
        return given if task.grade or not task.labels else moves.moved(given, task.labels)

    return moved


def _overruled(grade: Callable[[Task], int], rules: Mapping[str, int]) -> Callable[[Task], int]:
    """Return a grading in which the first rule whose pattern matches has the say."""
    tests = [(Patterns([pattern]), fixed) for pattern, fixed in rules.items()]

    def overruled(task: Task) -> int:
        given = grade(task)  # credit is deposited in any case
        for patterns, fixed in tests:
            if patterns.match_host(task.url.host) or patterns.match_url(task.url.text):
                return fixed
        return given

    return overruled


def named_score(name: str, on_error: OnUserError = ignore_error) -> Callable[[str, str, int], int]:
    """Return the user's scoring function "module:function", as one that gives grades.

    It takes URL, anchor text and depth, and returns from 0.0 (last) to 1.0 (first).
    A call that raises or returns anything else grades its URL last and is reported to `on_error`;
    the first is logged.
    """
    module_name, _, function_name = name.partition(":")
    try:
        score = getattr(import_module(module_name), function_name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a stranger's module may fail in any way, also by sys.exit()
        advice = "; is its folder on PYTHONPATH?" if isinstance(error, ImportError) else ""
        raise ConfigError(
            f'frontier.score: expected "module:function", found {name!r} '
            f"({describe_error(error)}){advice}"
        ) from None
    if not callable(score):
        raise ConfigError(f"frontier.score: {name!r} is not a function")

    has_told = False

    def grade(url: str, anchor: str, depth: int) -> int:
        nonlocal has_told
        try:
            worth = _checked_score(score(url, anchor, depth))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a stranger's code: it must not end the crawl
            words = describe_error(error)
            on_error(f"score {name}", words)
            if not has_told:
                has_told = True
                tell("score.failed", score=name, error=words)
            return 1
        return 1 + int(worth * (GRADES - 1) + 0.5)

    return grade


def _checked_score(said: object) -> float:
    """Return what a score said, if it is a number from 0 to 1."""
    worth = said if isinstance(said, float) else _as_float(said)
    if not 0.0 <= worth <= 1.0:  # so it is with NaN
        raise ValueError(f"expected a number from 0 to 1, found {said!r}")
    return worth


def _as_float(said: object) -> float:
    if not isinstance(said, SupportsFloat):
        raise TypeError(f"expected a number from 0 to 1, found {said!r}")
    return float(said)
