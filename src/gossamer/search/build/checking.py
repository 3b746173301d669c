"""Is an index what was written? By the hashes in its manifest."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from gossamer.model import CheckFinding
from gossamer.search.manifest import (
    FILE,
    IndexedFile,
    index_folder,
    read_manifest,
)
from gossamer.store import hash_of_file

_SEGMENT_CHARS = 32
"""A file of the engine's is named after its segment."""


def check_index(root: Path, *, is_quick: bool = False) -> Iterator[CheckFinding]:
    """Compare the files of a crawl's index with its manifest; quick: only their lengths.

    An index of an older version names no files: only its manifest can be looked at.
    """
    index = index_folder(root)
    if not index.exists():
        return
    manifest = read_manifest(index)
    if manifest is None:
        yield _finding(FILE, 0, "it cannot be read, or is not what was written")
        return
    written_ns = (index / FILE).stat().st_mtime_ns
    for name, file in manifest.files.items():
        found = _flaw(index / name, file, written_ns, is_quick=is_quick)
        again = read_manifest(index)
        if again is None or again.generation != manifest.generation:
            return  # it is being brought up to date at this moment
        if found:
            yield _finding(name, min(file.bytes, _size(index / name)), found)


def _flaw(path: Path, file: IndexedFile, written_ns: int, *, is_quick: bool) -> str:
    """Return what is wrong with a file, or ""."""
    try:
        facts = path.stat()
        is_newer = path.name == "meta.json" and facts.st_mtime_ns > written_ns
        if is_newer:  # the engine may have merged segments since
            return _list_flaw(path)
        if facts.st_size != file.bytes:
            return f"expected {file.bytes} bytes, found {facts.st_size}"
        is_same = is_quick or hash_of_file(path) == file.xxh3
    except FileNotFoundError:
        return "it is missing" if _is_needed(path) else ""
    return "" if is_same else "it is not what was written (by its hash)"


class _Segment(Struct):
    segment_id: str


class _SegmentList(Struct):
    """What is needed of the engine's list of its files."""

    segments: list[_Segment]


def _list_flaw(path: Path) -> str:
    """Return what is wrong with the engine's list of segments, or ""."""
    try:
        listed = msgspec.json.decode(path.read_bytes(), type=_SegmentList)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return f"it cannot be read ({error})"
    there = {file.name[:_SEGMENT_CHARS] for file in path.parent.iterdir()}
    missing = [one.segment_id for one in listed.segments]
    missing = [name for name in missing if name.replace("-", "") not in there]
    return f"it names a segment that is missing: {missing[0]}" if missing else ""


def _is_needed(path: Path) -> bool:
    """Return True unless a file belongs to a segment that was merged with others since."""
    segment = path.name[:_SEGMENT_CHARS]
    if not all(char in "0123456789abcdef" for char in segment):
        return True
    try:
        listed = (path.parent / "meta.json").read_text("utf-8", "replace").replace("-", "")
    except OSError:
        return True
    return segment in listed


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _finding(name: str, byte: int, found: str) -> CheckFinding:
    return CheckFinding(
        kind="bad_index", file=f"index/{name}", byte=byte, found=found, remedy="index"
    )
