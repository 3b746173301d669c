"""Trust: what patterns name is counted, let go, and never held again."""

import pytest
from laboratory.snares import SNARES
from laboratory.snares.sheet import Sheet

from gossamer.config import TrapsConfig
from gossamer.model import LinkKind, Task, Url
from gossamer.traps import count_trusted, held_by
from gossamer.traps.held import decode_held
from gossamer.traps.registry import TRAP_ROWS, is_unit_row
from tests.unit.traps.pages import url
from tests.unit.traps.walk import Walk

HOME = "http://www.honest.test/"
MAZE = "http://maze.test/a/"
ALLOWANCE = 12


class Rows:
    """The committed rows of a walk."""

    def __init__(self, walk: Walk) -> None:
        self.get = walk.rows.get
        self.scan = walk.scan


@pytest.fixture
def walk() -> Walk:
    """A walk that is over, and holds most of a maze."""

    def home(tail: str) -> Sheet | None:
        return None if tail else Sheet("Home", "Come in.", [MAZE])

    places = {HOME: home, MAZE: SNARES["flat"]}
    walk = Walk(places, (HOME,), TrapsConfig(allowance=ALLOWANCE)).run()
    assert walk.traps.held > ALLOWANCE
    assert not walk.traps.is_waiting
    return walk


def held_urls(walk: Walk) -> list[Url]:
    rows = walk.scan(TRAP_ROWS)
    return [decode_held(value).task.url for key, value in rows if not is_unit_row(key)]


@pytest.mark.parametrize(
    "pattern", ["maze.test", "*.test", "maze.test/*", "http://maze.test/*", "*/a/*", "/a/*"]
)
def test_what_is_counted_is_what_is_let_go(pattern: str, walk: Walk) -> None:
    held = walk.traps.held
    assert sum(count_trusted(walk.scan, [pattern]).values()) == held
    walk.traps.trust([pattern])
    assert (walk.traps.let_go, walk.traps.held) == (held, 0)


def test_nothing_is_counted_or_let_go_that_no_pattern_names(walk: Walk) -> None:
    held = walk.traps.held
    assert count_trusted(walk.scan, ["www.honest.test", "maze.test/b/*"]) == {}
    walk.traps.trust(["www.honest.test", "maze.test/b/*"])
    assert (walk.traps.let_go, walk.traps.held) == (0, held)


def test_a_single_url_is_let_go_and_not_held_again_when_its_turn_comes(walk: Walk) -> None:
    one, other, *_ = held_urls(walk)
    held = walk.traps.held
    (unit,) = count_trusted(walk.scan, [one.text])
    assert count_trusted(walk.scan, [one.text]) == {unit: 1}
    walk.traps.trust([one.text])
    assert walk.traps.held == held - 1
    released = walk.traps.release()
    assert [task.url for task in (*released.new, *released.known)] == [one]
    assert walk.traps.may_go(Task(url=one, via=MAZE, kind=LinkKind.ANCHOR)) is None
    assert walk.traps.may_go(Task(url=other, via=MAZE, kind=LinkKind.ANCHOR)) is not None


def test_a_start_with_a_further_pattern_lets_go_what_it_names(walk: Walk) -> None:
    held = walk.traps.held
    walk.config = TrapsConfig(allowance=ALLOWANCE, trust=("maze.test/*",))
    walk.open()
    assert (walk.traps.let_go, walk.traps.held) == (held, 0)
    walk.limit = len(walk.fetched) + 5 * held
    walk.run()
    assert walk.traps.held == 0
    assert len(walk.fetched) == walk.limit


def test_a_note_says_why_a_part_is_held_what_it_waits_for_and_what_names_it(walk: Walk) -> None:
    unit = held_by(Rows(walk), held_urls(walk)[0])
    assert unit is not None
    note = walk.traps.note_on(unit.name)
    assert note is not None
    assert note in walk.traps.notes()
    assert note.waits_for == "allowance"
    assert f"the allowance of maze.test ({ALLOWANCE} pages on probation" in note.detail
    assert note.suspicion.endswith(f"{ALLOWANCE} pages fetched since")
    assert note.detail.endswith(f"gossamer trust DIR '{note.pattern}' lets it go on")
    assert sum(count_trusted(walk.scan, [note.pattern]).values()) >= note.held


def test_a_url_that_is_let_go_is_held_by_nobody(walk: Walk) -> None:
    one = held_urls(walk)[0]
    walk.traps.trust(["maze.test"])
    walk.commit()
    unit = held_by(Rows(walk), one)
    assert unit is not None
    assert walk.traps.note_on(unit.name) is None
    assert held_by(Rows(walk), url("http://maze.test/elsewhere")) is None
