"""Long natural questions of which one page is the answer, made from the texts of a crawled web.

Two kinds. *opening*: the first sentence of a page's text that is a sentence, of eight to forty
words, when no other page has it. *asked*: a heading that is a question, as in lists of frequent
ones, when only one page has it. Both are asked as they were written, with their punctuation.
"""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from gossamer.store import CrawlFolder, Records
from judged.questions import Facts, Judged, Web, plain, spread

NATURAL_KINDS: Final = ("opening", "asked")
FEWEST, MOST = 8, 40
"""Words of a sentence."""
FEWEST_ASKED = 4
"""Words of a question: what is shorter ("But why?") could be of any page."""
MOST_LINES = 400
"""Of a text in which its first sentence is looked for: what is above it is mostly navigation."""
_SENTENCE = re.compile(r"[^\W\d_].*?[.?!](?=\s|$)")
_CODE = re.compile(r"[{}<>=;|\\@©]|://|\.\.\.|  ")
_SPACES = re.compile(r"\s+")


def make_natural(folder: CrawlFolder, web: Web, per_kind: int, seed: int) -> list[Judged]:
    """Return long questions, spread over the hosts; the same ones for the same seed."""
    chance = random.Random(seed)
    makers = {"opening": _openings(folder, web), "asked": _asked(web, chance)}
    found: list[Judged] = []
    for kind in NATURAL_KINDS:
        by_host: dict[str, list[Judged]] = defaultdict(list)
        for target, text in makers[kind]:
            by_host[target.split("/", 3)[2]].append(Judged(kind, text, target))
        found += spread(by_host, per_kind, chance)
    return found


def opening_of(text: str, title: str) -> str:
    """Return the first sentence of a text, "" if none is long enough; a title is none."""
    for line in text.split("\n")[:MOST_LINES]:
        said = _SPACES.sub(" ", line.strip())
        found = _SENTENCE.match(said)
        if found is None or _CODE.search(found.group()) or plain(said) == plain(title):
            continue
        if FEWEST <= len(plain(found.group()).split()) <= MOST:
            return found.group()
    return ""


def _openings(folder: CrawlFolder, web: Web) -> Iterator[tuple[str, str]]:
    openings: dict[str, str] = {}
    for path in sorted(folder.archive.glob("text-*")):
        for record in Records(path):
            url = record.headers.get("warc-target-uri", "")
            facts = web.pages.get(url)
            if facts is not None and _is_answer(facts):
                openings[url] = opening_of(record.block.decode("utf-8", "replace"), facts.title)
    pages = Counter(map(plain, openings.values()))
    for url, text in sorted(openings.items()):
        if text and pages[plain(text)] == 1:
            yield url, text


def _asked(web: Web, chance: random.Random) -> Iterator[tuple[str, str]]:
    pages = Counter(
        text for facts in web.pages.values() for text in {plain(one) for one in facts.headings}
    )
    for url, facts in sorted(web.pages.items()):
        own = [one.strip() for one in facts.headings if one.strip().endswith("?")]
        fit = sorted(
            one for one in own if pages[plain(one)] == 1 and len(plain(one).split()) >= FEWEST_ASKED
        )
        if fit and _is_answer(facts):
            chance.shuffle(fit)
            yield from ((url, one) for one in fit[:3])


def _is_answer(facts: Facts) -> bool:
    """Return True if a page is text of its own: no copy, and no file of code."""
    return not facts.is_copy and bool(facts.title)
