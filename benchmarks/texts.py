"""Texts of the local real web, read from its files by our own processor; and edits of them."""

import random
import re
from typing import NamedTuple

from documents import RULES, document
from realweb import sample_pages

from gossamer.config import ProcessConfig
from gossamer.process import Registry, Tools

WORD = re.compile(
    "[\u3040-\u9fff]|[0-9A-Za-z\u00c0-\u1fff\u2c00-\u2fff\ua000-\ufdff\ufe40-\ufebf\uff10-\uffbf"
    "\U00010000-\U0010ffff]+"
)
"""What the tokeniser takes for a word, said in another way: an edit is made on these."""


class Text(NamedTuple):
    """One page as a crawl would have it."""

    url: str
    site: str
    """The documentation set: its pages share a template. A set has one host or several."""
    host: str
    title: str
    text: str
    html_bytes: int


def sample_texts(count: int) -> list[Text]:
    """Return the texts of pages from all over the web; always the same ones."""
    registry = Registry.load(Tools(urls=RULES, process=ProcessConfig(), robots_agent="gossamer"))
    found = []
    for url, body in sample_pages(count):
        page = document(url, body)
        host = page.url.host
        read = registry.read(page, "text/html")
        found.append(Text(url, site_of(host), host, read.title, read.text, len(body)))
    return found


def site_of(host: str) -> str:
    """Return the documentation set of a host: the first part of its name, mostly."""
    name = host.removesuffix(".test")
    first, _, rest = name.partition("-")
    return rest.partition("-")[0] if first == "docs" else first


def words_of(text: str) -> list[str]:
    """Return the words that the tokeniser sees."""
    return WORD.findall(text.encode("utf-8", "replace").decode("utf-8"))


def edited(words: list[str], share: float, vocabulary: list[str], dice: random.Random) -> str:
    """Return a text with a share of its words replaced by others, drawn evenly from all words."""
    words = list(words)
    for place in dice.sample(range(len(words)), round(share * len(words))):
        words[place] = dice.choice(vocabulary)
    return " ".join(words)


def jaccard(one: list[str], other: list[str], width: int = 4) -> float:
    """Return the exact Jaccard similarity of two texts' sets of some words in a row."""
    sets = [
        {
            tuple(word.lower() for word in words[n : n + width])
            for n in range(len(words) - width + 1)
        }
        for words in (one, other)
    ]
    both = len(sets[0] & sets[1])
    return both / max(1, len(sets[0]) + len(sets[1]) - both)
