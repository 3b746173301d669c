"""How far a build from the archive is."""

from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec import Struct


class BuildStep(Struct, frozen=True, kw_only=True):
    """How far a build is; or, with a note, what it found damaged on the way."""

    doing: Literal["reading", "sorting", "adding", "writing", "finishing"]
    count: int = 0
    """How many records, links or pages so far."""
    unit: Literal["record", "link", "page"] = "record"
    bytes_left: int | None = None
    """Bytes of the archive that are not read yet, where that is known."""
    note: str = ""
    """What is damaged, and what is done about it; nothing is counted then."""


BuildProgress: TypeAlias = Callable[[BuildStep], None]
"""Told how far a build is, now and then."""


def built_anew(error: Exception) -> BuildStep:
    """Return the note that what exists is damaged and all is built anew."""
    return BuildStep(doing="reading", note=f"{error}; everything is built again")


def skipped(bad: str) -> BuildStep:
    """Return the note that a part of the archive cannot be read."""
    return BuildStep(doing="reading", note=f"damaged, and left out: {bad}")
