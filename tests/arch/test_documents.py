"""Documents: what they point at exists, and what is generated is current."""

import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from house import REPOSITORY, SOURCE, documents, name_of, rooms
from operating import PATH, generated
from reference import PARTS
from reference import PATH as API
from reference import generated as generated_api
from table_columns import PATH as TABLES
from table_columns import generated as generated_tables

import gossamer
from gossamer.cli.app import every_command
from gossamer.cli.parsing import HELP

LINK = re.compile(r"\]\(([^)\s]+)\)")
COMMAND = re.compile(r"(?:^\$ |`)gossamer ([a-z][^`\n]*)", re.MULTILINE)
NAME = re.compile(r"[a-z-]+")
FLAG = re.compile(r"(?<!\S)\[?(--[a-z-]+)")
QUOTED = re.compile(r"`([^`\n]+)`")
SAID = re.compile(r"[\w./{},-]*\w/?")
EITHER = re.compile(r"(.*)\{(.*)\}(.*)")
PLACEHOLDER = re.compile(r"\b[A-Z]{2,}\b")
DECISIONS = re.compile(r"\b(ADRs?) ((?:\d+(?:, | and )?)+)")
GROUPS = ("graph", "cluster")
ELSEWHERE = ("http://", "https://", "mailto:", "#")


@pytest.mark.parametrize("path", documents(), ids=name_of)
def test_every_linked_file_exists(path: Path) -> None:
    for target in LINK.findall(path.read_text(encoding="utf-8")):
        if not target.startswith(ELSEWHERE):
            assert (path.parent / target.partition("#")[0]).exists(), f"{name_of(path)}: {target}"


@functools.cache
def our_paths() -> frozenset[str]:
    """Return every path of the repository, and every end of one: `frontier/rows.py`, `rows.py`."""
    tops = ("src", "tests", "benchmarks", "docs", "examples", "deploy", ".ci")
    found = {path.relative_to(REPOSITORY) for path in REPOSITORY.glob("*")}
    for top in tops:
        found |= {path.relative_to(REPOSITORY) for path in (REPOSITORY / top).rglob("*")}
    return frozenset("/".join(one.parts[n:]) for one in found for n in range(len(one.parts)))


@functools.cache
def our_folders() -> frozenset[str]:
    """Return the names of the folders of the repository, and of the rooms."""
    tops = (path.name for path in REPOSITORY.glob("*") if path.is_dir())
    return frozenset((*tops, *(room.name for room in rooms() if room.parent == SOURCE)))


def names_our_file(name: str) -> bool:
    """Return True if this is said of a file of ours: Python, or below one of our folders."""
    top, slash, _ = name.partition("/")
    return name.endswith(".py") or (bool(slash) and top in our_folders())


def paths_said(text: str) -> Iterator[str]:
    """Yield each path that a text quotes; `a/{b,c}.py` says two."""
    words = (word for quoted in QUOTED.findall(text) for word in quoted.split())
    for said in filter(SAID.fullmatch, words):
        either = EITHER.fullmatch(said)
        names = [f"{either[1]}{n}{either[3]}" for n in either[2].split(",")] if either else [said]
        yield from (name.removesuffix("/") for name in names)


@pytest.mark.parametrize("path", documents(), ids=name_of)
def test_every_file_of_ours_that_is_named_exists(path: Path) -> None:
    """A changelog tells what was; all else is about the tree of today."""
    if path.name == "CHANGELOG.md":
        return
    known = our_paths()
    said = paths_said(path.read_text(encoding="utf-8"))
    ours = [name for name in said if names_our_file(name) and not PLACEHOLDER.search(name)]
    assert [name for name in ours if name not in known] == []


def test_a_file_that_is_gone_is_noticed() -> None:
    said = list(paths_said("see `search/ask/intent.py`, `crawl/{core,gone}.py` and `order/`"))
    assert said == ["search/ask/intent.py", "crawl/core.py", "crawl/gone.py", "order"]
    assert [n for n in said if n not in our_paths()] == ["search/ask/intent.py", "crawl/gone.py"]


def test_the_operating_manual_is_current() -> None:
    assert PATH.read_text(encoding="utf-8") == generated(), "run `make docs`"


def test_the_reference_of_the_python_api_is_current() -> None:
    assert API.read_text(encoding="utf-8") == generated_api(), "run `make docs`"


def test_the_page_of_the_tables_is_current() -> None:
    assert TABLES.read_text(encoding="utf-8") == generated_tables(), "run `make docs`"


def test_the_reference_of_the_python_api_lists_every_public_name_once() -> None:
    listed = [name for names in PARTS.values() for name in names]
    assert sorted(listed) == sorted(set(gossamer.__all__) - {"__version__"})


@pytest.mark.parametrize("path", documents(), ids=name_of)
def test_every_command_and_flag_that_is_named_exists(path: Path) -> None:
    """ADRs are of their day; everything else shows commands of today."""
    if path.parent.name == "adr":
        return
    commands = our_commands()
    for line in COMMAND.findall(path.read_text(encoding="utf-8")):
        first, *words = line.split()
        if first in GROUPS and words and NAME.fullmatch(words[0]):
            first = f"{first} {words.pop(0)}"
        is_several = not NAME.fullmatch(first.partition(" ")[0])  # or several: `links|rank DIR`
        assert is_several or first in commands or first in GROUPS, (
            f"{name_of(path)}: gossamer {line}"
        )
        for flag in FLAG.findall(" ".join(words)):
            assert flag in commands.get(first, HELP), f"{name_of(path)}: gossamer {line}: {flag}"


@functools.cache
def our_commands() -> dict[str, set[str]]:
    """Return the options of every command, by its name."""
    return {
        command: {name for one in declarations for name in (*one.on, *one.off, *HELP)}
        for command, declarations in every_command()
    }


def test_every_decision_is_in_the_index_of_decisions() -> None:
    folder = REPOSITORY / "docs" / "adr"
    index = LINK.findall((folder / "README.md").read_text(encoding="utf-8"))
    assert sorted(index) == sorted(path.name for path in folder.glob("0*.md"))


def test_every_decision_has_a_number_of_its_own_and_says_it_first() -> None:
    decisions = sorted((REPOSITORY / "docs" / "adr").glob("0*.md"))
    numbers = [int(path.name[:4]) for path in decisions]
    assert len(set(numbers)) == len(numbers)
    firsts = [path.read_text(encoding="utf-8").partition(".")[0] for path in decisions]
    assert firsts == [f"# {number}" for number in numbers]


@pytest.mark.parametrize("path", documents(), ids=name_of)
def test_every_decision_that_is_named_exists(path: Path) -> None:
    known = {int(one.name[:4]) for one in (REPOSITORY / "docs" / "adr").glob("0*.md")}
    named = (said for _, said in DECISIONS.findall(path.read_text(encoding="utf-8")))
    assert {int(n) for said in named for n in re.findall(r"\d+", said)} - known == set()


def test_the_licence_is_there() -> None:
    assert "Apache License" in (REPOSITORY / "LICENSE").read_text(encoding="utf-8")
