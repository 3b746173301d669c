"""Help: what a command takes and means, as `--help` shows it."""

import inspect
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import NamedTuple

from gossamer.cli.parameters import Declaration

_WIDEST = 100
_NARROWEST = 40
_INDENT = 2
_SHARE = 3
"""A name wider than this part of the line has its words below it."""


class HelpRow(NamedTuple):
    """What is typed, and what it means."""

    typed: str
    meaning: str


def help_of_command(
    command: Callable[..., object], declarations: Sequence[Declaration], path: str
) -> str:
    """Return the help of one command."""
    shown = [one for one in declarations if not one.declared.hidden]
    arguments = [one for one in shown if one.is_argument]
    usage = " ".join(("Usage:", path, "[OPTIONS]", *map(_usage_of, arguments)))
    panels: dict[str, list[HelpRow]] = {"Arguments": [], "Options": []}
    settings = _meanings_of_settings(shown)
    for one in shown:
        heading = one.declared.panel or ("Arguments" if one.is_argument else "Options")
        meaning = one.declared.help or settings.get(one.declared.knob, "")
        rows = panels.setdefault(heading, [])
        rows.append(HelpRow(_typed(one), _with_notes(one, meaning)))
    panels["Options"].append(HelpRow("-h, --help", "Show this message and end."))
    return _page(usage, inspect.getdoc(command) or "", panels)


def help_of_group(path: str, about: str, rows: Iterable[HelpRow], notes: str = "") -> str:
    """Return the help of what has commands: a row for each."""
    options = [HelpRow("-h, --help", "Show this message and end.")]
    if not path.count(" "):
        options.insert(0, HelpRow("--version", "Print the version and end."))
    panels = {"Commands": list(rows), "Options": options}
    return _page(f"Usage: {path} COMMAND ...", about, panels, notes)


def summary_of(command: Callable[..., object]) -> str:
    """Return the first paragraph of what is said of a command."""
    return " ".join((inspect.getdoc(command) or "").partition("\n\n")[0].split())


def _page(usage: str, about: str, panels: Mapping[str, Sequence[HelpRow]], notes: str = "") -> str:
    width = max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size().columns))
    lines = wrap(usage, width, subsequent_indent="  ", break_on_hyphens=False)
    for paragraph in about.split("\n\n"):
        lines += ["", *_wrapped(paragraph, width)]
    for heading, rows in panels.items():
        if rows:
            lines += ["", f"{heading}:", *_table(rows, width)]
    if notes:
        lines += ["", *_wrapped(notes, width)]
    return "".join(f"{line}\n" for line in lines)


def _table(rows: Sequence[HelpRow], width: int) -> Iterator[str]:
    most = width // _SHARE
    column = (
        _INDENT + max((len(row.typed) for row in rows if len(row.typed) <= most), default=0) + 2
    )
    for typed, meaning in rows:
        lines = _wrapped(meaning, width - column) or [""]
        if len(typed) + 2 > column - _INDENT:
            yield f"{'':{_INDENT}}{typed}"
        else:
            yield f"{'':{_INDENT}}{typed:{column - _INDENT}}{lines.pop(0)}".rstrip()
        yield from (f"{'':{column}}{line}" for line in lines)


def _wrapped(text: str, width: int) -> list[str]:
    return wrap(text, width, break_on_hyphens=False, break_long_words=False)


def _usage_of(one: Declaration) -> str:
    shown = one.shown
    if one.is_list and not shown.endswith("..."):
        shown += "..."
    return shown if one.is_required or shown.startswith("[") else f"[{shown}]"


def _typed(one: Declaration) -> str:
    """Return the names of an option, short ones first, and what it takes."""
    if one.is_argument:
        return one.shown
    names = ", ".join((*sorted(one.on, key=len), *one.off))
    return names if one.kind == "switch" else f"{names} {_taken(one)}"


def _taken(one: Declaration) -> str:
    """Return what stands for the value of an option."""
    if one.declared.metavar or one.kind == "choice":
        return one.declared.metavar or "|".join(one.choices)
    return {"integer": "N", "number": "NUMBER", "path": "PATH"}.get(one.kind, "TEXT")


def _with_notes(one: Declaration, meaning: str) -> str:
    """Return what a parameter means, with its range and what it is if it is not given."""
    least, most = one.declared.min, one.declared.max
    notes = []
    if most is not None:
        notes.append(f"{least or 0} to {most}")
    elif least:
        notes.append(f"at least {least}")
    if one.is_required:
        notes.append("required")
    elif one.declared.show_default and one.default not in (None, "", False, [], ()):
        notes.append(f"default: {one.on[0] if one.default is True else one.default}")
    return f"{meaning} [{'; '.join(notes)}]" if notes else meaning


def _meanings_of_settings(shown: Iterable[Declaration]) -> dict[str, str]:
    """Return what the settings mean that some of these turn, by their names."""
    turning = {one.declared.knob: one for one in shown if one.declared.knob}
    if not turning:
        return {}
    from gossamer.settings import describe_knobs

    return {
        knob.path: f"{knob.doc} Repeatable." if turning[knob.path].is_list else knob.doc
        for knob in describe_knobs()
        if knob.path in turning
    }
