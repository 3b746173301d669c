"""PageRank by sweeps over shards that exchange boundary vectors through the store.

Each shard solves its own rows as one machine would (`answers.rank`), with what pages of others pass
on as of the sweep before, or of this one where the same process has done it; so memory is that of a
shard. It is the same system, and the same bound holds: what a sweep has moved in all shards bounds
what is missing. A shard whose worker has died is begun anew by another from where all shards began:
the sweeps go on and come to the same end, since each brings any ranks nearer to the true ones.
"""

import resource
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from gossamer.errors import CannotGoOn
from gossamer.graph.answers import RankPlan
from gossamer.graph.asking import OpenedGraph
from gossamer.graph.sharded.ranked import (
    CountedShard,
    RankedPart,
    RankedParts,
    RankStore,
    RankTell,
)
from gossamer.graph.sharded.rounds import WAIT_S, RoundWorker, Wait
from gossamer.graph.sharded.solver import Floats, ShardSolver, shape_of
from gossamer.ranks import write_ranks
from gossamer.store import ShippedFile
from gossamer.urls import fingerprint_of

BEST = 1000
"""So many pages of each shard are kept in order."""
MEMORY_BYTES = 1 << 30
"""Shards that take more together are opened one at a time, and read anew in every sweep."""
KIB = 1024
_FLOAT_BYTES = 8
_HEAD = 2
"""Numbers before the vectors of a sweep: what has moved, and how much rank there is."""
_KEPT_SWEEPS = 3


class _Ended(Exception):
    """Everything is ranked by somebody else."""


