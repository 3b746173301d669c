"""The seal: what belongs together in an object store. Whoever has it knows what is whole."""

from pathlib import Path
from typing import Annotated

import msgspec
import xxhash
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from gossamer.errors import CannotGoOn
from gossamer.search.manifest import Manifest

SEAL = "seal.json"
FILES = "files/"
RANKS = "ranks/"
ShardName = Annotated[str, Meta(pattern=r"^(low-|images-)?[0-9]{2,4}\Z")]
FileName = Annotated[
    str, Meta(pattern=r"^(low-|images-)?[0-9]{2,4}/[0-9a-f]{32}\.([0-9]{1,20}\.)?[a-z]{2,12}\Z")
]
"""Names become paths: nothing else may be one."""
_CHUNK_BYTES = 1024 * 1024


class SealedFile(Struct, frozen=True, array_like=True):
    """A file that never changes."""

    size: Annotated[int, Meta(ge=0)]
    digest: str


class Seal(Struct, frozen=True, kw_only=True):
    """An index at one moment."""

    version: int = 1
    manifest: Manifest
    metas: dict[ShardName, str]
    """The engine's list of its files, of each shard."""
    files: dict[FileName, SealedFile]
    ranks: SealedFile | UnsetType = UNSET
    """Of its pages, if they have any."""
    digest: str = ""
    """Of everything else."""


def sealed(seal: Seal) -> bytes:
    """Return a seal as it is written."""
    return msgspec.json.encode(replace(seal, digest=_digest(seal)))


def read_seal(content: bytes, place: str) -> Seal:
    """Return a seal that was read; raise if it is not what was written."""
    try:
        seal = msgspec.json.decode(content, type=Seal)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CannotGoOn(f"{place}/{SEAL} is damaged: {error}; publish the index again") from error
    if seal.digest != _digest(seal):
        raise CannotGoOn(f"{place}/{SEAL} is damaged; publish the index again")
    return seal


def digest_of(path: Path) -> str:
    """Return the digest of a file."""
    found = xxhash.xxh3_128()
    with path.open("rb") as file:
        while piece := file.read(_CHUNK_BYTES):
            found.update(piece)
    return found.hexdigest()


def _digest(seal: Seal) -> str:
    return xxhash.xxh3_128_hexdigest(msgspec.json.encode(replace(seal, digest="")))
