"""Link farms and lists of keywords have a spam score; prose and honest lists have none."""

import random

import pytest

from gossamer.search.analysis.spam import spam_score
from gossamer.search.fields import MOST_SPAM

CASINO = [
    *("best", "online", "casino", "bonus", "free", "slots"),
    *("poker", "play", "win", "money", "jackpot", "roulette"),
]
PROSE = (
    "The lion is a large cat of the genus Panthera. It lives in groups that are called prides,"
    " and hunts in the evening. Most of the hunting is done by the lionesses. "
)
rng = random.Random(18)
NAMES = ["".join(rng.choice("abcdefghij") for _ in range(8)) for _ in range(300)]
SPAM = {
    "the same link text": "\n".join(f"* Casino {n}" for n in range(300)),
    "combined words": "\n".join(" ".join(["casino", *rng.sample(CASINO, 2)]) for _ in range(300)),
    "keywords and commas": ", ".join(f"buy {word} online" for word in CASINO * 10),
    "other keywords": ", ".join(NAMES),
    "one word": "casino " * 300,
}
HONEST = {
    "prose": PROSE * 10,
    "short": "casino " * 50,
    "index": "\n".join(f"{name} (function), 12" for name in NAMES),
    "files": "\n".join(f"* lib/{name}.html" for name in NAMES),
    "calls": "\n".join(f"gtk_{name} (GtkWidget *widget, gint x, gint y)" for name in NAMES),
    "glossary": "\n".join(f"{name}: the name of a thing, and of what it does" for name in NAMES),
    "nothing": "",
}


@pytest.mark.parametrize("name", SPAM)
@pytest.mark.parametrize("language", ["en", ""])
def test_spam_is_told(name: str, language: str) -> None:
    assert spam_score(SPAM[name], language) > MOST_SPAM // 2


@pytest.mark.parametrize("name", HONEST)
@pytest.mark.parametrize("language", ["en", "de", "", "xx"])
def test_honest_pages_are_not_called_spam(name: str, language: str) -> None:
    assert spam_score(HONEST[name], language) == 0
