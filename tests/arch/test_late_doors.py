"""Front doors that open late list their names twice: for the type checker, and for the program."""

import ast
from importlib import import_module
from pathlib import Path

import pytest
from house import SOURCE, name_of, rooms, tree_of

LATE = [room for room in rooms() if "= late(" in (room / "__init__.py").read_text("utf-8")]


def told_to_the_type_checker(tree: ast.Module, room: str) -> dict[str, tuple[str, str]]:
    """Return where each name is from, by the imports under `TYPE_CHECKING`."""
    found: dict[str, tuple[str, str]] = {}
    for node in tree.body:
        if not isinstance(node, ast.If) or ast.unparse(node.test) != "TYPE_CHECKING":
            continue
        for line in node.body:
            assert isinstance(line, ast.ImportFrom)
            home = str(line.module).removeprefix(f"{room}.")
            found |= {one.asname or one.name: (home, one.name) for one in line.names}
    return found


def given_to_the_program(tree: ast.Module) -> dict[str, tuple[str, str]]:
    """Return where each name is from, by the table that `late` is handed."""
    (call,) = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "late"
    )
    found: dict[str, tuple[str, str]] = {}
    for home, names in ast.literal_eval(call.args[1]).items():
        for name in names.split():
            offered, _, own = name.partition("=")
            assert offered not in found, name
            found[offered] = (home, own or offered)
    return found


@pytest.mark.parametrize("room", LATE, ids=name_of)
def test_both_lists_of_a_late_front_door_are_equal(room: Path) -> None:
    tree = tree_of(room / "__init__.py")
    dotted = ".".join(("gossamer", *room.relative_to(SOURCE).parts))
    assert given_to_the_program(tree) == told_to_the_type_checker(tree, dotted)


@pytest.mark.parametrize("room", LATE, ids=name_of)
def test_a_late_front_door_gives_every_name(room: Path) -> None:
    dotted = ".".join(("gossamer", *room.relative_to(SOURCE).parts))
    door = import_module(dotted)
    for name, (home, own) in given_to_the_program(tree_of(room / "__init__.py")).items():
        assert getattr(door, name) is getattr(import_module(f"{dotted}.{home}"), own)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = door.nonsense


def test_the_rooms_that_every_command_would_pay_for_open_late() -> None:
    names = {str(room.relative_to(SOURCE)) for room in LATE}
    assert {"report", "search", "process", "fetch", "frontier", "dedupe", "store"} <= names
