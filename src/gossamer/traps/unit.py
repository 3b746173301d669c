"""Units: the parts of a site that are judged as one, and what is known of each. Pure.

A unit is named by the text that all its URLs begin with, the scheme left out:

    h.example/                 the host (with its port, if it has one)
    h.example/shop/            a folder, up to three levels
    h.example/shop/list?       one path with whatever query
    h.example/shop/page        files of one stem: page-1.html, page-2.html
    *.example                  a registrable domain: its pages are hosts
"""

import re
from collections import Counter
from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct, field
from xxhash import xxh3_64_intdigest

from gossamer.model import Url

Trail: TypeAlias = tuple[int, int]
"""How many pages of a probation, each found on the one before, led somewhere; and how many of them
lie in the same child of the unit."""
NO_TRAIL: Trail = (0, 0)

FINGERPRINTS_KEPT = 32
CROSS_LINKS_KEPT = 2048
NUMBERS_KEPT = 4096
SHAPES_KEPT = 16
SERIES_KEPT = 3
LOOPED = 3
MAX_FOLDERS = 3
"""Deeper folders belong to the unit of the third."""
FOLDERS_KEPT = 16_384
HOSTS_KEPT = 65_536


class Probation(Struct, kw_only=True, omit_defaults=True):
    """What the pages that were fetched one by one have shown, since suspicion arose.

    The names in quotes are those of the stored rows.
    """

    suspicion: str
    """In words: why the unit is on probation."""
    pages: int = 0
    productive: int = field(default=0, name="bred")
    """Pages that brought new URLs of the unit."""
    leaves: int = 0
    """Pages with a text of their own that brought none: a finite site is full of them."""
    same: int = 0
    """Pages with the text of another page of the unit."""
    last_own: int = 0
    """Of the pages, the number of the last that had a text of its own."""
    looped: int = 0
    """Pages in whose paths a folder's name comes again and again."""
    same_productive: int = field(default=0, name="same_bred")
    volatile: int = field(default=0, name="moving")
    """Pages whose URL looks made for one visit."""
    depth: int = 0
    """Pages in a row, each found on the one before, that brought new URLs."""
    new_urls: int = field(default=0, name="fresh")
    """New URLs of the unit; of a domain, new hosts."""
    half_new_urls: int = field(default=0, name="half_fresh")
    half_cross_links: int = field(default=0, name="half_crossed")
    """New URLs, and cross links, at the last look at a long probation."""
    expected: float = 0.0
    """Cross links that a finite site would have had by now."""
    cross_links: dict[int, int] = field(default_factory=dict, name="crossed")
    """Known pages that were linked again, from elsewhere than from their own parents: how often."""
    numbered: int = 0
    numbers: set[int] = field(default_factory=set)
    series: set[int] = field(default_factory=set)
    """New URLs that differ in their last number only, these numbers, and their shapes: some."""
    in_flight: dict[int, Trail] = field(default_factory=dict, name="out")
    """Probes that were sent, and the trail that led to each."""
    depth_in_child: int = field(default=0, name="inside")
    """Of the pages in a row, how many lie in one child of the unit."""
    same_by_child: dict[str, int] = field(default_factory=dict, name="children")
    """Productive pages with a known text, by the child they lie in; "" for the unit itself."""
    same_depth: int = 0
    """The most of them in a row, each found on the one before, wherever in its domain."""
    strikes: int = 0
    """Children of the unit that were closed during this probation."""
    is_inherited: bool = field(default=False, name="is_heir")
    """The probation of a larger unit led here, and this one goes on from there."""
    shapes: set[int] = field(default_factory=set)
    """Shapes of URLs whose pages brought new URLs."""
    half_pages: int = 0
    half_number: int = 0
    """The pages at the last look at a long probation, and the largest number among them."""
    rate_before: float = 0.0
    """New URLs per page when it began."""
    weight: float = 1.0
    """How likely it is to end soon, among others on probation."""
    is_easing: bool = False
    """It looks more like a finite site than it did."""
    is_endless: bool = False
    """No end was found where a finite site would have shown one: the others go first."""
    spent: int = 0
    """Requests made on probation: they count against the allowance."""
    spent_at: dict[str, int] = field(default_factory=dict)
    """The same by the address that answered, of a few; also those that led here, with 0."""
    shared: str = ""
    """The address whose domains are suspected together, this one among them; "" if it is alone."""
    is_steady: bool = False
    """It was suspected because it grew as fast as ever, however slowly."""
    has_endless_sitemaps: bool = False
    """Indexes of its sitemaps name ever further ones: that a sitemap lists a URL means nothing."""
    is_again: bool = False
    """The unit was released before, and has grown on."""


