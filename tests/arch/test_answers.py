"""ShardAnswers: what the public API returns is typed, down to the last field."""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator

import pytest
from reference import node_of

import gossamer

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


def signatures(node: ast.stmt) -> Iterator[ast.expr]:
    """Yield every type that a user of a definition meets: arguments, returns and fields."""
    for one in node.body if isinstance(node, ast.ClassDef) else [node]:
        match one:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if (
                one.name[0] != "_" or one.name == "__init__"
            ):
                given = one.args
                every = [
                    *given.posonlyargs,
                    *given.args,
                    *given.kwonlyargs,
                    given.vararg,
                    given.kwarg,
                ]
                yield from (arg.annotation for arg in every if arg and arg.annotation)
                yield from [one.returns] if one.returns else []
            case ast.AnnAssign(target=ast.Name(id=name), annotation=kind) if name[0] != "_":
                yield kind
            case _:
                pass


def test_no_public_callback_is_told_a_dictionary_of_anything() -> None:
    told = {name: str(getattr(gossamer, name)) for name in gossamer.__all__}
    found = {name for name, kind in told.items() if any(word in kind for word in UNTYPED)}
    assert found == set()


def homes(found: object) -> dict[str, str]:
    """Return, for each name that a module imports from us or defines itself, its home."""
    module = inspect.getmodule(found)
    assert module is not None
    imported = {
        alias.asname or alias.name: node.module or ""
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gossamer")
        for alias in node.names
    }
    return dict.fromkeys(vars(module), module.__name__) | imported


def our_classes(found: object) -> Iterator[str]:
    """Yield the classes of ours in the signatures of a public class or function."""
    known = homes(found)
    for kind in signatures(node_of(found)):
        for word in re.findall(r"\w+", ast.unparse(kind)):
            home = importlib.import_module(known[word]) if word in known else None
            one = getattr(home, word, None)
            if inspect.isclass(one) and one.__module__.startswith("gossamer"):
                yield word


@pytest.mark.slow
def test_every_class_in_a_public_signature_is_public() -> None:
    public_names = {name: getattr(gossamer, name) for name in gossamer.__all__}
    missing = {
        f"{word} in {name}"
        for name, found in public_names.items()
        if inspect.isclass(found) or inspect.isfunction(found)
        for word in our_classes(found)
        if word not in public_names
    }
    assert sorted(missing) == []


def test_names_that_are_imported_when_asked_for_are_listed_for_completion() -> None:
    assert set(gossamer.__all__) <= set(dir(gossamer))
