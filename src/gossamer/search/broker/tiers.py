"""When the high tier is not enough: the rule by which the low one is asked, too."""

from collections.abc import Sequence

from msgspec import Struct

from gossamer.search.messages import Candidate

ENOUGH = 10
GOOD = 0.3


class TierRule(Struct, frozen=True):
    """What makes an answer of the high tier good enough."""

    enough: int = ENOUGH
    """So many hits have to be good."""
    good: float = GOOD
    """A hit is good that has this share of what a page could have at most (ADR 29)."""

    def is_enough(self, candidates: Sequence[Candidate], wanted: int, most: float) -> bool:
        """Return True if the best candidates of the high tier, the best first, will do."""
        enough = min(self.enough, wanted)
        if len(candidates) < enough:
            return False
        return enough == 0 or candidates[enough - 1].score >= self.good * most
