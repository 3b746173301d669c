"""Notes of a processor: whatever JSON can hold, checked where the processor is called."""

from math import isfinite
from typing import Any

from gossamer.process.charset import clean

MAX_DEPTH = 32
"""Of lists and objects in each other; what holds itself is deeper."""
_LEAST, _MOST = -(2**63), 2**64 - 1
"""Whole numbers beyond these are read back by few programs as what they were."""


class NotJson(ValueError):
    """A note that a JSON file cannot hold, with its place."""


def checked_notes(notes: object) -> dict[str, Any]:
    """Return notes made of plain values alone; raise `NotJson` for anything else.

    A tuple becomes a list, a number that is not finite None, a lone surrogate a replacement.
    """
    if type(notes) is not dict:
        raise NotJson(f"notes: expected a dict, found {_kind(notes)}")
    return _object(notes, "notes", 0)


def _value(value: object, where: str, depth: int) -> Any:  # noqa: ANN401 -- any JSON value
    match value:
        case None | bool():
            return value
        case str():
            return clean(str(value))
        case int() | float():
            return _number(value, where)
        case list() | tuple() | dict():
            return _inside(value, where, depth + 1)
        case _:
            raise NotJson(f"{where}: expected a value that JSON has, found {_kind(value)}")


def _number(value: int | float, where: str) -> int | float | None:  # noqa: PYI041 -- they differ here
    if not isinstance(value, int):
        return float(value) if isfinite(value) else None
    if not _LEAST <= value <= _MOST:
        raise NotJson(f"{where}: expected a whole number of at most 64 bits")
    return int(value)


def _inside(value: list[Any] | tuple[Any, ...] | dict[Any, Any], where: str, depth: int) -> Any:  # noqa: ANN401 -- a list or an object
    if depth > MAX_DEPTH:
        raise NotJson(f"{where[:60]}…: expected at most {MAX_DEPTH} levels")
    if isinstance(value, dict):
        return _object(value, where, depth)
    return [_value(item, f"{where}[{n}]", depth) for n, item in enumerate(value)]


def _object(value: dict[Any, Any], where: str, depth: int) -> dict[str, Any]:
    for key in value:
        if not isinstance(key, str):
            raise NotJson(f"{where}: expected names that are text, found {_kind(key)}")
    return {
        clean(str(key)): _value(item, f"{where}[{key!r}]", depth) for key, item in value.items()
    }


def _kind(value: object) -> str:
    return f"a value of type {type(value).__name__}"