class Unit(Struct, kw_only=True, omit_defaults=True):
    """A part of a site. Kept in memory only, until it is put on probation."""

    name: str
    pages: int = 0
    new_urls: int = field(default=0, name="fresh")
    block_pages: int = 0
    block_productive: int = field(default=0, name="block_bred")
    block_new_urls: int = field(default=0, name="block_fresh")
    block_same: int = 0
    block_brought: int = 0
    """New URLs of the host, in the unit or not."""
    block_number: int = 0
    highest: int = 0
    """The highest number in a new URL of the unit, before this block and now; 0 if there is none.
    """
    growing_blocks: int = field(default=0, name="blocks")
    """Blocks in a row that grew, but not as a tree does."""
    chain_blocks: int = field(default=0, name="chain")
    """Blocks in a row whose pages brought one new URL each, as a chain does."""
    next_check: int = field(default=0, name="next_look")
    """Pages from which on the unit may be suspected again."""
    fingerprints: dict[int, int] = field(default_factory=dict, name="marks")
    """Of the last texts that were new; the value means nothing."""
    listed: int = 0
    """URLs that are listed outside of it: by pages that are free, by sitemaps, by other domains."""
    abroad: dict[str, int] = field(default_factory=dict)
    """Of a host: how many new URLs its pages brought on each of some other hosts."""
    listers: dict[str, int] = field(default_factory=dict)
    """Of a host that grows with others: how many of its URLs each of some hosts has listed."""
    growth_pages: int = 0
    growth_known: int = 0
    growth_rate: float = 0.0
    """Pages and known URLs at the last look at its growth, and new URLs per page."""
    unanswered: dict[str, int] = field(default_factory=dict, name="young")
    """Of a domain: hosts that were let in and have not answered yet, and their generation."""
    answered: dict[str, int] = field(default_factory=dict)
    """Of a domain: hosts that named new hosts, and their generation: some."""
    leaves: int = 0
    """Of a domain: hosts that named no new host."""
    doors: int = 0
    """Pages that were found on pages outside of the folder of the host that it lies in."""
    copies: int = 0
    """Of a host: pages that another host has, too, under the same paths."""
    probation: Probation | None = field(default=None, name="trial")
    verdict: str = ""
    """The reason for which the unit is closed; "" while it is not."""
    detail: str = ""
    refused: int = 0

    @property
    def is_domain(self) -> bool:
        """Return True if the unit is a domain, whose pages are hosts."""
        return self.name.startswith("*.")

    @property
    def is_host(self) -> bool:
        """Return True if the unit is a whole host."""
        return self.name.find("/") == len(self.name) - 1

    @property
    def is_query(self) -> bool:
        """Return True if the unit is one path with whatever query or parameters."""
        return self.name[-1] in "?;"

    @property
    def folder(self) -> str:
        """Return the folder of its host that the unit lies in: its host itself if in none."""
        return folder_of(self.name)

    @property
    def is_rising(self) -> bool:
        """Return True if the numbers in its URLs rise, or there are none."""
        return not self.highest or self.highest > self.block_number

    @property
    def is_watched(self) -> bool:
        """Return True if the unit is on probation or closed, so that its URLs may not just pass."""
        return self.probation is not None or bool(self.verdict)

    def repeats(self, fingerprint: int | None) -> bool:
        """Return True if a page of this unit had this text; remember it if none had."""
        if fingerprint is None or fingerprint in self.fingerprints:
            return fingerprint is not None
        self.fingerprints[fingerprint] = 0
        if len(self.fingerprints) > FINGERPRINTS_KEPT:
            del self.fingerprints[next(iter(self.fingerprints))]
        return False


def begun_again(probation: Probation) -> Probation:
    """Return the probation of a unit after its child was dealt with: the counts start anew."""
    return Probation(
        suspicion=probation.suspicion,
        in_flight=probation.in_flight,
        strikes=probation.strikes,
        rate_before=probation.rate_before,
        is_steady=probation.is_steady,
        is_again=probation.is_again,
        spent=probation.spent,
        spent_at=probation.spent_at,
        shared=probation.shared,
    )


_STEM = re.compile(r"([A-Za-z]{2,})(?=[-_.~=+]?\d|[-_~=+]\w)")
_DIGIT = re.compile(r"[0-9]")
_DIGITS = re.compile(r"\d+")
_LAST_NUMBER = re.compile(r"(\d+)\D*$")
_LONG = "january february march april may june july august september october november december"
MONTHS = frozenset((*_LONG.split(), *(name[:3] for name in _LONG.split()), "sept"))
_SEPARATORS = re.compile(r"[^0-9A-Za-z]+")
_HASH = re.compile(r"(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{8,}", re.IGNORECASE)
_MIXED = re.compile(r"(?:[a-z]+[0-9]+){3}|(?:[0-9]+[a-z]+){3}", re.IGNORECASE)
_MIXED_CHARS, _COUNTER_CHARS = 10, 8
_DATE_WORDS = frozenset(["year", "month", "week", "day", "date", "yr", "mo", "y", "m", "d"])
_YEAR = re.compile(r"(?:1[6-9]|2[0-9])[0-9]{2}")
_PART_OF_YEAR = re.compile(r"[0-9]{1,3}|[wq][0-9]{1,2}", re.IGNORECASE)
_DAY = re.compile(r"(?:19|2[0-9])[0-9]{2}(?:0[1-9]|1[0-2])(?:[0-3][0-9])?")
_DEEP, _FEW = 7, 3


def address_of(url: Url) -> str:
    """Return a URL without its scheme: what the names of units are prefixes of."""
    return url.text.partition("://")[2]


