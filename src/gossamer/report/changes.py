"""Changes: which pages are new, changed, gone or back, as the archive has them, each once.

The links archive says what became of every URL at every visit that left something. Read in the
order of writing, with what is known of each URL before, it gives the changes; the texts of the two
editions of a page are then found by the ids of their records. The state is not asked: what was
committed to the archive is enough, whatever the number of shards, starts and kills.
"""

import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple, TypeAlias
from uuid import UUID

import msgspec
from msgspec import Struct, field

from gossamer.errors import CorruptFile
from gossamer.model import SITEMAP_TYPES, FailureKind, StoreRef
from gossamer.process import selected_lines
from gossamer.report.history import MAX_DIFF_LINES
from gossamer.store import (
    ArchiveName,
    BadRecord,
    CrawlFolder,
    Lengths,
    Record,
    RecordRange,
    RecordSeeker,
    StoredPage,
    links_in,
    read_page,
    readable_records,
)

ChangeKind: TypeAlias = Literal["new", "changed", "gone", "back"]
CHANGE_KINDS: tuple[ChangeKind, ...] = ("new", "changed", "gone", "back")
_STORED, _MOVED, _GONE = 1, 2, 3
_ABSENT = frozenset({FailureKind.NOT_FOUND.value, FailureKind.GONE.value})
_KNOWN = struct.Struct(">BQQd16s")
_NO_PAGE = bytes(16)
_UUID = "<urn:uuid:"


class PageChange(Struct, frozen=True, kw_only=True):
    """A page that is new, has changed, is gone, or is back."""

    url: str
    at: float
    """When it was noticed, in seconds since 1970."""
    kind: ChangeKind
    similarity: float | None = None
    """Share of the words that both texts have: 1.0 is the same. None for `new` and `gone`."""
    added: int | None = None
    """Lines of text that were added. None for `new` and `gone`."""
    removed: int | None = None
    """Lines of text that were removed. None for `new` and `gone`."""
    title: str = ""
    detail: str = ""
    """Where it redirects to now, or how its server says that it is gone; "" otherwise."""
    before_at: float | None = None
    """When the content was stored that it is compared with; None for `new`."""
    lines: list[str] = field(default_factory=list)
    """What was removed (-) and added (+), in the order of the page."""


class _Outcome(Struct, frozen=True, gc=False):
    """Of a record of the links archive, what is needed here."""

    url: str = ""
    outcome: str = ""
    reason: str = ""
    detail: str = ""
    at: float = 0.0
    media_type: str = ""
    page: str = ""
    fp: int | None = None
    words: int | None = None
    title: str = ""


class _Endings(Struct, frozen=True):
    """Outcomes that were recorded together."""

    records: list[_Outcome] = field(default_factory=list)


_decode = msgspec.json.Decoder(_Outcome).decode
_decode_endings = msgspec.json.Decoder(_Endings).decode


class Transition(NamedTuple):
    """A change of which no text was read yet."""

    kind: ChangeKind
    url: str
    at: float
    title: str
    detail: str
    page: str
    """Id of the record with the content it has now; "" if it has none."""
    before: str
    """Id of the record with the content that it had; "" for a page that is new."""
    before_at: float | None


class _Known(NamedTuple):
    """What is known of a URL that was stored."""

    state: int
    words: int
    fingerprint: int
    at: float
    page: bytes


