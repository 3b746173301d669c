"""Links that the filters refused: they leave no row in the state, so the links archive is read.

Each is judged again by the present rules, as `why` does it. Keys of URLs are compared in batches,
as sorted arrays of 8 bytes each: ten million URLs take 80 MB.
"""

from array import array
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.filter import followed_kinds, is_copy_in_place, sitemap_may_name
from gossamer.model import (
    EMBEDDED,
    NO_CONTENT,
    SITEMAP_TYPES,
    Link,
    LinkKind,
    Objection,
    Reject,
    Task,
    Url,
)
from gossamer.report.snapshot import LinkingPage, Snapshot
from gossamer.urls import read_canonical

BATCH = 1 << 17
"""Links whose keys are compared at once."""
KINDS = {kind.value: kind for kind in LinkKind}

Keys = NDArray[np.uint64]


class RefusedLink(NamedTuple):
    """A link that is not queued, with the first page that has it and what speaks against it.

    No objection: nothing does by the rules that are known here.
    """

    link: Link
    depth: int
    via: str
    objection: Objection | None


class KeySet:
    """Keys of URLs, sorted, each once."""

    def __init__(self, keys: "array[int] | Keys") -> None:
        self._keys: Keys = np.unique(np.asarray(keys, np.uint64))

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: int) -> bool:
        return bool(self.has(np.asarray([key], np.uint64))[0])

    def has(self, keys: Keys) -> NDArray[np.bool_]:
        """Return which of some keys are in it."""
        if not len(self._keys):
            return np.zeros(len(keys), np.bool_)
        place = np.searchsorted(self._keys, keys)
        place[place == len(self._keys)] = 0
        return np.asarray(self._keys[place] == keys, np.bool_)

    def add(self, keys: Keys) -> None:
        """Add keys that are not in it."""
        if len(keys):
            self._keys = np.sort(np.concatenate((self._keys, keys)), kind="stable")


class _Candidate(NamedTuple):
    link: Link
    page: LinkingPage


def refused_links(snapshot: Snapshot, known: KeySet, host: str = "") -> Iterator[RefusedLink]:
    """Yield the links whose targets are not known, each target once; known is added to.

    `host`: only those that lead there.
    """
    batch: list[_Candidate] = []
    for page in snapshot.linking_pages():
        batch.extend(
            _Candidate(link, page)
            for link in judged_links(page, snapshot)
            if not host or link.target.host == host
        )
        if len(batch) >= BATCH:
            yield from _judged(snapshot, _new_among(batch, known))
            batch = []
    yield from _judged(snapshot, _new_among(batch, known))


def _new_among(batch: list[_Candidate], known: KeySet) -> list[_Candidate]:
    """Return the first link to each target that is not known, in their order."""
    keys = np.fromiter((one.link.target.key for one in batch), np.uint64, len(batch))
    distinct, first = np.unique(keys, return_index=True)
    is_new = ~known.has(distinct)
    known.add(distinct[is_new])
    return [batch[index] for index in np.sort(first[is_new])]


def _judged(snapshot: Snapshot, links: list[_Candidate]) -> Iterator[RefusedLink]:
    for link, page in links:
        depth = page.depth + (link.kind is not LinkKind.REDIRECT)
        rules = snapshot.rules(snapshot.owner_of(link.target.key))
        yield RefusedLink(link, depth, page.url, rules.filters.judge(link, depth, page.url))


def judged_links(page: LinkingPage, snapshot: Snapshot) -> list[Link]:
    """Return the links of a page that the filters were asked about."""
    if not NO_CONTENT.isdisjoint(page.oddities):
        return []
    if page.copy_of and is_copy_in_place(page.url, page.copy_of):
        return []
    task = _task_of(page)
    kinds = followed_kinds(
        task,
        snapshot.config.process,
        snapshot.rules(0).filters.takes_page,
        is_nofollow="nofollow" in page.robots or "none" in page.robots,
        media_type=page.media_type,
    )
    is_sitemap = page.media_type in SITEMAP_TYPES and not kinds <= EMBEDDED
    links = [
        Link(read_canonical(target), KINDS[kind], text, rel)
        for target, kind, text, rel in page.links
        if kind in kinds
    ]
    return [link for link in links if sitemap_may_name(task, link)] if is_sitemap else links


def _task_of(page: LinkingPage) -> Task:
    url: Url = read_canonical(page.url)
    kind = KINDS.get(page.kind, LinkKind.ANCHOR)
    return Task(url, page.depth, page.via, kind, nesting=page.nesting)


def not_followed(link: Link) -> Objection:
    """Return what is said of a link that no known rule refuses, and that was not followed."""
    return Objection(Reject.NOT_FOLLOWED, f"as {link.kind.value}")