@lru_cache(maxsize=HOSTS_KEPT)
def host_of(name: str) -> str:
    """Return the host in a unit's name or in an address; of a domain's unit, the domain."""
    authority = name.removeprefix("*.").partition("/")[0]
    if authority.endswith("]"):
        return authority
    return authority.rpartition(":")[0] if ":" in authority else authority


def folder_of(name: str) -> str:
    """Return the first folder of a unit's name, or its host if it lies in none."""
    host, _, path = name.partition("/")
    folder, slash, _ = path.partition("/")
    return f"{host}/{folder}/" if slash else f"{host}/"


def probation_name(unit: Unit) -> str:
    """Return what pages that are fetched on a unit's probation are marked with; "" if it is free.

    Those of domains that are suspected together have one mark: none of them ends by itself.
    """
    if unit.probation is None:
        return ""
    return f"at {unit.probation.shared}" if unit.probation.shared else unit.name


def domain_unit(domain: str) -> str:
    """Return the name of a domain's unit."""
    return f"*.{domain}"


def units_of(url: Url) -> list[str]:
    """Return the units that a URL lies in, the smallest first, its host last."""
    return units_at(address_of(url))


def host_unit(url: Url) -> str:
    """Return the last of the units that a URL lies in: its host."""
    return f"{url.origin.partition('://')[2]}/"


def units_at(address: str) -> list[str]:
    """Return the units that an address lies in, the smallest first, its host last."""
    path, mark, _ = address.partition("?")
    folder, _, name = path.rpartition("/")
    names = list(_folders(folder or path))
    if mark:
        names.insert(0, path + mark)
    elif ";" in name:
        names.insert(0, path[: path.index(";", len(folder)) + 1])
    elif (stem := _STEM.match(name)) is not None:
        names.insert(0, f"{folder}/{stem[1]}")
    return names


@lru_cache(maxsize=FOLDERS_KEPT)
def _folders(folder: str) -> tuple[str, ...]:
    """Return the units of a folder and of those around it, the smallest first."""
    parts = folder.split("/")[: MAX_FOLDERS + 1]
    return tuple("/".join(parts[:count]) + "/" for count in range(len(parts), 0, -1))


def child_of(name: str, names: list[str]) -> str:
    """Return the next smaller unit inside a unit that a page lies in, of all its units; else ""."""
    at = names.index(name)
    return names[at - 1] if at else ""


def group_of(child: str, name: str) -> str:
    """Return a unit's child if its own part of the name is a word; "" if it is a number or an id.

    A folder per word is a part of a site; a folder per session, year or number is not.
    """
    return "" if any(letter.isdigit() for letter in child[len(name) :]) else child


def word_folder_around(name: str) -> str:
    """Return the smallest folder around a unit whose own name is a word; a host is none.

    Years, sessions and numbers are not judged one by one, but together.
    """
    here = name
    while here.endswith("/") and here.count("/") > 1:
        folder = here[:-1].rpartition("/")[0] + "/"
        if not _DIGIT.search(here[len(folder) :]):
            return here
        here = folder
    return name


def shape_of(address: str) -> int:
    """Return the same number for addresses that differ in digits only."""
    return xxh3_64_intdigest(_DIGITS.sub("0", address).encode()) >> 32


def number_in(address: str) -> int | None:
    """Return the last number of an address, such as that of a page; None if there is none."""
    found = _LAST_NUMBER.search(address)
    return int(found[1][:18]) if found is not None else None


def is_looped(address: str) -> bool:
    """Return True if a name of a folder comes so often in a path as no author would have it."""
    folders = address.partition("?")[0].split("/")[1:-1]
    if len(folders) < LOOPED:
        return False
    times = Counter(name for name in folders if not name.isdigit())
    return max(times.values(), default=0) >= LOOPED


def is_volatile(target: str) -> bool:
    """Return True if a path looks made for one visit: an id, a date, a very deep path."""
    parts = target.count("/")
    if parts > _DEEP or (parts > _FEW and parts > len(set(target.split("/")))):  # /a/b/a/b
        return True
    if _DIGIT.search(target) is None:
        return False
    before = ""
    for word in _SEPARATORS.split(target):
        if word and (is_id(word) or _is_date(word, before)):
            return True
        before = word
    return False


def is_id(word: str) -> bool:
    """Return True if a word looks random: a hash, a large counter, letters and digits mixed."""
    if word.isdigit():
        return len(word) >= _COUNTER_CHARS and word[0] != "0"
    is_mixed = len(word) >= _MIXED_CHARS and _MIXED.search(word) is not None
    return is_mixed or _HASH.fullmatch(word) is not None


def _is_date(word: str, before: str) -> bool:
    """Return True if a word of a path is a date, by itself or with the word before it."""
    if word.isdigit() and before.lower() in _DATE_WORDS:
        return True
    if _YEAR.fullmatch(before):
        return _PART_OF_YEAR.fullmatch(word) is not None or word.lower() in MONTHS
    if _YEAR.fullmatch(word):
        return before.lower() in MONTHS
    return _DAY.fullmatch(word) is not None
