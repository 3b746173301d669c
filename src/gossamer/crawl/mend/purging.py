"""Purge and prune: records leave the archive for good, and everything that was made of them.

    1. the files that are concerned are written anew into `purge.new/`, and synced
    2. `purge.json` is written: from here on it happens, whatever is killed
    3. the new files take the place of the old ones, graph, index and tables are deleted, and the
       state is made anew from the archive: one rename moves every reference
    4. `purge.json` and `purge.new/` are removed
    5. with an object store: the new files are shipped, and it forgets the old ones (`forgetting`)

Killed before 2, nothing has happened. Killed after it, the next start does 3 to 5, which may be
done again and again.
"""

import shutil
from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import msgspec
from msgspec import Struct

from gossamer.clock import SystemClock
from gossamer.crawl.forgetting import (
    ForgetNote,
    note_of,
    write_note,
)
from gossamer.crawl.mend.rebuild import build_locked
from gossamer.crawl.opening import lock_folder
from gossamer.durable import replace_file, sync, sync_files
from gossamer.model import BuildProgress
from gossamer.store import (
    CrawlFolder,
    CrawlStore,
    Removal,
    StoredAnswer,
    lower_ends,
    removal_of,
    rewrite_set,
    sets_of,
    stored_answers,
    strip_file,
)
from gossamer.urls import Patterns

DERIVED = ("graph", "index", "tables")


class PurgeIntent(Struct, frozen=True, kw_only=True):
    """What is to be done, whatever happens: the files that take the place of others."""

    lengths: dict[str, int]
    forgets: ForgetNote | None = None
    """What the object store has of them."""


class Purged(Struct, frozen=True, kw_only=True):
    """What has left the archive."""

    records: int
    """Records that are gone, those of requests, texts and links not counted twice."""
    pages: int
    """Page records among them."""
    files: list[str]
    """Archive files that were written anew."""
    heirs: int
    """Copies that became originals, since theirs has gone."""
    freed_bytes: int
    removed: list[str]
    """What was made from the archive, and is to be built again: graph, index, tables. And the
    answers that a check of links had from outside, linkcheck."""
    queries: int = 0
    """Lines of the query log that named what was removed."""
    store: str = ""
    """The object store from which it has gone, too."""
    objects: int = 0
    """Objects that were deleted there."""
    checkpoints: int = 0
    """Checkpoints of the past that had it, and can no longer be restored."""
    set_aside: list[str] = []
    """Folders below that were set aside when the crawl's folder was behind its store. They are not
    searched, and may have what was removed: to be deleted by hand."""


def purge_locked(
    folder: CrawlFolder, patterns: Iterable[str], store: CrawlStore | None, tell: BuildProgress
) -> Purged:
    """Remove everything of URLs that patterns name from the archive of a folder that is ours."""
    named = Patterns(patterns)

    def has_url(url: str) -> bool:
        return bool(url) and bool(named.match(url))

    for path in folder.lost_found.glob("*.gz*"):
        strip_file(path, has_url)
    pages = {one.record_id for one in stored_answers(folder) if has_url(one.url)}
    return _purge(folder, removal_of(folder, pages, has_url), store, tell)


def prune_locked(
    folder: CrawlFolder, keep: int, before: float, store: CrawlStore | None, tell: BuildProgress
) -> Purged:
    """Remove old editions from the archive of a folder that is ours."""
    answers = sorted(stored_answers(folder), key=lambda one: (one.url, one.at))
    pages = set[str]()
    for _, of_url in groupby(answers, key=attrgetter("url")):
        pages |= old_answers(list(of_url), keep, before)
    del answers
    return _purge(folder, removal_of(folder, pages), store, tell)


def old_answers(answers: list[StoredAnswer], keep: int, before: float) -> set[str]:
    """Return the ids of the answers of one URL, oldest first, whose editions are to go.

    An edition is a run of answers with one content: all of them go, or none.
    """
    editions = [list(run) for _, run in groupby(answers, key=attrgetter("digest"))]
    old = editions[: max(0, len(editions) - keep)]
    return {one.record_id for run in old if run[-1].at < before for one in run}


def finish_interrupted(root: Path, tell: BuildProgress) -> None:
    """Finish what a killed purge has begun in a crawl that does not run."""
    folder = CrawlFolder(root)
    if folder.purge_path.exists():
        with lock_folder(folder, SystemClock()):
            finish_purge(folder, tell)


def finish_purge(folder: CrawlFolder, tell: BuildProgress = lambda _: None) -> bool:
    """Finish what a killed purge has begun; return True if there was anything to finish."""
    intent = read_intent(folder)
    if intent is None:
        shutil.rmtree(_new(folder), ignore_errors=True)
        return False
    _complete(folder, intent, tell)
    return True


def read_intent(folder: CrawlFolder) -> PurgeIntent | None:
    """Return what a purge that was not finished is to do; None if there is none."""
    try:
        return msgspec.json.decode(folder.purge_path.read_bytes(), type=PurgeIntent)
    except FileNotFoundError:
        return None


def _new(folder: CrawlFolder) -> Path:
    return folder.root / "purge.new"


def _purge(
    folder: CrawlFolder, removal: Removal, store: CrawlStore | None, tell: BuildProgress
) -> Purged:
    new = _new(folder)
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    names = [name for one in sets_of(folder) for name in rewrite_set(folder, one, removal, new)]
    made = [name for name in DERIVED if (folder.root / name).exists()]
    if not names:
        new.rmdir()
        return Purged(records=0, pages=0, files=[], heirs=0, freed_bytes=0, removed=[])
    sync_files(new)
    before = sum(_size(folder.archive / name) for name in names)
    lengths = {name: _size(new / name) for name in names}
    intent = PurgeIntent(lengths=lengths, forgets=_to_forget(store, frozenset(names)))
    replace_file(folder.purge_path, msgspec.json.encode(intent))
    _complete(folder, intent, tell)
    return Purged(
        records=removal.removed,
        pages=len(removal.pages),
        files=sorted(name for name in names if not name.endswith(".cdxj")),
        heirs=len(removal.heirs),
        freed_bytes=before - sum(lengths.values()),
        removed=made,
    )


def _to_forget(store: CrawlStore | None, names: frozenset[str]) -> ForgetNote | None:
    """Return what a store has of archive files; the crawl is ours, so nobody ships."""
    found = store.charter() if store is not None else None
    if store is None or found is None or not found[1].shards:
        return None
    return note_of(store.consistent_manifests(found[1]), names)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _complete(folder: CrawlFolder, intent: PurgeIntent, tell: BuildProgress) -> None:
    """Do what an intent says, from wherever it was."""
    new = _new(folder)
    lower_ends(folder, {n: size for n, size in intent.lengths.items() if not n.endswith("cdxj")})
    for name in intent.lengths:
        if (new / name).exists():
            (new / name).replace(folder.archive / name)
    sync(folder.archive)
    for name in DERIVED:
        for ending in ("", ".new", ".old"):
            shutil.rmtree(folder.root / f"{name}{ending}", ignore_errors=True)
    if intent.forgets is not None:
        write_note(folder, intent.forgets)
    build_locked(folder, tell)
    folder.purge_path.unlink(missing_ok=True)
    sync(folder.root)
    shutil.rmtree(new, ignore_errors=True)
