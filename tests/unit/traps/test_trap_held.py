"""Held tasks: what is probed next, what is in memory, what is kept when a unit is closed."""

from collections.abc import Iterator

import pytest

from gossamer.model import Task
from gossamer.traps import held
from gossamer.traps.held import HeldQueue, HeldQueues
from gossamer.traps.unit import Probation, shape_of
from tests.unit.traps.pages import url

NAME = "h.test/a/"
BASE = f"http://{NAME}"


class Rows:
    """The committed rows, as a dictionary."""

    def __init__(self) -> None:
        self.rows: dict[bytes, bytes] = {}

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return iter(sorted(row for row in self.rows.items() if row[0].startswith(prefix)))

    def commit(self, queue: HeldQueue | HeldQueues) -> None:
        for key, value in queue.rows_to_commit():
            if value is None:
                self.rows.pop(key, None)
            else:
                self.rows[key] = value


def task(tail: str, via: str = "") -> Task:
    return Task(url=url(BASE + tail), via=via)


def filled(count: int, first: int = 0) -> HeldQueue:
    queue = HeldQueue(NAME, {})
    for number in range(first, first + count):
        queue.put(task(f"{number}/"), (number, 0), is_new=bool(number % 2))
    return queue


def test_held_tasks_come_back_from_their_rows_as_they_were() -> None:
    rows = Rows()
    rows.commit(filled(4))
    queue = HeldQueue.read(NAME, rows.scan, {})
    taken = sorted(queue.take_oldest(9), key=lambda held: held.trail)
    assert [(one.task, one.trail, one.is_new) for one in taken] == [
        (task(f"{number}/"), (number, 0), bool(number % 2)) for number in range(4)
    ]
    rows.commit(queue)
    assert rows.rows == {}


@pytest.mark.parametrize("commits", [False, True])
def test_a_queue_larger_than_memory_loses_nothing(
    commits: bool,  # noqa: FBT001 -- a case of the test
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(held, "IN_MEMORY", 3)
    rows, queue, seen = Rows(), filled(8), []
    while queue:
        if commits:
            rows.commit(queue)
        queue.refill(rows.scan)
        seen += [one.task.url.text for one in queue.take_oldest(2)]
    assert sorted(seen) == [f"{BASE}{number}/" for number in range(8)]
    rows.commit(queue)
    assert rows.rows == {}


def test_of_a_large_queue_only_a_part_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held, "IN_MEMORY", 3)
    rows = Rows()
    rows.commit(filled(8))
    queue = HeldQueue.read(NAME, rows.scan, {})
    assert len(queue) == 8
    assert len(queue.take_oldest(8)) == 3
    assert len(queue) == 5


@pytest.mark.parametrize("in_memory", [5, 100])
def test_a_closed_unit_keeps_some_of_what_it_holds(
    in_memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held, "IN_MEMORY", in_memory)
    monkeypatch.setattr(held, "KEPT_WHEN_CLOSED", 4)
    rows, queues = Rows(), HeldQueues(lambda _: iter(()), ())
    for number in range(20):
        queues.get(NAME).put(task(f"{number}/"), (0, 0), is_new=True)
    rows.commit(queues)
    again = HeldQueues(rows.scan, [NAME])
    assert again.undecided == 20
    assert again.close(NAME) == 20
    assert again.undecided == 0
    rows.commit(again)
    assert len(rows.rows) == 4


def test_a_released_unit_gives_back_its_tasks_by_and_by(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held, "RELEASED_AT_ONCE", 3)
    queues = HeldQueues(lambda _: iter(()), ())
    for number in range(5):
        queues.get(NAME).put(task(f"{number}/"), (0, 0), is_new=True)
    assert queues.take_released() == []
    queues.release(NAME)
    assert [len(queues.take_released()), queues.take_emptied()] == [3, []]
    assert [len(queues.take_released()), queues.take_emptied()] == [2, [NAME]]
    assert [len(queues.take_released()), queues.take_emptied()] == [0, []]


def test_a_task_that_came_from_the_queue_is_not_released_a_second_time() -> None:
    queues = HeldQueues(lambda _: iter(()), ())
    for number in range(3):
        queues.get(NAME).put(task(f"{number}/"), (0, 0), is_new=True)
    queues.forget(task("1/").url)
    assert queues.count(NAME) == 3
    queues.release(NAME)
    queues.forget(task("1/").url)
    texts = [one.task.url.text for one in queues.take_released()]
    assert texts == [f"{BASE}0/", f"{BASE}2/"]


def probes(queue: HeldQueue, probation: Probation, count: int) -> list[str]:
    found = [queue.next_probe(probation) for _ in range(count)]
    return [one.task.url.text.removeprefix(BASE) for one in found if one is not None]


def test_probes_follow_the_newest_page_down_and_look_elsewhere_by_turns() -> None:
    queue = HeldQueue(NAME, {})
    for tail, via in (("x/1", ""), ("y/1", ""), ("z/1", "p"), ("z/2", "q")):
        queue.put(task(tail, via), (0, 0), is_new=True)
    assert probes(queue, Probation(suspicion=""), 2) == ["z/2", "y/1"]


def test_elsewhere_a_url_of_another_shape_is_preferred() -> None:
    queue = HeldQueue(NAME, {})
    for tail in ("old", "x/1", "x/2"):
        queue.put(task(tail, via="" if tail != "x/2" else "p"), (0, 0), is_new=True)
    shapes = {shape_of(f"{NAME}x/1")}
    assert probes(queue, Probation(suspicion="", shapes=shapes), 4) == ["x/2", "old", "x/1"]


def test_where_pages_repeat_each_other_a_url_that_leads_on_is_probed() -> None:
    queue = HeldQueue(NAME, {})
    for tail in ("x/1", "word", "other"):
        queue.put(task(tail), (0, 0), is_new=True)
    probation = Probation(suspicion="", pages=3, same=2, shapes={shape_of(f"{NAME}x/1")})
    assert probes(queue, probation, 1) == ["x/1"]
    probation.same_by_child[""] = 1
    queue.put(task("shop/"), (0, 0), is_new=True)
    queue.put(task("last"), (0, 0), is_new=True)
    assert probes(queue, probation, 2) == ["shop/", "last"]