class ChangeHistory:
    """What was known of each stored URL, after some of the archive; 200 bytes each.

    URLs are kept as 64-bit hashes.
    """

    def __init__(self, folder: CrawlFolder) -> None:
        self._folder = folder
        self._known: dict[int, bytes] = {}
        self.covered: Lengths = {}
        """How far each links file was read."""

    def advance(self, until: Mapping[str, int]) -> Iterator[Transition]:
        """Read the links archive up to some lengths; yield the changes on the way."""
        for name in self._in_order(until):
            start = self.covered.get(name, 0)
            bad: list[BadRecord] = []
            path = self._folder.archive_path(name)
            records = RecordRange(path, start, until[name], bad) if path.exists() else ()
            for record in records:
                for outcome in _outcomes_in(record):
                    if (change := self._take(outcome)) is not None:
                        yield change
            self.covered[name] = max(start, until[name])

    def pass_over(self, until: Mapping[str, int]) -> None:
        """Read the links archive up to some lengths, for what is known after it."""
        for _ in self.advance(until):
            pass

    def _in_order(self, until: Mapping[str, int]) -> list[str]:
        """Return the links files that have something new, in the order in which they were opened.

        A URL belongs to one shard during a start, and may belong to another in the next one.
        """
        found = []
        for name in until:
            parsed = ArchiveName.parse(name)
            if (
                parsed is not None
                and parsed.kind == "links"
                and until[name] > self.covered.get(name, 0)
            ):
                found.append((self._opened_at(name), parsed.epoch, parsed.number, name))
        return [name for *_, name in sorted(found)]

    def _opened_at(self, name: str) -> str:
        path = self._folder.archive_path(name)
        first = next(readable_records(path), None) if path.exists() else None
        return first.headers.get("warc-date", "") if first is not None else ""

    def _take(self, outcome: _Outcome) -> Transition | None:
        """Take in what became of a URL; return the change, if it is one."""
        key = hash(outcome.url)
        packed = self._known.get(key)
        old = _Known(*_KNOWN.unpack(packed)) if packed is not None else None
        state = _state_after(outcome)
        if state is None or (old is None and state != _STORED):
            return None
        kind = _kind_of(old, state, outcome)
        self._known[key] = _KNOWN.pack(*_known_after(old, state, outcome))
        if kind is None:
            return None
        detail = {_MOVED: f"redirects to {outcome.detail}", _GONE: outcome.reason}.get(state, "")
        return Transition(
            kind=kind,
            url=outcome.url,
            at=outcome.at,
            title=outcome.title,
            detail=detail,
            page=outcome.page if state == _STORED else "",
            before=_id_of(old.page) if old is not None else "",
            before_at=old.at if old is not None else None,
        )


def _outcomes_in(record: Record) -> list[_Outcome]:
    if record.headers.get("warc-type") != "metadata":
        return []
    try:
        outcome = _decode(record.block)
        return _decode_endings(record.block).records if outcome.outcome == "endings" else [outcome]
    except (msgspec.DecodeError, UnicodeDecodeError):
        return []


def _state_after(outcome: _Outcome) -> int | None:
    """Return how a URL stands after an outcome; None if that says nothing of a page."""
    match outcome.outcome:
        case "fetched":
            return None if outcome.media_type in SITEMAP_TYPES else _STORED
        case "redirected":
            return _MOVED
        case "gone":
            return _GONE
        case "failed" if outcome.reason in _ABSENT:
            return _GONE
        case _:
            return None


def _kind_of(old: _Known | None, state: int, outcome: _Outcome) -> ChangeKind | None:
    """Return which change it is from what was known to what came; None if it is none."""
    if old is None:
        return "new"
    if state == _GONE:
        return "gone" if old.state != _GONE else None
    if old.state == _GONE:
        return "back"
    if old.state != state:
        return "changed"
    words, fingerprint = outcome.words or 0, outcome.fp or 0
    is_same = (words and words == old.words) or (fingerprint and fingerprint == old.fingerprint)
    return None if is_same else "changed"


def _known_after(old: _Known | None, state: int, outcome: _Outcome) -> _Known:
    if state == _GONE and old is not None:
        return old._replace(state=_GONE)
    page = _packed_id(outcome.page) if state == _STORED else old.page if old else _NO_PAGE
    return _Known(state, outcome.words or 0, outcome.fp or 0, outcome.at, page)


def _packed_id(page: str) -> bytes:
    try:
        return UUID(page.removeprefix(_UUID).removesuffix(">")).bytes
    except ValueError:
        return _NO_PAGE


def _id_of(packed: bytes) -> str:
    return f"{_UUID}{UUID(bytes=packed)}>" if packed != _NO_PAGE else ""


