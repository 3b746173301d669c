"""The parts of a URL map's file, and what says that they are whole.

header     64 bytes: magic, version, counts and places, checksum of itself and of all behind data
data       groups of keys in codes (see `read_kernels`)
index      words: places of groups, ends of their first keys, checksums
heads      the first key of each group, one behind the other
tables     how many strings each has (2 bytes), each string's length (1 byte), the strings, padding
"""

from pathlib import Path
from struct import Struct
from typing import NamedTuple

import xxhash

from gossamer.errors import CorruptFile

MAGIC = b"GOSSURLS"
VERSION = 1
LONGEST_KEY = 1 << 20
"""Bytes of a key; URLs are far shorter."""
_FIELDS = Struct("<8sQQQQQQ")
_CHECKSUM = Struct("<Q")
PADDING = bytes(8)
"""Ends a file, and each array of keys: eight bytes are read at a time."""
HEADER_BYTES = _FIELDS.size + _CHECKSUM.size


class Header(NamedTuple):
    """What a file holds, and where."""

    keys: int
    longest: int
    """Bytes of the longest key."""
    data_end: int
    heads_bytes: int
    tables: int

    def pack(self, checksum: int) -> bytes:
        """Return the first bytes of a file."""
        return _FIELDS.pack(MAGIC, VERSION, *self) + _CHECKSUM.pack(checksum)

    def checksum(self, rest: memoryview | bytes) -> int:
        """Return the checksum of the header and of all that follows the data."""
        seed = xxhash.xxh3_64_intdigest(_FIELDS.pack(MAGIC, VERSION, *self))
        return xxhash.xxh3_64_intdigest(rest, seed)


def read_header(path: Path, file: memoryview) -> Header:
    """Return the header of a file if all but its data is as it was written."""
    if len(file) < HEADER_BYTES:
        raise CorruptFile(path, len(file), f"expected at least {HEADER_BYTES} bytes")
    magic, version, *fields = _FIELDS.unpack_from(file)
    if (magic, version) != (MAGIC, VERSION):
        raise CorruptFile(path, 0, f"expected the header of a URL map (version {VERSION})")
    header = Header(*fields)
    if header.longest > LONGEST_KEY:
        raise CorruptFile(path, 0, f"a key of {header.longest} bytes is too long")
    (told,) = _CHECKSUM.unpack_from(file, _FIELDS.size)
    if not HEADER_BYTES <= header.data_end <= len(file) or told != header.checksum(
        file[header.data_end :]
    ):
        raise CorruptFile(path, header.data_end, "the checksum of its index does not match")
    return header
