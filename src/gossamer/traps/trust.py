"""What `[traps] trust` names: parts of sites, and single URLs, that are never held."""

from collections import Counter
from collections.abc import Sequence

from gossamer.model import Url
from gossamer.traps.held import decode_held
from gossamer.traps.registry import PREFIX_BYTES, TRAP_ROWS, ScanRows, decode_unit, is_unit_row
from gossamer.traps.unit import Unit, host_of, probation_name
from gossamer.urls import Patterns


def trusts_url(patterns: Patterns, url: Url) -> bool:
    """Return True if a pattern names a URL, or its host."""
    return bool(patterns.match_host(url.host) or patterns.match_url(url.text))


def trusts_unit(patterns: Patterns, unit: Unit) -> bool:
    """Return True if a pattern names all of a unit."""
    example = unit.name if unit.is_domain else f"http://{unit.name}"
    return bool(patterns.match_host(host_of(unit.name)) or patterns.match_url(example))


def holding_probations(scan: ScanRows) -> set[str]:
    """Return the names of the probations that hold URLs; see `probation_name`."""
    names: dict[bytes, str] = {}
    holding: set[bytes] = set()
    for key, value in scan(TRAP_ROWS):
        if is_unit_row(key):
            names[key[:PREFIX_BYTES]] = probation_name(decode_unit(value))
        else:
            holding.add(key[:PREFIX_BYTES])
    return {names[prefix] for prefix in holding & names.keys()} - {""}


def count_trusted(scan: ScanRows, patterns: Sequence[str]) -> dict[str, int]:
    """Return how many held URLs patterns let go, by unit; the units with the most first.

    What a closed unit has kept is among them.
    """
    compiled = Patterns(patterns)
    rows = ((key, decode_unit(value)) for key, value in scan(TRAP_ROWS) if is_unit_row(key))
    units = {key[:PREFIX_BYTES]: unit for key, unit in rows if unit.is_watched}
    whole = {prefix for prefix, unit in units.items() if trusts_unit(compiled, unit)}
    found: Counter[str] = Counter()
    for key, value in scan(TRAP_ROWS):
        prefix = key[:PREFIX_BYTES]
        if is_unit_row(key) or prefix not in units:
            continue
        if prefix in whole or trusts_url(compiled, decode_held(value).task.url):
            found[units[prefix].name] += 1
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))
