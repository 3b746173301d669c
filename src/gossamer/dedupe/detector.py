"""Copies: pages that have, or say, what another page had first. Rows and parcels out.

ContentSeen: a fingerprint of each content, and the page that had it first.

CopyDetector: one shard's part in near-duplicate detection. The set of sketches is shared out by
band, not by host: a sketch goes to every shard that owns one of its 12 band keys. Whoever finds two
alike sends the label to the shard that owns the copy's host, which keeps it. A shard alone is all
of them at once, and sends nothing.

Labels: which page says what an older one says, and how surely. What index and people read.

    n + URL key                                  CopyLabel
    Nt + host (4 bytes) + title hash (8 bytes)   keys of the pages that have the title, 21 at most
    Nv + URL key                                 the moment at which a page changed or went
    Nr + original's key + copy's key             nothing: who is labelled with a page

A label lies in the state of the shard that owns the page's host, beside its URL record.

A title that more than 20 pages of a host have says nothing of a page ("Home", the site's name): two
such pages count as having different titles, those included that were judged before it was known.
A page that has changed, or is gone, is no longer anybody's original: labels that name it go.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import xxhash
from msgspec import Struct, field, msgpack
from msgspec.structs import replace
from numpy.typing import NDArray

from gossamer.dedupe.kernels.bands import COPY, LABEL
from gossamer.dedupe.kernels.sketching import BINS, Words
from gossamer.dedupe.near import NearSet
from gossamer.dedupe.sketch import Level, PageText, Sketcher, Sketches, moment_of
from gossamer.model import CopyOf, Document, Extraction, Row, Url, pages_of

LABEL_ROW = b"n"
TITLE_ROW, CHANGED_ROW, COPY_ROW = b"Nt", b"Nv", b"Nr"
MOST_PAGES_PER_TITLE = 20
MOST_HOPS = 16
"""Steps from copy to original that are followed: a later find may have made that a copy too."""
_KEY_BYTES = 8
_HALF = 32


class CopyLabel(Struct, frozen=True, gc=False, array_like=True):
    """What a page is to an older one."""

    level: Level
    original: int
    """URL key of the original: for a similar page, the oldest one that it is near to."""
    bins: int = BINS
    """Bins of 64 that are equal."""
    at: int = 0
    """Microsecond at which the page was fetched: a later version has another label."""
    original_at: int = 0
    host: int = 0
    """32 bits of the host's hash."""
    title: int = 0
    """Hash of the title; 0 if there is none."""

    def is_better_than(self, other: "CopyLabel") -> bool:
        """Return True if this label counts, not the other: of a later version, or stronger."""
        mine = (self.at, self.level, -self.original_at, -self.original)
        return mine > (other.at, other.level, -other.original_at, -other.original)


_encode = msgpack.Encoder().encode
_decode_label = msgpack.Decoder(CopyLabel).decode


def label_key(key: int) -> bytes:
    """Return the key of a page's label."""
    return LABEL_ROW + key.to_bytes(8, "big")


def encode_label(label: CopyLabel) -> bytes:
    """Return the value of a label's row."""
    return _encode(label)


def decode_label(value: bytes) -> CopyLabel:
    """Return the label that a value holds."""
    return _decode_label(value)


def read_labels(rows: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[int, CopyLabel]]:
    """Yield URL key and label of the rows with prefix `n`."""
    for key, value in rows:
        yield int.from_bytes(key[len(LABEL_ROW) :], "big"), _decode_label(value)


def copy_row_key(original: int, copy: int) -> bytes:
    """Return the key of the row that finds a copy by its original."""
    return COPY_ROW + original.to_bytes(_KEY_BYTES, "big") + copy.to_bytes(_KEY_BYTES, "big")


def root_of(key: int, find: Callable[[int], CopyLabel | None]) -> int:
    """Return the original of a page, followed until one is nobody's copy itself."""
    for _ in range(MOST_HOPS):
        label = find(key)
        if label is None or label.level < Level.DUPLICATE:
            return key
        key = label.original
    return key


class LabelRows(Protocol):
    """What is needed of the state."""

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of rows, None for those that do not exist."""

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows whose keys begin with a prefix."""


