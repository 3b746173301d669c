"""Documents: what they point at exists, and what is generated is current."""

import re
from pathlib import Path

import pytest
from house import REPOSITORY, documents, name_of
from operating import PATH, generated

LINK = re.compile(r"\]\(([^)\s]+)\)")
ELSEWHERE = ("http://", "https://", "mailto:", "#")


@pytest.mark.parametrize("path", documents(), ids=name_of)
def test_every_linked_file_exists(path: Path) -> None:
    for target in LINK.findall(path.read_text(encoding="utf-8")):
        if not target.startswith(ELSEWHERE):
            assert (path.parent / target.partition("#")[0]).exists(), f"{name_of(path)}: {target}"


def test_the_operating_manual_is_current() -> None:
    assert PATH.read_text(encoding="utf-8") == generated(), "run `make docs`"


def test_the_licence_is_there() -> None:
    assert "Apache License" in (REPOSITORY / "LICENSE").read_text(encoding="utf-8")
