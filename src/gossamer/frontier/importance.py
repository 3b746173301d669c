"""Which class does a URL belong to? Pure."""

from collections.abc import Callable, Mapping


def by_depth(depth: int, grades: int) -> int:
    """Return the class of a URL in breadth-first order, 1 (low) to `grades` (high)."""
    return max(1, grades - depth)


GRADE_BY_ORDER: Mapping[str, Callable[[int, int], int]] = {"bfs": by_depth}
"""The rule behind each value of `frontier.order`."""
