"""join_all: the links of one page at once.

Two short cuts in front of the full parser. Pages of a folder share most of their links, so what an
href means there is remembered. And most hrefs are plain: letters, digits and a few marks that no
step changes, perhaps steps upwards first, perhaps an origin in front; one regular expression tells,
and then joining is putting two texts together. A property test holds all ways to the same results.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from typing import TypeAlias

from xxhash import xxh3_64_intdigest

from gossamer.config import UrlConfig
from gossamer.model import Url
from gossamer.urls.canonical import SUSPECT_QUERY
from gossamer.urls.fingerprints import TEXT_BITS, TEXT_MASK, ring_of, ring_of_new
from gossamer.urls.parsing import join, parse

Place: TypeAlias = tuple[str, str, int]
"""An origin, its host, and the host's ring point in place in a fingerprint."""

HREFS_KEPT = 262_144
"""Remembered hrefs of all folders together: about 50 MB when full. A broad crawl goes back and
forth between some hundred hosts; with an eighth of it, two links in three were read anew."""
_ORIGINS_KEPT = 131_072
_SHORT_CHARS = 500

_PLAIN = re.compile(
    r"(?!//)"
    r"(?:(https?://[A-Za-z0-9.:-]{1,300})(?![^/]))?"
    r"((?:\.\./){0,40})"
    r"([A-Za-z0-9/._~!$&)*+,=@-]{0,500})"
    r"(\?[A-Za-z0-9/._~!$&()*+,;=:@?-]{0,500})?"
)
"""Origin, steps upwards, path, query. No colon, so no scheme; no escapes; nothing to encode."""

_PLAIN_ORIGIN = re.compile(r"https?://((?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,63})")
"""Small letters, no port, and a last label that is no number: the parser changes nothing here. A
crawl that knows many hosts meets a new one in every fifth link."""

_OF_FOLDER = re.compile(
    r"https?://"
    r"|(?!(?i:https?):)[A-Za-z][A-Za-z0-9+.-]*:"
    r"|[A-Za-z0-9/._~%-][^:#]*\Z"
)
"""An href that means the same on all pages of a folder: absolute, of another scheme, or a path."""


def join_all(base: str | Url, hrefs: Sequence[str], rules: UrlConfig) -> list[Url | None]:
    """Return `join` of each href with the page's base, in order.

    A base that is a Url must have been made under the same rules.
    """
    page = base if isinstance(base, Url) else _plain_page(base) or parse(base, rules)
    text = base.text if isinstance(base, Url) else base
    if page is None or page.text != text or not text.startswith(("http://", "https://")):
        return [join(text, href, rules) for href in hrefs]
    reader = _Reader(page, rules)
    known, read = reader.known, reader.read
    found = [known.get(href) or read(href) for href in hrefs]
    _memory.check()
    return found


class _Memory:
    """What hrefs mean, by folder. Forgets the older half of the folders when it is full."""

    def __init__(self) -> None:
        self._folders: dict[tuple[str, bool, bool], dict[str, Url]] = {}
        self._last: dict[str, Url] = {}
        self._last_size = 0
        self._size = 0

    def of(self, folder: str, rules: UrlConfig) -> dict[str, Url]:
        """Return the known hrefs of a folder, to be read and added to until `check`."""
        key = (folder, rules.strip_session_ids, rules.strip_tracking)
        self._last = self._folders.setdefault(key, {})
        self._last_size = len(self._last)
        return self._last

    def check(self) -> None:
        """Count what was added, and forget the older half if that is too much."""
        self._size += len(self._last) - self._last_size
        if self._size + len(self._folders) > HREFS_KEPT:
            for key in list(islice(self._folders, -(-len(self._folders) // 2))):
                self._size -= len(self._folders.pop(key))


_memory = _Memory()


class _Reader:
    """Reads hrefs on a page whose URL is canonical, so that its folders are canonical too."""

    def __init__(self, page: Url, rules: UrlConfig) -> None:
        self._page = page
        self._rules = rules
        self._home: Place = (page.origin, page.host, ring_of(page.host) << TEXT_BITS)
        path = page.text.partition("?")[0]
        folder = path[: path.rindex("/") + 1]
        self._heads = {"": folder, "/": page.origin}
        self.known = _memory.of(folder, rules)

    def read(self, href: str) -> Url | None:
        """Return an href joined to the page, and remember it if it is plain."""
        plain = _PLAIN.fullmatch(href)
        if plain is None or not href or href[0] == "?":
            return self._read_odd(href)
        origin, steps, path, query = plain.groups()
        place = self._home
        if origin is None:
            way = steps or ("/" if path[0] == "/" else "")
            text = (self._heads.get(way) or self._climb(way)) + path
        else:
            place = _place(origin)
            text = place[0] + (path or "/")
        if query is not None and query != "?":
            text += query
        if not place[1] or "/." in text or (query and SUSPECT_QUERY.search(query.lower())):
            return self._ask_parser(href)
        key = place[2] | (xxh3_64_intdigest(text.encode()) & TEXT_MASK)
        url = self.known[href] = Url(text, place[1], place[0], key)
        return url

    def _read_odd(self, href: str) -> Url | None:
        """Return an href joined that is not plain, or is so only without its fragment."""
        if not href:
            return self._page
        if "#" in href and href.isascii() and len(href) < _SHORT_CHARS:
            bare = href[: href.index("#")]
            if bare[-1:] > " " or not bare:
                return self.known.get(bare) or self.read(bare)
        return self._ask_parser(href)

    def _climb(self, steps: str) -> str:
        """Return the folder that some ../ lead to: the root if they lead too far."""
        origin = self._home[0]
        names = self._heads[""][len(origin) :].split("/")[:-1]
        kept = names[: max(len(names) - len(steps) // len("../"), 1)]
        self._heads[steps] = f"{origin}{'/'.join(kept)}/"
        return self._heads[steps]

    def _ask_parser(self, href: str) -> Url | None:
        """Return what the full parser makes of an href."""
        url = join(self._page.text, href, self._rules)
        if url is not None and len(href) < _SHORT_CHARS and _OF_FOLDER.match(href):
            self.known[href] = url
        return url


def _plain_page(base: str) -> Url | None:
    """Return the Url of a page if one look tells that its text is canonical."""
    plain = _PLAIN.fullmatch(base)
    if plain is None or not plain[1] or not plain[3] or plain[4] or "/." in base:
        return None
    origin, host, ring_bits = _place(plain[1])
    if origin != plain[1]:
        return None
    return Url(base, host, origin, ring_bits | (xxh3_64_intdigest(base.encode()) & TEXT_MASK))


@lru_cache(maxsize=_ORIGINS_KEPT)
def _place(origin: str) -> Place:
    """Return the place that an origin means, as someone wrote it; without host if it is none."""
    plain = _PLAIN_ORIGIN.fullmatch(origin)
    if plain is not None and "xn--" not in origin:
        return origin, plain[1], ring_of_new(plain[1]) << TEXT_BITS
    url = parse(origin + "/", UrlConfig())
    return ("", "", 0) if url is None else (url.origin, url.host, ring_of(url.host) << TEXT_BITS)
