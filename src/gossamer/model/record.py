"""StoreRef, CopyOf, Turn: what is kept of a fetch, and where."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from gossamer.model.extraction import Extraction
from gossamer.model.outcome import FetchOutcome
from gossamer.model.task import Task

Row: TypeAlias = tuple[bytes, bytes | None]
"""A row that a station wants written: key and value, or None to delete the key."""


class StoreRef(Struct, frozen=True, gc=False, array_like=True):
    """Where a record lies in the archive: file name, offset and length of its gzip member."""

    file: str
    offset: int
    length: int


class CopyOf(Struct, frozen=True, gc=False, array_like=True):
    """The page whose content a document repeats: enough to write a WARC revisit record."""

    url: str
    record_id: str
    payload_digest: str
    fetched_at: float


class RevisitResult(StrEnum):
    """What a revisit of a stored page found."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    """The server said so (304), or sent the same bytes."""
    SAME_WORDS = "same_words"
    """Other bytes, but the same title, text and links: nothing is stored."""
    MISSING = "missing"
    """404 or 410 for the first time: it is asked again before that is believed."""
    GONE = "gone"
    """404 or 410, and it was so before."""
    NO_ANSWER = "no_answer"
    """The host failed, or we were not allowed to ask: nothing was learned."""


@dataclass(slots=True, kw_only=True)
class Turn:
    """One finished fetch on its way to the ledger: what happened and what follows from it."""

    task: Task
    outcome: FetchOutcome
    at: float
    """Wall-clock second at which the turn was taken."""
    found: Extraction | None = None
    fingerprint: int | None = None
    """Of the decoded content; None when there is none to compare."""
    words: int | None = None
    """Fingerprint of title, text and links; None when nothing could be read."""
    copy_of: CopyOf | None = None
    revisit: RevisitResult | None = None
    """What a revisit found; None for a first visit."""
    importance: float = 0.0
    """What the order of the crawl makes of the page; 0 if it has no opinion."""
    belief: tuple[float, ...] | None = None
    """What is believed of the page's change rate after the revisit."""
    label: str = ""
    """What the page is instead of content, such as "challenge"; "" if it is content."""
    new_tasks: list[Task] = field(default_factory=list)
    promoted: list[Task] = field(default_factory=list)
    """Queued URLs that this page has made worth more."""
    refused: dict[str, int] = field(default_factory=dict)
    """How many links of this page each filter reason refused."""
    retry_at: float | None = None
    """When the URL is tried again; None when this outcome is final."""
