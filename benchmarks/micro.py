"""The stations alone: every benchmark in `micro/`, one after the other: `make bench-micro`.

Each is a script of its own that asserts its work, prints a table and ends with one JSON object;
here they are run, each in a fresh process, and their objects kept together, by name. ONLY (names
separated by commas) in the environment runs some and keeps the others' last figures.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from provenance import provenance
from realweb import REPOSITORY, save

HERE = Path(__file__).resolve().parent
KEPT = REPOSITORY / "benchmarks" / "results" / "micro.json"
ONLY = [name for name in os.environ.get("ONLY", "").split(",") if name]


def run(script: Path) -> dict[str, object] | None:
    """Run one benchmark, show what it prints, and return its figures; None if it failed."""
    print(f"== {script.stem}", flush=True)
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    done = subprocess.run(
        [sys.executable, str(script)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    *table, last = done.stdout.splitlines() or [""]
    print("\n".join(table), flush=True)
    if done.returncode:
        print(f"{last}\n{script.stem} failed with exit code {done.returncode}", flush=True)
        return None
    figures = json.loads(last)
    assert isinstance(figures, dict), last
    return figures


def main() -> None:
    """Run what is there, keep the figures, and fail if one of them failed."""
    scripts = sorted((HERE / "micro").glob("*.py"))
    chosen = [
        one for one in scripts if not one.stem.startswith("_") and one.stem in (ONLY or [one.stem])
    ]
    assert chosen, f"no such benchmark; there are {[one.stem for one in scripts]}"
    found = {script.stem: run(script) for script in chosen}
    kept = json.loads(KEPT.read_text()) if ONLY and KEPT.exists() else {}
    where = provenance()  # of each: with ONLY, the others were measured elsewhere and earlier
    new = {
        name: {**figures, "provenance": where}
        for name, figures in found.items()
        if figures is not None
    }
    save("micro", dict(sorted({**kept, **new}.items())))
    failed = [name for name, figures in found.items() if figures is None]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
