"""Answers: what the public API returns is typed, down to the last field."""

import ast
import importlib
import inspect
from collections.abc import Iterator

import pytest
from reference import node_of

DOORS = ("gossamer", "gossamer.report", "gossamer.graph", "gossamer.search", "gossamer.crawl")
UNTYPED = ("dict[str, object]", "Mapping[str, object]", "dict[str, Any]", "Mapping[str, Any]")
PLAIN = frozenset({"as_json", "json_fields", "notes"})
"""What turns an answer into JSON; and notes, which are whatever JSON the user's processors note."""


def public(door: str) -> Iterator[tuple[str, ast.stmt]]:
    """Yield every public class and function of a front door, with its definition."""
    room = importlib.import_module(door)
    for name in getattr(room, "__all__", None) or [name for name in vars(room) if name[0] != "_"]:
        found = getattr(room, name)
        is_ours = getattr(found, "__module__", "").startswith("gossamer")
        if is_ours and (inspect.isclass(found) or inspect.isfunction(found)):
            yield name, node_of(found)


def answers(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Yield the types that a definition gives out: returns and fields, those with a public name."""
    for one in node.body if isinstance(node, ast.ClassDef) else [node]:
        match one:
            case (
                ast.FunctionDef(name=name, returns=kind)
                | ast.AsyncFunctionDef(name=name, returns=kind)
            ) if kind is not None and name[0] != "_" and name not in PLAIN:
                yield name, kind
            case ast.AnnAssign(target=ast.Name(id=name), annotation=kind) if (
                name[0] != "_" and name not in PLAIN
            ):
                yield name, kind
            case _:
                pass


@pytest.mark.parametrize("door", DOORS)
def test_no_public_answer_is_a_dictionary_of_anything(door: str) -> None:
    found = [
        f"{name}.{inner}: {ast.unparse(kind)}"
        for name, node in public(door)
        for inner, kind in answers(node)
        if any(word in ast.unparse(kind) for word in UNTYPED)
    ]
    assert found == []
