"""Write the generated parts of docs/OPERATING.md: knobs, reasons, exit codes. `make docs` runs it.

The parts stand between comments; everything else on that page is written by hand.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path

from mistakes import MISTAKES

from gossamer.cli.flags import FLAGS
from gossamer.cli.words import (
    EXIT_CODES,
    FAILURES,
    FETCH_REFUSALS,
    LINK_REFUSALS,
    STATUSES,
    Gloss,
    gloss_of,
)
from gossamer.config import LIVE, HostConfig
from gossamer.crawl.setting import OF_A_START, OF_HOSTS
from gossamer.settings import Knob, describe_host_knobs, describe_knobs, describe_sections

PATH = Path(__file__).parents[2] / "docs" / "OPERATING.md"
_PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_MANY = 6


def generated() -> str:
    """Return the page as it should be, made of the page as it is."""
    lines = {
        "knobs": _knobs(),
        "links": _reasons(LINK_REFUSALS),
        "refusals": _reasons(FETCH_REFUSALS),
        "failures": _reasons({**FAILURES, **_statuses()}),
        "codes": _codes(),
        "mistakes": _mistakes(),
    }
    parts = {name: "\n".join(some) for name, some in lines.items()}
    text = PATH.read_text(encoding="utf-8")
    return _PART.sub(lambda m: f"{m[1]}{parts[m[2]]}\n{m[3]}", text)


def _knobs() -> Iterator[str]:
    flags = {flag.knob: flag.name.partition("/")[0] for flag in FLAGS}
    about = {"": "The top of the file.", **describe_sections()}
    for section, knobs in groupby(describe_knobs(), key=lambda knob: knob.section):
        yield from _table(f"[{section}]" if section else "The top", about[section])
        yield from (_row(knob, flags) for knob in knobs)
    yield from _table('[host."NAME"]', " ".join((HostConfig.__doc__ or "").split()))
    yield from (_row(knob, flags) for knob in describe_host_knobs())


def _table(title: str, about: str) -> Iterator[str]:
    start = "" if title == "The top" else "\n"
    yield f"{start}### {title}\n\n{about}\n\n| setting | takes | default | meaning | flag | set |"
    yield "|---|---|---|---|---|---|"


def _row(knob: Knob, flags: Mapping[str, str]) -> str:
    flag = f"`{flags[knob.path]}`" if knob.path in flags else ""
    kind = _cell(knob.kind)
    cells = (f"`{knob.name}`", kind, _default(knob.default), _cell(knob.doc), flag, _when(knob))
    return f"| {' | '.join(cells)} |"


def _when(knob: Knob) -> str:
    """Return when a crawl obeys what `gossamer set` says."""
    if knob.path in LIVE:
        return "live"
    if knob.section == "host":
        return "next start" if knob.name in OF_HOSTS else ""
    if knob.path in OF_A_START or knob.path in {"seeds", "seed_labels"}:
        return ""
    return "next start"


def _default(value: object) -> str:
    match value:
        case None:
            return "not set"
        case bool():
            return f"`{str(value).lower()}`"
        case int():
            return f"`{value:_}`"
        case tuple() if len(value) > _MANY:
            return f"{len(value)} of them, see `crawl.toml`"
        case tuple() | dict():
            return "none" if not value else f"`{list(value)}`"
        case _:
            return f"`{value}`" if value != "" else '`""`'


def _reasons(table: Mapping[str, Gloss]) -> Iterator[str]:
    yield "| reason | means | what to do |"
    yield "|---|---|---|"
    for reason, gloss in table.items():
        yield f"| `{reason}` | {_cell(gloss.meaning)} | {_cell(gloss.advice)} |"


def _statuses() -> dict[str, Gloss]:
    """Return the rows of those HTTP statuses that have no name of their own."""
    glosses = ((f"http_{status}", gloss_of(f"http_{status}")) for status in STATUSES)
    return {name: gloss for name, gloss in glosses if gloss is not None}


def _codes() -> Iterator[str]:
    yield "| code | means |"
    yield "|---|---|"
    for code, meaning in EXIT_CODES.items():
        yield f"| {code} | {_cell(meaning)} |"


def _mistakes() -> Iterator[str]:
    yield "| mistake | typed after `gossamer` | code | the line says |"
    yield "|---|---|---|---|"
    for one in MISTAKES:
        typed = f"`{one.words.replace(' FENCE', '')}`"
        told = f"{one.wrong} ... {one.remedy}".replace("`", "'")
        yield f"| {_cell(one.title)} | {_cell(typed)} | {one.code} | `{_cell(told)}` |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PATH.write_text(generated(), encoding="utf-8")