class Sweeping:
    """The work of one process: the shards that it has claimed."""

    def __init__(
        self, store: RankStore, kinds: int, work: Path, wait: Wait, tell: RankTell
    ) -> None:
        self._store = store
        self._objects = store.objects
        self._plan = RankPlan(kinds=kinds)
        self._work = work
        self._wait = wait
        self._tell = tell
        self._shards = list(store.shards)
        self._worker = RoundWorker(store.objects, store.prefix)
        self._mine: list[int] = []
        self._solvers: dict[int, ShardSolver] = {}
        """Those of our shards that are in memory."""
        self._counted: dict[int, CountedShard] = {}
        self._done: dict[int, int] = {}
        """By shard: its last sweep; -1 of none."""
        self._own_sweeps: dict[int, int] = {}
        """By shard of ours: how far it is here."""
        self._vectors: dict[tuple[int, int], Floats] = {}
        """What our shards have passed on lately."""

    def run(self) -> RankedParts:
        """Rank what we may, until all is ranked."""
        try:
            return self._run()
        except (CannotGoOn, _Ended):
            done = self._store.whole()  # somebody else has ended it, and tidied up
            if done is None:
                raise
            return done

    def _run(self) -> RankedParts:
        self._count_all()
        sweeps, error = self._sweep_until_enough()
        self._finish_all(sweeps)
        total = self._total()
        files = self._write_all(total)
        done = RankedParts(
            total=total,
            urls=self._urls,
            sweeps=sweeps,
            error_below=error,
            converged=error < self._plan.error,
            files=files,
        )
        self._objects.create(f"{self._store.prefix}/whole", msgspec.json.encode(done))
        self._objects.delete(sorted(self._store.names("sweeps")))
        return self._store.whole() or done

    @property
    def _urls(self) -> int:
        return sum(one.urls for one in self._counted.values())

    # ---- whose work it is

    def _claim(self) -> bool:
        """Take shards that nobody alive has; return True if one was taken."""
        before = len(self._mine)
        for shard in self._shards:
            if shard not in self._mine and self._worker.takes(f"shard-{shard:04d}"):
                self._mine.append(shard)
        return len(self._mine) > before

    def _until(self, what: str) -> Iterator[list[int]]:
        """Yield which of our shards lack something, until all shards have it."""
        while True:
            there = self._store.names(what)
            lacking = [one for one in self._shards if self._store.name(what, one) not in there]
            if not lacking:
                return
            ours = [one for one in lacking if one in self._mine]
            if ours:
                yield ours
            elif not self._claim():
                self._rest()

    def _rest(self) -> None:
        """Let the others work."""
        if self._store.whole() is not None:
            raise _Ended
        self._wait(WAIT_S)

    # ---- the steps

    def _count_all(self) -> None:
        for shards in self._until("count"):
            for shard in shards:
                one = self._store.graph.shard(shard)
                shape = shape_of(one.graph, one.owners(), shard, self._plan.kinds)
                counted = CountedShard(
                    urls=int(shape.own.sum()),
                    boundary={to: len(nodes) for to, nodes in shape.outgoing.items()},
                )
                self._objects.put(self._store.name("count", shard), msgspec.json.encode(counted))
                self._store.graph.close_shards()
                self._worker.beat()
        for shard in self._shards:
            found = self._store.read("count", shard, CountedShard)
            if found is not None:
                self._counted[shard] = found

    def _sweep_until_enough(self) -> tuple[int, float]:
        """Sweep until the error is small enough; return how often, and the bound on the error."""
        self._learn_done()
        while True:
            did = False
            for shard in list(self._mine):
                number = self._done.get(shard, -1) + 1
                behind = [one for one in self._shards if self._done.get(one, -1) < number - 1]
                if behind:
                    continue
                if number > 1 and (error := self._error(number - 1)) is not None:
                    return number - 1, error
                self._sweep(shard, number)
                self._worker.beat()
                did = True
            if not did and not self._learn_done() and not self._claim():
                self._rest()

    def _learn_done(self) -> bool:
        """Find out how far all shards are; return True if one is further than was known."""
        found = dict(self._done)
        for name in self._store.names("sweeps"):
            number, shard = map(int, name.split("/")[-2:])
            found[shard] = max(number, found.get(shard, -1))
        is_further = found != self._done
        self._done = found
        return is_further

    def _error(self, number: int) -> float | None:
        """Return the bound on the error after a sweep if it is the last; None: go on."""
        heads = [self._piece(number, shard, 0, _HEAD) for shard in self._shards]
        moved, held = (float(sum(head[n] for head in heads)) for n in range(_HEAD))
        damping = self._plan.damping
        error = 2.0 * damping * moved / (1.0 - damping) / max(held, 1e-300)
        if self._mine and self._mine[0] == self._shards[0]:
            self._tell(number, error)
        is_last = error < self._plan.error or number >= self._plan.most_sweeps
        return error if is_last else None

    def _sweep(self, shard: int, number: int) -> None:
        """Do a sweep of one shard; the 0th only says where it begins."""
        solver = self._solver(shard)
        moved = held = 0.0
        if number:
            self._take_from_others(solver, shard, number)
            moved, held = solver.sweep()
        others = [one for one in self._shards if one != shard]
        content = np.concatenate([[moved, held], solver.passed_to(others)])
        self._objects.put(self._store.name(f"sweeps/{number:06d}", shard), content.tobytes())
        self._vectors[number, shard] = content
        self._done[shard] = self._own_sweeps[shard] = number
        for old in [one for one in self._vectors if one[0] < number - 1]:
            del self._vectors[old]
        if number >= _KEPT_SWEEPS:
            old_name = self._store.name(f"sweeps/{number - _KEPT_SWEEPS:06d}", shard)
            self._objects.delete([old_name])
        self._park(shard, solver)

    def _take_from_others(self, solver: ShardSolver, shard: int, number: int) -> None:
        for other in self._shards:
            if other == shard:
                continue
            boundary = self._counted[other].boundary
            count = boundary.get(shard, 0)
            before = sum(
                boundary.get(one, 0) for one in self._shards if one < shard and one != other
            )
            newest = number if (number, other) in self._vectors else number - 1
            solver.take(other, self._piece(newest, other, _HEAD + before, count))

    def _piece(self, number: int, shard: int, start: int, count: int) -> Floats:
        """Return some numbers of what a shard has said of a sweep."""
        if (held := self._vectors.get((number, shard))) is not None:
            return held[start : start + count]
        if not count:
            return np.empty(0)
        name = self._store.name(f"sweeps/{number:06d}", shard)
        content = self._objects.piece(name, _FLOAT_BYTES * start, _FLOAT_BYTES * count)
        return np.frombuffer(content, np.float64)

    def _finish_all(self, sweeps: int) -> None:
        for shards in self._until("parts"):
            for shard in shards:
                solver = self._solver(shard)
                self._take_from_others(solver, shard, sweeps + 1)
                if self._own_sweeps.get(shard) != sweeps:
                    self._catch_up(solver, sweeps)
                scores = solver.scores()
                self._objects.put(self._store.name("scores", shard), scores.tobytes())
                best, not_fetched = best_of(self._store.graph.shard(shard).graph, scores, BEST)
                part = RankedPart(
                    total=float(scores.sum()),
                    best=best,
                    best_not_fetched=not_fetched,
                    peak_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB,
                )
                self._objects.put(self._store.name("parts", shard), msgspec.json.encode(part))
                self._park(shard, solver)
                self._worker.beat()

    def _catch_up(self, solver: ShardSolver, sweeps: int) -> None:
        """Solve a shard that was begun anew, when all others are at the end."""
        held = sum(float(self._piece(sweeps, one, 0, _HEAD)[1]) for one in self._shards)
        damping = self._plan.damping
        for _ in range(self._plan.most_sweeps):
            moved, _ = solver.sweep()
            if 2.0 * damping * moved / (1.0 - damping) / held < self._plan.error:
                break

    def _total(self) -> float:
        parts = [self._store.read("parts", shard, RankedPart) for shard in self._shards]
        return sum(part.total for part in parts if part is not None)

    def _write_all(self, total: float) -> dict[int, ShippedFile]:
        """Write ranks as crawls and indexes take them: 1.0 for the mean of all."""
        for shards in self._until("shipped"):
            for shard in shards:
                path = self._work / f"{shard:04d}.ranks"
                one = self._store.graph.shard(shard)
                names = one.graph.names
                content = self._objects.read(self._store.name("scores", shard)) or b""
                scores = np.frombuffer(content, np.float64)
                nodes = np.flatnonzero(scores)
                urls = names.urls(nodes) if names is not None else []
                keys = np.fromiter(map(fingerprint_of, urls), np.uint64, len(nodes))
                write_ranks(path, keys, scores[nodes] * (self._urls / total))
                file = self._store.graph.crawl.put_file(self._store.name("files", shard), path)
                self._objects.put(self._store.name("shipped", shard), msgspec.json.encode(file))
                path.unlink()
                self._store.graph.close_shards()
        found = ((n, self._store.read("shipped", n, ShippedFile)) for n in self._shards)
        return {n: file for n, file in found if file is not None}

    # ---- memory

    def _solver(self, shard: int) -> ShardSolver:
        """Return a shard that is being solved, in memory."""
        if shard not in self._solvers:
            one = self._store.graph.shard(shard)
            self._solvers[shard] = ShardSolver(
                one.graph,
                shape_of(one.graph, one.owners(), shard, self._plan.kinds),
                self._plan.kinds,
                1.0 / self._urls,
                self._plan.damping,
                MEMORY_BYTES // len(self._mine),
            )
            parked = self._work / f"{shard:04d}.npy"
            if parked.exists():
                self._solvers[shard].go_on(parked)
        return self._solvers[shard]

    def _park(self, shard: int, solver: ShardSolver) -> None:
        """Let a shard go if all of ours together take too much."""
        if solver.bytes * len(self._mine) > MEMORY_BYTES:
            solver.park(self._work / f"{shard:04d}.npy")
            del self._solvers[shard]
            self._store.graph.close_shards()


def best_of(
    graph: OpenedGraph, scores: Floats, top: int
) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """Return the best pages that were fetched, and the best others; 0: all of them."""
    pages = graph.pages if graph.pages is not None else np.ones(len(scores), np.bool_)
    return _best(graph, scores, pages, top), _best(graph, scores, ~pages, top)


def _best(
    graph: OpenedGraph, scores: Floats, chosen: np.ndarray, top: int
) -> list[tuple[str, float]]:
    nodes = np.flatnonzero(chosen & (scores > 0.0))
    nodes = nodes[np.argsort(-scores[nodes], kind="stable")][: top or None]
    return list(zip(graph.words(nodes), scores[nodes].tolist(), strict=True))
