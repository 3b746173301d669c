"""The fields of a document: what its words are said in, and what each of them counts.

docs/ARCHITECTURE.md says which files a new one touches; tests/unit/search/test_fields.py fails for
one that was forgotten in any of them.
"""

from typing import Final

from msgspec import Struct

TITLE, HEADS, MAIN, REST, CODE = "title", "heads", "main", "rest", "code"
ANCHORS, PATH = "anchors", "path"
TEXT_FIELDS: Final = (TITLE, HEADS, MAIN, REST, CODE, ANCHORS, PATH)
"""Fields with words. `rest` is what surrounds the main content, `code` are the blocks of code in
either; `path` are the words of the URL."""
POSITIONED: Final = frozenset({TITLE, HEADS, MAIN, REST, CODE})
"""Fields that know where their words stand: those in which a phrase can be found."""

FAST_FIELDS: Final = ("key", "host", "sketch", "at", "spam", "listing", "title_key")
"""Numbers of a page that come with every candidate: attributes of `Prepared` and of `Candidate`."""
MOST_SPAM = 255
"""The spam score of a page that is nothing else; 0: an honest one."""
SURE_SPAM = MOST_SPAM // 2
"""From here on a page comes behind the others and belongs to the low tier, whatever its rank."""
MOST_LISTING = 255
"""Of a page whose main content is a list of links: a table of contents, an index."""

K1, B = 1.2, 0.75
"""The constants of BM25; those of the engine, which cannot be changed there."""


class Weights(Struct, frozen=True, gc=False):
    """What a word counts in each field, beside 1 for the main content. Tuned (ADR 31)."""

    title: float = 2.0
    heads: float = 3.0
    main: float = 1.0
    rest: float = 0.05
    code: float = 0.5
    anchors: float = 0.25
    path: float = 0.1

    def of(self, field: str) -> float:
        """Return what a word counts in a field."""
        return float(getattr(self, field))
