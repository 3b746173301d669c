"""Where did the requests to traps go? By what allowed them, up to the last honest page."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from laboratory.families.family import spot
from laboratory.families.simulated import Step
from laboratory.families.web import FamilyWeb


class Account(NamedTuple):
    """Requests up to the last honest page, by why they were allowed: see `Step.way`."""

    traps: Counter[str]
    honest: Counter[str]
    by_trap: dict[str, Counter[str]]
    last: list[tuple[str, int]]
    """The honest hosts that were finished last, and after how many requests."""

    def lines(self) -> list[str]:
        """Return the account in words."""
        told = [f"  {'requests':10} {'free':>6} {'share':>6} {'open':>6}"]
        for name, ways in (("to traps", self.traps), ("to honest", self.honest)):
            told.append(f"  {name:10} {_row(ways)}")
        most = sorted(self.by_trap, key=lambda name: -self.by_trap[name].total())[:MOST]
        told += [f"    {name:24} {_row(self.by_trap[name])}" for name in most]
        told += [f"    whole after {number:>6}: {host}" for host, number in self.last]
        return told


MOST = 6
"""So many traps, and honest hosts, are named."""


def _row(ways: Counter[str]) -> str:
    return " ".join(f"{ways[way]:>6}" for way in ("free", "share", "open"))


def account_of(steps: Sequence[Step], web: FamilyWeb) -> Account:
    """Return the account of a simulated crawl."""
    traps = [web.trap_of(step.host, step.target) for step in steps]
    first: dict[object, int] = {}
    for number, (step, trap) in enumerate(zip(steps, traps, strict=True)):
        where = spot(step.host, step.target)
        if step.status == 200 and not trap and where in web.expected:
            first.setdefault(where, number)
    whole: dict[str, int] = {}
    for number in first.values():
        host = steps[number].host
        whole[host] = max(number, whole.get(host, 0))
    last = max(first.values(), default=-1)
    found = Account(Counter(), Counter(), {}, sorted(whole.items(), key=lambda one: -one[1])[:MOST])
    for step, trap in zip(steps[: last + 1], traps, strict=False):
        way = "free" if step.way == "robots" else step.way
        (found.traps if trap else found.honest)[way] += 1
        if trap:
            found.by_trap.setdefault(trap, Counter())[way] += 1
    return found
