"""A crawl of the real web by a cluster on loopback, measured: time, CPU, and what the store saw."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import NamedTuple

from realweb import FLAGS, SEED

from fleets.machines import GOSSAMER, LONG_S, Machine, brought_up, placed_now
from fleets.store_meter import BUCKET, StoreMeter


class Plan(NamedTuple):
    """A crawl that is to be measured."""

    name: str
    machines: int
    shards: int
    pages: int
    ship_s: float = 5.0
    loses_one: bool = False
    """A machine dies with its disk on the way, and comes back empty."""


class Run(NamedTuple):
    """What a crawl took."""

    machines: int
    shards: int
    pages: int
    ship_s: float
    starts: int
    """Of shards."""
    seconds: float
    """From the claims of the shards to the end of the command."""
    up_cpu_s: float
    """Of all machines before they had something to do."""
    cpu_s: float
    """Of all machines."""
    requests: dict[str, int]
    """To the store, by kind."""
    objects: dict[str, int]
    """That were put, by kind, and their bytes."""
    bytes: dict[str, int]
    first_part_s: float
    """From the claim of a shard until it puts pages: the median."""
    shards_of_machines: list[int]
    moved: int = 0
    """Shards that a machine's loss has moved."""
    recovery_s: float = 0.0
    """From the loss until a shard that was lost puts pages again: the median."""

    @property
    def state_bytes(self) -> int:
        """Return the bytes of state that were sent."""
        return self.bytes["files"] + self.bytes["manifest"]


def crawled(place: Path, meter: StoreMeter, plan: Plan) -> Run:
    """Crawl by a plan; return what was measured. The store is named as the plan is."""
    home = place / plan.name
    home.mkdir()
    cluster = brought_up(home, plan.machines)
    try:
        run = _Trial(home, meter, plan, cluster).run()
    finally:
        for one in cluster:
            one.end()
    print(plan.name, json.dumps(run._asdict()), file=sys.stderr, flush=True)
    return run


class _Trial:
    """A crawl under way."""

    def __init__(self, home: Path, meter: StoreMeter, plan: Plan, cluster: list[Machine]) -> None:
        self._home, self._meter, self._plan, self._cluster = home, meter, plan, cluster
        time.sleep(1.0)
        self._up_cpu_s = self._cpu_s()
        self._began_at = time.monotonic()
        self._child = self._started()
        self._moved, self._back, self._recovery_s = 0, 0, 0.0

    def _cpu_s(self) -> float:
        return sum(one.cpu_s() for one in self._cluster)

    def _started(self) -> "subprocess.Popen[str]":
        plan = self._plan
        knobs = self._home / "knobs.toml"
        knobs.write_text(f"[store]\nship_s = {plan.ship_s}\n")
        command = [*GOSSAMER, "crawl", SEED, *FLAGS, "--cluster", "auto", "--json"]
        command += ["--config", str(knobs), "--store", f"s3://{BUCKET}/{plan.name}"]
        command += ["--shards", str(plan.shards), "--max-pages", str(plan.pages)]
        command += ["--into", str(self._home / "coordinator")]
        variables = {**os.environ, "GOSSAMER_CLUSTER": str(self._cluster[0].home)}
        with (self._home / "errors").open("w") as errors:
            return subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, env=variables
            )

    def run(self) -> Run:
        """Wait for its end."""
        plan, meter = self._plan, self._meter
        shards = range(plan.shards)
        self._wait_for(lambda: all(len(self._manifests(one)) >= 2 for one in shards))
        self._wait_for(lambda: all(self._parts(one) for one in shards))
        before = placed_now(self._cluster)
        if plan.loses_one:
            self._lose(before)
        told, _ = self._child.communicate(timeout=LONG_S)
        ended_at, cpu_s = time.monotonic(), self._cpu_s()
        if not told:
            sys.exit((self._home / "errors").read_text()[-2000:])
        claims = [self._manifests(one)[1] for one in shards]
        firsts = [self._parts(one)[0] - claims[one] for one in shards if self._parts(one)]
        put = meter.put(plan.name)
        return Run(
            machines=plan.machines,
            shards=plan.shards,
            pages=int(json.loads(told.splitlines()[-1])["pages"]),
            ship_s=plan.ship_s,
            starts=plan.shards + self._moved + self._back,
            seconds=round(ended_at - median(claims), 1),
            up_cpu_s=round(self._up_cpu_s, 2),
            cpu_s=round(cpu_s, 2),
            requests=meter.requests(plan.name),
            objects={kind: one.objects for kind, one in put.items()},
            bytes={kind: one.bytes for kind, one in put.items()},
            first_part_s=round(median(firsts), 1),
            shards_of_machines=sorted(Counter(before.values()).values()),
            moved=self._moved,
            recovery_s=round(self._recovery_s, 1),
        )

    def _lose(self, before: dict[int, str]) -> None:
        """Lose a machine, and bring it back when its shards crawl elsewhere."""
        lost = self._cluster[-1]
        orphans = [shard for shard, name in before.items() if name == lost.name]
        lost_at = time.monotonic()
        lost.lose()

        def again() -> list[float]:
            found = [[at for at in self._parts(shard) if at > lost_at + 1.0] for shard in orphans]
            return [moments[0] - lost_at for moments in found if moments]

        self._wait_for(lambda: len(again()) == len(orphans))
        self._recovery_s = median(again() or [0.0])
        after = placed_now(self._cluster)
        self._moved = sum(after.get(shard) != name for shard, name in before.items())
        lost.start()
        self._wait_for(lambda: lost.name in placed_now(self._cluster).values())
        self._back = Counter(placed_now(self._cluster).values())[lost.name]

    def _manifests(self, shard: int) -> list[float]:
        found = self._meter.manifests.get(self._plan.name, [])
        return [at for at, one in found if one == shard]

    def _parts(self, shard: int) -> list[float]:
        found = self._meter.parts.get(self._plan.name, [])
        return [at for at, one in found if one == shard]

    def _wait_for(self, what: Callable[[], bool]) -> None:
        deadline = time.monotonic() + LONG_S
        while not what() and self._child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
