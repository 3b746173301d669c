"""Restoring: a folder made of what a crawl's store has."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from uuid import uuid4

from gossamer.crawl.opening import restored_mark_path
from gossamer.durable import sync, sync_files
from gossamer.errors import CannotGoOn
from gossamer.store import (
    ArchiveName,
    CrawlFolder,
    CrawlStore,
    Lengths,
    ShardManifest,
    ShippedDigest,
    ShippedFile,
    note_far,
    replace_ends,
    unpacked,
)

PIECE_BYTES = 8 * 1024 * 1024


def restore_manifests(
    store: CrawlStore,
    manifests: list[ShardManifest],
    folder: CrawlFolder,
    *,
    root: Mapping[str, ShippedFile] | None = None,
    leaves_archive: bool = False,
) -> None:
    """Make a folder of the checkpoints of all shards; every byte is compared with its digest.

    Archive files that are whole in the store may be left there: they are read by ranges. `root` has
    files of the whole crawl that are newer than what the manifests name. They come first: whoever
    finds a state that is cut short has crawl.toml, and can begin again.
    """
    lengths: Lengths = {}
    folder.archive.mkdir(parents=True, exist_ok=True)
    for of_crawl in (*(manifest.root for manifest in manifests), root or {}):
        for name, file in of_crawl.items():
            _save(store, [file], _inside(folder.root, name))
    for manifest in manifests:
        state = folder.state(manifest.shard)
        (state / "seen").mkdir(parents=True, exist_ok=True)
        for name, file in manifest.files.items():
            _save(store, [file], _inside(state, name))
        for name, stretches in manifest.logs.items():
            _save(store, stretches, _inside(state, name), is_packed=True)
        left = whole_sets(manifest) if leaves_archive else {}
        note_far(folder, store.objects.url, left)
        for name, files in manifest.archive.items():
            if name not in left:
                _save(store, files, _inside(folder.archive, name))
            if ArchiveName.parse(name) is not None:
                lengths[name] = sum(file.size for file in files)
        (state / "IDENTITY").write_text(str(uuid4()), "ascii")  # another database than the first
        restored_mark_path(state).touch()
        sync_files(state)
        sync_files(state / "seen")
    replace_ends(folder, lengths)
    sync(folder.archive)
    sync(folder.root / "state")


def whole_sets(manifest: ShardManifest) -> dict[str, list[ShippedFile]]:
    """Return the archive files of sets that are closed: each is one object, and has its index."""
    names = [name for name in map(ArchiveName.parse, manifest.archive) if name is not None]
    open_sets = {
        name.sibling("pages")
        for name in names
        if not is_whole(manifest.archive[name.file_name])
        or name.sibling("pages").cdxj_name not in manifest.archive
    }
    left = [name.file_name for name in names if name.sibling("pages") not in open_sets]
    return {name: manifest.archive[name] for name in left}


def is_whole(files: list[ShippedFile]) -> bool:
    """Return True if an archive file is one object, under its own name: it was closed."""
    return len(files) == 1 and files[0].name.count("/") == 1


def restore_root(store: CrawlStore, manifest: ShardManifest, folder: CrawlFolder) -> None:
    """Bring the files of the whole crawl that the first shard has shipped."""
    folder.root.mkdir(parents=True, exist_ok=True)
    for name, file in manifest.root.items():
        _save(store, [file], _inside(folder.root, name))
    sync(folder.root)


def _inside(folder: Path, name: str) -> Path:
    """Return the path of a file below a folder; a store must not name any other."""
    parts = Path(name).parts
    if not parts or Path(name).is_absolute() or ".." in parts:
        raise CannotGoOn(f"the store is damaged: it names a file {name!r}; nothing was changed")
    path = folder.joinpath(*parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _save(
    store: CrawlStore, files: list[ShippedFile], path: Path, *, is_packed: bool = False
) -> None:
    """Write a file out of the objects that it consists of, durably."""
    with path.open("wb") as out:
        for file in files:
            hashed = ShippedDigest(file.digest)
            pieces = _pieces(store, file)
            for content in (b"".join(pieces),) if is_packed else pieces:
                hashed.update(content)
                out.write(unpacked(content) if is_packed else content)
            if hashed.text() != file.digest:
                raise CannotGoOn(f"{store.objects.url}/{file.name} is damaged: other bytes")
        out.flush()
        os.fsync(out.fileno())


def _pieces(store: CrawlStore, file: ShippedFile) -> Iterator[bytes]:
    if not file.name:
        yield file.content
        return
    for start in range(0, file.size, PIECE_BYTES):
        length = min(PIECE_BYTES, file.size - start)
        content = store.objects.piece(file.name, start, length)
        if len(content) != length:
            raise CannotGoOn(f"{store.objects.url}/{file.name} is damaged: it is shorter")
        yield content
