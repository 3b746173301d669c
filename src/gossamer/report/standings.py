"""UrlStandings: where URLs stand, for whoever joins millions of links with it.

Three sorted arrays, 11 bytes per URL. `CopyNames` says of which page a page is a copy.
"""

from array import array
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from gossamer.dedupe import Level
from gossamer.model import EMBEDDED, FOLLOWED, LinkKind
from gossamer.report.clusters import Labels
from gossamer.report.snapshot import Snapshot
from gossamer.report.urls import URL_STATES, known_urls
from gossamer.urls import fingerprint_of, read_canonical

_CODES = {state: code for code, state in enumerate(URL_STATES)}
_NEVER = len(URL_STATES)
_NAMES = np.array([*URL_STATES, ""], object)


class UrlStandings:
    """State and HTTP status of every URL that a crawl knows, at one moment."""

    def __init__(self, snapshot: Snapshot) -> None:
        keys, states, statuses = array("Q"), array("B"), array("H")
        for key, row in known_urls(snapshot):
            keys.append(key)
            states.append(_CODES[row.state])
            statuses.append(min(row.status or 0, 999))
        order = np.argsort(np.asarray(keys, np.uint64), kind="stable")
        self._keys: NDArray[np.uint64] = np.asarray(keys, np.uint64)[order]
        self._states: NDArray[np.uint8] = np.asarray(states, np.uint8)[order]
        self._statuses: NDArray[np.uint16] = np.asarray(statuses, np.uint16)[order]
        process = snapshot.config.process
        with_embeds = process.embeds or process.requisites
        self._kinds: frozenset[LinkKind] = FOLLOWED | EMBEDDED if with_embeds else FOLLOWED

    def of_links(
        self, targets: Sequence[str], kinds: Sequence[str]
    ) -> tuple[list[str], list[int | None]]:
        """Return state and HTTP status of the targets of links.

        A target that is not known was refused if links of its kind are followed, else "".
        """
        distinct: dict[str, int] = {}
        places = [distinct.setdefault(target, len(distinct)) for target in targets]
        codes, statuses = self._of(distinct)
        states: list[str] = _NAMES[codes[places]].tolist()
        for place in np.flatnonzero(codes[places] == _NEVER).tolist():
            states[place] = "refused" if kinds[place] in self._kinds else ""
        return states, [status or None for status in statuses[places].tolist()]

    def _of(self, urls: Iterable[str]) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
        """Return the codes of the states of URLs, and their HTTP statuses."""
        keys = np.fromiter(map(_key_of, urls), np.uint64)
        places = np.searchsorted(self._keys, keys)
        is_known = places < len(self._keys)
        is_known[is_known] = self._keys[places[is_known]] == keys[is_known]
        codes = np.full(len(keys), _NEVER, np.uint8)
        statuses = np.zeros(len(keys), np.uint16)
        codes[is_known] = self._states[places[is_known]]
        statuses[is_known] = self._statuses[places[is_known]]
        return codes, statuses


def _key_of(target: str) -> int:
    """Return the key of a URL as links have it; what has no host (mailto:) is not known anyway."""
    return fingerprint_of(target) if "://" in target else 0


class CopyNames:
    """Says of which older page a page is a copy or near-duplicate: a name for each that is one."""

    def __init__(self, snapshot: Snapshot) -> None:
        labels = Labels(snapshot.states, snapshot.ring)
        names: dict[int, str] = {}
        self._original: dict[int, str] = {}
        for key, label in labels:
            if label.level >= Level.DUPLICATE:
                if label.original not in names:
                    names[label.original] = labels.name(label.original)
                self._original[key] = names[label.original]

    def of(self, urls: Sequence[str]) -> list[str]:
        """Return the original of each page; "" if it is no copy. Similar pages are none."""
        return [self._original.get(read_canonical(url).key, "") for url in urls]
