"""Units: the parts of a site that are judged as one, from the smallest to the whole host. Pure.

A unit is named by the text that all its URLs begin with, the scheme left out:

    h.example/                 the host (with its port, if it has one)
    h.example/shop/            a folder, up to three levels
    h.example/shop/list?       one path with whatever query
    h.example/shop/page        files of one stem: page-1.html, page-2.html
"""

import re
from functools import lru_cache

from xxhash import xxh3_64_intdigest

from gossamer.model import Url

MAX_FOLDERS = 3
"""Deeper folders belong to the unit of the third."""
FOLDERS_KEPT = 16_384

_STEM = re.compile(r"([A-Za-z]{2,})(?=[-_.~=+]?\d|[-_~=+]\w)")
_DIGIT = re.compile(r"[0-9]")
_DIGITS = re.compile(r"\d+")
_LAST_NUMBER = re.compile(r"(\d+)\D*$")
_LONG = "january february march april may june july august september october november december"
MONTHS = frozenset((*_LONG.split(), *(name[:3] for name in _LONG.split()), "sept"))
_MARKS = re.compile(r"[^0-9A-Za-z]+")
_HASH = re.compile(r"(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{8,}", re.IGNORECASE)
_TANGLE = re.compile(r"(?:[a-z]+[0-9]+){3}|(?:[0-9]+[a-z]+){3}", re.IGNORECASE)
_TANGLE_CHARS, _COUNTER_CHARS = 10, 8
_MOMENTS = frozenset(["year", "month", "week", "day", "date", "yr", "mo", "y", "m", "d"])
_YEAR = re.compile(r"(?:1[6-9]|2[0-9])[0-9]{2}")
_PART_OF_YEAR = re.compile(r"[0-9]{1,3}|[wq][0-9]{1,2}", re.IGNORECASE)
_DAY = re.compile(r"(?:19|2[0-9])[0-9]{2}(?:0[1-9]|1[0-2])(?:[0-3][0-9])?")
_DEEP, _FEW = 7, 3


def address_of(url: Url) -> str:
    """Return a URL without its scheme: what units are prefixes of."""
    return url.text.partition("://")[2]


def units_of(url: Url) -> list[str]:
    """Return the units that a URL lies in, the smallest first, its host last."""
    address = address_of(url)
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


def shape_of(address: str) -> int:
    """Return the same number for addresses that differ in digits only."""
    return xxh3_64_intdigest(_DIGITS.sub("0", address).encode()) >> 32


def number_in(address: str) -> int | None:
    """Return the last number of an address, such as that of a page; None if there is none."""
    found = _LAST_NUMBER.search(address)
    return int(found[1][:18]) if found is not None else None


def is_moving(target: str) -> bool:
    """Tell whether a path looks made for one visit: an id, a date, a long way."""
    parts = target.count("/")
    if parts > _DEEP or (parts > _FEW and parts > len(set(target.split("/")))):  # /a/b/a/b
        return True
    if _DIGIT.search(target) is None:
        return False
    before = ""
    for word in _MARKS.split(target):
        if word and (is_id(word) or _is_date(word, before)):
            return True
        before = word
    return False


def _is_date(word: str, before: str) -> bool:
    """Tell whether a word of a path is a date, by itself or with the word before it."""
    if word.isdigit() and before.lower() in _MOMENTS:
        return True
    if _YEAR.fullmatch(before):
        return _PART_OF_YEAR.fullmatch(word) is not None or word.lower() in MONTHS
    if _YEAR.fullmatch(word):
        return before.lower() in MONTHS
    return _DAY.fullmatch(word) is not None


def is_id(word: str) -> bool:
    """Tell whether a word looks drawn by lot: a hash, a large counter, a tangle of both."""
    if word.isdigit():
        return len(word) >= _COUNTER_CHARS and word[0] != "0"
    is_tangle = len(word) >= _TANGLE_CHARS and _TANGLE.search(word) is not None
    return is_tangle or _HASH.fullmatch(word) is not None


def child_of(name: str, names: list[str]) -> str:
    """Return the next smaller unit inside a unit that a page lies in, of all its units; else ""."""
    at = names.index(name)
    return names[at - 1] if at else ""


def climb(name: str) -> str:
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


def group_of(child: str, name: str) -> str:
    """Return a unit's child if its own part of the name is a word; "" if it is a number or an id.

    A folder per word is a part of a site; a folder per session, year or number is not.
    """
    return "" if any(letter.isdigit() for letter in child[len(name) :]) else child
