"""What was played and found in all crawls, as a table at the end of a run of these tests.

Tests may run in several processes: what each notes travels with its report.
"""

import json
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cluster.machines import Findings

PROPERTY = "faults"


class FaultTally(NamedTuple):
    """Takes note of what a crawl has met, and what was found then."""

    record: "Callable[[str, object], None]"

    def note(self, crawl: str, played: Counter[str], found: "Findings") -> None:
        """Note what a crawl has met, and what was found."""
        self.record(PROPERTY, {"crawl": crawl, "played": dict(played), "found": asdict(found)})


class FaultTable:
    """What the tests of all processes have noted; told at the end."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take what a test has noted."""
        if report.when == "call":
            self._rows += [what for name, what in report.user_properties if name == PROPERTY]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print a line for each crawl, then the sums, then the same as JSON."""
        if not self._rows:
            return
        played: Counter[str] = Counter()
        found: Counter[str] = Counter()
        terminalreporter.section("faults played")
        for row in self._rows:
            played.update(row["played"])
            found.update(row["found"])
            terminalreporter.write_line(f"{row['crawl']}: {_words(row['played'])}")
            terminalreporter.write_line(f"    {_words(row['found'])}")
        terminalreporter.write_line(f"all: {_words(played)}")
        terminalreporter.write_line(f"    {_words(found)}")
        summary = {"crawls": len(self._rows), "played": dict(played), "found": dict(found)}
        terminalreporter.write_line(json.dumps(summary))


def _words(numbers: "dict[str, int] | Counter[str]") -> str:
    return ", ".join(f"{name.replace('_', ' ')} {number}" for name, number in numbers.items())


def pytest_configure(config: pytest.Config) -> None:
    """Take note of what all tests have to tell."""
    config.pluginmanager.register(FaultTable())


@pytest.fixture
def tally(record_property: "Callable[[str, object], None]") -> FaultTally:
    """What a crawl has met is noted here."""
    return FaultTally(record_property)