class LabelUpdates:
    """What changes with the next commit: labels, titles, and pages that changed or went."""

    def __init__(self, rows: LabelRows) -> None:
        self._rows = rows
        self._titles: dict[bytes, bytes] = {}
        self._labels: dict[int, CopyLabel | None] = {}
        self._copies: dict[bytes, bytes | None] = {}
        self.changed_at: dict[int, int] = {}
        """Pages that have changed or gone, and when."""
        self.counts: dict[str, int] = {}
        """How the number of labels of each level has changed."""
        self.changed_labels: dict[int, Level] = {}

    def mark_changed(self, key: int, at: int) -> None:
        """Drop the label of a page's earlier version, and the labels that name that as original."""
        self.changed_at[key] = max(at, self.changed_at.get(key, 0))
        old = self.label(key)
        if old is not None and old.at < at:
            self._set(key, None)
        named = COPY_ROW + key.to_bytes(_KEY_BYTES, "big")
        for row, _ in list(self._rows.scan(named)):
            copy = int.from_bytes(row[len(named) :], "big")
            label = self.label(copy)
            if label is not None and label.original == key and label.original_at < at:
                self._set(copy, None)

    def outdated(self, keys: Sequence[int], moments: Sequence[int]) -> list[bool]:
        """Return for each page, as it was at some moment, True if it has changed since."""
        names = [CHANGED_ROW + key.to_bytes(_KEY_BYTES, "big") for key in keys]
        since = [int.from_bytes(value or b"", "big") for value in self._rows.get_many(names)]
        return [
            at < max(changed_at, self.changed_at.get(key, 0))
            for key, at, changed_at in zip(keys, moments, since, strict=True)
        ]

    def add_titles(self, records: Words) -> None:
        """Add the titles of pages; a title that is common by now downgrades the labels it made."""
        rows = records[records[:, 10] != 0]
        names = [_title_key(host, title) for host, title in _hosts_and_titles(rows)]
        self._read_titles(names)
        for name, key in zip(names, rows[:, 12].tolist(), strict=True):
            value = self._titles[name]
            packed = key.to_bytes(_KEY_BYTES, "big")
            if _is_common(value) or packed in _split(value):
                continue
            value += packed
            self._titles[name] = value
            if _is_common(value):
                self._downgrade(int.from_bytes(one, "big") for one in _split(value))

    def _read_titles(self, names: Iterable[bytes]) -> None:
        missing = [name for name in dict.fromkeys(names) if name not in self._titles]
        for name, value in zip(missing, self._rows.get_many(missing), strict=True):
            self._titles[name] = value or b""

    def _downgrade(self, keys: Iterable[int]) -> None:
        for key in keys:
            label = self.label(key)
            if label is not None and label.level is Level.DUPLICATE:
                self._set(key, replace(label, level=Level.SIMILAR))

    def add_labels(self, found: Words) -> None:
        """Add labels, as `NearSet.label_and_add` returns them; the better one of two counts."""
        labels = [(row[0], _label(row)) for row in found.tolist()]
        self._read_titles(_title_key(label.host, label.title) for _, label in labels if label.title)
        for key, label in labels:
            name = _title_key(label.host, label.title)
            if label.level is Level.DUPLICATE and _is_common(self._titles.get(name, b"")):
                label = replace(label, level=Level.SIMILAR)  # noqa: PLW2901 -- what it is worth here
            self.put(key, label)

    def put(self, key: int, label: CopyLabel) -> None:
        """Give a page a label, unless it has a better one."""
        old = self.label(key)
        if old is None or label.is_better_than(old):
            self._set(key, label)

    def label(self, key: int) -> CopyLabel | None:
        """Return a page's label."""
        if key not in self._labels:
            value = self._rows.get_many([label_key(key)])[0]
            self._labels[key] = None if value is None else decode_label(value)
        return self._labels[key]

    def _set(self, key: int, label: CopyLabel | None) -> None:
        old = self.label(key)
        for one, change in ((old, -1), (label, 1)):
            if one is not None:
                name = one.level.name.lower()
                self.counts[name] = self.counts.get(name, 0) + change
                self._copies[copy_row_key(one.original, key)] = b"" if change > 0 else None
        self._labels[key] = label
        self.changed_labels[key] = Level.DIFFERENT if label is None else label.level

    def rows(self) -> list[Row]:
        """Return the rows to commit; this object is of no use afterwards."""
        rows: list[Row] = []
        for key in self.changed_labels:
            label = self._labels[key]
            rows.append((label_key(key), None if label is None else encode_label(label)))
        rows += [(name, value) for name, value in self._titles.items() if value]
        rows += self._copies.items()
        rows += [
            (CHANGED_ROW + key.to_bytes(_KEY_BYTES, "big"), at.to_bytes(_KEY_BYTES, "big"))
            for key, at in self.changed_at.items()
        ]
        return rows


