"""Rules on record: what the archive says that the crawl drops, and no longer."""

import msgspec
from msgspec import Struct, field

from gossamer.store.entry import RULES_START


class RulesRecord(Struct, kw_only=True, frozen=True):
    """What the crawl drops from here on, and no longer; as a `LinksRecord` it is of no URL."""

    url: str = ""
    outcome: str = "rules"
    at: float = 0.0
    dropped: list[str] = field(default_factory=list)
    """Patterns: what they name is not fetched, and left out of all that is made of the archive."""
    undone: list[str] = field(default_factory=list)
    """Patterns that are no longer dropped."""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(RulesRecord).decode


def encode_rules(rules: RulesRecord) -> bytes:
    """Return what is dropped from here on as JSON."""
    return _encode(rules)


def decode_rules(block: bytes) -> RulesRecord | None:
    """Return what a block says is dropped; None if it is of something else."""
    return _decode(block) if block.startswith(RULES_START) else None
