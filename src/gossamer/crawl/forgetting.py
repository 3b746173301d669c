"""Forgetting: what was purged from a folder leaves its store, too, and every set that names it.

    note      which objects have it, kept in the folder from before the archive files are replaced
    ship      the new files, under new names: the newest manifests name no old object any more
    forget    sets that name old objects, older manifests, indexes and graphs of the shards, and
              then every object that nothing names

Whoever holds the claim of the crawl does it, and does it again after a kill: the note goes last.
"""

from contextlib import suppress
from typing import NamedTuple

from msgspec import DecodeError, Struct, json
from msgspec.structs import replace

from gossamer.crawl.history import KEPT, SETS, is_swept, moment_of, name_of, set_of
from gossamer.durable import replace_file, sync
from gossamer.store import CrawlCharter, CrawlFolder, CrawlStore, ShardManifest

MADE = ("index", "graph", "anchors")
"""What was made of the archive, below the generation: links that shards have sent come last, since
what goes on from them must not be there without them."""
TOKEN_CHARS = 9
"""Of `archive/TOKEN-NAME`, before the name."""


class ForgetNote(Struct, frozen=True, kw_only=True):
    """Which archive files were written anew, and what the store had of them."""

    crawl: str
    names: frozenset[str]
    objects: frozenset[str]


class Forgotten(NamedTuple):
    """What has left a store."""

    objects: int
    sets: int
    """Checkpoints of the past that can no longer be restored."""


def note_of(manifests: list[ShardManifest], names: frozenset[str]) -> ForgetNote:
    """Return what a store has of some archive files."""
    found = (file for one in manifests for n in names for file in one.archive.get(n, ()))
    crawl = manifests[0].crawl if manifests else ""
    return ForgetNote(crawl=crawl, names=names, objects=frozenset(file.name for file in found))


def read_note(folder: CrawlFolder) -> ForgetNote | None:
    """Return what a store is yet to forget; None if there is nothing."""
    with suppress(FileNotFoundError, DecodeError):
        return json.decode(folder.forget_path.read_bytes(), type=ForgetNote)
    return None


def write_note(folder: CrawlFolder, note: ForgetNote) -> None:
    """Remember what a store is to forget, with what is noted already."""
    before = read_note(folder)
    if before is not None and before.crawl == note.crawl:
        names, objects = before.names | note.names, before.objects | note.objects
        note = ForgetNote(crawl=note.crawl, names=names, objects=objects)
    replace_file(folder.forget_path, json.encode(note))


def forget_noted(folder: CrawlFolder, store: CrawlStore) -> Forgotten | None:
    """Forget what the note of a folder says; None if there is none, or it is not shipped yet."""
    note, found = read_note(folder), store.charter()
    if note is None or found is None or found[1].crawl != note.crawl:
        return None
    forgotten = _forget(store, found[1], note)
    if forgotten is not None:
        folder.forget_path.unlink(missing_ok=True)
        sync(folder.root)
    return forgotten


def _forget(store: CrawlStore, charter: CrawlCharter, note: ForgetNote) -> Forgotten | None:
    newest = [store.newest_of(charter, shard) for shard in range(charter.shards)]
    manifests = [found[1] for found in newest if found is not None]
    named = {file.name for one in manifests for file in one.objects()}
    if len(manifests) < len(newest) or named & note.objects:
        return None
    gone = 0
    for name in [one for kind in (SETS, KEPT) for one in store.objects.names(f"{kind}/")]:
        found = set_of(store, name)
        objects = (
            {file.name for one in found.manifests for file in one.objects()} if found else set()
        )
        if found is not None and not any(_is_of(one, note.names) for one in objects - named):
            kept = replace(found, at=moment_of(name))
            store.objects.put(name_of(KEPT, kept.at), json.encode(kept))  # its manifests go
            named |= objects
        else:
            gone += found is not None
            store.objects.delete([name])
    store.objects.delete(store.objects.names(f"{SETS}/"))
    for chain in store.chains_of(charter):
        store.objects.delete([chain.name(number) for number in chain.numbers()[:-1]])
    there = (name for name in store.objects.names("") if is_swept(name, charter))
    over = sorted(name for name in there if name not in named)
    made = [n for kind in MADE for n in store.objects.names(f"{charter.layout:04d}/{kind}/")]
    store.objects.delete([*made, *over])
    return Forgotten(len(over), gone)


def _is_of(name: str, files: frozenset[str]) -> bool:
    """Return True if an object has bytes of one of some archive files."""
    top, _, rest = name.partition("/")
    first = rest.partition("/")[0]
    return top == "archive" and (first in files or first[TOKEN_CHARS:] in files)
