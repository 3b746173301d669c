"""Copies that wait for the text of their original, kept between two builds. They are few."""

from pathlib import Path

import msgspec

from gossamer.durable import replace_file
from gossamer.search.sources.archive import PageFacts

FILE = "waiting"
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(dict[int, PageFacts]).decode


def read_waiting(index: Path) -> dict[int, PageFacts]:
    """Return who waits, by key; none if that cannot be read: the next full build finds them."""
    try:
        return _decode((index / FILE).read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}


def write_waiting(index: Path, waiting: dict[int, PageFacts]) -> None:
    """Keep who waits."""
    path = index / FILE
    if waiting:
        replace_file(path, _encode(waiting), is_synced=False)
    else:
        path.unlink(missing_ok=True)
