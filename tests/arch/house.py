"""The house as files and syntax trees: what the rules of this folder are checked against."""

import ast
import functools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
SOURCE = REPOSITORY / "src" / "gossamer"
GROUND = frozenset(
    {
        "__init__",
        "__main__",
        "clock",
        "compiling",
        "config",
        "durable",
        "errors",
        "lazy",
        "linking",
        "linux",
        "log",
        "machine",
        "native",
        "ranks",
        "schedule",
        "secrets",
        "settings",
    }
)
"""Modules at the top of the package; everything else lives in a room."""

SUPPRESSION = re.compile(r"#\s*(?:noqa|type:\s*ignore|fmt:\s*(?:off|skip))\b.*")
WELL_SUPPRESSED = re.compile(
    r"#\s*(?:noqa:\s*[A-Z]+[0-9]+(?:,\s*[A-Z]+[0-9]+)*"
    r"|type:\s*ignore\[[a-z, -]+\]"
    r"|fmt:\s*(?:off|skip))\s*(?:-|--|#|—)\s*\S.*"
)


def sources() -> list[Path]:
    """Return every Python file of the product."""
    return sorted(SOURCE.rglob("*.py"))


def rooms() -> list[Path]:
    """Return every package of the product, subpackages included."""
    return sorted(path.parent for path in SOURCE.rglob("__init__.py") if path.parent != SOURCE)


def name_of(path: Path) -> str:
    """Return a path as one says it."""
    return str(path.relative_to(REPOSITORY))


@functools.cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield every function and method of a file."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def classes(path: Path) -> Iterator[ast.ClassDef]:
    """Yield every class of a file."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ClassDef):
            yield node


def lines_of(node: ast.stmt) -> int:
    """Return how many lines a definition has, decorators left out."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


def public_methods(node: ast.ClassDef) -> int:
    """Return how many methods others may call; properties count as attributes."""
    return sum(
        isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
        and not one.name.startswith("_")
        and not any(isinstance(d, ast.Name) and "property" in d.id for d in one.decorator_list)
        for one in node.body
    )


def suppressions() -> Iterator[tuple[str, str]]:
    """Yield place and text of every comment that silences a checker."""
    for path in sources():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if found := SUPPRESSION.search(line):
                yield f"{name_of(path)}:{number}", found.group()


def documents() -> list[Path]:
    """Return every text that a reader of the repository may open."""
    places = (REPOSITORY.glob("*.md"), *(REPOSITORY.glob(f"{d}/**/*.md") for d in ("docs",)))
    more = REPOSITORY.glob("examples/**/*.md")
    return sorted(path for place in (*places, more) for path in place)


if __name__ == "__main__":
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in sources())
    count = len(list(suppressions()))
    sys.stdout.write(f"{count} suppressions in {lines:,} lines\n")
