"""GraphManifest: what a crawl's graph was built from, and how. Written last: without it, no graph.

It seals the files: a graph in which a bit was turned would give other answers, and seem sound.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import UNSET, Struct, UnsetType

from gossamer.durable import replace_file, sync_files
from gossamer.graph.bv import Coding
from gossamer.store import FileSeal, check_seal, own_hash, seal_of, with_own_hash

Choice: TypeAlias = Literal["keep", "follow"]

FILE = "manifest.json"
FORMAT = 2
"""A graph of format 1, without seals, is built anew."""
CHECKED_BYTES = 256 << 20
"""A graph of up to so many bytes is read whole when it is opened: that takes no time."""


class GraphManifest(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
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
    dropped: str | UnsetType = UNSET
    """The digest of the patterns whose pages are left out, if there are any."""
    files: dict[str, FileSeal] = {}
    """The files of the graph and of its delta, by name."""
    own: str = ""
    """The hash of all this."""


def read_manifest(folder: Path) -> GraphManifest | None:
    """Return what a folder holds; None if it is not a whole graph of this format."""
    try:
        found = msgspec.json.decode((folder / FILE).read_bytes(), type=GraphManifest)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return found if found.format == FORMAT and found.own == own_hash(found) else None


def write_manifest(folder: Path, manifest: GraphManifest) -> GraphManifest:
    """Put a manifest into its place at once, after all files that it speaks of are on the disk.

    Return it with its hash.
    """
    sync_files(folder)
    whole = with_own_hash(manifest)
    replace_file(folder / FILE, msgspec.json.format(msgspec.json.encode(whole)) + b"\n")
    return whole


def sealed(folder: Path, names: Iterable[str]) -> dict[str, FileSeal]:
    """Return the seals of some files of a folder."""
    return {name: seal_of(folder / name) for name in sorted(names)}


def check_files(
    folder: Path, manifest: GraphManifest, most_bytes: int | None = CHECKED_BYTES
) -> None:
    """Raise `CorruptFile` unless the files of a graph are those that were written.

    Files of more than `most_bytes` in all are only measured; None: they are read, too.
    """
    total = sum(seal.bytes for seal in manifest.files.values())
    is_read = most_bytes is None or total <= most_bytes
    for name, seal in manifest.files.items():
        check_seal(folder / name, seal, is_read=False)
    for name, seal in manifest.files.items() if is_read else ():
        check_seal(folder / name, seal, is_read=True)
