"""Which pages say the same: labels of near-duplicates, in words and as clusters."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from gossamer.cluster import Ring
from gossamer.config import UrlConfig
from gossamer.dedupe import (
    LABEL_ROW,
    Label,
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


def name_in(get: Get, key: int) -> str:
    """Return the URL with a key, if these rows know it; else ""."""
    value = get(url_row_key(key))
    return decode_record(value).url if value is not None else ""


def near_facts(get: Get, key: int) -> dict[str, object] | None:
    """Return what a page is to an older one, or None if it is nothing to any."""
    value = get(label_key(key))
    if value is None:
        return None
    label = decode_label(value)
    return {
        **_told(label),
        "original": name_in(get, label.original),
        "key": f"{label.original:016x}",
    }


def unnamed_original(answer: Mapping[str, object]) -> int | None:
    """Return the key of an original that is another shard's, and so has no name in an answer."""
    match answer.get("near"):
        case {"original": "", "key": str(key)}:
            return int(key, 16)
        case _:
            return None


def name_original(answer: dict[str, object], name: str) -> None:
    """Put the name of an original into an answer that lacks it."""
    near = answer["near"]
    if isinstance(near, dict) and name:
        without = near_sentence(near)
        near["original"] = name
        told = str(answer["explanation"])
        answer["explanation"] = told.replace(without, near_sentence(near))


def near_sentence(near: object) -> str:
    """Return what a page is to an older one, in words; "" if it is nothing to any."""
    if not isinstance(near, dict):
        return ""
    original = near["original"] or f"the page with key {near['key']}"
    if near["level"] == Level.EXACT.name.lower():
        return f" It has exactly the text of {original}."
    if near["level"] == Level.DUPLICATE.name.lower():
        return f" It is a near-duplicate of {original} ({near['bins']} of 64 bins, same title)."
    return f" It is similar to {original} ({near['bins']} of 64 bins, not the same title)."


def _told(label: Label) -> dict[str, object]:
    return {"level": label.level.name.lower(), "bins": label.bins}


class Labels:
    """The labels of all shards of a crawl, and the names of their pages."""

    def __init__(self, states: list[State]) -> None:
        self._states = states
        self._ring = Ring(len(states))

    def __iter__(self) -> Iterator[tuple[int, Label]]:
        """Give the URL key and label of every page that has one."""
        for state in self._states:
            yield from read_labels(state.scan(LABEL_ROW))

    def find(self, key: int) -> Label | None:
        """Return the label of a page, by its key."""
        value = self._states[self._ring.owner_of(key)].get(label_key(key))
        return None if value is None else decode_label(value)

    def name(self, key: int) -> str:
        """Return the URL with a key."""
        return name_in(self._states[self._ring.owner_of(key)].get, key) or f"{key:016x}"

    def stands_for(self, key: int) -> int:
        """Return the key of the page that stands for another: itself, if it is nobody's copy."""
        return root_of(key, self.find)

    def clusters(self, only: int | None = None) -> list[dict[str, object]]:
        """Return the clusters, largest first: each original with the pages that are like it.

        A page that is similar to an older one may itself be the original of others.
        """
        members: dict[int, list[tuple[int, Label]]] = {}
        for key, label in self:
            members.setdefault(self.stands_for(label.original), []).append((key, label))
        wanted = members.keys() if only is None else members.keys() & self._heads(only)
        return [
            {
                "original": self.name(head),
                "members": [
                    {"url": self.name(key), **_told(label)}
                    for key, label in sorted(members[head], key=lambda one: (-one[1].level, one[0]))
                ],
            }
            for head in sorted(wanted, key=lambda key: (-len(members[key]), key))
        ]

    def _heads(self, key: int) -> set[int]:
        """Return the originals of the clusters that a page is in."""
        head = self.stands_for(key)
        label = self.find(head)
        return {head} if label is None else {head, self.stands_for(label.original)}


def clusters_of(states: list[State], text: str, urls: UrlConfig) -> dict[str, object]:
    """Return all clusters of a crawl, or that of one URL, with the number of pages by level."""
    url = parse(text, urls) if text else None
    if text and url is None:
        raise ConfigError(f"{text!r} is not an absolute URL; expected https://host/path")
    found = Labels(states).clusters(url.key if url is not None else None)
    counts: dict[str, int] = {}
    for cluster in found:
        listed = cluster["members"]
        for member in listed if isinstance(listed, list) else ():
            counts[member["level"]] = counts.get(member["level"], 0) + 1
    return {"clusters": found, "pages": counts}
