"""What is known of a page that is looked at again and again, in facts and in words."""

from gossamer.model import UrlRecord

_UNITS = (("d", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0))
_PLAIN = 1.5
"""A span is told in the largest unit of which it has this many."""


def look_facts(record: UrlRecord, next_at: float | None) -> dict[str, object]:
    """Return how often a page was looked at again and had changed, and what follows from it."""
    rate = record.belief[0] / record.belief[1] if record.belief else None
    return {
        "looks": record.looks,
        "changes": record.changes,
        "misses": record.misses,
        "changes_every_s": round(1.0 / rate, 3) if rate else None,
        "importance": record.importance or None,
        "next_look_at": next_at if next_at is not None else record.retry_at,
    }


def look_words(facts: object, now_or_seen: float | None) -> str:
    """Return a sentence about the looks at a page; "" if there were none."""
    if not isinstance(facts, dict) or not (facts["looks"] or facts["misses"]):
        return ""
    said = f" Looked at again {facts['looks']} time(s), changed {facts['changes']} time(s)"
    every_s = facts["changes_every_s"]
    if isinstance(every_s, float):
        said += f": it seems to change about every {span(every_s)}"
    said += "."
    if facts["misses"]:
        said += f" The last {facts['misses']} look(s) did not find it."
    next_at = facts["next_look_at"]
    if isinstance(next_at, float) and now_or_seen is not None:
        said += f" The next look is planned {span(max(0.0, next_at - now_or_seen))} after the last."
    return said


def span(seconds: float) -> str:
    """Return a length of time in words, such as "3 h"."""
    for name, size in _UNITS:
        if seconds >= _PLAIN * size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds:.1f} s"