def _label(row: Sequence[int]) -> CopyLabel:
    """Return the label that six words hold."""
    _, original, at, packed, title, original_at = row
    return CopyLabel(
        level=Level(packed & 255),
        original=original,
        bins=packed >> 8 & 255,
        at=at,
        original_at=original_at,
        host=packed >> _HALF,
        title=title,
    )


def _hosts_and_titles(records: Words) -> Iterable[tuple[int, int]]:
    hosts = (records[:, 11] >> np.uint64(_HALF)).tolist()
    return zip(hosts, records[:, 10].tolist(), strict=True)


def _title_key(host: int, title: int) -> bytes:
    return TITLE_ROW + host.to_bytes(4, "big") + title.to_bytes(8, "big")


def _split(value: bytes) -> list[bytes]:
    return [value[at : at + _KEY_BYTES] for at in range(0, len(value), _KEY_BYTES)]


def _is_common(value: bytes) -> bool:
    return len(value) > MOST_PAGES_PER_TITLE * _KEY_BYTES


CONTENT = b"x"
"""Prefix of a row: fingerprint → the page that had this content first."""

_TEXT = (1 << 40) - 1
"""The bits of a key behind its ring point."""

_decode = msgpack.Decoder(CopyOf).decode


def content_fingerprint(document: Document) -> int | None:
    """Return the fingerprint of what the author wrote; None if there is nothing whole to compare.

    It is taken of the decoded body, so one page sent with two codings is one content.
    """
    if document.truncated or not document.body.sent_bytes:
        return None
    return body_fingerprint(document.body.decoded())


def body_fingerprint(decoded: bytes) -> int | None:
    """Return the fingerprint of a whole body without its codings; None if there is nothing."""
    return xxhash.xxh3_64_intdigest(decoded) if decoded else None


def coded_fingerprint(fingerprint: int, payload_digest: str) -> int:
    """Return the fingerprint of a content as it was sent: in a coding other than the first page's.

    A revisit record stands for the bytes as sent, so that each coding has a first page of its own.
    """
    said = fingerprint.to_bytes(8, "big") + payload_digest.encode("ascii", "replace")
    return xxhash.xxh3_64_intdigest(said)


def answer_fingerprint(url: Url, status: int, sent: bytes) -> int:
    """Return the fingerprint of an answer that is no content: a redirect, an error, a part.

    It is that of one URL: such answers are no copies of each other. It begins with the ring point
    of the URL, so that the shard that owns the one owns the other.
    """
    said = xxhash.xxh3_64_intdigest(f"{status} {url.text}\n".encode("utf-8", "replace") + sent)
    return (url.key & ~_TEXT) | (said & _TEXT)


def words_fingerprint(found: Extraction) -> int | None:
    """Return a fingerprint of title, text and the pages linked; None if nothing was read.

    Markup that is new at every serving (a nonce, a comment, the version of a script) leaves it as
    it is. A number that a reader sees does not.
    """
    targets = pages_of(found.links)
    if not found.text and not found.title and not targets:
        return None
    hashed = xxhash.xxh3_64(f"{found.title}\n".encode("utf-8", "surrogatepass"))
    hashed.update(found.text.encode("utf-8", "surrogatepass"))  # by itself: it keeps its UTF-8
    hashed.update(targets)
    return hashed.intdigest()