class EditionTexts:
    """The texts of stored pages, by the ids of their records; of chosen elements if asked for."""

    def __init__(self, folder: CrawlFolder, selector: str = "") -> None:
        self._folder = folder
        self._selector = selector
        self._seeker = RecordSeeker(folder)

    def lines(self, page: str) -> list[str] | None:
        """Return the lines of a page, its title first; None if it lacks what is selected."""
        if not page:
            return None if self._selector else []
        if self._selector:
            return self._selected(page)
        title = self.title(page)
        found = [line.strip() for line in self._text(page).splitlines()]
        lines = [line for line in found if line]
        return lines if not title or title in lines else [title, *lines]

    def links(self, page: str) -> list[str]:
        """Return where a page links to."""
        found = self._seeker.find("links", page) if page else None
        record = links_in(found[1]) if found is not None else None
        return [link[0] for link in record.links] if record is not None else []

    def title(self, page: str) -> str:
        """Return the title of a page."""
        found = self._seeker.find("links", page) if page else None
        record = links_in(found[1]) if found is not None else None
        return " ".join(record.title.split()) if record is not None else ""

    def _text(self, page: str) -> str:
        found = self._seeker.find("text", page)
        if found is None and (original := self._original(page)):
            found = self._seeker.find("text", original)
        return found[1].block.decode("utf-8", "replace") if found is not None else ""

    def _original(self, page: str) -> str:
        """Return the id of the record that has the payload of a revisit record; "" if none has."""
        found = self._seeker.find("pages", page)
        if found is None or found[1].headers.get("warc-type") != "revisit":
            return ""
        return found[1].headers.get("warc-refers-to", "")

    def _selected(self, page: str) -> list[str] | None:
        stored = self._stored(page)
        if stored is None:
            return None
        said = stored.header("content-type") or stored.warc_headers.get("content-type", "")
        media_type, _, rest = said.partition(";")
        _, _, charset = rest.lower().partition("charset=")
        kind = media_type.strip().lower()
        named = charset.partition(";")[0].strip().strip("\"'")
        return selected_lines(stored.decoded(), kind or "text/html", named, self._selector)

    def _stored(self, page: str) -> StoredPage | None:
        place = self._place(page)
        try:
            return read_page(self._folder, place, lambda _, of: self._place(of)) if place else None
        except CorruptFile:
            return None

    def _place(self, page: str) -> StoreRef | None:
        found = self._seeker.find("pages", page)
        if found is None:
            return None
        return StoreRef(found[0].file_name, found[1].offset, found[1].length)


def described(
    change: Transition, texts: EditionTexts, *, selector: str = "", has_lines: bool = True
) -> PageChange | None:
    """Return a change with what differs in its texts; None if it is not in what is selected."""
    plain = PageChange(
        url=change.url,
        at=change.at,
        kind=change.kind,
        title=change.title if change.kind != "gone" else texts.title(change.before),
        detail=change.detail,
        before_at=change.before_at,
    )
    if change.kind in {"new", "gone"} and not selector:
        return plain
    after = texts.lines(change.page)
    before = texts.lines(change.before)
    if selector and before is None and after is None:
        return None
    if change.kind in {"new", "gone"}:
        return plain
    if selector and change.kind == "changed" and before == after:
        return None
    old, new = before or [], after or []
    lines = changed_lines(old, new)
    if not lines and not selector and change.page:
        lines = _changed_links(texts.links(change.before), texts.links(change.page))
        added, removed = 0, 0
    else:
        added = sum(line.startswith("+") for line in lines)
        removed = len(lines) - added
    return msgspec.structs.replace(
        plain,
        similarity=round(similarity(old, new), 4),
        added=added,
        removed=removed,
        lines=lines if has_lines else [],
    )


def changed_lines(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Return the lines that were removed (-) and added (+), in the order of the page.

    Texts that differ in very many lines are not aligned: that would take minutes.
    """
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    if len(old) + len(new) > MAX_DIFF_LINES:
        return [*(f"-{line}" for line in old), *(f"+{line}" for line in new)]
    lines: list[str] = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new).get_opcodes():
        if tag != "equal":
            lines += [f"-{line}" for line in old[a:b]]
            lines += [f"+{line}" for line in new[c:d]]
    return lines


def _changed_links(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Return the links that were removed and added: of a page whose text stayed as it was."""
    gone, come = dict.fromkeys(old), dict.fromkeys(new)
    return [
        *(f"-link to {link}" for link in gone if link not in come),
        *(f"+link to {link}" for link in come if link not in gone),
    ]


def similarity(old: Sequence[str], new: Sequence[str]) -> float:
    """Return the share of words that two texts have in common, wherever they stand (Dice)."""
    before = Counter(word for line in old for word in line.split())
    after = Counter(word for line in new for word in line.split())
    total = before.total() + after.total()
    return 2.0 * (before & after).total() / total if total else 1.0


def change_rows(
    folder: CrawlFolder, start: Mapping[str, int], end: Mapping[str, int]
) -> Iterator[PageChange]:
    """Yield the changes between two commits, as lengths of the links files; without their lines.

    All that was committed before `start` is read, too: it says what was known then. Who asks again
    and again keeps a `ChangeHistory`.
    """
    history, texts = ChangeHistory(folder), EditionTexts(folder)
    history.pass_over(start)
    for change in history.advance(end):
        if (row := described(change, texts, has_lines=False)) is not None:
            yield row
