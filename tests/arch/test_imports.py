"""Imports in tests, benchmarks and examples: what they take from the product is there.

No type checker reads them, and a name that has moved is found out only when the file is run: for a
test that is when all the others are through.
"""

import ast
import functools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from house import REPOSITORY, SOURCE, name_of, tree_of

IMPORT = re.compile(r"^[ \t]*from (gossamer[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
"""Much sooner than a syntax tree of every test, and `ruff format` writes them no other way."""
NAME = re.compile(r"(?<!as )\b(?!as\b)\w+")
COMMENT = re.compile(r"#.*")
FOLDERS = ("tests", "benchmarks", "examples")


def users() -> list[Path]:
    """Return every Python file beside the product."""
    return sorted(path for name in FOLDERS for path in (REPOSITORY / name).rglob("*.py"))


def file_of(module: str) -> Path | None:
    """Return the file of a module of ours, None if there is none."""
    place = SOURCE.parent.joinpath(*module.split("."))
    found = (place / "__init__.py", place.with_suffix(".py"))
    return next((path for path in found if path.exists()), None)


@functools.cache
def names_of(path: Path) -> frozenset[str]:
    """Return the names that a module binds."""
    return frozenset(_bound(tree_of(path).body))


def _bound(body: Sequence[ast.stmt]) -> Iterator[str]:
    for node in body:
        match node:
            case ast.FunctionDef(name="__getattr__"):  # it may say what it makes when asked
                said = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant))
                yield from (name for name in said if isinstance(name, str))
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name):
                yield name
            case ast.ImportFrom(names=names) | ast.Import(names=names):
                yield from (alias.asname or alias.name for alias in names)
            case ast.If(body=body, orelse=other) | ast.Try(body=body, orelse=other):
                yield from _bound([*body, *other])
            case _:
                stored = (one for one in ast.walk(node) if isinstance(one, ast.Name))
                yield from (one.id for one in stored if isinstance(one.ctx, ast.Store))


def missing(path: Path) -> Iterator[str]:
    """Yield what a file imports from the product that is not there."""
    for module, said in IMPORT.findall(path.read_text(encoding="utf-8")):
        found = file_of(module)
        if found is None:
            yield module
            continue
        for name in NAME.findall(COMMENT.sub("", said)):
            if name not in names_of(found) and file_of(f"{module}.{name}") is None:
                yield f"{module}.{name}"


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_is_imported_from_the_product_is_there(folder: str) -> None:
    files = [path for path in users() if path.is_relative_to(REPOSITORY / folder)]
    assert {name_of(path): gone for path in files if (gone := list(missing(path)))} == {}


def test_a_name_that_has_moved_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "moved.py"
    path.write_text("from gossamer.urls import parse, nowhere\nfrom gossamer.gone import Url\n")
    assert list(missing(path)) == ["gossamer.urls.nowhere", "gossamer.gone"]


def module_of(test: Path) -> str:
    """Return what pytest imports a file as: folders count as far up as they are packages."""
    name, folder = test.stem, test.parent
    while (folder / "__init__.py").exists():
        name, folder = f"{folder.name}.{name}", folder.parent
    return name


def test_each_test_file_is_a_module_of_its_own() -> None:
    files = [path for path in users() if path.name.startswith("test_")]
    modules = Counter(map(module_of, files))
    doubled = [path for path in files if modules[module_of(path)] > 1]
    assert not doubled, "pytest collects one of them only"
