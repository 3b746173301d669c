"""Knobs: each one is documented, and read by someone."""

import ast

import pytest
from house import SOURCE, sources, tree_of

from gossamer.settings import describe_knobs

NOT_READ: set[str] = set()
"""Keys that are accepted although nothing reads them (yet, or any more)."""


def names_read() -> set[str]:
    """Return every attribute that any file but config.py and settings.py reads."""
    found: set[str] = set()
    for path in sources():
        if path in (SOURCE / "config.py", SOURCE / "settings.py"):
            continue
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                found.add(node.attr)
    return found


def test_every_knob_is_documented() -> None:
    assert [knob.path for knob in describe_knobs() if not knob.doc] == []


@pytest.mark.slow
def test_every_knob_is_read_by_someone() -> None:
    read = names_read()
    knobs = [knob for knob in describe_knobs() if knob.path not in NOT_READ]
    assert [knob.path for knob in knobs if knob.name not in read] == []


def test_there_are_no_more_knobs_than_fit_on_a_page() -> None:
    assert len(describe_knobs()) <= 112
