"""Mazes: pages without an end, each with a text of its own."""

from gossamer.testing.words import SeededRandom
from laboratory.snares.sheet import WORDS, Sheet, babble

DOORS = 8
KNOWN = 2


def flat_maze(tail: str) -> Sheet:
    """Answer any name with new names in the same folder."""
    rng = SeededRandom("flat", tail)
    doors = [f"{rng.pick(WORDS)}-{rng.pick(WORDS)}-{rng.below(10**6)}" for _ in range(DOORS)]
    return Sheet(f"On {doors[0]}", babble("flat", tail), doors)


def deep_maze(tail: str) -> Sheet:
    """Answer any path with new folders below it."""
    rng = SeededRandom("deep", tail)
    inside = tail.rstrip("/")
    doors = [f"{inside}/{rng.pick(WORDS)}/".lstrip("/") for _ in range(DOORS)]
    return Sheet(f"In {inside}", babble("deep", tail), doors)


def crossed_maze(tail: str) -> Sheet:
    """Answer any name with new names, the door, its parent and pages that others link too."""
    rng = SeededRandom("crossed", tail)
    parent = tail.rpartition("~")[0]
    doors = [f"{tail[-12:]}~{rng.pick(WORDS)}{rng.below(100)}" for _ in range(DOORS)]
    back = ["", parent, *(f"lobby{rng.below(40)}" for _ in range(KNOWN))]
    return Sheet(f"At {tail}", babble("crossed", tail), [*doors, *back])


def hash_maze(tail: str) -> Sheet:
    """Answer any name with two hashes."""
    rng = SeededRandom("hash", tail)
    return Sheet(f"Item {tail}", babble("hash", tail), [f"{rng.number():016x}" for _ in range(2)])


def number_maze(tail: str) -> Sheet:
    """Answer any number with larger ones, as a heap has them."""
    number = int(tail or 0) if (tail or "0").isdigit() else 0
    return Sheet(f"No. {number}", babble("number", tail), [f"{number * 10 + n}" for n in range(10)])


def facets(tail: str) -> Sheet:
    """Answer any choice of features with further choices."""
    chosen = [pair for pair in tail.removeprefix("?").split("&") if pair]
    rng = SeededRandom("facets", tail)
    names = ("colour", "size", "age", "maker", "shelf", "price", "state")
    doors = ["?" + "&".join([*chosen, f"{name}={rng.pick(WORDS)}"]) for name in names]
    return Sheet("Choose further", babble("facets", tail, words=30), doors)
