"""What `gossamer check` finds."""

from typing import Literal, TypeAlias

from msgspec import Struct

FindingKind: TypeAlias = Literal[
    "bad_record",
    "bad_set",
    "bad_length",
    "missing_file",
    "unknown_file",
    "tail",
    "bad_cdxj",
    "bad_reference",
    "unknown_page",
    "old_state",
    "bad_state",
    "bad_seen",
    "bad_near",
    "bad_config",
    "bad_shard_map",
    "bad_graph",
    "bad_index",
    "bad_tables",
]
"""What is wrong."""

Remedy: TypeAlias = Literal["state", "near", "cdxj", "graph", "index", "tables", "backup"]
"""What is built again to mend it; a backup: nothing that is here can mend it."""


class CheckFinding(Struct, frozen=True, kw_only=True):
    """Something that is not as it was written, or does not fit the rest."""

    kind: FindingKind
    file: str
    """The file, as seen from the crawl's folder."""
    byte: int = 0
    """Where in the file."""
    url: str = ""
    """The URL that is concerned, if it is known."""
    found: str
    """What was found."""
    remedy: Remedy

    def line(self) -> str:
        """Return all this in one line."""
        what = f" ({self.url})" if self.url else ""
        return f"{self.file}, byte {self.byte}{what}: {self.found}"


class CheckedFolder(Struct, frozen=True, kw_only=True):
    """What was found in a crawl's folder, and how much of it was read."""

    findings: tuple[CheckFinding, ...]
    files: int
    records: int
    pages: int
    """Page records among them that are sound."""
    dated_back: int
    """Of these, those that were stored after the clock had been set back."""
    bytes_read: int
    bytes_all: int
    """Of the archive, as far as it counts."""
    is_running: bool


class CheckScope(Struct, frozen=True, kw_only=True):
    """How much of a crawl is checked."""

    is_quick: bool = False
    """Lengths, manifests and indexes only."""
    sample: int = 0
    """So many records of each archive file, drawn at random; 0: all."""
