"""What shards have in hand, as they last told: so that a page that kills machines is found.

A shard that dies on a machine that lives has marked on its disk whose page it was reading. One that
goes with its machine has not: what it had in hand is all that is known. Its next start reads these
pages alone, in a helper process, and says so just before: a machine that goes then counts against
that one page.
"""

from collections.abc import Sequence
from typing import NamedTuple

MOST_KEPT = 10_000
"""Keys of a shard that are remembered; the oldest go first."""


class _Told(NamedTuple):
    """What a shard has told last."""

    keys: Sequence[int] = ()
    alone: int = 0
    """The page that is being read alone at this moment; 0 for none."""


class KeysInHand:
    """By shard: what it has in hand, and how many machines each page may have on its conscience."""

    def __init__(self, shards: int) -> None:
        self._told = [_Told()] * shards
        self._losses: list[dict[int, int]] = [{} for _ in range(shards)]

    def add_shard(self) -> None:
        """Count one shard more, which has nothing in hand."""
        self._told.append(_Told())
        self._losses.append({})

    def note(self, shard: int, keys: Sequence[int], alone: int) -> None:
        """Note what a shard has in hand now."""
        self._told[shard] = _Told(keys, alone)

    def ended(self, shard: int) -> None:
        """Note that a shard has ended, or died where its disk is: nothing follows from that."""
        self._told[shard] = _Told()

    def lost(self, shard: int) -> None:
        """Note that a shard went with its machine."""
        told, losses = self._told[shard], self._losses[shard]
        self._told[shard] = _Told()
        if told.alone:
            losses[told.alone] = losses.get(told.alone, 1) + 1
        for key in told.keys:
            losses.setdefault(key, 1)
        while len(losses) > MOST_KEPT:
            del losses[next(iter(losses))]

    def suspects(self, shard: int) -> dict[int, int]:
        """Return the pages that a shard is to read alone, and how many machines went over each."""
        return dict(self._losses[shard])
