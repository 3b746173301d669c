"""How much of the trials is played: a few of each kind, or all with CLUSTER_FULL=1."""

import os

IS_FULL = bool(os.environ.get("CLUSTER_FULL"))


def times(full: int) -> int:
    """Return how often something is done."""
    return full if IS_FULL else 1
