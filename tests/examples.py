"""How many examples a property is tried with: half in `make test`, a fifth in `make quick`.

`pytest --hypothesis-profile=full tests/property` tries all.
"""

from hypothesis import settings

ORDINARY = 100
"""Examples of a property that says nothing, in the profile `full`."""
HALF = 50
QUICK = 20


def examples(count: int) -> int:
    """Return how many examples to try where a full run tries so many."""
    return max(1, count * settings.default.max_examples // ORDINARY)
