"""What is throttled and closed: for `status` and `why` of a stopped crawl. Reads rows."""

from collections import Counter
from collections.abc import Callable

from gossamer.model import TrapNote, Url
from gossamer.traps.domains import name_of
from gossamer.traps.evidence.names import units_of
from gossamer.traps.evidence.unit import Unit
from gossamer.traps.pen import Scan
from gossamer.traps.rows import (
    TRAPS,
    decode_unit,
    is_unit,
    pen_key,
    ring_of_unit,
    unit_key,
    unpack_held,
)
from gossamer.traps.words import note_of
from gossamer.urls import registrable_domain

NOTES = 100
"""So many units are named by `status`, those with the most refusals first."""
_UNIT_BYTES = 12


def choose(notes: list[TrapNote]) -> tuple[TrapNote, ...]:
    """Return the most telling notes."""
    return tuple(sorted(notes, key=lambda note: (-note.refused - note.held, note.unit))[:NOTES])


def read_trap_notes(scan: Scan) -> tuple[TrapNote, ...]:
    """Return the units of a stopped crawl that are throttled or closed."""
    units: dict[bytes, Unit] = {}
    held: Counter[bytes] = Counter()
    for key, value in scan(TRAPS):
        if is_unit(key):
            units[key[:_UNIT_BYTES]] = decode_unit(value)
        else:
            held[key[:_UNIT_BYTES]] += 1
    return choose([note_of(unit, held[key]) for key, unit in units.items()])


def count_held_new(scan: Scan) -> int:
    """Return how many URLs are held back, or were until they were refused, uncounted by hosts."""
    return sum(not is_unit(key) and unpack_held(value)[2] for key, value in scan(TRAPS))


def held_because(get: Callable[[bytes], bytes | None], url: Url) -> str:
    """Return which unit on trial holds a URL back, and why it is on trial; "" if none does."""
    for name in [*units_of(url), name_of(registrable_domain(url.host))]:
        ring = ring_of_unit(name)
        value = get(unit_key(ring, name))
        if value is None or get(pen_key(ring, name, url.key)) is None:
            continue
        trial = decode_unit(value).trial
        if trial is not None:
            return f"{name} is on trial: {trial.suspicion}"
    return ""
