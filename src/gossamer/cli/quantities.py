"""Quantities as people type them: 10k pages, 10GB, 5m.

Suffixes of sizes are those of GNU coreutils, curl and wget: k, M, G and KiB, MiB, GiB are powers
of 1024, kB, MB, GB powers of 1000. Suffixes of counts are powers of 1000.
"""

import re

from gossamer.errors import ConfigError

_GROUPED = re.compile(r"[0-9]{1,3}(?:[,_][0-9]{3})+")
_NUMBER = r"(?:[0-9]{1,15}(?:\.[0-9]{0,15})?|\.[0-9]{1,15})"
_COUNT = re.compile(rf"({_NUMBER})([km]?)", re.IGNORECASE)
_SIZE = re.compile(rf"({_NUMBER})\s*(?:([kmgt])(i?b)?|b?)", re.IGNORECASE)
_TIME = re.compile(rf"({_NUMBER})\s*(s|sec|m|min|h|d)", re.IGNORECASE)
_PLAIN = re.compile(_NUMBER)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SECONDS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}

COUNT_EXAMPLE = "a whole number such as 10000, 10k or 2M"
SIZE_EXAMPLE = "a size in bytes such as 500000, 10M, 2GiB or 10GB"
TIME_EXAMPLE = "seconds, or a time such as 90s, 5m, 2h or 1d"


def count_of(text: str) -> int | None:
    """Return a count such as 10000, 10,000, 10k or 1.5M; None if it is none."""
    plain = _without_groups(text.strip())
    found = _COUNT.fullmatch(plain)
    if found is None:
        return None
    factor: int = 1000 ** _POWERS[found[2].lower()]
    if found[1].isdigit():
        return int(found[1]) * factor
    value = float(found[1]) * factor
    return int(value) if value.is_integer() else None


def size_of(text: str) -> int | None:
    """Return a size such as 500000, 10M, 2GiB or 10GB as bytes; None if it is none."""
    plain = _without_groups(text.strip())
    found = _SIZE.fullmatch(plain)
    if found is None:
        return None
    base = 1000 if (found[3] or "").lower() == "b" else 1024
    factor: int = base ** _POWERS[(found[2] or "").lower()]
    if found[1].isdigit():
        return int(found[1]) * factor
    return int(float(found[1]) * factor) if factor > 1 else None


def seconds_of(text: str) -> float | None:
    """Return a time such as 90, .5, 90s, 5m, 2h or 1h30m in seconds; None if it is none."""
    plain = text.strip()
    if _PLAIN.fullmatch(plain):
        return float(plain)
    if not plain or _TIME.sub("", plain).strip():
        return None
    return float(sum(float(n) * _SECONDS[unit.lower()] for n, unit in _TIME.findall(plain)))


def memory_of(text: str) -> int:
    """Return what --memory gives, as bytes."""
    found = size_of(text)
    if found is None:
        raise ConfigError(f"--memory: expected a size such as 512MiB or 2GiB, found {text!r}")
    return found


def _without_groups(text: str) -> str:
    """Return a number without the marks between its thousands."""
    return re.sub("[,_]", "", text) if _GROUPED.fullmatch(text) else text
