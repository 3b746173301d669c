"""Rooms: each has a front door that answers a question, and a section in the architecture."""

import ast
from pathlib import Path

import pytest
from house import GROUND, REPOSITORY, SOURCE, name_of, rooms, sources, suppressions, tree_of
from house import WELL_SUPPRESSED as WELL_DONE

ARCHITECTURE = REPOSITORY / "docs" / "ARCHITECTURE.md"
MIN_DOCSTRING = 40


@pytest.mark.parametrize("room", rooms(), ids=name_of)
def test_a_front_door_says_what_the_room_is_for(room: Path) -> None:
    path = room / "__init__.py"
    words = ast.get_docstring(tree_of(path)) or ""
    assert len(words) >= MIN_DOCSTRING, f"{name_of(path)}: {words!r}"
    if path.parent.parent == SOURCE:
        assert "Not for:" in words, f"{name_of(path)} does not say what the room is not for"


def test_every_room_has_a_row_in_the_architecture() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    tops = [room.name for room in rooms() if room.parent == SOURCE]
    assert [name for name in tops if f"\n| `{name}` |" not in text] == []


def test_every_file_says_what_it_is_for() -> None:
    assert [name_of(path) for path in sources() if not ast.get_docstring(tree_of(path))] == []


def test_there_is_no_drawer_for_odds_and_ends() -> None:
    odd = {"utils", "util", "helpers", "misc", "common", "base", "manager"}
    assert [name_of(path) for path in SOURCE.rglob("*") if path.stem in odd] == []


def test_the_ground_holds_only_what_everyone_stands_on() -> None:
    assert {path.stem for path in SOURCE.glob("*.py")} == GROUND


def test_a_suppression_names_its_code_and_its_reason() -> None:
    bad = [f"{place} {text}" for place, text in suppressions() if not WELL_DONE.fullmatch(text)]
    assert bad == []


def test_suppressions_are_rare() -> None:
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in sources())
    assert len(list(suppressions())) <= lines / 300
