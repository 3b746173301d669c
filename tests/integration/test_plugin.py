"""A processor from a package of its own works without touching a file of ours."""

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

import gossamer
from gossamer.config import ProcessConfig, UrlConfig
from gossamer.model import Document, LinkKind
from gossamer.process import Registry, Tools
from gossamer.urls import parse
from tests.bodies import Bytes

RULES = UrlConfig()
TABLE = b"name,home\nAda,http://h.test/ada\nBob,\n"


@pytest.fixture(scope="module")
def registry() -> Registry:
    try:
        distribution("gossamer-csv")
    except PackageNotFoundError:
        pytest.skip("examples/gossamer-csv is not installed: run `make setup`")
    return Registry.load(Tools(urls=RULES, process=ProcessConfig(), robots_agent="gossamer"))


def table() -> Document:
    url = parse("http://h.test/people.csv", RULES)
    assert url is not None
    return Document(
        url=url,
        status=200,
        head=b"",
        headers=(),
        body=Bytes(TABLE),
        request=b"",
        address="127.0.0.1",
        fetched_at=0.0,
        latency_s=0.0,
        media_type="text/csv",
    )


def test_a_table_is_read_by_the_installed_example(registry: Registry) -> None:
    document = table()
    found = registry.read(document, registry.media_type(document))
    assert found.media_type == "text/csv"
    assert found.notes == {"rows": 3, "columns": 2}
    assert [(x.target.text, x.kind, x.text) for x in found.links] == [
        ("http://h.test/ada", LinkKind.DATA, "Ada")
    ]


def test_without_the_example_nobody_reads_a_table(registry: Registry) -> None:
    ours = [known for known in registry.processors if known.name != "csv"]
    found = Registry(ours, registry.tools).read(table(), "text/csv")
    assert (found.text, found.links) == ("", [])


def test_no_file_of_ours_knows_the_example() -> None:
    folder = Path(gossamer.__file__).parent
    assert not [path for path in folder.rglob("*.py") if "gossamer_csv" in path.read_text()]
