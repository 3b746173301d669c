"""Does the model of `fleet.py` foretell a crawl by three machines? `make bench-fleet-run`.

Three machines (process groups on loopback with folders of their own) crawl the real web (half as
many pages again as PAGES) with SHARDS shards into a store that counts what it is asked for; one is
killed with its disk on the way, and comes back empty. What it costs is foretold from crawls by one
machine that were measured just before and after, in the same minutes (`fleet_costs.py`, kept as
well): how fast this machine is today is in both. The model is told how many machines, shards and
pages there are, that one dies, and how many seconds it took. Exits with 1 if a quantity is off by
more than FAR.
"""

import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from fleet_costs import FEW, MANY, PAGES, SELDOM, SHARDS, costs_of, mail, restored
from fleets.calibration import OBJECTS, REQUESTS, Calibration
from fleets.page import FAR
from fleets.runs import Plan, Run, crawled
from fleets.store_meter import metered
from realweb import bring_up, save

from gossamer.cluster import PlacedNode, place

NODES = 3
LEASE_S, DETECT_S = 10.0, 1.0
"""A machine whose processes are killed is noticed by its connections."""
THREE = Plan("three", NODES, SHARDS, PAGES * 3 // 2, loses_one=True)


def foretold(found: Calibration, run: Run, costs: dict[str, Any]) -> dict[str, Any]:
    """Return what the model says of a crawl by three machines, of which one dies and comes back.

    Its shards wait for a lease and start elsewhere; as many stop and start when it is back.
    """
    nodes = [PlacedNode(f"node-{n}", 2) for n in range(NODES)]
    placed = place(range(SHARDS), nodes, {}, {})
    rest = place(range(SHARDS), nodes[:-1], placed, {})
    moved = sum(rest[shard] != name for shard, name in placed.items())
    starts = SHARDS + 2 * moved
    recovery_s = DETECT_S + LEASE_S + found.first_part_s
    seconds = SHARDS * run.seconds - moved * (recovery_s + found.first_part_s)
    checkpoints = seconds / found.interval_s
    ups_s = (NODES + 1) * found.up_cpu_s
    pages = run.pages
    return {
        "pages": THREE.pages,
        "shards of machines": sorted(Counter(placed.values()).values()),
        "shards moved by a death": moved,
        "back after, s": round(recovery_s, 1),
        "CPU, s": round(ups_s + starts * found.start_cpu_s + pages * found.page_cpu_s, 1),
        **{
            f"{name} requests": round(found.requests[name].of(starts, seconds, checkpoints))
            for name in REQUESTS
        },
        **{
            f"objects put: {name}": round(found.objects[name].of(starts, seconds, checkpoints))
            for name in OBJECTS
        },
        "state, MB": round(found.state.of(checkpoints, pages) / 1e6, 2),
        "archive sent, MB": round(found.archive.of(checkpoints, pages) / 1e6, 1),
        "tasks mailed of a page": costs["tasks_mailed_per_page"][str(SHARDS)],
    }


def measured(run: Run, folder: Path) -> dict[str, Any]:
    """Return the same as it was."""
    return {
        "pages": run.pages,
        "shards of machines": run.shards_of_machines,
        "shards moved by a death": run.moved,
        "back after, s": run.recovery_s,
        "CPU, s": round(run.cpu_s, 1),
        **{f"{name} requests": run.requests[name] for name in REQUESTS},
        **{f"objects put: {name}": run.objects[name] for name in OBJECTS},
        "state, MB": round(run.state_bytes / 1e6, 2),
        "archive sent, MB": round(run.bytes["archive"] / 1e6, 1),
        "tasks mailed of a page": round(mail(folder, (SHARDS,))[SHARDS], 2),
    }


def main() -> None:
    """Crawl, compare, and keep the results."""
    bring_up()
    with tempfile.TemporaryDirectory(prefix="fleet-") as home, metered() as (meter, variables):
        os.environ |= variables
        place_ = Path(home)
        few, seldom, run, many = (
            crawled(place_, meter, plan) for plan in (FEW, SELDOM, THREE, MANY)
        )
        found, costs = costs_of(few, many, seldom, restored(place_, MANY))
        was = measured(run, restored(place_, THREE))
    said = foretold(found, run, costs)
    ratios = {
        name: round(was[name] / value, 3)
        for name, value in said.items()
        if isinstance(value, int | float)
    }
    save("fleet-costs", costs)
    told = {"run": run._asdict(), "measured": was, "foretold": said, "ratios": ratios}
    save("fleet-run", told)
    if far := [name for name, ratio in ratios.items() if abs(ratio - 1) > FAR]:
        sys.exit(f"further off than {FAR:.0%}: {', '.join(far)}")


if __name__ == "__main__":
    main()
