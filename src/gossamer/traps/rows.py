"""The rows of traps: how units and what they hold back lie in the state. Pure.

    t + ring + hash of the unit + u           Unit, while it is on trial or closed
    t + ring + hash of the unit + p + URL key  a task that is held back

All begin with the ring, so that they move with their domain when a crawl is split anew.
"""

from collections.abc import Iterator

import msgspec
from xxhash import xxh3_64_intdigest

from gossamer.model import Task
from gossamer.traps.evidence.unit import Unit, Way
from gossamer.urls import ring_of

TRAPS = b"t"
UNIT, PEN = b"u", b"p"
_RING_BYTES = 3

_Held = tuple[Task, Way, bool]

_encoder = msgspec.msgpack.Encoder()
_unit_decoder = msgspec.msgpack.Decoder(Unit)
_held_decoder = msgspec.msgpack.Decoder(_Held)


def ring_of_unit(name: str) -> int:
    """Return the ring point of a unit's host, or of a domain's."""
    return ring_of(host_of_unit(name))


def host_of_unit(name: str) -> str:
    """Return the host in a unit's name; of a domain's unit, the domain."""
    authority = name.removeprefix("*.").partition("/")[0]
    if authority.endswith("]"):
        return authority
    return authority.rpartition(":")[0] if ":" in authority else authority


def _key(ring: int, name: str) -> bytes:
    digest = xxh3_64_intdigest(name.encode())
    return TRAPS + ring.to_bytes(_RING_BYTES, "big") + digest.to_bytes(8, "big")


def unit_key(ring: int, name: str) -> bytes:
    """Return the key of a unit's row."""
    return _key(ring, name) + UNIT


def pen_prefix(ring: int, name: str) -> bytes:
    """Return what the keys of a unit's held tasks begin with."""
    return _key(ring, name) + PEN


def pen_key(ring: int, name: str, url_key: int) -> bytes:
    """Return the key of a held task."""
    return pen_prefix(ring, name) + url_key.to_bytes(8, "big")


def is_unit(key: bytes) -> bool:
    """Tell whether a row of traps is a unit, not a held task."""
    return key[12:] == UNIT


def encode_unit(unit: Unit) -> bytes:
    """Return a unit's row."""
    return _encoder.encode(unit)


def read_units(rows: Iterator[tuple[bytes, bytes]]) -> Iterator[Unit]:
    """Give the units among the rows of traps."""
    for key, value in rows:
        if is_unit(key):
            yield _unit_decoder.decode(value)


def decode_unit(value: bytes) -> Unit:
    """Return the unit that a row holds."""
    return _unit_decoder.decode(value)


def pack_held(task: Task, way: Way, *, is_new: bool) -> bytes:
    """Return the row of a held task, the way in its trial that led to it, and whether it is new."""
    return _encoder.encode((task, way, is_new))


def unpack_held(value: bytes) -> tuple[Task, Way, bool]:
    """Return what `pack_held` has put into a row."""
    task, way, is_new = _held_decoder.decode(value)
    return task, way, is_new
