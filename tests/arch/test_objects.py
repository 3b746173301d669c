"""Objects of the engine are finished when constructed: nobody assigns to another's attribute."""

import ast
from collections.abc import Iterator
from pathlib import Path

from house import SOURCE, tree_of

ENGINE = SOURCE / "crawl"
SETTERS = ("setattr", "delattr", "object.__setattr__")


def assignments(path: Path) -> Iterator[str]:
    """Yield what a file assigns to outside `__init__`, as `a.b`; where `a` is `self` it may."""
    yield from _assigned(tree_of(path))


def _assigned(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name="__init__"):
            return
        case ast.Attribute(value=owner, ctx=ast.Store() | ast.Del()):
            is_foreign = ast.unparse(owner) != "self"
        case ast.Call(func=function, args=[owner, *_]):
            is_foreign = ast.unparse(function) in SETTERS and ast.unparse(owner) != "self"
        case _:
            is_foreign = False
    if is_foreign:
        yield ast.unparse(node)
    for child in ast.iter_child_nodes(node):
        yield from _assigned(child)


def found() -> set[str]:
    """Return every such assignment of the engine."""
    return {target for path in ENGINE.rglob("*.py") for target in assignments(path)}


def test_every_form_of_assignment_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "forms.py"
    path.write_text(
        "class A:\n"
        "    def __init__(self, other):\n"
        "        other.made = self\n"
        "    def act(self, a):\n"
        "        self.mine = a.read\n"
        "        a.plain = 1\n"
        "        a.added += 1\n"
        "        a.typed: int = 1\n"
        "        x, (a.left, *a.right) = a\n"
        "        for a.each in x: pass\n"
        "        with x as a.entered: pass\n"
        "        self.mine.inner = 2\n"
        "        setattr(a, 'named', 3)\n"
        "        del a.gone\n"
    )
    seen = {target.removeprefix("a.") for target in assignments(path)}
    assert seen == {
        *("plain", "added", "typed", "left", "right", "each", "entered", "gone"),
        *("self.mine.inner", "setattr(a, 'named', 3)"),
    }


def test_nothing_is_assigned_to_another_object_after_its_construction() -> None:
    assert sorted(found()) == []
