"""AnchorSpool: what links say, counted in memory, then on disk in parts that fit into memory."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, TypeAlias

import msgspec

from gossamer.search.sources.anchor_words import is_vouched, said
from gossamer.search.sources.archive import PageFacts
from gossamer.urls import fingerprint_of

Skip: TypeAlias = Callable[[str, str, str], bool]
"""Tells of a link, by source, target and text, whether it shall be left out."""
Row: TypeAlias = tuple[int, str, int, int]
"""Turned key of where links lead, what they say, how many of the same host and of others do."""

PARTS = 256
MOST_COUNTED = 200_000
"""Pairs of URL and text that are counted in memory: some 60 MB."""
MOST_URL_CHARS = 4096
_FOREIGN = 1 << 32
_USUAL = "a"
"""What most links are: such a one without `rel` is vouched for."""
_LENGTH_BYTES = 4
TEXT_BITS = 40
KEY_BITS = 64
_KEY_MASK = (1 << KEY_BITS) - 1

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Row]).decode


def turned(key: int) -> int:
    """Return a key with the part first that is spread evenly: the URL's, not its domain's."""
    return (key << (KEY_BITS - TEXT_BITS) | key >> TEXT_BITS) & _KEY_MASK


class AnchorSpool:
    """Takes records; gives back what links say, part by part."""

    def __init__(
        self,
        folder: Path,
        skip: Skip | None = None,
        is_ours: Callable[[str], bool] = lambda _: True,
    ) -> None:
        """Take a folder to work in, and of which URLs it shall be known what is said of them."""
        self._folder = folder
        self._skip = skip
        self._is_ours = is_ours
        self._counts: defaultdict[tuple[str, str], int] = defaultdict(int)
        self.redirects: dict[int, int] = {}
        """Where URLs lead on."""
        self.links = 0

    def add(self, facts: PageFacts) -> None:
        """Take what the links of a page say."""
        if facts.outcome == "redirected":
            self._redirect(facts.url, facts.detail)
        if facts.standing not in {"page", "noindex"} or "nofollow" in facts.robots:
            return
        url, skip, counts = facts.url, self._skip, self._counts
        own = url[: url.find("/", url.find("://") + 3) + 1]
        for target, kind, text, rel in facts.links:
            if not text or target == url:
                continue
            if (rel or kind != _USUAL) and not is_vouched(kind, rel):
                continue
            if skip is not None and skip(url, target, text):
                continue
            counts[target, text] += 1 if target.startswith(own) else _FOREIGN
        self.links += len(facts.links)
        if len(counts) >= MOST_COUNTED:
            self.flush()

    def flush(self) -> None:
        """Write down what was counted."""
        parts: list[list[Row]] = [[] for _ in range(PARTS)]
        for (target, text), count in self._counts.items():
            words = said(text, target)
            is_usual = len(target) <= MOST_URL_CHARS and "://" in target
            if words and is_usual and self._is_ours(target):
                key = turned(fingerprint_of(target))
                row = (key, words, count & (_FOREIGN - 1), count // _FOREIGN)
                parts[key * PARTS >> KEY_BITS].append(row)
        self._counts.clear()
        for number, rows in enumerate(parts):
            if rows:
                block = _encode(rows)
                with self._part(number).open("ab") as file:
                    file.write(len(block).to_bytes(_LENGTH_BYTES, "little") + block)

    def parts(self) -> Iterator[Iterator[Row]]:
        """Yield the rows of one part after the other, in the order of turned keys; once.

        Where a million links lead to one URL, they are all in one part: that is not held as a
        whole.
        """
        self.flush()
        for number in range(PARTS):
            path = self._part(number)
            if path.exists():
                with path.open("rb") as file:
                    yield _rows(file)
                path.unlink()

    def _redirect(self, url: str, target: str) -> None:
        if target.partition("://")[2] and len(target) <= MOST_URL_CHARS:
            self.redirects[turned(fingerprint_of(url))] = turned(fingerprint_of(target))

    def _part(self, number: int) -> Path:
        return self._folder / f"anchors-{number:03}"


def _rows(file: BinaryIO) -> Iterator[Row]:
    while length := file.read(_LENGTH_BYTES):
        yield from _decode(file.read(int.from_bytes(length, "little")))
