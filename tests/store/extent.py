"""How much of the tests of checkpoints is played: `make test` a little, `make test-store` all."""

import os

import pytest

IS_FULL = os.environ.get("STORE_FULL", "") == "1"


def times(full: int, small: int = 3) -> int:
    """Return how often something is done."""
    return full if IS_FULL else small


def parts(full: int, size: int, small: int = 3) -> list[range]:
    """Return numbers for a test that is played in parts, beside one another if there are cores."""
    most = times(full, small)
    return [range(first, min(first + size, most)) for first in range(0, most, size)]


only_in_full = pytest.mark.skipif(not IS_FULL, reason="played by `make test-store`")
