"""Unit and Trial: what is known of a part of a site, and what its trial has brought to light."""

from typing import TypeAlias

from msgspec import Struct, field

Way: TypeAlias = tuple[int, int]
"""How many pages of a trial, each found on the one before, led somewhere; and how many of them lie
in the same child of the unit."""

MARKS_KEPT = 32
CROSSED_KEPT = 2048
NUMBERS_KEPT = 4096
SHAPES_KEPT = 16
SERIES_KEPT = 3


class Trial(Struct, kw_only=True, omit_defaults=True):
    """What the pages that were asked for one by one have shown, since suspicion arose."""

    suspicion: str
    """In words: why the unit is on trial."""
    pages: int = 0
    bred: int = 0
    """Pages that brought new URLs of the unit."""
    leaves: int = 0
    """Pages with a text of their own that brought none: a finite site is full of them."""
    same: int = 0
    """Pages that say what another page of the unit has said."""
    same_bred: int = 0
    moving: int = 0
    """Pages whose URL looks made for one visit."""
    depth: int = 0
    """Pages in a row, each found on the one before, that brought new URLs."""
    fresh: int = 0
    """New URLs of the unit."""
    half_fresh: int = 0
    half_crossed: int = 0
    """New URLs, and crossings, when half of the pages of a long trial were seen."""
    expected: float = 0.0
    """Crossings that a finite site would have had by now."""
    crossed: dict[int, int] = field(default_factory=dict)
    """Known pages that were linked again, from elsewhere than from their own parents: how often."""
    numbered: int = 0
    numbers: set[int] = field(default_factory=set)
    series: set[int] = field(default_factory=set)
    """New URLs that differ in their last number only, these numbers, and their shapes: some."""
    out: dict[int, Way] = field(default_factory=dict)
    """Probes under way, and the way that led to each."""
    inside: int = 0
    """Of the pages in a row, how many lie in one child of the unit."""
    children: dict[str, int] = field(default_factory=dict)
    """Pages that said the same and led on, by the child they lie in; "" for the unit itself."""
    strikes: int = 0
    """Children of the unit that were closed in this trial."""
    is_heir: bool = False
    """The trial of a larger unit led here, and this one goes on from there."""
    shapes: set[int] = field(default_factory=set)
    """Shapes of URLs whose pages brought new URLs."""


class Unit(Struct, kw_only=True, omit_defaults=True):
    """A part of a site. Kept in memory only, until it is put on trial."""

    name: str
    pages: int = 0
    fresh: int = 0
    block_pages: int = 0
    block_bred: int = 0
    block_fresh: int = 0
    block_same: int = 0
    blocks: int = 0
    """Blocks in a row that grew, but not as a tree does."""
    chain: int = 0
    """Blocks in a row whose pages brought one new URL each, as a chain does."""
    next_look: int = 0
    """Pages from which on the unit may be suspected again."""
    marks: dict[int, int] = field(default_factory=dict)
    """Of the last texts that were new; the value says nothing."""
    domains: set[int] = field(default_factory=set)
    """Foreign domains that link here, by hash: some."""
    young: dict[str, int] = field(default_factory=dict)
    """Of a domain: hosts that were let in and have not answered yet, and their generation."""
    answered: dict[str, int] = field(default_factory=dict)
    """Of a domain: hosts that named new hosts, and their generation: some."""
    leaves: int = 0
    """Of a domain: hosts that named no new host."""
    copies: int = 0
    """Of a host: pages that are copies of another host's pages under the same paths."""
    trial: Trial | None = None
    verdict: str = ""
    """The reason for which the unit is closed; "" while it is not."""
    detail: str = ""
    refused: int = 0

    @property
    def is_domain(self) -> bool:
        """Tell whether the unit is a domain, whose pages are hosts."""
        return self.name.startswith("*.")

    @property
    def is_watched(self) -> bool:
        """Tell whether the unit's URLs may not simply pass."""
        return self.trial is not None or bool(self.verdict)

    def has_said(self, mark: int | None) -> bool:
        """Tell whether a text was met in this unit; remember it if not."""
        if mark is None or mark in self.marks:
            return mark is not None
        self.marks[mark] = 0
        if len(self.marks) > MARKS_KEPT:
            del self.marks[next(iter(self.marks))]
        return False