class ContentSeen:
    """The first page of each content, by fingerprint. Rows in and rows out, like every station.

    `read_row` reads committed rows; what `rows_to_commit` gave out must be readable there before
    the next question.
    """

    def __init__(self, read_row: Callable[[bytes], bytes | None]) -> None:
        self._read_row = read_row
        self._pending: dict[int, CopyOf | None] = {}

    def first_copy(self, fingerprint: int | None) -> CopyOf | None:
        """Return the page that had this content first, those of the open commit group included."""
        if fingerprint is None:
            return None
        if fingerprint in self._pending:
            return self._pending[fingerprint]
        value = self._read_row(_row_key(fingerprint))
        return None if value is None else _decode(value)

    def ask(self, fingerprint: int | None) -> CopyOf | None:
        """Return the page that had this content first; if there is none, the asker stores it."""
        return self.first_copy(fingerprint)

    def poll(self) -> None:
        """Do nothing: no other shard is asked."""

    def release(self, fingerprint: int | None) -> None:
        """Be told that the turn of a page is over that was to store a content."""

    def remember(self, fingerprint: int, original: CopyOf) -> None:
        """Make a page the first of its content; it replaces any page known before."""
        self._pending[fingerprint] = original

    def forget(self, fingerprint: int, url: str) -> None:
        """Drop a content whose first page changed or went; not if another page was first."""
        first = self.first_copy(fingerprint)
        if first is not None and first.url == url:
            self._pending[fingerprint] = None

    @property
    def uncommitted(self) -> int:
        """Return how many rows the next commit has."""
        return len(self._pending)

    def rows_to_commit(self) -> list[Row]:
        """Return what was remembered or forgotten since the last call."""
        rows: list[Row] = [
            (_row_key(fingerprint), None if original is None else _encode(original))
            for fingerprint, original in self._pending.items()
        ]
        self._pending.clear()
        return rows


def content_rows(rows: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[int, CopyOf]]:
    """Give the fingerprint and the first page of each row with the prefix `CONTENT`."""
    for key, value in rows:
        yield int.from_bytes(key[len(CONTENT) :], "big"), _decode(value)


def _row_key(fingerprint: int) -> bytes:
    return CONTENT + fingerprint.to_bytes(8, "big")


NEAR_ROWS = b"N"
"""Prefix of all rows of this room but the labels."""
SKETCHES, LABELS, CHANGES = b"S", b"L", b"R"
"""First byte of a parcel: what it holds."""
_POINT_SHIFT = 40


class ExactCopy(Struct, frozen=True, gc=False):
    """A page that repeats another byte for byte: nothing is to be sketched."""

    key: int
    at: float
    original: int
    is_again: bool = False


class GonePage(Struct, frozen=True, gc=False):
    """A page that no longer exists."""

    key: int
    at: float


Parcel: TypeAlias = tuple[int, bytes]
"""The number of another shard, and what to send there."""

CopyItem: TypeAlias = PageText | ExactCopy | GonePage


class CopyChanges(Struct):
    """What follows from some pages and parcels: to be committed together."""

    rows: list[Row] = field(default_factory=list)
    parcels: list[Parcel] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    """How the number of labels of each level has changed."""
    changed: dict[int, Level] = field(default_factory=dict)
    """Pages of ours, by key, whose label has changed."""


class SketchShare(NamedTuple):
    """Which sketches and labels a shard keeps, and which others do, by ranges of the ring."""

    shard: int = 0
    ranges: tuple[tuple[int, int], ...] = ((0, 0),)
    """The first point of each range, and the shard that it belongs to."""


