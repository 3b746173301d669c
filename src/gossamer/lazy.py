"""Front doors that open late: a name is imported from its home when it is first asked for.

A command needs little of what the rooms offer, and importing all of it takes longer than most
commands do. Such a front door imports its names under `TYPE_CHECKING`, for readers and type
checkers, and lists them again by home for the running program; a test keeps the two equal.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def late(room: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a front door.

    `homes` has the names that each module of the room gives, separated by blanks; `a=b` is its `b`,
    offered as `a`.
    """
    found: dict[str, tuple[str, str]] = {}
    for home, names in homes.items():
        for name in names.split():
            offered, _, own = name.partition("=")
            found[offered] = (home, own or offered)

    def give(name: str) -> object:
        if name not in found:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        home, own = found[name]
        value: object = getattr(import_module(f"{room}.{home}"), own)
        setattr(sys.modules[room], name, value)
        return value

    return give
