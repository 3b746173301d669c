"""Parameters: what a command may be given, declared in the signature of its function.

A parameter is annotated with its type and with `argument(...)` or `option(...)`. `parsing.py` reads
lines of words by that, `helping.py` shows it.
"""

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

Kind: TypeAlias = Literal["text", "integer", "number", "switch", "path", "choice"]
"""What one value is."""
REQUIRED = inspect.Parameter.empty
"""The default of what has none."""
_KINDS: dict[object, Kind] = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "switch",
    Path: "path",
}


class Declared(Struct, frozen=True, kw_only=True):
    """How a parameter is typed, what it takes, and what it means."""

    names: tuple[str, ...] = ()
    """As typed: --long, -s, or --on/--off; an argument has none, its place tells."""
    metavar: str = ""
    help: str = ""
    min: int | None = None
    max: int | None = None
    show_default: bool = True
    panel: str = ""
    """The heading in the help under which it stands, if not that of its kind."""
    hidden: bool = False
    parser: Callable[[str], object] | None = None
    """Makes a value of a word, in place of the type."""
    envvar: str = ""
    """The variable of the environment that it is if it is not given."""
    knob: str = ""
    """The setting that it turns, whose meaning is its help."""


def argument(
    *,
    metavar: str = "",
    help: str = "",  # noqa: A002 -- as every library of this kind calls it
    parser: Callable[[str], object] | None = None,
) -> Declared:
    """Declare what is known by its place in the line."""
    return Declared(metavar=metavar, help=help, parser=parser)


def option(
    *names: str,
    metavar: str = "",
    help: str = "",  # noqa: A002 -- as every library of this kind calls it
    min: int | None = None,  # noqa: A002 -- the same
    max: int | None = None,  # noqa: A002 -- the same
    show_default: bool = True,
    panel: str = "",
    hidden: bool = False,
    envvar: str = "",
    knob: str = "",
) -> Declared:
    """Declare what is known by its name, which begins with a dash."""
    return Declared(
        names=names,
        metavar=metavar,
        help=help,
        min=min,
        max=max,
        show_default=show_default,
        panel=panel,
        hidden=hidden,
        envvar=envvar,
        knob=knob,
    )


class Declaration(Struct, frozen=True, kw_only=True):
    """One parameter of a command, with its type."""

    name: str
    """Under which the command is handed the value."""
    kind: Kind
    is_list: bool
    words: int
    """How many words one value is made of."""
    choices: tuple[str, ...]
    default: Any
    declared: Declared

    @property
    def is_required(self) -> bool:
        """Return True if a line without it is wrong."""
        return self.default is REQUIRED

    @property
    def is_argument(self) -> bool:
        """Return True if it is known by its place."""
        return not self.declared.names

    @property
    def on(self) -> tuple[str, ...]:
        """Return the names that give it, or turn it on."""
        return tuple(name.partition("/")[0] for name in self.declared.names)

    @property
    def off(self) -> tuple[str, ...]:
        """Return the names that turn it off."""
        return tuple(name.partition("/")[2] for name in self.declared.names if "/" in name)

    @property
    def shown(self) -> str:
        """Return how messages name it."""
        return self.declared.metavar or self.name.upper() if self.is_argument else self.on[0]


def declarations_of(command: Callable[..., object]) -> tuple[Declaration, ...]:
    """Return the parameters of a command, in the order of its signature."""
    parameters = inspect.signature(command).parameters
    hints: Mapping[str, object] = {}
    if any(isinstance(one.annotation, str) for one in parameters.values()):
        hints = get_type_hints(command, include_extras=True)
    return tuple(
        _declaration(name, hints.get(name, one.annotation), one.default)
        for name, one in parameters.items()
    )


def _declaration(name: str, annotation: object, default: object) -> Declaration:
    hint, declared = get_args(annotation)
    if not isinstance(declared, Declared):
        raise TypeError(f"{name} is declared as {declared!r}; expected argument() or option()")
    if get_origin(hint) in {Union, UnionType}:
        (hint,) = (one for one in get_args(hint) if one is not type(None))
    is_list = get_origin(hint) is list
    if is_list:
        (hint,) = get_args(hint)
    words = 1
    if get_origin(hint) is tuple:
        words = len(get_args(hint))
        (hint,) = set(get_args(hint))
    is_choice = get_origin(hint) is Literal
    return Declaration(
        name=name,
        kind="choice" if is_choice else _KINDS[hint],
        is_list=is_list,
        words=words,
        choices=get_args(hint) if is_choice else (),
        default=default,
        declared=declared,
    )
