"""Sheet: a page as traps and archives write it, before it becomes HTML."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from gossamer.testing.responses import CannedResponse, html_response
from gossamer.testing.words import TOPICS, SeededRandom

WORDS: tuple[str, ...] = tuple(sorted({word for words in TOPICS.values() for word in words}))


@dataclass(frozen=True, slots=True)
class Sheet:
    """A title, some text, and links: absolute, or relative to the place of the snare."""

    title: str
    text: str
    links: Sequence[str]


Snare: TypeAlias = Callable[[str], Sheet | None]
"""What follows the snare's own place in the target → the page there; None if there is none."""


def babble(*seeds: int | str, words: int = 120) -> str:
    """Return text that is unique to its seeds and means nothing."""
    rng = SeededRandom("babble", *seeds)
    return " ".join(rng.pick(WORDS) for _ in range(words))


def to_answer(sheet: Sheet, base: str) -> CannedResponse:
    """Return a sheet as a page; its relative links lie below `base`."""
    items = "\n".join(f'<li><a href="{full(link, base)}">more</a></li>' for link in sheet.links)
    return html_response(
        f"<!doctype html><title>{sheet.title}</title><h1>{sheet.title}</h1>\n"
        f"<p>{sheet.text}</p>\n<ul>\n{items}\n</ul>\n"
    )


def full(link: str, base: str) -> str:
    """Return a link of a snare as it is written on its page."""
    return link if link.startswith(("http:", "/")) else base + link
