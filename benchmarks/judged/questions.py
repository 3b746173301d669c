"""Questions of which one page is the answer, made from the structure of a crawled web.

Three kinds. *title*: two to five words in a row that stand so in the title of one page only,
names of sites and books left out.
*heading*: a heading that only one page has, and that is not its title. *anchor*: what a link says
that leads to a page, when nobody else is called so and it is not the page's title or a part of it
between dashes (nor one word alone: mostly the name of a file). All links that say this of the page
are left out of the index.
"""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from xxhash import xxh3_64_intdigest

from gossamer.store import CrawlFolder, iter_links

KINDS = ("title", "heading", "anchor")
_WORDS = re.compile(r"\w+")
_PARTS = re.compile(r"\s+[-–—|·:»]+\s+|\s*[|»]\s*|:\s+")
FEWEST, MOST_OF_TITLE, MOST_WORDS = 2, 5, 8
SHARED = 5
"""A part of a title that so many pages have is the name of a site or of a book."""
MOST_SAID = 200
"""Texts that are counted for a page; a page of a thousand names is no one's."""


class Judged(NamedTuple):
    """A question, and the page that it asks for."""

    kind: str
    text: str
    target: str

    @property
    def is_for_tuning(self) -> bool:
        """Tell which half it is in: by its target, so that no page is in both."""
        return xxh3_64_intdigest(self.target.encode()) % 2 == 0


class Facts(NamedTuple):
    """What the links archive says of a page."""

    title: str
    headings: tuple[str, ...]
    language: str
    media_type: str
    at: float
    link_texts: frozenset[str]
    is_copy: bool


class Web(NamedTuple):
    """Pages, and what links say of them."""

    pages: dict[str, Facts]
    said: dict[str, Counter[str]]


def read_web(folder: CrawlFolder, list_of_hosts: str) -> Web:
    """Return what the links archive says. One page lists all hosts for crawlers: not its links."""
    pages: dict[str, Facts] = {}
    said: dict[str, Counter[str]] = defaultdict(Counter)
    for _, record in iter_links(folder):
        if record.outcome != "fetched":
            continue
        texts = frozenset(link[2] for link in record.links if link[2])
        pages[record.url] = Facts(
            record.title,
            record.headings,
            record.language,
            record.media_type,
            record.at,
            texts,
            bool(record.copy_of) or not record.html,
        )
        for target, _, text, _ in record.links if record.url != list_of_hosts else ():
            if text and (text in said[target] or len(said[target]) < MOST_SAID):
                said[target][text] += 1
    return Web(pages, said)


def make_questions(web: Web, per_kind: int, seed: int) -> list[Judged]:
    """Return questions of all kinds, spread over the hosts; the same ones for the same seed."""
    chance = random.Random(seed)
    makers = {"title": _titles, "heading": _headings, "anchor": _anchors}
    found: list[Judged] = []
    for kind in KINDS:
        by_host: dict[str, list[Judged]] = defaultdict(list)
        for target, text in makers[kind](web, chance):
            by_host[target.split("/", 3)[2]].append(Judged(kind, text, target))
        found += spread(by_host, per_kind, chance)
    return found


def held_out(questions: Iterable[Judged]) -> frozenset[tuple[str, str]]:
    """Return target and words of the links that must not be indexed."""
    return frozenset((one.target, one.text) for one in questions if one.kind == "anchor")


def plain(text: str) -> str:
    """Return the words of a text, in small letters."""
    return " ".join(_WORDS.findall(text.lower()))


def spread(by_host: dict[str, list[Judged]], most: int, chance: random.Random) -> list[Judged]:
    """Return questions of all hosts, one of each in turn."""
    for some in by_host.values():
        chance.shuffle(some)
    found: list[Judged] = []
    hosts = sorted(by_host)
    while hosts and len(found) < most:
        chance.shuffle(hosts)
        found += [by_host[host].pop() for host in hosts]
        hosts = sorted(host for host in hosts if by_host[host])
    return found[:most]


def _runs(words: list[str]) -> Iterator[str]:
    for length in range(FEWEST, MOST_OF_TITLE + 1):
        for start in range(len(words) - length + 1):
            yield " ".join(words[start : start + length])


def _titles(web: Web, chance: random.Random) -> Iterator[tuple[str, str]]:
    runs: Counter[str] = Counter()
    parts: Counter[str] = Counter()
    for facts in web.pages.values():
        runs.update(set(_runs(plain(facts.title).split())))
        parts.update(_split(facts.title))
    for url, facts in sorted(web.pages.items()):
        telling = [part for part in _split(facts.title) if parts[part] < SHARED]
        own = {run for part in telling for run in _runs(part.split()) if runs[run] == 1}
        if own and " " in facts.title and not facts.is_copy:
            yield url, chance.choice(sorted(own))


def _headings(web: Web, chance: random.Random) -> Iterator[tuple[str, str]]:
    pages = Counter(
        text for facts in web.pages.values() for text in {plain(one) for one in facts.headings}
    )
    titles = {part for facts in web.pages.values() for part in _parts(facts.title)}
    for url, facts in sorted(web.pages.items()):
        texts = {plain(one) for one in facts.headings}
        own = sorted(one for one in texts if pages[one] == 1 and _fits(one) and one not in titles)
        if own and not facts.is_copy:
            yield url, chance.choice(own)


def _anchors(web: Web, chance: random.Random) -> Iterator[tuple[str, str]]:
    targets: Counter[str] = Counter()
    for counts in web.said.values():
        targets.update({plain(text) for text in counts})
    for url, facts in sorted(web.pages.items()):
        texts = {plain(text) for text in web.said.get(url, ()) if " " in text}
        parts = _parts(facts.title)
        own = sorted(one for one in texts if targets[one] == 1 and _fits(one) and one not in parts)
        if (
            own
            and not facts.is_copy
            and facts.title not in ("", url.split("/", 3)[2].split(":")[0])
        ):
            yield url, chance.choice(own)


def _parts(title: str) -> set[str]:
    """Return a title, and its parts between dashes."""
    return {plain(title), *_split(title)}


def _split(title: str) -> set[str]:
    return {plain(part) for part in _PARTS.split(title)}


def _fits(text: str) -> bool:
    return FEWEST <= len(text.split()) <= MOST_WORDS
