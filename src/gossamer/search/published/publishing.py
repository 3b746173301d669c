"""Publish: brings an index into an object store. What is there already is not sent again."""

from pathlib import Path

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from gossamer.errors import CannotGoOn, ConfigError
from gossamer.ranks import ranks_path
from gossamer.search.manifest import Manifest, image_folders, read_manifest, shard_folders
from gossamer.search.published.seal import (
    FILES,
    RANKS,
    SEAL,
    Seal,
    SealedFile,
    digest_of,
    read_seal,
    sealed,
)
from gossamer.store import Objects

META = "meta.json"
_TRIES = 5
OLD_S = 3600.0
"""No upload takes longer until its seal is there."""


class Published(Struct, frozen=True, kw_only=True):
    """What was done."""

    files: int
    sent: int
    sent_bytes: int
    deleted: int


class _Deletes(Struct):
    opstamp: int


class _Segment(Struct):
    segment_id: str
    deletes: _Deletes | None = None


class _Meta(Struct):
    segments: list[_Segment]


def publish(
    index: Path, url: str, objects: Objects | None = None, *, is_sole: bool = True
) -> Published:
    """Bring the index in a folder to a URL. One at a time; whoever reads there is not disturbed.

    Files that a merge has replaced meanwhile begin it anew. Objects that belong neither to this
    seal nor to the one before are deleted; where others may publish meanwhile, not `is_sole`,
    only those of long ago.
    """
    objects = objects or Objects(url, is_made=True)
    content = objects.read(SEAL)
    last = read_seal(content, url) if content is not None else None
    before = last.files if last is not None else {}
    ranks = _sent_ranks(index, objects, last)
    is_same = last is not None and (last.manifest, last.ranks) == (read_manifest(index), ranks)
    if is_same and not is_sole:
        return Published(files=len(before), sent=0, sent_bytes=0, deleted=0)
    there = dict(before)
    sent = sent_bytes = 0
    for _ in range(_TRIES):
        try:
            seal = _taken(index, there)
            for name in seal.files.keys() - there.keys():
                objects.put(FILES + name, index / name)
                there[name] = seal.files[name]
                sent += 1
                sent_bytes += there[name].size
        except FileNotFoundError:
            continue
        objects.put(SEAL, sealed(replace(seal, ranks=ranks)))
        if last is not None and last.ranks not in {UNSET, ranks}:
            _forget_ranks(objects, ranks, last.ranks)
        deleted = _swept(objects, {*before, *seal.files}, is_sole=is_sole)
        return Published(files=len(seal.files), sent=sent, sent_bytes=sent_bytes, deleted=deleted)
    raise CannotGoOn(f"{index} changes faster than it can be uploaded: try again later")


def _sent_ranks(index: Path, objects: Objects, last: Seal | None) -> SealedFile | UnsetType:
    """Bring the ranks beside an index to a store, if they are not there; return what they are."""
    path = ranks_path(index.parent)
    if not path.is_file():
        return UNSET
    ranks = SealedFile(path.stat().st_size, digest_of(path))
    if last is None or last.ranks != ranks:
        objects.put(RANKS + ranks.digest, path)
    return ranks


def _forget_ranks(objects: Objects, *wanted: SealedFile | UnsetType) -> None:
    """Delete ranks that belong neither to this seal nor to the one before."""
    kept = {RANKS + one.digest for one in wanted if isinstance(one, SealedFile)}
    objects.delete([name for name in objects.names(RANKS) if name not in kept])


def _taken(index: Path, known: dict[str, SealedFile]) -> Seal:
    """Return an index as it is now."""
    manifest = read_manifest(index)
    if manifest is None:
        raise CannotGoOn(f"no index in {index}: run `gossamer build DIR index`")
    if manifest.organisation != "documents":
        raise ConfigError(
            "only an index split by documents can be published: "
            "build it with --organisation documents"
        )
    metas: dict[str, str] = {}
    files: dict[str, SealedFile] = {}
    for folder in _folders(index, manifest):
        content = (folder / META).read_bytes()
        metas[folder.name] = content.decode()
        for path in _files(folder, content):
            name = f"{folder.name}/{path.name}"
            size = path.stat().st_size
            old = known.get(name)
            files[name] = old if old and old.size == size else SealedFile(size, digest_of(path))
    return Seal(manifest=manifest, metas=metas, files=files)


def _folders(index: Path, manifest: Manifest) -> list[Path]:
    low = shard_folders(index, manifest, "low") if manifest.high_share else []
    images = image_folders(index, manifest) if manifest.images else []
    return [*shard_folders(index, manifest, "high"), *low, *images]


def _files(folder: Path, meta: bytes) -> list[Path]:
    """Return the files of the segments that a commit is made of."""
    try:
        segments = msgspec.json.decode(meta, type=_Meta).segments
    except msgspec.DecodeError as error:
        raise CannotGoOn(
            f"{folder / META} is damaged: {error}; run `gossamer build DIR index --full`"
        ) from error
    found: list[Path] = []
    for segment in segments:
        name = segment.segment_id.replace("-", "")
        deletes = f"{name}.{segment.deletes.opstamp}.del" if segment.deletes else ""
        paths = [path for path in folder.glob(f"{name}.*") if path.suffix != ".del"]
        if not paths:
            raise FileNotFoundError(folder / name)
        found += [*paths, folder / deletes] if deletes else paths
    return found


def _swept(objects: Objects, wanted: set[str], *, is_sole: bool) -> int:
    names = objects.names(FILES) if is_sole else objects.names_before(FILES, SEAL, OLD_S)
    there = {name.removeprefix(FILES) for name in names}
    objects.delete([FILES + name for name in sorted(there - wanted)])
    return len(there - wanted)
