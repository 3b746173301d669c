"""Where and when a result was measured, and how fast the machine was at that moment."""

import os
import platform
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import turbohtml

from gossamer.testing import FakeWeb

REPOSITORY = Path(__file__).resolve().parent.parent
ROUNDS = 5


def provenance() -> dict[str, object]:
    """Return commit, date, machine, and the speed of the bare HTML parser."""
    return {
        "commit": commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "cpu": cpu_model(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        },
        "bare_parser_us_per_kb": bare_parser_us_per_kb(),
    }


def commit() -> str:
    """Return the commit that is checked out, with a + if files differ from it."""
    if not (head := _git("rev-parse", "--short=12", "HEAD")):
        return "unknown"
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ":!benchmarks/results")
    return f"{head}+" if changed else head


def cpu_model() -> str:
    """Return the name that the processor gives itself."""
    lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    names = [
        value for key, _, value in (one.partition(":") for one in lines) if "model name" in key
    ]
    return names[0].strip() if names else platform.machine()


def bare_parser_us_per_kb() -> float:
    """Return CPU time of the HTML parser alone on pages of the built-in web, the best of a few.

    The same pages everywhere, so that results of different hours and machines can be compared.
    """
    web = FakeWeb(seed=7, hosts=4, pages_per_host=25)
    places = [urlsplit(url) for url in sorted(web.truth())]
    bodies = [web.response(place.hostname or "", place.path).body for place in places]
    took = []
    for _ in range(ROUNDS):
        began = time.process_time()
        for body in bodies:
            turbohtml.parse(body, positions=False)
        took.append(time.process_time() - began)
    return round(1e9 * min(took) / sum(map(len, bodies)), 2)


def _git(*words: str) -> str:
    try:
        done = subprocess.run(
            ["git", *words], cwd=REPOSITORY, capture_output=True, text=True, check=False
        )
    except OSError:  # there is no git
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
