"""What one fetched page tells about a unit, before suspicion and on trial."""

from collections.abc import Sequence

from msgspec import Struct

from gossamer.model import FOLLOWED, Link, LinkKind, Task, Turn
from gossamer.traps.evidence.marks import mark_of
from gossamer.traps.evidence.names import (
    address_of,
    group_of,
    is_moving,
    number_in,
    shape_of,
)
from gossamer.traps.evidence.rules import SITE_PAGES, count_crossings
from gossamer.traps.evidence.unit import (
    CROSSED_KEPT,
    NUMBERS_KEPT,
    SERIES_KEPT,
    SHAPES_KEPT,
    Trial,
    Unit,
    Way,
)

NEXT_NUMBERS = 100
SHORT_TEXT, SIGNPOST_LINKS = 400, 2
KNOWN_PER_PAGE, KNOWN_PER_FRESH = 3.0, 0.25
"""Links to known pages that even a tree has: its root, the page above."""


class Page(Struct, frozen=True, kw_only=True):
    """A fetched page, as far as traps are concerned."""

    task: Task
    address: str
    mark: int | None
    """The same for pages that say the same; None if it says nothing."""
    is_moving: bool
    fresh: Sequence[str]
    """Addresses of the new URLs it brought, on its own host."""
    links: Sequence[Link]

    def is_of_tree(self, name: str) -> bool:
        """Tell whether hardly any link of the page leads to a known page of a unit."""
        fresh = sum(new.startswith(name) for new in self.fresh)
        addresses = {address_of(link.target) for link in self.links if link.kind in FOLLOWED}
        known = sum(address.startswith(name) for address in addresses) - fresh
        return known <= KNOWN_PER_PAGE + KNOWN_PER_FRESH * fresh

    def is_in_series(self) -> bool:
        """Tell whether its own number goes on in the URLs that it brought."""
        number, shape = number_in(self.address), shape_of(self.address)
        if number is None:
            return False
        return any(
            shape_of(new) == shape and abs((number_in(new) or 0) - number) <= NEXT_NUMBERS
            for new in self.fresh
        )


def is_signpost(turn: Turn) -> bool:
    """Tell whether a page only sends the reader elsewhere: a redirect that is written as a page."""
    found = turn.found
    if found is None or len(found.text) > SHORT_TEXT:
        return False
    followed = {link.target.key for link in found.links if link.kind in FOLLOWED}
    return len(followed) <= SIGNPOST_LINKS and any(
        link.kind is LinkKind.REFRESH for link in found.links
    )


def page_of(turn: Turn) -> Page:
    """Return what a turn tells."""
    task, found = turn.task, turn.found
    address = address_of(turn.task.url)
    moving = is_moving(task.url.target)
    host = task.url.host
    return Page(
        task=task,
        address=address,
        mark=mark_of(found, is_moving=moving) if found is not None else turn.fingerprint,
        is_moving=moving,
        fresh=[address_of(new.url) for new in turn.new_tasks if new.url.host == host],
        links=found.links if found is not None else (),
    )


def note(unit: Unit, page: Page) -> None:
    """Count a page of a unit that nobody suspects."""
    unit.pages += 1
    unit.block_pages += 1
    unit.block_same += unit.has_said(page.mark)
    if not page.fresh:
        return
    name = unit.name
    if fresh := sum([new.startswith(name) for new in page.fresh]):
        unit.block_bred += 1
        unit.block_fresh += fresh
        unit.fresh += fresh


def hear(unit: Unit, trial: Trial, page: Page, way: Way, child: str) -> None:
    """Count a page of a unit on trial; a `way` of pages, some in the same child, led to it."""
    name = unit.name
    fresh = [new for new in page.fresh if new.startswith(name)]
    has_said = unit.has_said(page.mark)
    before = unit.fresh
    unit.pages += 1
    unit.fresh += len(fresh)
    trial.pages += 1
    trial.same += has_said
    trial.moving += page.is_moving
    if fresh:
        trial.bred += 1
        if has_said:
            trial.same_bred += 1
            group = group_of(child, name)
            trial.children[group] = trial.children.get(group, 0) + 1
        if way[0] >= trial.depth:
            trial.depth, trial.inside = way[0] + 1, way[1] + 1
        if len(trial.shapes) < SHAPES_KEPT:
            trial.shapes.add(shape_of(page.address))
        _count_fresh(trial, fresh)
    elif not has_said:
        trial.leaves += 1
    links = _look_for_crossings(name, trial, page, set(fresh))
    trial.expected += links * min(1.0, before / SITE_PAGES)


def halve(trial: Trial) -> None:
    """Remember how a long trial stands in its middle."""
    trial.half_fresh, trial.half_crossed = trial.fresh, count_crossings(trial)


def _count_fresh(trial: Trial, fresh: Sequence[str]) -> None:
    trial.fresh += len(fresh)
    for address in fresh:
        number = number_in(address)
        shape = shape_of(address)
        if number is None or (shape not in trial.series and len(trial.series) >= SERIES_KEPT):
            continue
        trial.series.add(shape)
        trial.numbered += 1
        if len(trial.numbers) < NUMBERS_KEPT:
            trial.numbers.add(number)


def _look_for_crossings(name: str, trial: Trial, page: Page, fresh: set[str]) -> int:
    """Find links to known pages of the unit that are neither its door nor the page's ancestors.

    Return how many links there are that are not to these.
    """
    count = 0
    via = page.task.via
    for link in page.links:
        target = link.target
        address = address_of(target)
        if link.kind not in FOLLOWED or not address.startswith(name):
            continue
        if address == name or target.text == via or page.address.startswith(address):
            continue
        count += 1
        if address not in fresh and len(trial.crossed) < CROSSED_KEPT:
            trial.crossed[target.key] = trial.crossed.get(target.key, 0) + 1
    return count
