"""How many examples a property is tried with: all in `make test`, a fifth in `make quick`."""

from hypothesis import settings

ORDINARY = 100
"""Examples of a property that says nothing, in the profile of `make test`."""
QUICK = 20


def examples(count: int) -> int:
    """Return how many examples to try where a full run tries so many."""
    return max(1, count * settings.default.max_examples // ORDINARY)
