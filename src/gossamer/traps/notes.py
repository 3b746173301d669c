"""What `status` and `why` say of units on probation and closed ones."""

from collections import Counter
from collections.abc import Callable

from gossamer.model import TrapNote, Url
from gossamer.traps.held import decode_held, held_key
from gossamer.traps.registry import (
    PREFIX_BYTES,
    TRAP_ROWS,
    ScanRows,
    decode_unit,
    is_unit_row,
    unit_key,
)
from gossamer.traps.rules import Decision
from gossamer.traps.unit import Probation, Unit, domain_unit, units_of
from gossamer.urls import registrable_domain

MOST_NOTES = 100
"""So many units are named by `status`, those with the most refusals first."""


def read_trap_notes(scan: ScanRows) -> tuple[TrapNote, ...]:
    """Return the units of a stopped crawl that are on probation or closed."""
    units: dict[bytes, Unit] = {}
    held: Counter[bytes] = Counter()
    for key, value in scan(TRAP_ROWS):
        if is_unit_row(key):
            units[key[:PREFIX_BYTES]] = decode_unit(value)
        else:
            held[key[:PREFIX_BYTES]] += 1
    return most_important([note_of(unit, held[key]) for key, unit in units.items()])


def count_held_new(scan: ScanRows) -> int:
    """Return how many URLs are held back, or were until they were refused, uncounted by hosts."""
    return sum(not is_unit_row(key) and decode_held(value).is_new for key, value in scan(TRAP_ROWS))


def held_because(get: Callable[[bytes], bytes | None], url: Url) -> str:
    """Return which unit on probation holds a URL back, and why; "" if none does."""
    for name in [*units_of(url), domain_unit(registrable_domain(url.host))]:
        value = get(unit_key(name))
        if value is None or get(held_key(name, url.key)) is None:
            continue
        unit = decode_unit(value)
        if unit.probation is not None:
            return _on_probation_because(unit, unit.probation)
    return ""


def note_of(unit: Unit, held: int) -> TrapNote:
    """Return what `status` says of a unit; what a closed one holds is as good as refused."""
    probation = unit.probation
    detail = unit.detail if probation is None else _on_probation_because(unit, probation)
    undecided = 0 if unit.verdict else held
    return TrapNote(unit.name, unit.verdict, unit.pages, undecided, unit.refused, detail)


def most_important(notes: list[TrapNote]) -> tuple[TrapNote, ...]:
    """Return the notes of the units with the most URLs refused or held back."""
    ordered = sorted(notes, key=lambda note: (-note.refused - note.held, note.unit))
    return tuple(ordered[:MOST_NOTES])


def closed_because(unit: Unit, probation: Probation, decision: Decision) -> str:
    """Return why a unit was closed, and how to overrule that."""
    match decision:
        case Decision.SAME:
            because = (
                f"{unit.pages} pages, of the last {probation.pages} {probation.same} said what "
                f"others had said, and {probation.same_productive} of these led to new URLs"
            )
        case Decision.MIRROR:
            because = f"{probation.suspicion}: {unit.copies} of {unit.pages}, under the same paths"
        case Decision.HOSTS:
            because = (
                f"{probation.productive} of the last {probation.pages} new hosts named "
                f"{probation.new_urls} newer ones"
            )
        case _:
            because = (
                f"{unit.pages} pages, of the last {probation.pages} {probation.productive} brought "
                f"new URLs ({probation.new_urls}), {probation.depth} in a row, and "
                f"{probation.leaves} were an end"
            )
    pattern = unit.name if unit.is_domain else f"{unit.name}*"
    return f'{unit.name} closed: {because}; overrule with [traps] trust = ["{pattern}"]'


def _on_probation_because(unit: Unit, probation: Probation) -> str:
    return f"{unit.name} is on probation: {probation.suspicion}"
