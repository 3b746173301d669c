"""Which record of each URL holds, found out before anything is written."""

from array import array

import numpy as np
from numpy.typing import NDArray

from gossamer.search.sources.archive import PageFacts
from gossamer.urls import fingerprint_of

_CODES = {"": 0, "page": 1, "gone": 2, "noindex": 3, "probation": 4, "dropped": 5}


class RecordPlan:
    """Takes all records in order; tells of which of them the index is made.

    It remembers 17 bytes of a record.
    """

    def __init__(self) -> None:
        self._keys = array("Q")
        self._at = array("d")
        self._codes = array("B")

    def note(self, facts: PageFacts) -> None:
        """Take the next record."""
        code = _CODES[facts.standing]
        self._keys.append(fingerprint_of(facts.url) if code else 0)
        self._at.append(facts.at)
        self._codes.append(code)

    def settle(self) -> "LiveRecords":
        """Return what holds: of each URL the newest record, of two as new the later one."""
        keys, at = np.frombuffer(self._keys, np.uint64), np.frombuffer(self._at, np.float64)
        codes = np.frombuffer(self._codes, np.uint8)
        said = np.flatnonzero(codes)
        order = said[np.lexsort((said, at[said], keys[said]))]
        is_last = np.ones(len(order), np.bool_)
        is_last[:-1] = keys[order[1:]] != keys[order[:-1]]
        last = order[is_last]
        holds = np.zeros(len(codes), np.bool_)
        holds[last[codes[last] == _CODES["page"]]] = True
        reasons = ("noindex", "probation")
        counts = {why: int((codes[last] == _CODES[why]).sum()) for why in reasons}
        return LiveRecords(holds, keys[holds], {why: n for why, n in counts.items() if n})


class LiveRecords:
    """What a plan came to."""

    def __init__(
        self, holds: NDArray[np.bool_], keys: NDArray[np.uint64], left_out: dict[str, int]
    ) -> None:
        self.holds = holds
        """Of each record, in order, whether it is the page of its URL now."""
        self.keys = keys
        """Of the pages."""
        self.left_out = left_out
        """Pages that are left out, by reason: they ask for it, or were fetched on probation."""
