"""Manifest: what a crawl's graph was built from, and how. Written last: without it, nothing is.

It seals the files: a graph in which a bit was turned would give other answers, and seem sound.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
import xxhash
from msgspec import Struct
from msgspec.structs import replace

from gossamer.durable import replace_file, sync_files
from gossamer.errors import CorruptFile
from gossamer.graph.bv import Coding

Choice: TypeAlias = Literal["keep", "follow"]

FILE = "manifest.json"
FORMAT = 2
"""A graph of format 1, without seals, is built anew."""
CHECKED_BYTES = 256 << 20
"""A graph of up to so many bytes is read whole when it is opened: that takes no time."""
_READ_BYTES = 1 << 20


class Seal(Struct, frozen=True, forbid_unknown_fields=True):
    """What a file was when it was written."""

    bytes: int
    xxh3: str


class Manifest(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What the files of a graph's folder are. A key with a flipped bit is not ours."""

    format: int = FORMAT
    generation: int = 1
    """Goes up whenever all nodes are numbered anew."""
    redirects: Choice = "keep"
    canonical: Choice = "keep"
    coding: Coding = Coding()
    nodes: int = 0
    arcs: int = 0
    pages: int = 0
    """Nodes whose links are known."""
    covered: dict[str, int] = {}
    """How many bytes of each links file are in it, delta included."""
    delta: int = 0
    """Number of the delta that lies on top; 0 if there is none."""
    delta_pages: int = 0
    delta_arcs: int = 0
    files: dict[str, Seal] = {}
    """The files of the graph and of its delta, by name."""
    own: str = ""
    """The hash of all this."""


def read_manifest(folder: Path) -> Manifest | None:
    """Return what a folder holds; None if it is not a whole graph of this format."""
    try:
        found = msgspec.json.decode((folder / FILE).read_bytes(), type=Manifest)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return found if found.format == FORMAT and found.own == _own(found) else None


def write_manifest(folder: Path, manifest: Manifest) -> Manifest:
    """Put a manifest into its place at once, after all files that it speaks of are on the disk.

    Return it with its hash.
    """
    sync_files(folder)
    whole = replace(manifest, own=_own(manifest))
    replace_file(folder / FILE, msgspec.json.format(msgspec.json.encode(whole)) + b"\n")
    return whole


def sealed(folder: Path, names: Iterable[str]) -> dict[str, Seal]:
    """Return the seals of some files of a folder."""
    return {
        name: Seal((folder / name).stat().st_size, _hash(folder / name)) for name in sorted(names)
    }


def check_files(folder: Path, manifest: Manifest, most_bytes: int | None = CHECKED_BYTES) -> None:
    """Raise `CorruptFile` unless the files of a graph are those that were written.

    Files of more than `most_bytes` in all are only measured; None: they are read, too.
    """
    for name, seal in manifest.files.items():
        try:
            found = (folder / name).stat().st_size
        except FileNotFoundError:
            raise CorruptFile(folder / name, 0, "it is missing") from None
        if found != seal.bytes:
            told = f"expected {seal.bytes} bytes, found {found}"
            raise CorruptFile(folder / name, min(found, seal.bytes), told)
    total = sum(seal.bytes for seal in manifest.files.values())
    if most_bytes is not None and total > most_bytes:
        return
    for name, seal in manifest.files.items():
        if _hash(folder / name) != seal.xxh3:
            told = "it is not what was written (by its hash)"
            raise CorruptFile(folder / name, 0, told)


def _own(manifest: Manifest) -> str:
    return xxhash.xxh3_64_hexdigest(msgspec.json.encode(replace(manifest, own="")))


def _hash(path: Path) -> str:
    found = xxhash.xxh3_64()
    with path.open("rb", buffering=0) as file:
        while part := file.read(_READ_BYTES):
            found.update(part)
    return found.hexdigest()