class CopyDetector:
    """Labels pages that repeat older ones. One thread at a time may use it."""

    def __init__(self, rows: LabelRows, near: NearSet, seed: int, share: SketchShare) -> None:
        self._rows = rows
        self._near = near
        self._sketcher = Sketcher(seed)
        self._shard = share.shard
        self._firsts = np.array([first for first, _ in share.ranges], np.uint64)
        self._owner_of = np.array([shard for _, shard in share.ranges], np.uint64)
        """By range of the ring."""
        self._others = sorted({shard for _, shard in share.ranges} - {share.shard})
        self._has_changes = any(True for _ in rows.scan(CHANGED_ROW))

    @property
    def pages(self) -> int:
        """Return how many sketches are held here."""
        return self._near.pages

    def judge(self, items: Sequence[CopyItem], parcels: Sequence[bytes] = ()) -> CopyChanges:
        """Compare pages of ours, and what other shards have sent, with all that came before."""
        labels = LabelUpdates(self._rows)
        out = self._mark_changed(items, parcels, labels)
        sketches = self._sketched([item for item in items if isinstance(item, PageText)], labels)
        found = [
            _exact_labels([item for item in items if isinstance(item, ExactCopy)]),
            self._label_and_add(sketches, labels),
        ]
        for kind, content in ((one[:1], one[1:]) for one in parcels):
            if kind == SKETCHES:
                found.append(self._label_and_add(Sketches.unpacked(content), labels))
            elif kind == LABELS:
                found.append(np.frombuffer(content, np.uint64).reshape(-1, LABEL))
        out += self._keep_ours(np.concatenate(found), labels)
        out += self._for_others(sketches)
        rows = [*self._near.rows_to_commit(), *labels.rows()]
        return CopyChanges(rows, out, labels.counts, labels.changed_labels)

    def _mark_changed(
        self, items: Sequence[CopyItem], parcels: Sequence[bytes], labels: LabelUpdates
    ) -> list[Parcel]:
        """Drop the labels of pages that changed or went, here and on all shards."""
        ours = [
            (item.key, moment_of(item.at))
            for item in items
            if isinstance(item, GonePage) or item.is_again
        ]
        out: list[Parcel] = []
        if ours:
            parcel = CHANGES + np.array(ours, np.uint64).tobytes()
            out = [(shard, parcel) for shard in self._others]
        for one in parcels:
            if one[:1] == CHANGES:
                pairs = np.frombuffer(one[1:], np.uint64).reshape(-1, 2).tolist()
                ours += [(key, at) for key, at in pairs]
        self._has_changes |= bool(ours)
        for key, at in ours:
            labels.mark_changed(key, at)
        return out

    def _label_and_add(self, sketches: Sketches, labels: LabelUpdates) -> Words:
        def outdated(records: Words) -> NDArray[np.bool_]:
            moments = (records[:, 13] & ~COPY).tolist()
            return np.array(labels.outdated(records[:, 12].tolist(), moments), np.bool_)

        return self._near.label_and_add(
            self._ours(sketches), outdated if self._has_changes else None
        )

    def _sketched(self, pages: Sequence[PageText], labels: LabelUpdates) -> Sketches:
        """Return the sketches of the pages that have words, and note their titles."""
        sketches = self._sketcher.sketches(pages)
        has_words = (sketches.records[:, 11] & np.uint64(0xFFFFFFFF)) != 0
        sketches = sketches.only(np.flatnonzero(has_words))
        labels.add_titles(sketches.records)
        return sketches

    def _ours(self, sketches: Sketches) -> Sketches:
        """Return sketches with the bands only that this shard owns."""
        if not self._others:
            return sketches
        bands = np.where(self._owners(sketches.bands) == self._shard, sketches.bands, np.uint64(0))
        has_any = np.flatnonzero(bands.any(axis=1))
        return Sketches(sketches.records[has_any], np.ascontiguousarray(bands[has_any]))

    def _owners(self, keys: Words) -> Words:
        """Return the shard that owns each band key, or each URL key: its first bits are a point."""
        points = keys >> np.uint64(_POINT_SHIFT)
        return self._owner_of[np.searchsorted(self._firsts, points, side="right") - 1]

    def _keep_ours(self, found: Words, labels: LabelUpdates) -> list[Parcel]:
        """Keep the labels of our own pages; return the others, for their owners."""
        owners = self._owners(found[:, 0])
        labels.add_labels(found[owners == self._shard])
        return [
            (shard, LABELS + found[owners == shard].tobytes())
            for shard in set(owners.tolist()) - {self._shard}
        ]

    def _for_others(self, sketches: Sketches) -> list[Parcel]:
        """Return the sketches of our pages for every other shard that owns one of their bands."""
        if not self._others or not len(sketches):
            return []
        owners = self._owners(sketches.bands)
        out: list[Parcel] = []
        for shard in self._others:
            theirs = np.flatnonzero((owners == shard).any(axis=1))
            if len(theirs):
                out.append((shard, SKETCHES + sketches.only(theirs).packed()))
        return out


def _exact_labels(copies: Sequence[ExactCopy]) -> Words:
    """Return the labels of pages that are known to repeat others."""
    packed = Level.EXACT | BINS << 8
    rows = [(copy.key, copy.original, moment_of(copy.at), packed, 0, 0) for copy in copies]
    return np.array(rows, np.uint64).reshape(-1, LABEL)


def open_copy_detector(
    rows: LabelRows, folder: Path, seed: int, share: SketchShare, *, is_synced: bool = True
) -> CopyDetector:
    """Return the detector of a shard as of its committed rows."""
    near = NearSet.open(folder, rows.scan(NEAR_ROWS), is_synced=is_synced)
    return CopyDetector(rows, near, seed, share)
