"""How much of the tests of checkpoints is played: `make test` a little, `make test-store` all."""

import os

import pytest

IS_FULL = os.environ.get("STORE_FULL", "") == "1"


def times(full: int, small: int = 3) -> int:
    """Return how often something is done."""
    return full if IS_FULL else small


only_in_full = pytest.mark.skipif(not IS_FULL, reason="played by `make test-store`")
