"""StoreRef, CopyOf, Turn: what is kept of a fetch, and where."""

from dataclasses import dataclass, field
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
    copy_of: CopyOf | None = None
    label: str = ""
    """What the page is instead of content, such as "challenge"; "" if it is content."""
    new_tasks: list[Task] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)
    """How many links of this page each filter reason refused."""
    retry_at: float | None = None
    """When the URL is tried again; None when this outcome is final."""
