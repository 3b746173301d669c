"""How fresh does a budget keep pages? A simulation without a network: `make bench-freshness`.

PAGES (a million) pages with Zipf importance change at random, at rates that are log-normal around
one change in 30 days; the budget is half a visit per page in 30 days. All were fetched at day 0;
measured is the importance-weighted share of time for which our copies are current, in the last 120
of DAYS (180), for: the optimum (the best fixed intervals, rates known), the shipped plan with rates
known, the shipped watchlist that learns them (it hears only changed or not, and begins with a prior
five times too slow), visits in even shares, in shares of importance or of the rate of change, and
Nutch's adaptive interval. Harder worlds of fewer pages follow: a fifth of the pages strictly
periodic, equal importance, hosts whose pages are alike. A share is of the optimum's freshness.

Then few pages (10, 100, 1,000) with median times between changes from a minute to a month, of which
the watchlist knows nothing; and nine pages whose sitemap says hourly, weekly or never while they
change every minute, every six hours or once a month: the visits to each, on the first day and in
the week after it.
"""

import os
import statistics
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from laboratory.forecast import Budget, Policy, Run, Watched, run
from realweb import save
from revisits.policies import Fixed, Nutch, best_visits, plan_visits
from revisits.small import SCALES_S, looks_by_claim, share_of_optimum
from revisits.worlds import DAY_S, World

from gossamer.frontier.revisit import Watchlist

PAGES = int(os.environ.get("PAGES") or 1_000_000)
DAYS = float(os.environ.get("DAYS") or 180)
SMALL = min(PAGES, 50_000)
SMALL_DAYS = 360.0
MEASURED_DAYS = 120.0
WINDOW_DAYS = 0.05
COARSE_DAYS = 0.5
PICKS, PICK_WINDOWS = 1_000, 200
REPLANS = 9
HANDFULS = ((10, 0.5, 40), (10, 20.0, 10), (100, 0.5, 10), (1_000, 0.5, 1))
"""Pages, visits to each in a median time between changes, and worlds of which the mean counts."""
CLAIMED_PER_S = 1 / 600
SEED = 100


def watch(world: World) -> Watchlist:
    """Return a watchlist of all pages of a world, fetched at moment 0, that knows no rate."""
    watchlist = Watchlist()
    pages = zip(world.hosts.tolist(), world.importance.tolist(), strict=True)
    for key, (host, importance) in enumerate(pages):
        watchlist.add(key, host, importance, None, 0.0)
    return watchlist


def simulate(world: World, policy: Policy, days: float, window_days: float = WINDOW_DAYS) -> Run:
    """Run a policy over a world, and hold it to the budget."""
    budget = Budget(
        requests_per_s=world.requests_per_s,
        span_s=days * DAY_S,
        window_s=window_days * DAY_S,
        replan_s=DAY_S,
    )
    done = run(world.drift((days - MEASURED_DAYS) * DAY_S), policy, budget)
    assert done.visits <= 1.001 * budget.requests_per_s * budget.span_s, done
    return done


def baselines(world: World) -> dict[str, Callable[[], Run]]:
    """Return what others do, by name."""
    count, per_s = len(world.importance), world.requests_per_s
    rates = world.rates_per_s
    return {
        "uniform": lambda: simulate(world, Fixed(np.full(count, per_s / count)), DAYS),
        "proportional": lambda: simulate(world, Fixed(per_s * rates / rates.sum()), DAYS),
        "by_importance": lambda: simulate(world, Fixed(per_s * world.importance), DAYS),
        "nutch": lambda: simulate(world, Nutch(world.importance), DAYS, COARSE_DAYS),
    }


def best(world: World) -> Fixed:
    """Return the optimum as a policy."""
    return Fixed(best_visits(world.importance, world.rates_per_s, world.requests_per_s))


def known(world: World) -> Fixed:
    """Return the shipped plan, with the true rates."""
    keys = np.arange(len(world.importance), dtype=np.uint64)
    return Fixed(plan_visits(keys, world.importance, world.rates_per_s, world.requests_per_s))


def told(name: str, share: float, done: Run, began: float) -> None:
    """Print a line of the table."""
    line = (
        f"{name:22} {share:7.4f} {done.freshness:10.4f} {done.visits:12,} {done.changes_found:12,}"
    )
    print(f"{line} {time.process_time() - began:7.1f}", flush=True)


