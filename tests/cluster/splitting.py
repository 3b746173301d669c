"""How far a split of a shard is, as the store tells."""

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import gossamer
from gossamer.errors import GossamerError
from tests.cluster.machines import ClusterTrial, wait_for

ASK_AGAIN_S = 0.2


def newest(folder: Path) -> dict[str, Any]:
    """Return what the last object of a chain says; nothing if there is none."""
    numbers = sorted(one for one in folder.glob("*") if one.name.isdecimal())
    return json.loads(numbers[-1].read_bytes()) if numbers else {}


def charter_of(going: ClusterTrial) -> dict[str, Any]:
    return newest(going.folder / "store" / "charter")


def split(going: ClusterTrial, shard: int | None = None) -> gossamer.ShardSplit:
    """Have a shard split, the largest unless one is named."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("GOSSAMER_CLUSTER", str(going.nodes[0].home))
        return gossamer.cluster_split(going.url, shard)


def begin_split(going: ClusterTrial) -> None:
    """Have the largest shard split, as soon as a split before it is done and a coordinator there.

    When this returns the charter has it.
    """

    def has_begun() -> bool:
        with suppress(GossamerError):
            split(going)
            return True
        time.sleep(ASK_AGAIN_S)
        return going.is_over

    assert wait_for(has_begun), going.story
    assert wait_for(lambda: is_between(going) or going.is_over), going.story


def is_between(going: ClusterTrial) -> bool:
    """Return True while a split is under way."""
    return bool(charter_of(going).get("split"))


def is_settled(going: ClusterTrial) -> bool:
    """Return True if no split is under way, and there was one."""
    charter = charter_of(going)
    return not charter.get("split") and charter.get("shards", 0) > going.shards
