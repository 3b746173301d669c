"""Pages as a site writes them: a frame that all pages of a site share, links, and prose.

Everything is a function of its seeds, the same on every machine and in every run.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from random import Random
from typing import NamedTuple, TypeVar
from urllib.parse import parse_qsl

import xxhash

_T = TypeVar("_T")


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_COMMON = _split(
    "the of and to in is that for it was on as with by at from are this be or an which"
)
_STARTS = _split("b br c ch d dr f g gl h k l m n p pr r s st t tr v w")
_MIDDLES = _split("a e i o u ai ea io ou")
_ENDS = _split("l n r s t nd rt sk m ck")
_RARE_WORDS = 1800
_LAYOUTS = 4


def number_of(*seeds: int | str) -> int:
    """Return 64 bits that depend on the seeds alone."""
    return xxhash.xxh3_64_intdigest("|".join(map(str, seeds)).encode())


def rng_of(*seeds: int | str) -> Random:
    """Return a source of numbers that depends on the seeds alone."""
    return Random(number_of(*seeds))


def pick(choices: Sequence[_T], *seeds: int | str) -> _T:
    """Return one of the choices."""
    return choices[number_of(*seeds) % len(choices)]


def _rare_words() -> tuple[str, ...]:
    rng = rng_of("rare words")
    found: dict[str, None] = {}
    while len(found) < _RARE_WORDS:
        syllables = (
            rng.choice(_STARTS) + rng.choice(_MIDDLES) for _ in range(rng.choice((1, 2, 2, 3)))
        )
        found["".join(syllables) + rng.choice(_ENDS)] = None
    return tuple(found)


RARE = _rare_words()
_LEXICON = (*_COMMON, *RARE)
_WEIGHTS = list(accumulate(1 / (rank + 3) for rank in range(len(_LEXICON))))


def prose(words: int, *seeds: int | str) -> str:
    """Return sentences whose words are as often as in a language, few of them very often."""
    rng = rng_of("prose", *seeds)
    left = rng.choices(_LEXICON, cum_weights=_WEIGHTS, k=words)
    sentences = []
    while left:
        length = rng.randrange(6, 18)
        sentences.append(" ".join(left[:length]).capitalize() + ".")
        left = left[length:]
    return " ".join(sentences)


def phrase(words: int, *seeds: int | str) -> str:
    """Return some words without the common ones: a title, a caption."""
    chosen = []
    for at in range(words):
        # Eleven bits choose a word, and 64 bits are enough for five.
        if not at % 5:
            left = number_of("phrase", at, *seeds)
        left, word = divmod(left, len(RARE))
        chosen.append(RARE[word])
    return " ".join(chosen)


def slug(words: int, *seeds: int | str) -> str:
    """Return a phrase as a part of a path."""
    return phrase(words, *seeds).replace(" ", "-")


@cache
def distinct_words(kind: str, count: int) -> tuple[str, ...]:
    """Return that many different words in order of the alphabet."""
    found: dict[str, None] = {}
    number = 0
    while len(found) < count:
        made = phrase(1 + number_of(kind, number) % 2, kind, number).replace(" ", "")
        found[made if made not in found else f"{made}e"] = None
        number += 1
    return tuple(sorted(found))


class Link(NamedTuple):
    """A link of a page: `/path` on the same host, `//host/path` on another."""

    href: str
    text: str


def anchor(link: Link) -> str:
    """Return a link as HTML."""
    return f'<a href="{link.href.replace("&", "&amp;")}">{link.text}</a>'


def listed(links: Iterable[Link]) -> str:
    """Return links one below the other."""
    return "<ul>" + "".join(f"<li>{anchor(link)}</li>" for link in links) + "</ul>"


def inline(links: Iterable[Link], between: str = " | ") -> str:
    """Return links side by side."""
    return "<p>" + between.join(anchor(link) for link in links) + "</p>"


def para(words: int, *seeds: int | str) -> str:
    """Return a paragraph of prose."""
    return f"<p>{prose(words, *seeds)}</p>"


@dataclass(frozen=True, slots=True)
class Frame:
    """What all pages of a site have around their contents, and its pages about itself."""

    name: str
    menu: tuple[Link, ...]
    notices: tuple[str, ...] = ("about", "contact", "privacy")
    """Pages about the site that every page links in its footer: /about and so on."""

    def page(self, title: str, *blocks: str) -> str:
        """Return a page of the site."""
        head = f"<!doctype html><html><head><title>{title} - {self.name}</title></head><body>"
        body = f"<h1>{title}</h1>{''.join(blocks)}"
        feet = [Link(f"/{notice}", notice.capitalize()) for notice in self.notices]
        foot = f"<footer>{inline(feet)}<small>&copy; {self.name}. All rights reserved.</small>"
        match number_of("layout", self.name) % _LAYOUTS:
            case 0:
                around = f"<header>{self.name}<nav>{listed(self.menu)}</nav></header>"
                return f"{head}{around}<main>{body}</main>{foot}</footer></body></html>"
            case 1:
                menu = f"<td>{listed(self.menu)}</td>"
                table = f"<table><tr>{menu}<td>{body}</td></tr></table>"
                return f"{head}<div id=top>{self.name}</div>{table}{foot}</footer></body></html>"
            case 2:
                return (
                    f"{head}<article>{body}</article><aside>{inline(self.menu)}</aside>"
                    f"{foot}</footer></body></html>"
                )
            case _:
                menu = inline(self.menu, " &middot; ")
                return f"{head}{menu}<hr>{body}<hr>{foot}</footer></body></html>"

    def notice(self, target: str) -> str | None:
        """Return a page about the site, if the target is one."""
        name = target.removeprefix("/")
        if name not in self.notices:
            return None
        return self.page(name.capitalize(), para(90, self.name, name), para(60, self.name, name, 2))


def query_of(target: str) -> tuple[str, dict[str, str]]:
    """Return the path of a target and its parameters."""
    path, _, query = target.partition("?")
    return path, dict(parse_qsl(query))


def count_in(text: str, *, below: int, start: int = 0) -> int | None:
    """Return the number that a text is, if it is written plainly and within the bounds."""
    if not (text.isascii() and text.isdigit()) or (text != "0" and text.startswith("0")):
        return None
    value = int(text)
    return value if start <= value < below else None


def around(number: int, count: int, start: int = 0) -> list[int]:
    """Return the numbers before and after one, as far as they exist."""
    return [other for other in (number - 1, number + 1) if start <= other < start + count]
