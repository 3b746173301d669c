"""The files of a term-partitioned index, and what says that they are whole.

set.json       what the set is; written last, so that a reader sees a whole set or none
NNNNNN/        the files of one generation
  rows         of each page its FAST_FIELDS, 8 bytes each: key, host, sketch, moment, spam score
  facets       of each page 12 bytes: its sites, language and types, as numbers in `facet_names`
  by_key       pages in the order of their keys
  stored       pages as they are shown, each a frame of zstd; `stored_at`: from where to where
  SS/          a term shard
    hashes     of its terms, ascending; `starts`: where their lists begin in `postings`
    texts      the terms themselves, in the same order; `text_ends`: where each ends
    having     pages of each term in title or main content, the more of the two
    by_text    terms in alphabetical order
    postings   see `read_kernels`
    norms      of every page of the index, for each field: its length, in one byte
    moments    of every page of the index: when it was fetched
"""

import mmap
import os
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import numpy as np
import xxhash
from msgspec import Meta, Struct
from numpy.typing import DTypeLike, NDArray

from gossamer.durable import replace_file
from gossamer.errors import CannotGoOn, CorruptFile
from gossamer.search.fields import TEXT_FIELDS

VERSION = 3
FILE = "set.json"
UNSEALED: Final = frozenset({"postings", "stored"})
"""Large files, of which only the size is checked when they are opened; their readers trust
nothing in them."""


class TermSet(Struct, kw_only=True, frozen=True):
    """What a term-partitioned index is."""

    version: int = VERSION
    generation: int = 1
    shards: Annotated[int, Meta(ge=1)]
    pages: Annotated[int, Meta(ge=0)]
    tokens: Annotated[
        tuple[int, ...], Meta(min_length=len(TEXT_FIELDS), max_length=len(TEXT_FIELDS))
    ]
    """Words of each field of all pages."""
    languages: dict[str, int]
    placed: dict[str, int]
    """Shards of terms that are not where their hashes would put them."""
    seals: dict[str, tuple[int, int]]
    """Of each file its size and its hash."""


def shard_of(hash_: int, shards: int) -> int:
    """Return the shard to which the hash of a term belongs."""
    return (hash_ >> 32) * shards >> 32


def place_of(folder: Path, generation: int) -> Path:
    """Return where the files of a generation are."""
    return folder / f"{generation:06}"


def read_set(folder: Path) -> TermSet | None:
    """Return what a set is; None if there is none, or not one of ours."""
    path = folder / FILE
    try:
        if not path.is_file():  # a pipe would be waited for
            return None
        found = msgspec.json.decode(path.read_bytes(), type=TermSet)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    is_ours = found.version == VERSION and all(0 <= n < found.shards for n in found.placed.values())
    return found if is_ours else None


def write_set(folder: Path, made: TermSet) -> None:
    """Replace what a set is at once: a reader sees the old one or this."""
    try:
        replace_file(folder / FILE, msgspec.json.format(msgspec.json.encode(made)))
    except OSError as error:
        raise CannotGoOn(
            f"cannot write to {folder}: {error.strerror}; free some disk space"
        ) from error


def seal_of(path: Path) -> tuple[int, int]:
    """Return the size and the hash of a file, and make it durable."""
    digest = xxhash.xxh3_64()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
        os.fsync(file.fileno())
        return file.tell(), digest.intdigest()


class Opened:
    """The files of a generation as arrays; nothing is read before it is asked for."""

    def __init__(self, folder: Path, known: TermSet) -> None:
        self._folder = place_of(folder, known.generation)
        self._seals = known.seals

    def array(self, name: str, kind: DTypeLike, many: int | None = None) -> NDArray[Any]:
        """Return a file as an array of so many numbers; raise `CorruptFile` if it is not that."""
        path = self._folder / name
        try:
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                content: Any = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) if size else b""
        except (OSError, ValueError) as problem:
            raise CorruptFile(path, 0, f"it cannot be read ({problem})") from problem
        sealed_size, sealed_hash = self._seals.get(name, (-1, 0))
        if size != sealed_size:
            raise CorruptFile(path, size, f"expected {sealed_size} bytes")
        if path.name not in UNSEALED and xxhash.xxh3_64_intdigest(content) != sealed_hash:
            raise CorruptFile(path, 0, "its checksum does not match")
        if size % np.dtype(kind).itemsize:
            raise CorruptFile(path, size, "its size is not a multiple of the size of a value")
        found = np.frombuffer(content, kind)
        if many is not None and len(found) != many:
            raise CorruptFile(path, size, f"expected {many} values")
        return found

    def path(self, name: str) -> Path:
        """Return where a file is, for messages."""
        return self._folder / name
