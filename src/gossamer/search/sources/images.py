"""Images that pages show, and those that were stored: gathered by URL, in bounded memory.

An image is one document, whoever shows it: with the alternative text that most pages give it, and
the page that says most of it.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gossamer.model import LinkKind
from gossamer.search.page import ImageFacts
from gossamer.search.sources.anchor_spool import KEY_BITS, PARTS, turned
from gossamer.search.sources.anchor_words import said
from gossamer.search.sources.archive import PageFacts
from gossamer.urls import fingerprint_of

MOST_SHOWN = 100
"""Images of a page that are looked at."""
MOST_GATHERED = 50_000
"""Images that are held in memory: some 40 MB."""
MOST_URL_CHARS = 2048
MOST_ALTS, KEPT_ALTS = 16, 4
_TITLE_CHARS, _CAPTION_CHARS, _TEXT_CHARS = 200, 300, 1000
NOIMAGEINDEX = "noimageindex"
_IMAGE = LinkKind.IMAGE.value
_DIGITS = re.compile(r"\d+")
_HEX = re.compile(r"[0-9a-f]{16}")
_MOST_SIDE = 1 << 20
_LENGTH_BYTES = 4


class StoredImage(Struct, frozen=True, array_like=True):
    """What is known of an image that was fetched."""

    media_type: str
    at: float
    width: int = 0
    height: int = 0
    bytes: int = 0
    hash: int = 0
    text: str = ""
    """What stands in it, if it is a drawing."""


class GatheredImage(Struct, frozen=True, array_like=True):
    """An image, as far as it was met."""

    url: str
    alts: dict[str, int] = {}  # msgspec copies it
    """Alternative texts, and how many pages have each."""
    caption: str = ""
    page: str = ""
    page_title: str = ""
    language: str = ""
    label: str = ""
    at: float = 0.0
    pages: int = 0
    stored: StoredImage | None = None

    @property
    def best_alts(self) -> list[str]:
        """Return the alternative texts, that of most pages first, of several the longest."""
        return sorted(self.alts, key=lambda alt: (-self.alts[alt], -len(alt), alt))

    @property
    def facts(self) -> ImageFacts:
        """Return what is shown of it."""
        alt, *others = [*self.best_alts, ""][: 1 + KEPT_ALTS]
        stored = self.stored or StoredImage("", 0.0)
        return ImageFacts(
            page=self.page,
            page_title=self.page_title,
            alt=alt,
            caption=self.caption,
            other_alts=tuple(filter(None, others)),
            pages=self.pages,
            width=stored.width,
            height=stored.height,
            bytes=stored.bytes,
            hash=stored.hash,
            is_stored=self.stored is not None,
            labels=self.label,
        )


def images_of(facts: PageFacts) -> Iterator[GatheredImage]:
    """Yield the images that a page shows, each once; none if it asks robots not to index them.

    Icons of the browser's window are left out, and so are further sizes of an image (srcset).
    """
    rows = [row for row in facts.links if row[1] == _IMAGE]
    if not rows or NOIMAGEINDEX in facts.robots:
        return
    captions = _captions(facts.notes)
    met: set[str] = set()
    last = ("", "")
    title = facts.title[:_TITLE_CHARS]
    for url, _, alt, rel in rows[:MOST_SHOWN]:
        if url in met or "icon" in rel or not is_kept(url):
            continue
        met.add(url)
        words = ""
        if alt:
            if alt == last[0] and _DIGITS.sub("", url) == _DIGITS.sub("", last[1]):
                continue
            words = _said(alt, url)
        last = (alt, url)
        yield GatheredImage(
            url,
            {words: 1} if words else {},
            captions.get(url, "")[:_CAPTION_CHARS],
            facts.url,
            title,
            facts.language,
            facts.label,
            facts.at,
            1,
        )


_said = lru_cache(maxsize=4096)(said)
"""Most images of a site are on many of its pages."""


def is_kept(url: str) -> bool:
    """Return True if an image can be shown again: it has a web address of usual length."""
    return url.startswith(("http://", "https://")) and len(url) <= MOST_URL_CHARS


def is_image(facts: PageFacts) -> bool:
    """Return True if a record is of a stored image."""
    return facts.media_type.startswith("image/")


def stored_image(facts: PageFacts, text: str = "", anchors: Iterable[str] = ()) -> GatheredImage:
    """Return a stored image; `anchors` is what links say that lead to it."""
    notes = facts.notes
    found = notes.get("dct_hash")
    is_hash = isinstance(found, str) and _HEX.fullmatch(found)
    return GatheredImage(
        facts.url,
        {words: 1 for text in anchors if (words := said(text, facts.url))},
        language=facts.language,
        label=facts.label,
        stored=StoredImage(
            facts.media_type,
            facts.at,
            _count(notes.get("width"), _MOST_SIDE),
            _count(notes.get("height"), _MOST_SIDE),
            _count(notes.get("bytes"), 1 << 40),
            int(found, 16) if is_hash and isinstance(found, str) else 0,
            " ".join(text[: 4 * _TEXT_CHARS].split())[:_TEXT_CHARS],
        ),
    )


def merged(one: GatheredImage, other: GatheredImage, *, is_sum: bool) -> GatheredImage:
    """Return what two say of an image together, in whichever order.

    `is_sum`: they are of different pages. Else a page may be in both, and nothing counts twice.
    """
    alts = dict(one.alts)
    for alt, count in other.alts.items():
        before = alts.get(alt, 0)
        if alt in alts or len(alts) < MOST_ALTS:
            alts[alt] = before + count if is_sum else max(before, count)
    best = min(one, other, key=_page_order)
    newest = max(one.stored, other.stored, key=_newest)
    return GatheredImage(
        one.url,
        alts,
        best.caption,
        best.page,
        best.page_title,
        best.language,
        best.label,
        best.at,
        one.pages + other.pages if is_sum else max(one.pages, other.pages),
        newest,
    )


def _page_order(image: GatheredImage) -> tuple[bool, bool, bool, int, str]:
    """Return by what a page goes before others: what it says of the image, then a short URL."""
    return not image.page, not image.caption, not image.alts, len(image.page), image.page


def _newest(stored: StoredImage | None) -> tuple[bool, float, int, int]:
    if stored is None:
        return False, 0.0, 0, 0
    return True, stored.at, stored.hash, stored.bytes


def _captions(notes: dict[str, object]) -> dict[str, str]:
    """Return what was noted of captions, unless a processor of the user's noted something else."""
    found = notes.get("captions")
    if not isinstance(found, dict):
        return {}
    return {url: said for url, said in found.items() if isinstance(said, str)}


