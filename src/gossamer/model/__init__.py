"""The nouns: frozen values that the rooms pass to each other. No I/O, no policy.

Neighbours: everyone. Not for: rules (those live in the room that applies them).
"""

from gossamer.model.document import Body, Document
from gossamer.model.extraction import Extraction
from gossamer.model.ledger import (
    FINAL,
    Counters,
    Standing,
    TrapNote,
    UrlRecord,
    UrlState,
    UserErrors,
    Visit,
)
from gossamer.model.link import EMBEDDED, FOLLOWED, Link, LinkKind
from gossamer.model.outcome import (
    Failed,
    FailureKind,
    Fetched,
    FetchOutcome,
    Redirected,
    RefusalKind,
    Refused,
)
from gossamer.model.plain import as_json
from gossamer.model.record import CopyOf, RevisitResult, Row, StoreRef, Turn
from gossamer.model.task import Task
from gossamer.model.url import HostKey, Url
from gossamer.model.verdict import Objection, Reject

__all__ = [
    "EMBEDDED",
    "FINAL",
    "FOLLOWED",
    "Body",
    "CopyOf",
    "Counters",
    "Document",
    "Extraction",
    "Failed",
    "FailureKind",
    "FetchOutcome",
    "Fetched",
    "HostKey",
    "Link",
    "LinkKind",
    "Objection",
    "Redirected",
    "RefusalKind",
    "Refused",
    "Reject",
    "RevisitResult",
    "Row",
    "Standing",
    "StoreRef",
    "Task",
    "TrapNote",
    "Turn",
    "Url",
    "UrlRecord",
    "UrlState",
    "UserErrors",
    "Visit",
    "as_json",
]
