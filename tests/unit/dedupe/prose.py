"""Prose to compare: words in order, drawn by a seed, and copies of it with some words changed."""

import random

VOCABULARY = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in ("a", "e", "io", "u") for c in "lmnrst"]


def prose(seed: int, words: int = 400) -> list[str]:
    dice = random.Random(seed)
    return [dice.choice(VOCABULARY) for _ in range(words)]


def changed(words: list[str], count: int, seed: int = 0) -> list[str]:
    """Return the words with so many of them replaced by words of no other text."""
    dice = random.Random(seed)
    words = list(words)
    for place in dice.sample(range(len(words)), count):
        words[place] = f"other{dice.randrange(10**6)}"
    return words
