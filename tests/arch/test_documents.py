"""Documents: what they point at exists, and what is generated is current."""

import re
from pathlib import Path

import pytest
from house import REPOSITORY, documents, name_of
from operating import PATH, generated
from reference import PARTS
from reference import PATH as API
from reference import generated as generated_api

import gossamer

LINK = re.compile(r"\]\(([^)\s]+)\)")
ELSEWHERE = ("http://", "https://", "mailto:", "#")


@pytest.mark.parametrize("path", documents(), ids=name_of)
def test_every_linked_file_exists(path: Path) -> None:
    for target in LINK.findall(path.read_text(encoding="utf-8")):
        if not target.startswith(ELSEWHERE):
            assert (path.parent / target.partition("#")[0]).exists(), f"{name_of(path)}: {target}"


def test_the_operating_manual_is_current() -> None:
    assert PATH.read_text(encoding="utf-8") == generated(), "run `make docs`"


def test_the_reference_of_the_python_api_is_current() -> None:
    assert API.read_text(encoding="utf-8") == generated_api(), "run `make docs`"


def test_the_reference_of_the_python_api_lists_every_public_name_once() -> None:
    listed = [name for names in PARTS.values() for name in names]
    assert sorted(listed) == sorted(set(gossamer.__all__) - {"__version__"})


def test_every_decision_is_in_the_index_of_decisions() -> None:
    folder = REPOSITORY / "docs" / "adr"
    index = LINK.findall((folder / "README.md").read_text(encoding="utf-8"))
    assert sorted(index) == sorted(path.name for path in folder.glob("0*.md"))


def test_the_licence_is_there() -> None:
    assert "Apache License" in (REPOSITORY / "LICENSE").read_text(encoding="utf-8")
