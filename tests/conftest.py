"""What holds for all tests: none fails because a machine is slow, so no example has a deadline.

Packages of benchmarks are imported by the name under which a benchmark runs them (`laboratory`,
`orders`): numba's cache on disk remembers types by that name, and under two names each would find
the other's. Their folder comes last on the path, so that it hides no installed package.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.examples import HALF, ORDINARY, QUICK

if TYPE_CHECKING:
    from tests.s3 import S3

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

_TESTS = Path(__file__).parent
_LONG_FIRST = ("store", "e2e", "model", "browser", "integration", "property")

settings.register_profile("full", deadline=None, max_examples=ORDINARY)
settings.register_profile("unhurried", settings.get_profile("full"), max_examples=HALF)
settings.register_profile("quick", settings.get_profile("unhurried"), max_examples=QUICK)
settings.load_profile("unhurried")  # `make quick` says --hypothesis-profile=quick


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the rooms whose files take long come first, so that no worker ends with one of them."""

    def rank(item: pytest.Item) -> int:
        room = item.path.relative_to(_TESTS).parts[0]
        return _LONG_FIRST.index(room) if room in _LONG_FIRST else len(_LONG_FIRST)

    items.sort(key=rank)


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator["S3"]:
    """Run an S3 server for all tests of a process that want one."""
    from tests.s3 import s3_server  # noqa: PLC0415 - it takes a second, and few tests want it

    with s3_server() as server:
        yield server


@pytest.fixture
def s3(s3_endpoint: "S3", monkeypatch: pytest.MonkeyPatch) -> "S3":
    """Let stores be found on an S3 server on loopback."""
    s3_endpoint.point(monkeypatch)
    return s3_endpoint
