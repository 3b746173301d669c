"""Near-duplicates: which page is a copy of which, in words and as clusters."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TypeAlias

from msgspec import Struct

from gossamer.cluster import Ring, owner_in_state
from gossamer.config import UrlConfig
from gossamer.dedupe import (
    LABEL_ROW,
    CopyLabel,
    Level,
    decode_label,
    label_key,
    read_labels,
    root_of,
)
from gossamer.errors import ConfigError
from gossamer.report.records import decode_record, url_row_key
from gossamer.store import State
from gossamer.urls import parse

Get: TypeAlias = Callable[[bytes], bytes | None]


class NearCopy(Struct, frozen=True, kw_only=True):
    """Which older page a page is a copy of."""

    level: str
    """exact, duplicate or similar."""
    bins: int
    """Of 64 bins of its sketch, those that the original has too."""
    original: str
    """Its URL; "" if the shard that was asked does not know it."""
    key: str
    """The fingerprint of the original's URL."""


class ClusterMember(Struct, frozen=True, kw_only=True):
    """A page that is a copy of the cluster's original."""

    url: str
    level: str
    """exact, duplicate or similar."""
    bins: int
    """Of 64 bins of its sketch, those that the original has too."""


class CopyCluster(Struct, frozen=True, kw_only=True):
    """A page, and the later ones that say the same."""

    original: str
    members: list[ClusterMember]


class CopyClusters(Struct, frozen=True, kw_only=True):
    """Clusters of near-duplicates, the largest first."""

    clusters: list[CopyCluster]
    pages: dict[str, int]
    """Members by level: exact, duplicate, similar."""


def name_in(get: Get, key: int) -> str:
    """Return the URL with a key, if these rows know it; else ""."""
    value = get(url_row_key(key))
    return decode_record(value).url if value is not None else ""


def near_copy(get: Get, key: int) -> NearCopy | None:
    """Return which older page a page is a copy of, or None if it is no copy."""
    value = get(label_key(key))
    if value is None:
        return None
    label = decode_label(value)
    return NearCopy(
        level=label.level.name.lower(),
        bins=label.bins,
        original=name_in(get, label.original),
        key=f"{label.original:016x}",
    )


def near_sentence(near: NearCopy | None) -> str:
    """Return which page another is a copy of, in words; "" if it is no copy."""
    if near is None:
        return ""
    original = near.original or f"the page with key {near.key}"
    if near.level == Level.EXACT.name.lower():
        return f" It has exactly the text of {original}."
    if near.level == Level.DUPLICATE.name.lower():
        return f" It is a near-duplicate of {original} ({near.bins} of 64 bins, same title)."
    return f" It is similar to {original} ({near.bins} of 64 bins, not the same title)."


class Labels:
    """The labels of all shards of a crawl, and the names of their pages."""

    def __init__(self, states: list[State], ring: Ring) -> None:
        self._states = states
        self._ring = ring

    def __iter__(self) -> Iterator[tuple[int, CopyLabel]]:
        """Give the URL key and label of every page that has one."""
        for state in self._states:
            yield from read_labels(state.scan(LABEL_ROW))

    def find(self, key: int) -> CopyLabel | None:
        """Return the label of a page, by its key."""
        value = self._states[self._ring.owner_of(key)].get(label_key(key))
        return None if value is None else decode_label(value)

    def name(self, key: int) -> str:
        """Return the URL with a key."""
        owner, _ = owner_in_state(self._ring, key, lambda one, row: self._states[one].get(row))
        return name_in(self._states[owner].get, key) or f"{key:016x}"

    def stands_for(self, key: int) -> int:
        """Return the key of the page that stands for another: itself, if it is nobody's copy."""
        return root_of(key, self.find)

    def clusters(self, only: int | None = None) -> list[CopyCluster]:
        """Return the clusters, largest first: each original with the pages that are like it.

        A page that is similar to an older one may itself be the original of others.
        """
        members: dict[int, list[tuple[int, CopyLabel]]] = {}
        for key, label in self:
            members.setdefault(self.stands_for(label.original), []).append((key, label))
        wanted = members.keys() if only is None else members.keys() & self._heads(only)
        return [
            CopyCluster(
                original=self.name(head),
                members=[
                    ClusterMember(
                        url=self.name(key), level=label.level.name.lower(), bins=label.bins
                    )
                    for key, label in sorted(members[head], key=lambda one: (-one[1].level, one[0]))
                ],
            )
            for head in sorted(wanted, key=lambda key: (-len(members[key]), key))
        ]

    def _heads(self, key: int) -> set[int]:
        """Return the originals of the clusters that a page is in."""
        head = self.stands_for(key)
        label = self.find(head)
        return {head} if label is None else {head, self.stands_for(label.original)}


def clusters_of(states: list[State], ring: Ring, text: str, urls: UrlConfig) -> CopyClusters:
    """Return all clusters of a crawl, or that of one URL, with the number of pages by level."""
    url = parse(text, urls) if text else None
    if text and url is None:
        raise ConfigError(f"{text!r} is not an absolute URL; expected https://host/path")
    found = Labels(states, ring).clusters(url.key if url is not None else None)
    counts = Counter(member.level for cluster in found for member in cluster.members)
    return CopyClusters(clusters=found, pages=dict(counts))
