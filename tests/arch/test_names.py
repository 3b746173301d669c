"""Names: a public class name means one thing, and no module hides behind a function of its name."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from house import SOURCE, name_of, rooms, sources, tree_of


def public_classes() -> dict[str, list[str]]:
    """Return, for each public class name, the files that define it."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sources():
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(name_of(path))
    return found


def exported(room: Path) -> Iterator[str]:
    """Yield what a package's front door binds, its own modules left out."""
    package = ".".join(room.relative_to(SOURCE.parent).parts)
    for node in tree_of(room / "__init__.py").body:
        match node:
            case ast.ImportFrom(module=module, names=names) if module != package:
                yield from (alias.asname or alias.name for alias in names)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name):
                yield name


def test_a_public_class_name_is_defined_once() -> None:
    assert {name: where for name, where in public_classes().items() if len(where) > 1} == {}


@pytest.mark.parametrize("room", rooms(), ids=name_of)
def test_no_module_shares_its_name_with_what_its_package_exports(room: Path) -> None:
    modules = {path.stem for path in room.glob("*.py")} | {
        path.parent.name for path in room.glob("*/__init__.py")
    }
    clashes = {str(room.relative_to(SOURCE) / name) for name in exported(room) if name in modules}
    assert sorted(clashes) == []
