"""Units: the parts of a site that are judged as one, from the smallest to the whole host. Pure.

A unit is named by the text that all its URLs begin with, the scheme left out:

    h.example/                 the host (with its port, if it has one)
    h.example/shop/            a folder, up to three levels
    h.example/shop/list?       one path with whatever query
    h.example/shop/page        files of one stem: page-1.html, page-2.html
"""

import re

from xxhash import xxh3_64_intdigest

from gossamer.model import Url

MAX_FOLDERS = 3
"""Deeper folders belong to the unit of the third."""

_STEM = re.compile(r"([A-Za-z]{2,})(?=[-_.~=+]?\d|[-_~=+]\w)")
_DIGITS = re.compile(r"\d+")
_LAST_NUMBER = re.compile(r"(\d+)\D*$")
_MOVING = re.compile(
    r"(?<![0-9a-z])(?:"
    r"(?=[0-9a-f]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{8,}"  # a hash
    r"|[1-9][0-9]{7,}"  # a counter, a moment
    r"|(?=[0-9a-z]{6})(?:[a-z]+[0-9]+[a-z]|[0-9]+[a-z]+[0-9])[0-9a-z]*"  # an id
    r"|(?:1[6-9]|2[0-9])[0-9]{2}[-/_.](?:0?[1-9]|1[0-2])"  # year and month
    r"|(?:19|2[0-9])[0-9]{2}(?:0[1-9]|1[0-2])(?:[0-3][0-9])?"
    r")(?![0-9a-z])"
    r"|(?<![a-z])(?:year|month|week|day|date|yr?|mo?|d)[=/-][0-9]",
    re.IGNORECASE,
)
_DEEP, _FEW = 7, 3


def address_of(url: Url) -> str:
    """Return a URL without its scheme: what units are prefixes of."""
    return url.text[url.origin.index(":") + 3 :] if ":" in url.origin else url.text


def home_of(url: Url) -> str:
    """Return the name of the unit that is the whole host."""
    return url.origin[url.origin.index(":") + 3 :] + "/" if ":" in url.origin else url.text


def units_of(url: Url) -> list[str]:
    """Return the units that a URL lies in, the smallest first, its host last."""
    home = home_of(url)
    path, mark, _ = address_of(url).partition("?")
    folder, _, name = path.rpartition("/")
    names = [home]
    at = len(home)
    for _ in range(MAX_FOLDERS):
        end = path.find("/", at)
        if end < 0:
            break
        at = end + 1
        names.append(path[:at])
    if mark:
        names.append(path + mark)
    elif ";" in name:
        names.append(path[: path.index(";", len(folder)) + 1])
    elif (stem := _STEM.match(name)) is not None:
        names.append(f"{folder}/{stem[1]}")
    names.reverse()
    return names


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
    if parts > _DEEP or _MOVING.search(target) is not None:
        return True
    return parts > _FEW and parts > len(set(target.split("/")))  # /a/b/a/b


def child_of(name: str, names: list[str]) -> str:
    """Return the next smaller unit inside a unit that a page lies in, of all its units; else ""."""
    at = names.index(name)
    return names[at - 1] if at else ""


def group_of(child: str, name: str) -> str:
    """Return a unit's child if its own part of the name is a word; "" if it is a number or an id.

    A folder per word is a part of a site; a folder per session, year or number is not.
    """
    return "" if any(letter.isdigit() for letter in child[len(name) :]) else child
