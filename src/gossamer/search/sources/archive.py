"""Pages of a crawl's archive: what the links file says of each, joined with its text.

Files are read in the order of their epochs: a URL that moved to another shard is met there later.
A text names its page, by which it is found (`PageRecords`).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from xxhash import xxh3_64_hexdigest

from gossamer.model import LinkKind, add_labels
from gossamer.report import DROPPED, dropped_of
from gossamer.search.page import IndexPage
from gossamer.search.sources.spans import ProseAndCode, split_text
from gossamer.store import (
    ArchiveName,
    BadRecord,
    CrawlFolder,
    Lengths,
    LinkRow,
    PageRecords,
    Record,
    RecordRange,
    undecodable,
)

MOST_TEXT_BYTES = 4 << 20
"""Of a text, so much is looked at."""
MOST_LINK_TEXTS = 2000
NOINDEX = "noindex"
_FORBIDDING = frozenset({NOINDEX, "none"})

PROBATION = "probation"

Standing: TypeAlias = Literal["page", "gone", "noindex", "probation", "dropped", ""]
"""What a record makes of its URL; "": nothing new."""


class HeldProbations(Struct, frozen=True):
    """Which pages that were fetched on probation are left out: those of probations that hold URLs.

    A part of a site that came to its end, or was released, or is trusted, holds none.
    """

    holding: frozenset[str] | None = None
    """Names of probations; None for all of them: the crawl runs, and none is decided."""

    @property
    def digest(self) -> str:
        """Return the same for the same probations; "" while nothing is decided."""
        if self.holding is None:
            return ""
        return xxh3_64_hexdigest("\n".join(sorted(self.holding)).encode())

    def has(self, name: str) -> bool:
        """Return True if pages of a probation are left out."""
        return bool(name) and (self.holding is None or name in self.holding)


class PageFacts(Struct, frozen=True, omit_defaults=True):
    """What the index wants to know of a links record."""

    url: str
    outcome: str
    detail: str = ""
    at: float = 0.0
    media_type: str = ""
    page: str = ""
    copy_of: str = ""
    fp: int | None = None
    title: str = ""
    headings: tuple[str, ...] = ()
    language: str = ""
    robots: tuple[str, ...] = ()
    on_probation: str = ""
    links: list[LinkRow] = []  # msgspec copies it
    spans: dict[str, list[int]] = {}  # msgspec copies it
    """Parts of the text that are hidden, ads or code."""
    label: str = ""
    notes: dict[str, Any] = {}  # msgspec copies it
    """What processors noted: captions, the sizes and hashes of images, and whatever else."""
    link_texts: frozenset[str] | None = None
    """What its links say, if all but those to images were taken out since."""

    @property
    def standing(self) -> Standing:
        """Tell what this makes of the URL: of several records of it the newest holds.

        One that failed or was refused had no page before: a page that goes is told as gone.
        """
        if self.outcome == "fetched":
            if self.on_probation:
                return "probation"
            return "page" if _FORBIDDING.isdisjoint(self.robots) else "noindex"
        if self.outcome == DROPPED:
            return "dropped"
        return "gone" if self.outcome in {"gone", "redirected"} else ""


class TextPlace(Struct, frozen=True, array_like=True, gc=False):
    """Where a text lies."""

    file: str
    offset: int


class GatheredPage(Struct, frozen=True):
    """A links record and the text of its page, if it has one."""

    facts: PageFacts
    text: str | None = None
    place: TextPlace | None = None


_decode = msgspec.json.Decoder(PageFacts).decode


def page_of(
    facts: PageFacts,
    text: str,
    anchors: Sequence[str] = (),
    late_labels: str = "",
    *,
    keep: Collection[str] = (),
) -> IndexPage:
    """Return a page as the index takes it in; `late_labels` are told by other records of it.

    `keep`: kinds of spans that count as text.
    """
    split = split_text(text, facts.spans, keep) if facts.spans else ProseAndCode(text)
    return IndexPage(
        url=facts.url,
        title=facts.title,
        headings=facts.headings,
        text=split.text,
        code=split.code,
        language=facts.language,
        media_type=facts.media_type,
        at=facts.at,
        anchors=tuple(anchors),
        link_texts=link_texts_of(facts),
        labels=add_labels(facts.label, late_labels),
    )


def link_texts_of(facts: PageFacts) -> frozenset[str]:
    """Return what the links of a page say, but for images."""
    if facts.link_texts is not None:
        return facts.link_texts
    texts = [row[2] for row in facts.links[:MOST_LINK_TEXTS] if row[1] != LinkKind.IMAGE]
    return frozenset(filter(None, texts))


def text_of(record: Record) -> str:
    """Return what a text record says."""
    return record.block[:MOST_TEXT_BYTES].decode("utf-8", "replace")


class ArchiveNews:
    """Iterate over what counts of an archive and was not read; `covered` says how far that was."""

    def __init__(
        self,
        folder: CrawlFolder,
        covered: Lengths,
        counted: Lengths,
        probations: HeldProbations,
        is_ours: Callable[[str], bool] = lambda _: True,
    ) -> None:
        """Take what to read. `is_ours`: URLs whose records say anything."""
        self._folder = folder
        self._is_ours = is_ours
        self._probations = probations
        self._counted = counted
        self.dropped = dropped_of(folder)
        """What is left out, and links to it; its texts are read: others may have the same."""
        self.covered = dict(covered)
        self.bad: list[BadRecord] = []
        """What counts and cannot be read."""

    @property
    def bytes_left(self) -> int:
        """Return how much is still to be read."""
        return sum(max(end - self.covered.get(name, 0), 0) for name, end in self._counted.items())

    def facts(self) -> Iterator[tuple[ArchiveName, PageFacts]]:
        """Yield the records alone, and the files that they are in; the texts are not read."""
        for name in self._in_order():
            for facts in self._facts_of(name):
                yield name, facts

    def __iter__(self) -> Iterator[GatheredPage]:
        for name in self._in_order():
            yield from self.with_texts(name, self._facts_of(name))

    def with_texts(self, name: ArchiveName, records: Iterable[PageFacts]) -> Iterator[GatheredPage]:
        """Yield all records of a file, in their order, with their texts."""
        texts = self._texts_of(name.sibling("text"))
        for facts in records:
            found = texts.take(facts.page) if facts.page else None
            self.covered[texts.file] = texts.reached
            if found is None:
                yield GatheredPage(facts)
            else:
                yield GatheredPage(facts, text_of(found), TextPlace(texts.file, found.offset))
        self._close(texts)

    def _in_order(self) -> list[ArchiveName]:
        names = self._folder.archive_names(kind="links")
        return sorted(names, key=lambda name: (name.epoch, name.number, name.shard))

    def _facts_of(self, name: ArchiveName) -> Iterator[PageFacts]:
        file = name.file_name
        path = self._folder.archive_path(file)
        start, end = self.covered.get(file, 0), self._counted.get(file, 0)
        stretch = RecordRange(path, start, end, self.bad)
        for record in stretch:
            self.covered[file] = record.offset + record.length
            if record.headers.get("warc-type") == "metadata":
                try:
                    facts = _decode(record.block)
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    self.bad.append(undecodable(file, record, error))
                else:
                    if self._is_ours(facts.url):
                        yield self.settled(facts)
                    else:  # its text is passed over
                        yield replace(facts, outcome="", links=[])
        self.covered[file] = max(self.covered.get(file, 0), stretch.reached)

    def settled(self, facts: PageFacts) -> PageFacts:
        """Return a record with what probations and dropped patterns make of it."""
        if facts.on_probation and not self._probations.has(facts.on_probation):
            facts = replace(facts, on_probation="")
        if self.dropped.has(facts.url):
            return replace(facts, outcome=DROPPED, links=[])
        gone = set(self.dropped.among(facts.links))
        if not gone:
            return facts
        return replace(facts, links=[row for n, row in enumerate(facts.links) if n not in gone])

    def _texts_of(self, name: ArchiveName) -> PageRecords:
        file = name.file_name
        start, end = self.covered.get(file, 0), self._counted.get(file, 0)
        path = self._folder.archive_path(file)
        return PageRecords(path, start, end, self.bad, "warc-refers-to")

    def _close(self, texts: PageRecords) -> None:
        """Texts that are left over belong to no page that counts: they are not met again."""
        if texts.is_torn:
            self.covered[texts.file] = texts.reached
        elif self._counted.get(texts.file, 0):
            self.covered[texts.file] = self._counted[texts.file]
