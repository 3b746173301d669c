"""Parsing: from the words of a line to the values of a command's parameters.

Options may stand before, between and behind arguments: `--name VALUE`, `--name=VALUE`, `-n VALUE`,
`-nVALUE`, and several short switches as one word. Behind `--` everything is an argument.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from gossamer.cli.parameters import REQUIRED, Declaration
from gossamer.errors import ConfigError

HELP = ("--help", "-h")
"""What asks for help, wherever it stands."""


def given_values(
    declarations: Sequence[Declaration],
    words: Sequence[str],
    command: str,
    *,
    ours_alone: bool = True,
    elsewhere: Mapping[str, str] | None = None,
) -> dict[str, object] | None:
    """Return the value of each parameter by name, or None if the line asks for help.

    Whatever is wrong is a `ConfigError`, which names the command. Unless the options are
    `ours_alone`, unknown ones are arguments; `elsewhere` says what some are called here.
    """
    line = _Line(declarations, command, ours_alone=ours_alone, elsewhere=elsewhere or {})
    line.read(words)
    if line.wants_help:
        return None
    line.place_arguments()
    return line.values()


def wrong_usage(said: str, command: str, near: str = "") -> ConfigError:
    """Return what is wrong with a line, and where to read what is right."""
    if near:
        return ConfigError(f"{said} (or see `{command} --help`)")
    return ConfigError(f"{said}; see `{command} --help`")


class _Line:
    """One line of words as it is read: what was given so far, by parameter."""

    def __init__(
        self,
        declarations: Sequence[Declaration],
        command: str,
        *,
        ours_alone: bool,
        elsewhere: Mapping[str, str],
    ) -> None:
        self._declarations = declarations
        self._command = command
        self._ours_alone = ours_alone
        self._elsewhere = elsewhere
        self._switches_off = {name: one for one in declarations for name in one.off}
        self._options = {name: one for one in declarations for name in one.on}
        self._options |= self._switches_off
        self._arguments: list[str] = []
        self._given: dict[str, list[tuple[str | bool, ...]]] = {}
        self.wants_help = False

    def read(self, words: Sequence[str]) -> None:
        """Take each word for an option, for its value, or for an argument."""
        rest = list(reversed(words))
        while rest:
            word = rest.pop()
            if word == "--":
                self._arguments += reversed(rest)
                return
            if not word.startswith("-") or word == "-":
                self._arguments.append(word)
            elif word.startswith("--"):
                self._read_long(word, rest)
            else:
                self._read_short(word, rest)

    def _read_long(self, word: str, rest: list[str]) -> None:
        name, equals, value = word.partition("=")
        if name in HELP and not equals:
            self.wants_help = True
        elif name not in self._options:
            self._take_unknown(word, name)
        elif self._options[name].kind != "switch":
            self._give(name, *self._values(name, value if equals else None, rest))
        elif equals:
            raise wrong_usage(f"Option '{name}' does not take a value", self._command)
        else:
            self._give(name, name not in self._switches_off)

    def _read_short(self, word: str, rest: list[str]) -> None:
        """Read `-v`, `-vx`, `-c CODE` or `-cCODE`; who takes words of others takes all of it."""
        long = f"-{word.partition('=')[0]}"
        if self._ours_alone and long in self._options:
            self._take_unknown(word, long[1:], long)
        letters = [f"-{letter}" for letter in word[1:]]
        if not self._ours_alone and letters[0] not in {*self._options, *HELP}:
            self._arguments.append(word)
            return
        for place, name in enumerate(letters, start=2):
            if name in HELP and name not in self._options:
                self.wants_help = True
            elif name not in self._options:
                self._take_unknown(name, name)
            elif self._options[name].kind == "switch":
                self._give(name, name not in self._switches_off)
            else:
                self._give(name, *self._values(name, word[place:] or None, rest))
                return

    def _values(self, name: str, first: str | None, rest: list[str]) -> Iterator[str]:
        """Yield the words that an option takes; the first may be joined to its name."""
        count = self._options[name].words - (first is not None)
        if first is not None:
            yield first
        if len(rest) < count:
            what = "an argument" if count == 1 else f"{count} arguments"
            raise wrong_usage(f"Option '{name}' requires {what}", self._command)
        for _ in range(count):
            yield rest.pop()

    def _take_unknown(self, word: str, name: str, near: str = "") -> None:
        if not self._ours_alone:
            self._arguments.append(word)
            return
        said = f"No such option: {name}"
        if name in self._elsewhere:
            raise wrong_usage(f"{said}; {self._elsewhere[name]}", self._command)
        known = [*self._options, *HELP] if name.startswith("--") else ()
        near = near or next(iter(get_close_matches(name, known, n=1)), "")
        raise wrong_usage(f"{said}; did you mean {near}?" if near else said, self._command, near)

    def _give(self, name: str, *words: str | bool) -> None:
        self._given.setdefault(self._options[name].name, []).append(words)

    def place_arguments(self) -> None:
        """Give arguments to parameters in their order; a list takes what the others leave."""
        wanted = [one for one in self._declarations if one.is_argument]
        words = self._arguments
        for place, one in enumerate(wanted):
            behind = len(wanted) - place - 1
            count = max(0, len(words) - behind) if one.is_list else min(1, len(words))
            taken, words = words[:count], words[count:]
            if taken:
                self._given[one.name] = [(word,) for word in taken]
        if words:
            said = f"Got unexpected extra argument(s) ({' '.join(words)})"
            raise wrong_usage(said, self._command)

    def values(self) -> dict[str, object]:
        """Return the values of all parameters as their command is handed them."""
        found = {one.name: self._value_of(one) for one in self._declarations}
        for one in self._declarations:
            if found[one.name] is REQUIRED:
                what = "argument" if one.is_argument else "option"
                raise wrong_usage(f"Missing {what} '{one.shown}'", self._command)
        return found

    def _value_of(self, one: Declaration) -> object:
        """Return the value of a parameter, its default if it is not given."""
        given = self._given.get(one.name, [])
        variable = one.declared.envvar
        if not given and variable and (word := os.environ.get(variable)):
            given = [(word,)]
        if not given:
            return one.default
        values = [tuple(self._converted(one, word) for word in words) for words in given]
        plain = [words[0] if one.words == 1 else words for words in values]
        return plain if one.is_list else plain[-1]

    def _converted(self, one: Declaration, value: str | bool) -> object:  # noqa: FBT001 -- a value
        if isinstance(value, bool):
            return value
        if not value and (one.kind == "path" or "DIR" in one.shown):  # the current folder
            raise self._invalid(one, "a name", value)
        if one.declared.parser is not None:
            return one.declared.parser(value)
        match one.kind:
            case "path":
                return Path(value)
            case "text" | "switch":
                return value
            case "integer" | "number":
                return self._number(one, value)
            case "choice":
                if value in one.choices:
                    return value
                expected = f"one of {', '.join(one.choices)}"
                near = next(iter(get_close_matches(value, one.choices, n=1)), "")
                raise self._invalid(one, expected, value, near)

    def _number(self, one: Declaration, word: str) -> int | float:
        try:
            value = int(word) if one.kind == "integer" else float(word)
        except ValueError:
            raise self._invalid(one, _expected(one), word) from None
        least, most = one.declared.min, one.declared.max
        if (least is not None and value < least) or (most is not None and value > most):
            raise self._invalid(one, _expected(one), word)
        return value

    def _invalid(self, one: Declaration, expected: str, word: str, near: str = "") -> ConfigError:
        said = f"Invalid value for '{one.shown}': expected {expected}, found {word!r}"
        if near:
            said += f"; did you mean {near}?"
        return wrong_usage(said, self._command, near)


def _expected(one: Declaration) -> str:
    """Return in words which numbers a parameter takes."""
    kind = "a whole number" if one.kind == "integer" else "a number"
    match one.declared.min, one.declared.max:
        case None, None:
            return kind
        case None, most:
            return f"{kind} up to {most}"
        case least, None:
            return f"{kind} from {least}"
        case least, most:
            return f"{kind} from {least} to {most}"
