"""Many references joined to one page by a kernel; the full parser is asked for what it leaves.

The kernel knows origins as pages write them, once the parser has read one of them. A table of
origins is bounded: when it is full a new one is begun.
"""

import re
from array import array
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

from gossamer.config import UrlConfig
from gossamer.model import Url
from gossamer.native import FREE, Kernel, MappedBytes, MappedWords, Native
from gossamer.urls import joining_kernels as kernels
from gossamer.urls.canonical import TEXT_BITS, join, parse, read_origin, ring_of

MOST_REFERENCES: Final = 60_000
"""Of one page."""
MOST_ORIGINS: Final = 16_384
"""Kept at a time."""
_COLUMN: Final = kernels.COLUMN
_SLOTS: Final = 4 * MOST_ORIGINS
_TARGET_BYTES: Final = 8 * 1024 * 1024
_NAME_BYTES: Final = 700 * MOST_ORIGINS
_ORIGIN_CHARS: Final = 300
_SIGN: Final = 1 << 63
_ALL_BITS: Final = (1 << 64) - 1
FEW: Final = 8
"""So many references are joined one by one."""
_WRITTEN: Final = re.compile(r"https?://[A-Za-z0-9.:-]{1,300}(?![^/])")
_SECRET: Final = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
"""That of XXH3."""
_SUSPECTS: Final = (
    *("jsessionid", "phpsessid", "sessionid", "session_id", "sessid", "aspsessionid", "cfid"),
    *("cftoken", "sid", "utm_", "mtm_", "hsa_", "gclid", "dclid", "fbclid", "yclid", "twclid"),
    *("ttclid", "msclkid", "gclsrc", "gbraid", "wbraid", "mc_", "igshid", "igsh", "li_fat_id"),
    *("_ga", "_gl", "_hsenc", "_hsmi", "hsctatracking", "mkt_tok", "vero_id", "oly_", "wickedid"),
    *("srsltid", "rb_clickid", "gad_"),
)
"""How parameters begin that may name a visit (`canonical.SUSPECT_QUERY`)."""
_SIGNATURES: Final = {
    "join_references": "B[0]I[2*c]nnB[0]I[5]"
    f"B[{256 + kernels.SUSPECTS}]B[192]I[{kernels.ORIGIN}*k+{kernels.ORIGIN}]B[0]nB*[m]n"
    f"I*[{_COLUMN}*c]I*[c]I*[16]"
}


_loaded: list[Native] = []


def load_joining(*, is_only_loaded: bool = False) -> Native:
    """Return the kernel; raise `NotCompiled` if it is not to be compiled and never was."""
    if not _loaded:
        _loaded.append(Native((kernels,), _SIGNATURES, is_only_loaded=is_only_loaded))
    return _loaded[0]


@cache
def _letters() -> bytes:
    """Return what each byte may be a part of, and how suspect parameters begin."""
    found = bytearray(256 + kernels.SUSPECTS)
    letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    for bit, members in (
        (kernels.IN_PATH, letters + b"/._~!$&()*+,=@-'"),
        (kernels.IN_QUERY, letters + b"/._~!$&()*+,;=:@?-"),
        (kernels.IN_AUTHORITY, letters + b".:-"),
        (kernels.IS_HEX, b"0123456789ABCDEF"),
        (kernels.IS_UNRESERVED, letters + b"-._~"),
    ):
        for letter in members:
            found[letter] |= bit
    for name in _SUSPECTS:
        found[kernels.suspect_place(*name.encode()[:3])] = 1
    return bytes(found)


