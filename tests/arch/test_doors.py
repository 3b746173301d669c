"""Front doors: who goes around one fails `make check`."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from house import REPOSITORY, SOURCE, rooms

TOPS = [room.name for room in rooms() if room.parent == SOURCE]
NOBODYS_NEIGHBOUR = {"cli"}
"""The top layer: nobody but `python -m gossamer` imports it."""


def contract_of(room: str) -> str:
    """Return the name of the contract that guards a room."""
    return f"Others enter {room} by its front door"


def first_module(room: str) -> str:
    """Return the dotted name of some module inside a room."""
    inside = sorted(path.stem for path in (SOURCE / room).glob("*.py") if path.stem[0] != "_")
    return f"gossamer.{room}.{inside[0]}"


def lint(tree: Path) -> str:
    """Return what lint-imports says about a copy of the product."""
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree / "src"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.stdout + done.stderr


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a copy of the product's sources and contracts."""
    shutil.copytree(
        SOURCE, tmp_path / "src" / "gossamer", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    return tmp_path


def test_every_room_has_a_contract_for_its_front_door() -> None:
    config = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = {one["name"]: one for one in config["tool"]["importlinter"]["contracts"]}
    for room in set(TOPS) - NOBODYS_NEIGHBOUR:
        one = contracts[contract_of(room)]
        assert one["protected_modules"] == [f"gossamer.{room}.*"]
        assert one["allowed_importers"] == [f"gossamer.{room}"]


@pytest.mark.slow
def test_an_import_that_goes_around_any_front_door_breaks_its_contract(tree: Path) -> None:
    doors = sorted(set(TOPS) - NOBODYS_NEIGHBOUR)
    intruder = tree / "src" / "gossamer" / "cli" / "intruder.py"
    intruder.write_text("".join(f"import {first_module(room)}\n" for room in doors))
    said = lint(tree)
    assert [room for room in doors if f"{contract_of(room)} BROKEN" not in said] == []


@pytest.mark.slow
def test_one_back_door_import_breaks_one_contract(tree: Path) -> None:
    loop = tree / "src" / "gossamer" / "crawl" / "intruder.py"
    loop.write_text("from gossamer.frontier.workbench import Workbench\n")
    said = lint(tree)
    assert "gossamer.crawl.intruder -> gossamer.frontier.workbench" in said
    assert "1 broken" in said


@pytest.mark.slow
@pytest.mark.parametrize("room", ["cli", "web"])
def test_hands_and_eyes_that_ask_an_engine_directly_break_the_contract(
    tree: Path, room: str
) -> None:
    intruder = tree / "src" / "gossamer" / room / "intruder.py"
    intruder.write_text("from gossamer.report import status\n")
    assert "cli and web use only the front door BROKEN" in lint(tree)
