"""Copies of a crawl with its store, for tests that kill what changes both."""

import gzip
import random
import shutil
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.e2e.crawler import GOSSAMER, Crawler, kill, spawn
from tests.store.machines import pause
from tests.store.places import FolderPlace, StorePlace

MARKS = ("purge.json", "purge.store.json")
"""What is there while the archive is written anew, and while the store forgets."""


def copy_of(crawler: Crawler, place: StorePlace, to: Path) -> tuple[Crawler, FolderPlace]:
    """Return a copy of a crawl and of its store, each of which knows the other."""
    assert isinstance(place, FolderPlace)
    to.mkdir()
    copy = FolderPlace(to / "store")
    copy.folder.rmdir()
    shutil.copytree(place.folder, copy.folder)
    shutil.copytree(crawler.folder, to / "crawl", ignore=shutil.ignore_patterns("*.sock"))
    for path in (to / "crawl" / "crawl.toml", to / "crawl" / "state" / "crawl.toml"):
        if path.exists():
            path.write_text(path.read_text().replace(place.url, copy.url))
    flags = tuple(copy.url if one == place.url else one for one in crawler.flags)
    return replace(crawler, folder=to / "crawl", flags=flags), copy


def kill_while(crawler: Crawler, words: Sequence[str], rng: random.Random) -> None:
    """Begin a command that removes pages, and kill it at some moment of what it does."""
    verb, *more = words
    process = spawn([GOSSAMER, verb, str(crawler.folder), *more])
    wanted = rng.choice([None, *(crawler.folder / name for name in MARKS)])
    while wanted is not None and not wanted.exists() and process.poll() is None:
        pause(0.001)
    pause(rng.uniform(0.0, 3.0 if wanted is None else 0.7))
    kill(process)


def objects_with(token: bytes, place: StorePlace) -> list[str]:
    """Return the objects of a store that have some bytes, packed or not."""
    return [name for name, content in place.contents() if token in plain(content)]


def files_with(token: bytes, folder: Path) -> list[Path]:
    """Return the packed files of a folder that have some bytes."""
    return [path for path in folder.rglob("*.gz") if token in plain(path.read_bytes())]


def plain(content: bytes) -> bytes:
    """Return bytes, and what they have packed."""
    if content[:2] != b"\x1f\x8b":
        return content
    try:
        return content + gzip.decompress(content)
    except (OSError, EOFError, zlib.error):
        return content + zlib.decompressobj(31).decompress(content)