class OriginTable:
    """Origins as pages write them, for the kernel; origins by number for everybody else."""

    def __init__(self) -> None:
        self.slots = MappedWords(kernels.ORIGIN * _SLOTS)
        self.names = MappedBytes(_NAME_BYTES)
        self.places: list[tuple[str, str]] = []
        """Origin and host, by number."""
        self._numbers: dict[str, int] = {}
        self._written: set[str] = set()
        self._end = 0

    def close(self) -> None:
        """Give the memory back; the numbers stay."""
        self.slots.close()
        self.names.close()

    def __contains__(self, written: str) -> bool:
        return written in self._written

    @property
    def is_full(self) -> bool:
        """Return True if another table is to be begun."""
        return len(self.places) >= MOST_ORIGINS or len(self._written) >= MOST_ORIGINS

    def number_of(self, origin: str, host: str) -> int:
        """Return the number of an origin."""
        number = self._numbers.get(origin)
        if number is None:
            number = self._numbers[origin] = len(self.places)
            self.places.append((origin, host))
        return number

    def learn(self, href: str, url: Url) -> None:
        """Have the kernel know the origin of a reference, of which the parser has made a URL."""
        match = _WRITTEN.match(href)
        if match is None or match[0] in self._written or self.is_full:
            return
        origin, host, ring = read_origin(url.origin)
        if len(origin) > _ORIGIN_CHARS or not host or not origin.startswith("http"):
            return
        self._written.add(match[0])
        self._put(match[0].encode(), origin.encode(), self.number_of(origin, host), ring)

    def _put(self, written: bytes, origin: bytes, number: int, ring: int) -> None:
        h = kernels.hash_of(written, 0, len(written))
        place = (h ^ (h >> 15)) & (_SLOTS - 1)
        rows = self.slots.view
        for _ in range(kernels.MOST_TRIES):
            at = place * kernels.ORIGIN
            if not rows[at + 4]:
                start, middle = self._end, self._end + len(written)
                self._end = middle + len(origin)
                self.names.view[start : self._end] = written + origin
                row = (h, number, signed(ring), start, len(written), middle, len(origin))
                rows[at : at + kernels.ORIGIN] = array("q", row)
                return
            place = (place + 1) & (_SLOTS - 1)


def signed(key: int) -> int:
    """Return the signed word with the bits of a key."""
    return key - 2 * _SIGN if key >= _SIGN else key


