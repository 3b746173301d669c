"""Does `check-links` find the broken links that LinkChecker finds, and at what cost?

`LINKCHECKER=path/to/linkchecker python benchmarks/linkcheck.py [HOST...]`: both check hosts of the
local real web, one after the other, without a gap between requests. Printed are the broken targets
that both, or only one of them, have found, and the CPU and wall time of both.
"""

import csv
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from measure import measured
from realweb import bring_up

HOSTS = ("docs-sqlite", "docs-pandas", "docs-rust", "docs-git", "docs-policy", "docs-debref")
CHECKER = os.environ.get("LINKCHECKER", "linkchecker")
SETTINGS = "[checking]\nmaxrequestspersecond=100000\nthreads=10\n"
LIMIT_S = 600.0


class Arm(NamedTuple):
    """What one program found, and what it took."""

    broken: frozenset[str]
    cpu_s: float
    wall_s: float


def ours(url: str, folder: Path) -> Arm:
    """Let Gossamer check a site."""
    words = [sys.executable, "-m", "gossamer", "check-links", url, "--json", "--delay", "0"]
    took = measured([*words, "--allow-net", "127.0.0.0/8"], folder, limit_s=LIMIT_S)
    found = json.loads(took.output)
    findings = [one for one in found["findings"] if one["kind"] == "broken"]
    broken = ([one["target"], *one["chain"]][-1] for one in findings)  # LinkChecker names the last
    return Arm(frozenset(map(unquote, broken)), took.cpu_s, took.wall_s)


def theirs(url: str, folder: Path) -> Arm:
    """Let LinkChecker check a site."""
    settings = folder / "linkcheckerrc"
    settings.write_text(SETTINGS)
    folder.chmod(0o755)  # it gives up the rights of root
    words = [CHECKER, "--config", str(settings), "--no-status", "--no-warnings", "--output", "csv"]
    took = measured([*words, url], folder, limit_s=LIMIT_S)
    lines = [line for line in took.output.splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(io.StringIO("\n".join(lines)), delimiter=";"))
    broken = (row["url"].partition("#")[0] for row in rows if row["valid"] == "False")
    return Arm(frozenset(map(unquote, broken)), took.cpu_s, took.wall_s)


def main() -> None:
    """Compare both on each host."""
    bring_up()
    for host in sys.argv[1:] or HOSTS:
        url = f"http://{host}.test:8100/"
        with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as place:
            we = ours(url, Path(place))
            they = theirs(url, Path(place))
        print(
            f"{host}: {len(we.broken & they.broken)} broken targets found by both, "
            f"{len(we.broken - they.broken)} by Gossamer alone, "
            f"{len(they.broken - we.broken)} by LinkChecker alone; "
            f"Gossamer {we.cpu_s:.1f} s of CPU, {we.wall_s:.1f} s; "
            f"LinkChecker {they.cpu_s:.1f} s of CPU, {they.wall_s:.1f} s",
            flush=True,
        )
        for name, only in (
            ("Gossamer", we.broken - they.broken),
            ("LinkChecker", they.broken - we.broken),
        ):
            for target in sorted(only)[:20]:
                print(f"  only {name}: {target}")


if __name__ == "__main__":
    main()