def compare(world: World) -> tuple[dict[str, float], Watchlist]:
    """Run every policy over the large world; return the share of each, and the watchlist."""
    watchlist = watch(world)
    policies: dict[str, Callable[[], Run]] = {
        "known": lambda: simulate(world, known(world), DAYS),
        "learned": lambda: simulate(world, Watched(watchlist, world.requests_per_s), DAYS),
        **baselines(world),
    }
    began = time.process_time()
    optimum = simulate(world, best(world), DAYS)
    told("optimum", 1.0, optimum, began)
    shares = {"optimum_freshness": optimum.freshness}
    for name, policy in policies.items():
        began = time.process_time()
        done = policy()
        shares[name] = done.freshness / optimum.freshness
        told(name, shares[name], done, began)
    return shares, watchlist


def harder() -> dict[str, float]:
    """Return the share of the learning watchlist in worlds that make it hard, by name."""
    worlds = {
        "few_pages": World(SMALL),
        "periodic_share": World(SMALL, periodic_share=0.2),
        "equal_importance": World(SMALL, zipf=0.0),
        "equal_alike_hosts": World(SMALL, zipf=0.0, host_share=0.7),
    }
    shares = {}
    for name, world in worlds.items():
        began = time.process_time()
        optimum = simulate(world, best(world), SMALL_DAYS)
        policy = Watched(watch(world), world.requests_per_s)
        done = simulate(world, policy, SMALL_DAYS, 2 * WINDOW_DAYS)
        shares[name] = done.freshness / optimum.freshness
        told(f"{SMALL:,} {name}"[:22], shares[name], done, began)
    return shares


def handfuls() -> dict[str, dict[str, float]]:
    """Return the share of the learning watchlist by number of pages and time scale."""
    shares: dict[str, dict[str, float]] = {}
    print(f"{'few pages, of any scale':30}" + "".join(f"{name:>9}" for name in SCALES_S))
    for pages, visits, seeds in HANDFULS:
        row = {
            name: statistics.fmean(
                share_of_optimum(pages, median_s, visits, SEED + seed) for seed in range(seeds)
            )
            for name, median_s in SCALES_S.items()
        }
        told_row = "".join(f"{share:9.4f}" for share in row.values())
        print(f"{pages:,} pages, {visits:g} visits a change".ljust(30) + told_row, flush=True)
        shares[f"{pages} pages, {visits:g} visits"] = {n: round(s, 4) for n, s in row.items()}
    return shares


def claimed() -> dict[str, dict[str, int]]:
    """Return the visits to pages by what is claimed of them and what is so."""
    first = looks_by_claim(1.0, CLAIMED_PER_S)
    all_days = looks_by_claim(8.0, CLAIMED_PER_S)
    looks = {name: {"first day": n, "next week": all_days[name] - n} for name, n in first.items()}
    print(f"{'claimed and true':22} {'first day':>10} {'next week':>10}")
    for name, found in looks.items():
        print(f"{name:22} {found['first day']:10} {found['next week']:10}")
    return looks


def costs(watchlist: Watchlist, world: World) -> dict[str, float]:
    """Return what planning, picking and learning cost, in CPU time."""
    now, replans, picking, learning = DAYS * DAY_S, [], 0.0, 0.0
    for _ in range(REPLANS):
        began = time.process_time()
        watchlist.replan(now, world.requests_per_s)
        replans.append(1e3 * (time.process_time() - began))
    windows = min(PICK_WINDOWS, PAGES // (4 * PICKS))
    for _ in range(windows):
        now += PICKS / world.requests_per_s
        began = time.process_time()
        keys = watchlist.take_due(now, now, PICKS)
        between = time.process_time()
        for key in keys:
            watchlist.visited(key, now, changed=key % 2 == 0)
        picking += between - began
        learning += time.process_time() - between
    return {
        "replan_ms": round(statistics.median(replans), 1),
        "pick_ns": round(1e9 * picking / (windows * PICKS), 0),
        "visited_us": round(1e6 * learning / (windows * PICKS), 2),
    }


def bytes_per_page() -> float:
    """Return the memory of a page that is watched and planned."""
    world = World(SMALL)
    tracemalloc.start()
    watchlist = watch(world)
    watchlist.replan(0.0, world.requests_per_s)
    used, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return used / len(watchlist)


def main() -> None:
    """Simulate, print a table, keep the result."""
    world = World(PAGES)
    page_bytes = bytes_per_page()
    print(
        f"{'policy':22} {'share':>7} {'freshness':>10} {'visits':>12} {'changes':>12} {'CPU s':>7}"
    )
    shares, watchlist = compare(world)
    small = harder()
    scales, looks = handfuls(), claimed()
    measured = costs(watchlist, world)
    assert shares["learned"] > shares["nutch"]
    rounded = {name: round(share, 4) for name, share in {**shares, **small}.items()}
    figures = {**rounded, **measured, "bytes_per_page": round(page_bytes, 1)}
    save("freshness", {**figures, "scales": scales, "looks": looks, "pages": PAGES, "days": DAYS})


if __name__ == "__main__":
    main()
