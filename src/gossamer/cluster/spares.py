"""Spares: processes that have imported what a shard needs, and wait until they are to be one.

A shard that has to start since its machine died is to crawl again soon, and half of the way there
is imports. So whoever starts shards keeps processes more, as long as any of them run.
"""

import sys
from collections.abc import Sequence

import msgspec

SPARES = 2
"""On a machine without Ray: of a shard that is split both halves start."""
SPARE_AFTER_S = 3.0
"""After a start: what starts is to have the machine for itself first."""
SPARE_IDLE_S = 10.0
"""After the end of the last shard: one that moves starts again at once."""
ROOM = "-" * 1500
"""In the command line of a spare: for that of the shard which it becomes."""
SPARE = """
import json, os, runpy, sys
import gossamer.cli.app, gossamer.crawl.joined_shard
from gossamer.linux import show_as
line = sys.stdin.readline()
if line:
    words = json.loads(line)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    show_as(words)
    sys.argv = words[2:]
    runpy.run_module("gossamer", run_name="__main__")
"""
"""Ends if nobody wants it any more: its input is closed then."""


def spare_words() -> list[str]:
    """Return the command that runs a spare."""
    return [sys.executable, "-c", SPARE, ROOM]


def handed_to_spare(words: Sequence[str]) -> bytes:
    """Return what makes a spare the program with these words: PYTHON -m gossamer ...."""
    return msgspec.json.encode(list(words)) + b"\n"
