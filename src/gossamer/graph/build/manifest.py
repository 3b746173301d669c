"""Manifest: what a crawl's graph was built from, and how. Written last: without it, nothing is."""

import os
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

Choice: TypeAlias = Literal["keep", "follow"]

FILE = "manifest.json"
FORMAT = 1


class Manifest(Struct, kw_only=True, frozen=True):
    """What the files of a graph's folder are."""

    format: int = FORMAT
    generation: int = 1
    """Goes up whenever all nodes are numbered anew."""
    redirects: Choice = "keep"
    canonical: Choice = "keep"
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


def read_manifest(folder: Path) -> Manifest | None:
    """Return what a folder holds; None if it is not a whole graph of this format."""
    try:
        found = msgspec.json.decode((folder / FILE).read_bytes(), type=Manifest)
    except (OSError, msgspec.MsgspecError):
        return None
    return found if found.format == FORMAT else None


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Put a manifest into its place at once, after all files that it speaks of are on the disk."""
    sync_files(folder)
    new = folder / f"{FILE}.new"
    new.write_bytes(msgspec.json.format(msgspec.json.encode(manifest)) + b"\n")
    sync(new)
    new.replace(folder / FILE)
    sync(folder)


def sync_files(folder: Path) -> None:
    """Bring all files of a folder to the disk."""
    for path in folder.iterdir():
        if path.is_file():
            sync(path)
    sync(folder)


def sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
