"""DOES IT EVER END? Mazes, calendars, session ids, made-up hosts: held back, probed, closed.

Neighbours: `crawl` reports every finished task, asks before each request, and hands `object_to` to
the filters, which so refuse links into what is closed. Not for: single URLs with a bad shape
(`filter.rules`).
"""

from typing import TYPE_CHECKING

from gossamer.lazy import late

if TYPE_CHECKING:
    from gossamer.traps.detector import Hold, ReleasedTasks, TrapDetector
    from gossamer.traps.held import (
        count_held_new,
        held_by,
        held_tasks,
        holding_units,
        tasks_of_units,
    )
    from gossamer.traps.trust import count_trusted, holding_probations
else:
    __getattr__ = late(
        __name__,
        {
            "detector": "Hold ReleasedTasks TrapDetector",
            "held": "count_held_new held_by held_tasks holding_units tasks_of_units",
            "trust": "count_trusted holding_probations",
        },
    )
