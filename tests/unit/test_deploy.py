"""What `deploy/` has: units that systemd accepts, and metrics that exist."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gossamer.model import Counters, Histogram
from gossamer.report import CrawlMetrics, merge_standings, metrics_text, status_of

DEPLOY = Path(__file__).parents[2] / "deploy"
METRIC = re.compile(r"\bgossamer_[a-z_]+\b")


def known(folder: Path) -> set[str]:
    """Return the names of all metrics of a crawl."""
    counters = Counters()
    counters.count_failure("not_found", "", is_final=True)
    status = status_of(counters, merge_standings([]))
    times = Histogram()
    text = metrics_text(
        CrawlMetrics(status=status, folder=folder, fetches=times, commits=times, shards_up=(True,))
    )
    return set(METRIC.findall(text))


@pytest.mark.parametrize("name", ["alerts.yml", "grafana.json"])
def test_every_metric_that_is_asked_for_exists(name: str, tmp_path: Path) -> None:
    asked = set(METRIC.findall((DEPLOY / name).read_text()))
    assert asked
    assert asked <= known(tmp_path)


def test_the_dashboard_is_json_with_a_figure_in_every_panel() -> None:
    board = json.loads((DEPLOY / "grafana.json").read_text())
    assert all(target["expr"] for panel in board["panels"] for target in panel["targets"])


def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    verify = shutil.which("systemd-analyze")
    if verify is None:
        pytest.skip("systemd-analyze is not installed here")
    program = shutil.which("true") or "/bin/true"
    units = []
    for path in DEPLOY.glob("gossamer-*"):
        text = path.read_text().replace("/opt/gossamer/bin/gossamer", program)
        unit = tmp_path / path.name.replace("@", "@one")
        unit.write_text(text)
        units.append(str(unit))
    assert len(units) == 3
    done = subprocess.run(
        [verify, "verify", "--man=no", *units], check=False, capture_output=True, text=True
    )
    told = [line for line in done.stderr.splitlines() if "gossamer" in line]
    assert (done.returncode, told) == (0, []), done.stderr


def test_a_unit_takes_a_stop_on_request_for_a_success() -> None:
    for path in DEPLOY.glob("*.service"):
        assert "SuccessExitStatus=3" in path.read_text()
