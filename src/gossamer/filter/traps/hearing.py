"""What one fetched page tells about a unit, before suspicion and on trial."""

from collections.abc import Sequence

from msgspec import Struct

from gossamer.filter.traps.marks import mark_of
from gossamer.filter.traps.names import address_of, group_of, is_moving, number_in, shape_of
from gossamer.filter.traps.unit import (
    CROSSED_KEPT,
    FIRST_PAGES,
    NUMBERS_KEPT,
    SERIES_KEPT,
    SHAPES_KEPT,
    Trial,
    Unit,
)
from gossamer.model import FOLLOWED, Link, Task, Turn

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


def hear(unit: Unit, trial: Trial, page: Page, way: tuple[int, int], child: str) -> None:
    """Count a page of a unit on trial; a `way` of pages, some in the same child, led to it."""
    name = unit.name
    fresh = [new for new in page.fresh if new.startswith(name)]
    has_said = unit.has_said(page.mark)
    unit.pages += 1
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
    _look_for_crossings(name, trial, page, set(fresh))


def _count_fresh(trial: Trial, fresh: Sequence[str]) -> None:
    trial.fresh += len(fresh)
    if trial.pages <= FIRST_PAGES:
        trial.first_fresh += len(fresh)
    for address in fresh:
        number = number_in(address)
        shape = shape_of(address)
        if number is None or (shape not in trial.series and len(trial.series) >= SERIES_KEPT):
            continue
        trial.series.add(shape)
        trial.numbered += 1
        if len(trial.numbers) < NUMBERS_KEPT:
            trial.numbers.add(number)


def _look_for_crossings(name: str, trial: Trial, page: Page, fresh: set[str]) -> None:
    """Find links to known pages of the unit that are neither its door nor the page's ancestors."""
    via = page.task.via
    for link in page.links:
        target = link.target
        address = address_of(target)
        if link.kind not in FOLLOWED or not address.startswith(name):
            continue
        trial.links += 1
        is_kin = address == name or target.text == via or page.address.startswith(address)
        if not is_kin and address not in fresh and len(trial.crossed) < CROSSED_KEPT:
            trial.crossed.add(target.key)
