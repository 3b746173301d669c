"""The fields of a document: what its words are said in, and what each of them counts."""

from typing import Final

from msgspec import Struct

TITLE, HEADS, MAIN, REST, ANCHORS, PATH = "title", "heads", "main", "rest", "anchors", "path"
TEXT_FIELDS: Final = (TITLE, HEADS, MAIN, REST, ANCHORS, PATH)
"""Fields with words. `rest` is what surrounds the main content; `path` are the words of the URL."""
POSITIONED: Final = frozenset({TITLE, HEADS, MAIN, REST})
"""Fields that know where their words stand: those in which a phrase can be found."""

K1, B = 1.2, 0.75
"""The constants of BM25; those of the engine, which cannot be changed there."""


class Weights(Struct, frozen=True, gc=False):
    """What a word counts in each field, beside 1 for the main content. Tuned (ADR 31)."""

    title: float = 3.0
    heads: float = 3.0
    main: float = 1.0
    rest: float = 0.1
    anchors: float = 0.5
    path: float = 0.1

    def of(self, field: str) -> float:
        """Return what a word counts in a field."""
        return float(getattr(self, field))