class Joiner:
    """Joins the references of one page at a time, and holds what came of them until the next."""

    def __init__(self) -> None:
        self.columns = MappedWords(kernels.COLUMN * MOST_REFERENCES)
        self.targets = MappedBytes(_TARGET_BYTES)
        self.size = 0
        """Of the targets' texts."""
        self._left = MappedWords(MOST_REFERENCES)
        self._out = MappedWords(16)
        self._origins = OriginTable()
        self._kernel: Kernel | None = None

    def _bound(self) -> Kernel:
        """Return the kernel as it works with these arrays."""
        table, columns = self._origins, self.columns
        given = (
            *(FREE, FREE, FREE, FREE, FREE, FREE, _letters(), _SECRET, table.slots, table.names),
            *(_SLOTS - 1, self.targets, self.targets.room, columns, self._left, self._out),
        )
        return load_joining().bound("join_references", given)

    def close(self) -> None:
        """Give the memory back."""
        for one in (self.columns, self.targets, self._left, self._out):
            one.close()
        self._origins.close()

    @property
    def places(self) -> list[tuple[str, str]]:
        """Return origin and host, by the numbers of origins in the columns."""
        return self._origins.places

    def join(
        self,
        base: Url,
        hrefs: MappedBytes | bytes,
        references: "MappedWords | array[int]",
        count: int,
        stride: int,
    ) -> list[tuple[int, int, int]] | None:
        """Join references to a base in canonical form.

        Return those that are left to the parser: the place of each, its offset and its length
        without fragment; `put` takes what `ask` has made of it. None if there are too many, or the
        base is none of the web.
        """
        if count > MOST_REFERENCES or not base.text.startswith(("http://", "https://")):
            return None
        if self._origins.is_full:
            self._origins.close()
            self._origins, self._kernel = OriginTable(), None
        text = base.text.encode()
        path = len(text.partition(b"?")[0])
        folder = text.rindex(b"/", 0, path) + 1
        home = self._origins.number_of(base.origin, base.host)
        ring = signed(ring_of(base.host) << TEXT_BITS)
        if self._kernel is None:
            self._kernel = self._bound()
        about = array("q", (path, folder, len(base.origin), home, ring)).tobytes()
        left = self._kernel(hrefs, references, count, stride, text, about)
        self.size = self._out.view[0]
        rows = self.columns.view
        places = self._left.view[:left].tolist()
        return [(at, rows[at * _COLUMN], rows[at * _COLUMN + 1]) for at in places]

    def ask(self, base: Url, href: str, rules: UrlConfig) -> Url | None:
        """Return what the full parser makes of a reference; learn its origin."""
        url = join(base.text, href, rules)
        if url is not None and href[:4] == "http":
            self._origins.learn(href, url)
        return url

    def learn_from(self, base: Url, hrefs: Iterable[str], rules: UrlConfig) -> bool:
        """Learn the origins of references that were left; True if it pays to join them anew.

        The parser is asked about the first reference to each origin only.
        """
        asked: set[str] = set()
        repeated = 0
        for href in hrefs:
            if (match := _WRITTEN.match(href)) is None:
                continue
            if match[0] in asked:
                repeated += match[0] in self._origins
            elif match[0] not in self._origins:
                asked.add(match[0])
                self.ask(base, href, rules)
        return repeated >= FEW

    def join_all(
        self, base: Url, hrefs: Sequence[str], rules: UrlConfig
    ) -> list[Url | None] | None:
        """Return what each href means on a page; None if they are to be joined one by one."""
        rows, letters = array("q"), bytearray()
        for href in hrefs:
            written = href.encode("utf-8", "surrogatepass")
            rows.extend((len(letters), len(written)))
            letters += written
        text = bytes(letters)
        left = self.join(base, text, rows, len(hrefs), 2)
        if left is None:
            return None
        again = len(left) > FEW and self.learn_from(base, (hrefs[at] for at, *_ in left), rules)
        left = (self.join(base, text, rows, len(hrefs), 2) or []) if again else left
        columns = iter(self.columns.view[: _COLUMN * len(hrefs)].tolist())
        targets, places = self.targets.view[: self.size].decode(), self.places
        found: list[Url | None] = []
        for at, size, key, number, state in zip(*[columns] * _COLUMN, strict=True):
            if state == kernels.JOINED:
                origin, host = places[number]
                found.append(Url(targets[at : at + size], host, origin, key & _ALL_BITS))
            else:
                found.append(base if state == kernels.NONE else None)
        for place, _, _ in left:
            found[place] = self.ask(base, hrefs[place], rules)
        return found

    def put(self, place: int, url: Url | None) -> bool:
        """Take what the parser has made of a reference; False if there is no room for it."""
        row = place * _COLUMN
        if url is None:
            self.columns.view[row + 4] = kernels.NONE
            return True
        text = url.text.encode()
        end = self.size + len(text)
        if end > self.targets.room:
            return False
        self.targets.view[self.size : end] = text
        number = self._origins.number_of(url.origin, url.host)
        values = (self.size, len(text), signed(url.key), number, kernels.JOINED)
        self.columns.view[row : row + _COLUMN] = array("q", values)
        self.size = end
        return True


_spare: list[Joiner] = []
"""As many as ever joined at a time."""


def join_all(base: str | Url, hrefs: Sequence[str], rules: UrlConfig) -> list[Url | None]:
    """Return `join` of each href with the page's base, in order.

    A base that is a Url must have been made under the same rules.
    """
    text = base if isinstance(base, str) else base.text
    if len(hrefs) <= FEW or not _loaded:
        return [join(text, href, rules) for href in hrefs]
    page = parse(text, rules) if isinstance(base, str) else base
    if page is None or page.text != text:
        return [join(text, href, rules) for href in hrefs]
    joiner = _spare.pop() if _spare else Joiner()
    try:
        found = joiner.join_all(page, hrefs, rules)
    finally:
        _spare.append(joiner)
    return [join(text, href, rules) for href in hrefs] if found is None else found