def _count(value: object, most: int) -> int:
    return value if type(value) is int and 0 <= value <= most else 0


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[GatheredImage]).decode


class _Tally:
    """What many pages say of an image, counted without a value for each of them."""

    def __init__(self, image: GatheredImage) -> None:
        self._best, self._order = image, _page_order(image)
        self._alts = dict(image.alts)
        self._pages = image.pages
        self._stored = image.stored

    def add(self, image: GatheredImage) -> None:
        """Take what another page says of it."""
        order = _page_order(image)
        if order < self._order:
            self._best, self._order = image, order
        alts = self._alts
        for alt, count in image.alts.items():
            if alt in alts or len(alts) < MOST_ALTS:
                alts[alt] = alts.get(alt, 0) + count
        self._pages += image.pages
        if image.stored is not None:
            self._stored = max(self._stored, image.stored, key=_newest)

    def image(self) -> GatheredImage:
        """Return all that was said of it."""
        return replace(self._best, alts=self._alts, pages=self._pages, stored=self._stored)


class ImageSpool:
    """Takes images page by page; gives each back once. What memory does not hold is on disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[str, _Tally] = {}
        self._is_spilt = False

    def add(self, image: GatheredImage) -> None:
        """Take an image that a page shows, or that was stored."""
        before = self._held.get(image.url)
        if before is not None:
            before.add(image)
            return
        self._held[image.url] = _Tally(image)
        if len(self._held) >= MOST_GATHERED:
            self._spill()

    def images(self) -> Iterator[GatheredImage]:
        """Yield all images, each once, in an order that depends on nothing but their URLs."""
        if not self._is_spilt:
            yield from _in_order(self._held)
            return
        self._spill()
        for number in range(PARTS):
            path = self._part(number)
            if not path.exists():
                continue
            together: dict[str, _Tally] = {}
            with path.open("rb") as file:
                for image in _rows(file):
                    before = together.get(image.url)
                    if before is None:
                        together[image.url] = _Tally(image)
                    else:
                        before.add(image)
            path.unlink()
            yield from _in_order(together)

    def _spill(self) -> None:
        parts: dict[int, list[GatheredImage]] = {}
        for image in (tally.image() for tally in self._held.values()):
            parts.setdefault(_turned(image.url) * PARTS >> KEY_BITS, []).append(image)
        for number, images in parts.items():
            block = _encode(images)
            with self._part(number).open("ab") as file:
                file.write(len(block).to_bytes(_LENGTH_BYTES, "little") + block)
        self._held = {}
        self._is_spilt = True

    def _part(self, number: int) -> Path:
        return self._folder / f"images-{number:03}"


def _turned(url: str) -> int:
    return turned(fingerprint_of(url))


def _in_order(tallies: dict[str, _Tally]) -> list[GatheredImage]:
    images = (tally.image() for tally in tallies.values())
    return sorted(images, key=lambda image: (_turned(image.url), image.url))


def _rows(file: BinaryIO) -> Iterator[GatheredImage]:
    while length := file.read(_LENGTH_BYTES):
        yield from _decode(file.read(int.from_bytes(length, "little")))
